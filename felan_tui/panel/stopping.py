"""A stop takes the key twice, within three seconds, for the same process: a pure policy."""

from dataclasses import dataclass

WITHIN_MS = 3_000


@dataclass(frozen=True, slots=True)
class Stopping:
    """The policy's state; each event returns the next. Instants are in milliseconds."""

    process_id: str | None = None
    asked_at: int = 0
    confirmed: bool = False

    def asks(self, now: int) -> bool:
        """Whether the question stands."""
        return self.process_id is not None and not self.confirmed and 0 <= now - self.asked_at < WITHIN_MS

    def pressed(self, process_id: str, now: int) -> "Stopping":
        """The key for a stop was pressed."""
        if self.asks(now) and self.process_id == process_id:
            return Stopping(process_id, now, confirmed=True)
        return Stopping(process_id, now)

    def dropped(self) -> "Stopping":
        """Something else was done."""
        return Stopping()
