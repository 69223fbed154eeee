"""Framing: one JSON object a line, UTF-8, LF (session protocol §2)."""

from math import isfinite
from typing import Any, Final, cast

import msgspec

from felan_core.protocol.base import LIMITS, MAX_INTEGER, UNSET, JsonObject, kind_of
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.problems import refusal_text, short
from felan_core.protocol.validate import check_utf8, normalised, untyped

_decode: Final = msgspec.json.Decoder[Any]().decode
_encode: Final = msgspec.json.Encoder().encode
_BLANK: Final = b" \t\r"
_BRACE: Final = ord("{")


def encode_frame(value: Any) -> bytes:
    """One frame for ``value`` (a wire struct or plain JSON), its LF included.

    The frame holds exactly ``value``, or nothing is encoded. The encoder knows nothing of the meaning and
    removes no secrets: encode only validated, authorised envelopes (session protocol §2).

    Raises ``ProtocolError('invalid_request')`` for a frame past ``frameBytes``, a value that is no object,
    and a value that JSON of this wire cannot hold: NaN, a set, bytes, a key that is no string, an integer
    beyond 2^53 - 1, a lone surrogate, more than 32 levels.
    """
    _require_exact(value, 0, "frame")
    try:
        line = _encode(value)
    except (ValueError, TypeError, RecursionError):
        raise invalid("frame: not plain JSON, or a lone surrogate in it") from None
    if line[:1] != b"{":
        raise invalid("frame: must be an object")
    if len(line) > LIMITS.frame_bytes:
        raise invalid(f"frame: {len(line)} bytes, more than {LIMITS.frame_bytes}")
    return line + b"\n"


def _require_exact(value: Any, depth: int, path: str) -> None:
    """Refuse a value that the encoder would change, or that no reader of this wire accepts."""
    kind = kind_of(value)
    if kind is str or kind is bool or value is None or kind is msgspec.Raw:
        return
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise invalid(refusal_text(path, "an integer beyond 2^53 - 1"))
    elif kind is float:
        if not isfinite(value):
            raise invalid(refusal_text(path, "not a finite number"))
    elif depth >= LIMITS.json_depth:
        raise invalid(refusal_text(path, f"nested deeper than {LIMITS.json_depth}"))
    elif kind is dict:
        for name, item in value.items():
            if type(name) is not str:
                raise invalid(refusal_text(path, "a member name that is no string"))
            _require_exact(item, depth + 1, f"{path}.{short(name)}")
    elif kind is list:
        for index, item in enumerate(value):
            _require_exact(item, depth + 1, f"{path}[{index}]")
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if item is not UNSET:
                _require_exact(item, depth + 1, f"{path}.{name}")
    else:
        raise invalid(refusal_text(path, "not plain JSON"))


class JsonLineDecoder:
    """Bytes in, the values of whole frames out, whatever the chunking (session protocol §2).

    A decoder that met a bad frame stays failed. A line that never ends is refused at ``frameBytes``.
    """

    def __init__(self, limit: int = LIMITS.frame_bytes) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._buffered = 0
        self.failure: ProtocolError | None = None
        """The first fault in the stream: every later call raises it. None while the stream is sound."""

    def push(self, data: bytes) -> list[JsonObject]:
        """Return the values of the frames that ``data`` completes, in order.

        All of ``data`` is consumed. A bad frame after good ones sets ``failure``, and the good ones are
        returned; the next call raises. Raises ``ProtocolError`` where there is no good frame before the bad
        one.
        """
        values: list[JsonObject] = []
        lines = self.lines(data)
        for line in lines:
            try:
                values.append(parse_line(line))
            except ProtocolError as error:
                self._fail(error)
                break
        if self.failure is not None and not values:
            raise self.failure
        return values

    def lines(self, data: bytes) -> list[bytes]:
        """The whole lines that ``data`` completes, without their LF, blank ones left out.

        A line past the limit sets ``failure``, as in ``push``.
        """
        if self.failure is not None:
            raise self.failure
        first, *others = data.split(b"\n")
        whole: list[bytes] = []
        if others:
            self._buffer(first)
            whole = [b"".join(self._parts), *others[:-1]]
            self._parts.clear()
            self._buffered = 0
            first = others[-1]
        lines: list[bytes] = []
        for line in whole:
            if len(line) > self._limit:
                self._too_long()
                break
            if line and (line[0] == _BRACE or line.strip(_BLANK)):
                lines.append(line)
        else:
            self._buffer(first)
        if self.failure is not None and not lines:
            raise self.failure
        return lines

    def finish(self) -> None:
        """End the stream. Raises ``ProtocolError`` when a frame was cut short, or the decoder has failed."""
        if self.failure is None and b"".join(self._parts).strip(_BLANK):
            self._fail(invalid("frame: the stream ended inside a frame"))
        if self.failure is not None:
            raise self.failure

    def _buffer(self, piece: bytes) -> None:
        """Keep the beginning of a line, up to the limit."""
        if self._buffered + len(piece) > self._limit:
            if not self._parts or self._buffered <= self._limit:
                self._too_long()
            return
        self._buffered += len(piece)
        if piece:
            self._parts.append(piece)

    def _too_long(self) -> None:
        self._fail(invalid(f"frame: more than {self._limit} bytes"))

    def _fail(self, error: ProtocolError) -> None:
        self.failure = self.failure or error
        self._parts.clear()


def parse_line(line: bytes) -> JsonObject:
    """The JSON object on one line, as strict as every reader of this wire (session protocol §1).

    UTF-8 without a byte order mark, finite numbers, integers within 2^53 - 1, at most 32 levels, no lone
    surrogate. Raises ``ProtocolError('invalid_request')``.
    """
    try:
        value = _decode(line)
    except (ValueError, RecursionError):
        check_utf8(line)
        value = untyped(line)
    if type(value) is not dict:
        raise invalid("frame: must be an object")
    return cast(JsonObject, normalised(value))
