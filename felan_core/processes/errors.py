"""What can go wrong in this room, one class a cause, so that the host can answer with the right code."""


class ProcessError(Exception):
    """The base of all of them. `str()` is one plain sentence that a person can read."""


class UnknownProcess(ProcessError, KeyError):
    """No process has this id."""

    def __str__(self) -> str:
        # KeyError would show the repr of the sentence.
        return str(self.args[0])


class DuplicateProcess(ProcessError):
    """The id is taken, or a spool of that id is there already."""


class TableClosed(ProcessError):
    """The host is going down: nothing is started any more."""


class InvalidRead(ProcessError, ValueError):
    """A limit or a wait outside its bounds (session protocol §1, `processReadBytes`)."""


class OffsetPastEnd(InvalidRead):
    """The offset lies before 0 or past what was written so far."""


class InvalidSignal(ProcessError, ValueError):
    """A signal other than int, term and kill."""


class SpawnFailed(ProcessError):
    """The system did not start the process: the reason is in the message."""


class CommandNotFound(SpawnFailed):
    """There is no such program."""


class FolderMissing(SpawnFailed):
    """The working folder is not there, is no folder, or is not absolute."""


class NotPermitted(SpawnFailed):
    """The program or the working folder is there, and this user may not use it."""


class SpoolUnavailable(ProcessError):
    """The folder for the output cannot be made."""
