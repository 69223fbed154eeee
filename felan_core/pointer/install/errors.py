"""Why a configuration is not touched."""


class InstallError(Exception):
    """A refusal: no file was changed. `path` is the file, `place` the line or the member in it, if any."""

    def __init__(self, message: str, path: str, place: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.place = place

    def __str__(self) -> str:
        where = f"{self.path}, {self.place}" if self.place else self.path
        return f"{where}: {self.message}"
