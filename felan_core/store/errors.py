"""What can go wrong with the database, one class a cause; each names the path and what to do."""

from pathlib import Path


class StoreError(Exception):
    """The base of all of them. ``path``: the file or folder it is about; ``str()`` is for people."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.message)


class StoreBroken(StoreError):
    """Not Felan's database, or damaged: at ``Store.open`` it was left as it is, byte for byte.

    While the store is open: a row (its table and id are named) that does not decode.
    """


class StoreNewer(StoreError):
    """A newer Felan wrote this database. It was left as it is, byte for byte."""


class StoreUnwritable(StoreError):
    """The folder or the database cannot be created or written."""


class StoreFailure(StoreError):
    """A read or write failed and nothing of its batch was applied; a later one may work again."""


class AlreadyReserved(StoreFailure):
    """A request record with this id is there: the caller looks it up and compares (session protocol §8)."""


class StoreLost(StoreError):
    """The data folder or the database was deleted or replaced: nothing is stored from now on."""


class StoreClosed(StoreError):
    """The store was closed."""


class InvalidRow(ValueError):
    """A value that the store would not be able to give back: past a bound of the contract, or not JSON.

    Raised by the methods of ``Batch``, before anything is written. ``table`` and ``id`` say which one.
    """

    def __init__(self, table: str, id: str, problem: str) -> None:
        super().__init__(f"{table} {id!r} cannot be stored: {problem}")
        self.table = table
        self.id = id
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.table, self.id, self.problem)


class NoSuchEntry(LookupError):
    """The session has no entry with the id ``entry`` on the branch that was asked for."""

    def __init__(self, entry: str) -> None:
        super().__init__(entry)
        self.entry = entry
