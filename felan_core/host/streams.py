"""The text that a session streams: not revisioned, bounded, made durable by the completed message (§7)."""

from dataclasses import dataclass, field

import msgspec

from felan_core.host.actor import SessionActor
from felan_core.host.sanitize import scalars
from felan_core.protocol.base import LIMITS, UNSET, Maybe
from felan_core.protocol.entries import (
    AnyPart,
    MessageEntry,
    MessageOutcome,
    StreamKind,
    TextPart,
    ThinkingPart,
)
from felan_core.protocol.events import MessageCompleted, StreamCompletionOnly
from felan_core.protocol.streams import StreamPosition, StreamPrefix, StreamRef, TextBuffer

_MESSAGE_BYTES = LIMITS.page_bytes - 64 * 1024
"""What the parts of one message may hold as JSON; the rest of its budget is for its other members."""
_encode = msgspec.json.Encoder().encode
_PIECE = 256 * 1024
"""Characters that are streamed at a time: however much an agent hands over at once, it fits a message."""


@dataclass(slots=True)
class _Part:
    id: str
    kind: StreamKind
    started_at: int
    ended_at: int = 0
    text: TextBuffer = field(default_factory=TextBuffer)
    size: int = 0
    weight: int = 0
    live: bool = True


@dataclass(slots=True)
class _Message:
    id: str
    key: str | None
    stamp: dict[str, object]
    parts: list[_Part] = field(default_factory=list[_Part])

    @property
    def weight(self) -> int:
        """Bytes of its text as JSON, where a line's end takes two and a control character six."""
        return sum(part.weight for part in self.parts)


class Streams:
    """At most one message streams at a time; each change of kind is another stream of it. Inside jobs
    alone.
    """

    def __init__(self, actor: SessionActor) -> None:
        self._actor = actor
        self._open: _Message | None = None
        actor.streams = self.prefixes

    def prefixes(self) -> list[StreamPrefix]:
        """Every active stream as far as it went, for a snapshot."""
        if self._open is None:
            return []
        return [
            StreamPrefix(message=self._open.id, id=part.id, kind=part.kind, prefix=str(part.text))
            for part in self._open.parts
            if part.live and len(part.text)
        ]

    async def text(self, kind: StreamKind, text: str, key: str | None) -> None:
        """Stream ``text``. Another ``key`` starts another message, another ``kind`` another stream."""
        text = scalars(text)
        for start in range(0, len(text), _PIECE):
            await self._piece(kind, text[start : start + _PIECE], key)

    async def _piece(self, kind: StreamKind, text: str, key: str | None) -> None:
        weight = len(_encode(text))
        if self._open is not None and key is not None and self._open.key not in (None, key):
            await self.complete("completed")
        part = self._part(kind)
        if part is None or (self._open is not None and self._open.weight + weight > _MESSAGE_BYTES):
            await self.complete("completed")
            part = self._part(kind)
        message = self._open
        assert message is not None and part is not None
        message.key = message.key or key
        offset = len(part.text)
        part.text.append(text)
        part.size += _size(text)
        part.weight += weight
        part.ended_at = self._actor.services.clock()
        if not part.live:
            return
        if part.size > LIMITS.stream_bytes or self._live_bytes() > LIMITS.stream_total_bytes:
            ref = StreamRef(message=message.id, id=part.id, kind=kind)
            await self._actor.commit(StreamCompletionOnly(stream=ref, reason="limit"))
            part.live = False
            return
        position = StreamPosition(message=message.id, id=part.id, kind=kind, offset=offset)
        self._actor.tell_text(position, text)

    async def complete(self, outcome: MessageOutcome) -> None:
        """Make the message that streams durable."""
        message = self._open
        if message is None:
            return
        entry = MessageEntry(
            **message.stamp,  # pyright: ignore[reportArgumentType] the stamp's members are the entry's own
            role="assistant",
            parts=[_done(part) for part in message.parts],
            outcome=outcome,
        )
        # A write that fails (``StoreError``) leaves it open: the text is there when the next one works.
        await self._actor.commit(MessageCompleted(entry=entry))
        self._open = None

    def _part(self, kind: StreamKind) -> _Part | None:
        """The stream to append to; None when the message can hold no further one."""
        if self._open is None:
            stamp = self._actor.stamp()
            self._open = _Message(str(stamp["id"]), None, stamp)
        parts = self._open.parts
        if parts and parts[-1].kind == kind:
            return parts[-1]
        if len(parts) >= LIMITS.active_streams:
            return None
        part = _Part(f"s{len(parts)}", kind, self._actor.services.clock())
        parts.append(part)
        return part

    def _live_bytes(self) -> int:
        return sum(part.size for part in self._open.parts if part.live) if self._open else 0


def _done(part: _Part) -> AnyPart:
    if part.kind == "thinking":
        millis: Maybe[int] = max(0, part.ended_at - part.started_at) if part.ended_at else UNSET
        return ThinkingPart(id=part.id, text=str(part.text), millis=millis)
    return TextPart(id=part.id, text=str(part.text))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
