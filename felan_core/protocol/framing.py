"""Framing: one JSON object a line, UTF-8, LF (session protocol §2)."""

from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec

from felan_core.protocol.base import LIMITS, JsonObject
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.validate import check_utf8, untyped

_decode: Final = msgspec.json.Decoder[Any]().decode
_encode: Final = msgspec.json.Encoder().encode
_BLANK: Final = b" \t\r"
_BRACE: Final = ord("{")


def encode_frame(value: Any) -> bytes:
    """One frame for ``value`` (a wire struct or plain JSON), its LF included.

    The low-level encoder: it checks the frame's size and nothing of its meaning, and is no scrubber of
    secrets. Encode only validated, authorised envelopes (session protocol §2). Raises
    ``ProtocolError('invalid_request')`` for a frame past ``frameBytes`` and for what is no JSON object.
    """
    try:
        line = _encode(value)
    except (ValueError, TypeError, RecursionError):
        raise invalid("frame: not plain JSON, or a lone surrogate in it") from None
    if line[:1] != b"{":
        raise invalid("frame: must be an object")
    if len(line) > LIMITS.frame_bytes:
        raise invalid(f"frame: {len(line)} bytes, more than {LIMITS.frame_bytes}")
    return line + b"\n"


class JsonLineDecoder:
    """Bytes in, the values of whole frames out, whatever the chunking (session protocol §2).

    ``push`` yields after the fact: good frames before a broken one are yielded first, then ``ProtocolError``
    is raised, and the decoder stays failed. A line that never ends is refused at ``frameBytes``, not held.
    """

    def __init__(self, limit: int = LIMITS.frame_bytes) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0
        self._failure: ProtocolError | None = None

    def lines(self, data: bytes) -> Iterator[bytes]:
        """The whole lines that ``data`` completes, without their LF, blank ones left out."""
        if self._failure is not None:
            raise self._failure
        first, *others = data.split(b"\n")
        if not others:
            self._hold(first)
            return
        rest = others.pop()
        if self._parts:
            self._hold(first)
            first = b"".join(self._parts)
            self._parts.clear()
            self._held = 0
        short = len(data) <= self._limit
        for line in (first, *others):
            if not short and len(line) > self._limit:
                raise self._fail(f"frame: more than {self._limit} bytes")
            if line and (line[0] == _BRACE or line.strip(_BLANK)):
                yield line
        self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        """Keep the beginning of a line, unless it is too long already."""
        self._held += len(piece)
        if self._held > self._limit:
            raise self._fail(f"frame: more than {self._limit} bytes")
        if piece:
            self._parts.append(piece)

    def push(self, data: bytes) -> Iterator[JsonObject]:
        """The values of the frames that ``data`` completes. Raises ``ProtocolError`` and stays failed."""
        for line in self.lines(data):
            try:
                value = _decode(line)
                if type(value) is not dict:
                    raise invalid("frame: must be an object")
            except ProtocolError as error:
                self._failure = error
                raise
            except (ValueError, RecursionError):
                yield self._slowly(line)
                continue
            yield value

    def _slowly(self, line: bytes) -> JsonObject:
        try:
            return parse_line(line)
        except ProtocolError as error:
            self._failure = error
            raise

    def finish(self) -> None:
        """Say that no more bytes come. Raises ``ProtocolError`` when a frame was cut short."""
        if self._failure is not None:
            raise self._failure
        if b"".join(self._parts).strip(_BLANK):
            raise self._fail("frame: the stream ended inside a frame")

    def _fail(self, message: str) -> ProtocolError:
        self._failure = invalid(message)
        self._parts.clear()
        return self._failure


def parse_line(line: bytes) -> JsonObject:
    """The JSON object on one line. Raises ``ProtocolError('invalid_request')``."""
    try:
        value = _decode(line)
    except (ValueError, RecursionError):
        check_utf8(line)
        value = untyped(line)
    if type(value) is not dict:
        raise invalid("frame: must be an object")
    return cast(JsonObject, value)
