"""Why there is no host, in words and with the exit code that says the same."""


class HostUnavailable(Exception):
    """The host cannot be opened: the app ends with ``code`` and says ``message``."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
