"""Cursors: opaque keys bound to their scope, not snapshots of a view (session protocol §4 Listing).

They are no secrets: each is checked against the rows that it names.
"""

import base64
import binascii
import hashlib
from typing import Final, NamedTuple, TypeVar

import msgspec

from felan_core.protocol.errors import ProtocolError, invalid

T = TypeVar("T")
DEFAULT_PAGE: Final = 64
"""The rows of a page where the request names no limit."""


class HistoryCursor(NamedTuple):
    """The page of ``session.history`` that ends before the entry ``before``, or with the leaf where it is "".

    ``leaf`` pins the branch: entries that come, and another branch that is selected, change nothing.
    """

    leaf: str
    before: str


def row_cursor(key: tuple[int, str], scope: str) -> str:
    """A cursor for the rows after ``key`` (an instant and an id) of the listing that ``scope`` describes."""
    return _encoded([_digest(scope), *key])


def parse_row_cursor(cursor: str, scope: str) -> tuple[int, str]:
    """The key. Raises ``stale_request`` for another scope's cursor, ``invalid_request`` for a forged one."""
    digest, instant, row = _decoded(cursor, tuple[str, int, str])
    _check(digest, scope)
    return instant, row


def history_cursor(session: str, key: HistoryCursor) -> str:
    """A cursor of the history of ``session``."""
    return _encoded([_digest(session), *key])


def parse_history_cursor(cursor: str, session: str) -> HistoryCursor:
    """The key. Raises ``stale_request`` for another session's, ``invalid_request`` for a forged one."""
    digest, leaf, before = _decoded(cursor, tuple[str, str, str])
    _check(digest, session)
    return HistoryCursor(leaf, before)


def forged() -> ProtocolError:
    """The refusal of a cursor that this host has not made."""
    return invalid("cursor: not one of this host's")


def _encoded(members: list[int | str]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(members)).decode().rstrip("=")


def _decoded(cursor: str, shape: type[T]) -> T:
    try:
        plain = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.json.decode(plain, type=shape)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise forged() from None


def _check(digest: str, scope: str) -> None:
    if digest != _digest(scope):
        raise ProtocolError("stale_request", "cursor: it belongs to another listing")


def _digest(scope: str) -> str:
    return hashlib.sha256(scope.encode()).hexdigest()[:16]
