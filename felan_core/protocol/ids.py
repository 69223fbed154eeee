"""Identities: UUIDv7 for mutations, and what every other id may be (session protocol §1)."""

import os
import re
import time
from typing import Final

from felan_core.protocol.errors import invalid

_UUID7: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)


def normalise_mutation_id(text: str) -> str:
    """The lower-case form of a mutation's id.

    Only the 8-4-4-4-12 form of a UUID of version 7 and variant 10 is taken, hex in any case.
    Raises ``ProtocolError('invalid_request')``.
    """
    lowered = text.lower() if text.isascii() else text
    if _UUID7.fullmatch(lowered) is None:
        raise invalid("id: a mutation needs a UUIDv7 in the 8-4-4-4-12 form")
    return lowered


def uuid7_time(text: str) -> int:
    """The instant inside a normalised UUIDv7, in milliseconds since the Unix epoch."""
    return int(text[:8] + text[9:13], 16)


def new_uuid7(now: int | None = None) -> str:
    """A fresh UUIDv7; ``now`` in milliseconds since the Unix epoch."""
    millis = time.time_ns() // 1_000_000 if now is None else now
    # os.urandom, not secrets: that module brings hashlib and hmac into every start.
    chance = int.from_bytes(os.urandom(10))
    low, high = chance & (2**62 - 1), chance >> 68
    value = (millis & (2**48 - 1)) << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
