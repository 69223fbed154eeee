"""The bytes that wait to be sent on one connection: ordered, bounded, and never losing a reply (§7).

One budget counts every frame: replies, notices, events and text. Replies and notices are always queued; their
size is bounded because a host computes a large reply only while ``room`` allows it. An event or text past the
budget is refused, and its session is then dropped from this connection.
"""

from collections import deque

from felan_core.protocol.base import LIMITS


class SendQueue:
    """Frames in the order in which they are to be written. ``limit``: bytes."""

    def __init__(self, limit: int = LIMITS.unsent_bytes) -> None:
        self.limit = limit
        self.behind = False
        """The client lost frames and has not caught up since."""
        self._frames: deque[tuple[bytes, str | None]] = deque()
        self._queued = 0
        self._taken = 0
        self._closed = False

    @property
    def unsent(self) -> int:
        """Bytes that were queued and are not written yet."""
        return self._queued + self._taken

    @property
    def closed(self) -> bool:
        """Nothing is queued any more."""
        return self._closed

    def room(self, size: int) -> bool:
        """Whether ``size`` more bytes are within the budget, or nothing is queued at all."""
        return self._closed or not self.unsent or self.unsent + size <= self.limit

    def reply(self, frame: bytes) -> None:
        """Queue a reply or a notice."""
        self._push(frame, None)

    def publish(self, frame: bytes, session: str) -> bool:
        """Queue an event or text of ``session``; False, and nothing queued, where it is past the budget."""
        if not self._closed and self.unsent + len(frame) > self.limit:
            self.behind = True
            return False
        self._push(frame, session)
        return True

    def forget(self, session: str) -> None:
        """Drop the queued events and text of ``session``: it was detached, or is attached again."""
        kept = deque(item for item in self._frames if item[1] != session)
        self._queued -= sum(len(frame) for frame, owner in self._frames if owner == session)
        self._frames = kept

    def take(self, size: int) -> bytes:
        """The next bytes to write: whole frames, ``size`` bytes or a little more. They count as unsent until
        ``written``.
        """
        burst: list[bytes] = []
        taken = 0
        while self._frames and taken < size:
            frame, _ = self._frames.popleft()
            burst.append(frame)
            taken += len(frame)
        self._queued -= taken
        self._taken += taken
        return b"".join(burst)

    def written(self, size: int) -> None:
        """The transport accepted ``size`` of the bytes taken from the queue."""
        self._taken -= size
        self.behind = self.behind and self.unsent > self.limit // 2

    def clear(self) -> None:
        """Drop the queue; later frames are dropped as well."""
        self._closed = True
        self._frames.clear()
        self._queued = self._taken = 0

    def _push(self, frame: bytes, session: str | None) -> None:
        if not self._closed:
            self._frames.append((frame, session))
            self._queued += len(frame)
