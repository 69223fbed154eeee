"""A lifecycle hook, as bytes in and an answer out: the table of errors of task pointer §3.

The answer is what both agents take and nothing else: one JSON object, or nothing at all. Exit 2 holds the
user's prompt back in both, so it is said in one place alone: a UserPromptSubmit of a valid session whose
pointer could not be read, locked or written.
"""

from __future__ import annotations

import os

from felan_core.pointer.about import remember
from felan_core.pointer.context_text import context, shell_line
from felan_core.pointer.errors import FIELDS, HOOK, IO_ERROR, STATE_INVALID, TOO_LARGE, PointerError
from felan_core.pointer.files import STATE_NAME
from felan_core.pointer.lifecycle import (
    CLEAR_SOURCE,
    EVENTS,
    PRE_COMPACT,
    SESSION_START,
    USER_PROMPT_SUBMIT,
    pre_compact,
    prompt_submitted,
    session_started,
)
from felan_core.pointer.store import PointerStore
from felan_core.pointer.strictjson import dump_value, first_members, invalid, parse_object
from felan_core.pointer.values import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from felan_core.pointer.rules import State

MAX_HOOK_BYTES = 16 * 1024 * 1024

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BLOCKED = 2

COMPACT_SOURCE = "compact"
AGENTS_FOLDER = ".agents"  # no session id begins with a dot


class Answer:
    """A hook's output and exit code; `wrote` is True if a state was written."""

    __slots__ = ("exit_code", "stderr", "stdout", "wrote")

    def __init__(self, exit_code: int, stdout: str = "", stderr: str = "", *, wrote: bool = False) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.wrote = wrote


def failed(code: str) -> Answer:
    """The answer of a failed hook: exit code 1, since 2 would block prompts, which the user cannot mend."""
    return Answer(EXIT_FAILED, stderr=f"TASK_POINTER_V2:{code}")


def answer(
    root: str | PointerStore,
    data: bytes,
    publisher_command: str,
    felan_line: str = "felan pointer",
    agent: str | None = None,
) -> Answer:
    """What a hook answers to the event in `data`, of which no more than `MAX_HOOK_BYTES` + 1 need be there.

    `publisher_command` is the shell line that the context names, `felan_line` the one of `felan pointer`,
    `agent` the name to remember beside a state. Raises nothing that has to do with the event or the state
    root.
    """
    felan_line = felan_line if is_text(felan_line) else "felan pointer"
    try:
        event = _event(data)
    except PointerError as error:
        if error.code == f"{HOOK}_{TOO_LARGE}" and _is_prompt(first_members(data)):
            return _blocked(error, "", "")
        return failed(error.code)
    name, session_id, detail, folder = event
    where = root if isinstance(root, str) else root.root
    named_root = f"--state-root {shell_line([where])}"
    try:
        store = PointerStore(root) if isinstance(root, str) else root
        if name == PRE_COMPACT:
            pre_compact(store, session_id, detail)
            return Answer(EXIT_OK)
        if name == USER_PROMPT_SUBMIT:
            state: State | None = prompt_submitted(store, session_id)
        else:
            state = session_started(store, session_id, detail)
        wrote = name == USER_PROMPT_SUBMIT or detail == CLEAR_SOURCE
        if wrote:
            remember(store.root, session_id, folder, agent)
        text = context(
            state,
            publisher_command,
            session_id,
            brief=name == USER_PROMPT_SUBMIT,
            show_command=f"{felan_line} show {session_id} {named_root}",
            handover=_handover(store, session_id, folder, felan_line) if state is None else "",
        )
        return Answer(EXIT_OK, _context(name, text), wrote=wrote)
    except PointerError as error:
        refused = error
    except OSError:  # of the system itself: a folder to be in that is gone, for one
        refused = PointerError(IO_ERROR, "The system refuses.")
    if name == USER_PROMPT_SUBMIT:
        mend = "doctor"
        if refused.code == STATE_INVALID:
            mend = f"reset {session_id} {named_root} --apply"
        return _blocked(refused, f"{where}/{session_id}/{STATE_NAME}", f"{felan_line} {mend}")
    if name == PRE_COMPACT:
        return failed(refused.code)
    if detail in (CLEAR_SOURCE, COMPACT_SOURCE):
        reason = f"TASK_POINTER_RECOVERY_REQUIRED:{refused.code}"
        return Answer(EXIT_OK, f'{{"continue":false,"stopReason":{dump_value(reason)}}}', reason)
    return Answer(EXIT_OK, _context(name, f"UNKNOWN_RECOVERY:{refused.code}"))


def _handover(store: PointerStore, session_id: str, folder: object, felan_line: str) -> str:
    from felan_core.pointer.handover import handover

    return handover(store, session_id, folder, felan_line)


def is_text(line: str) -> bool:
    """Whether a shell line can be shown in JSON: a path that is not UTF-8 has surrogates in it."""
    return line.isprintable()


def _event(data: bytes) -> tuple[str, str, str, object]:
    """(event, session id, trigger or source or nothing, working folder); raises PointerError HOOK_…"""
    members = parse_object(data, HOOK, MAX_HOOK_BYTES)
    name = _needed(members, "hook_event_name")
    if type(name) is not str or name not in EVENTS:
        raise invalid(HOOK, f"The event cannot be used: it is none of {', '.join(EVENTS)}.")
    session_id = _needed(members, "session_id")
    if not is_session_id(session_id):
        raise invalid(HOOK, "The event cannot be used: its session_id is not one.")
    if name == USER_PROMPT_SUBMIT:
        return name, session_id, "", members.get("cwd")
    field = "source" if name == SESSION_START else "trigger"
    detail = _needed(members, field)
    if type(detail) is not str:
        raise invalid(HOOK, f"The event cannot be used: {field} is not a string.")
    return name, session_id, detail, members.get("cwd")


def _needed(members: dict[str, object], field: str) -> object:
    if field not in members:
        raise PointerError(f"{HOOK}_{FIELDS}", f"The field {field} is missing.")
    return members[field]


def _is_prompt(members: dict[str, object]) -> bool:
    """True if the start of an oversized event names UserPromptSubmit and a valid session."""
    return members.get("hook_event_name") == USER_PROMPT_SUBMIT and is_session_id(members.get("session_id"))


def _blocked(error: PointerError, path: str, mend: str) -> Answer:
    where = f" File: {path}." if path else ""
    command = f" To mend it: {mend}" if mend else ""
    reason = (
        f"The prompt was held back: the task pointer of this session cannot be kept ({error.code}). "
        f"{error.message}{where}{command}"
    )
    # A lone surrogate, of a path that is not UTF-8, is no JSON to an agent.
    shown = reason.encode("utf-8", "replace").decode("utf-8")
    return Answer(
        EXIT_BLOCKED,
        f'{{"decision":"block","reason":{dump_value(shown)}}}',
        f"TASK_POINTER_V2:{error.code}",
    )


def _context(event: str, text: str) -> str:
    return (
        f'{{"hookSpecificOutput":{{"hookEventName":{dump_value(event)},'
        f'"additionalContext":{dump_value(text)}}}}}'
    )


def is_agent_name(name: str) -> bool:
    """Whether a name can be that of a file in the folder of marks."""
    return is_session_id(name)


def mark_seen(root: str, agent: str) -> None:
    """Touches `<root>/.agents/<agent>`, for the doctor. It never fails: no prompt waits for a mark."""
    try:
        folder = f"{root}/{AGENTS_FOLDER}"
        try:
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            os.mkdir(folder, 0o700)
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            mark = os.open(agent, flags, 0o600, dir_fd=opened)
            try:
                os.utime(mark)
            finally:
                os.close(mark)
        finally:
            os.close(opened)
    except OSError:
        pass
