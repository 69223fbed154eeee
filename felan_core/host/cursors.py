"""Cursors of listings: opaque keys bound to their scope, not snapshots of a view (session protocol §4
Listing).
"""

import base64
import binascii
import hashlib

import msgspec

from felan_core.protocol.errors import ProtocolError, invalid


def row_cursor(key: tuple[int, str], scope: str) -> str:
    """A cursor for the rows after ``key`` (an instant and an id) of the listing that ``scope`` describes."""
    plain = msgspec.json.encode([_digest(scope), *key])
    return base64.urlsafe_b64encode(plain).decode().rstrip("=")


def parse_row_cursor(cursor: str, scope: str) -> tuple[int, str]:
    """The key. Raises ``stale_request`` for another scope's cursor, ``invalid_request`` for a forged one."""
    try:
        plain = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        digest, instant, row = msgspec.json.decode(plain, type=tuple[str, int, str])
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise invalid("cursor: not one of this host's") from None
    if digest != _digest(scope):
        raise ProtocolError("stale_request", "cursor: it belongs to another listing")
    return instant, row


def _digest(scope: str) -> str:
    return hashlib.sha256(scope.encode()).hexdigest()[:16]
