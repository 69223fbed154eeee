"""Which keys nobody typed: the text of an unbracketed paste, and what follows the end of a paste. Pure.

A terminal without bracketed paste delivers a paste as keys, and a text that contains `ESC [ 201 ~` ends its
own paste (tmux 3.3 lets it through). Such keys become the text of a paste, and those that write nothing are
dropped, so that they are never commands, wherever the focus is. Times are seconds of one monotonic clock.
"""

from typing import Final

from felan_tui.terminal.events import Event, Key, Paste

TAIL_SECONDS: Final = 0.030
"""For so long after a paste, and after each read that continues it, keys are part of it."""

RUN_SECONDS: Final = 0.010
"""Reads that follow each other faster than this are one run: a held key repeats every 16 ms or slower."""

TYPED_KEYS: Final = 8
"""So many keys in one run may be typed ones that a slow link delivered together; one more is a paste."""

MAX_TEXT: Final = 1 << 20
"""Characters collected before they are passed on, while more comes."""


class Bursts:
    """Watches the events of one terminal go by, read by read."""

    def __init__(self) -> None:
        self._until = float("-inf")
        self._last = float("-inf")
        self._run = 0
        self._text: list[str] = []
        self._length = 0

    @property
    def deadline(self) -> float | None:
        """When `due` has something to pass on; None where nothing is collected."""
        return self._until if self._text else None

    def take(self, events: list[Event], at: float) -> list[Event]:
        """The events of one read, with the keys of a paste made one."""
        if not 0 <= at - self._last <= RUN_SECONDS:
            self._run = 0
        self._last = at
        self._run += sum(1 for event in events if isinstance(event, Key) and written(event))
        inside = at < self._until or self._run > TYPED_KEYS
        passed = [] if inside else self.due(at)
        for event in events:
            if isinstance(event, Paste):
                passed += self._flush()
                passed.append(event)
                inside = True
                self._until = at + TAIL_SECONDS
            elif isinstance(event, Key) and inside:
                self._until = at + TAIL_SECONDS
                self._collect(written(event))
            else:
                passed.append(event)
        if self._length > MAX_TEXT:
            passed += self._flush()
        return passed

    def due(self, at: float) -> list[Event]:
        """The paste that was collected, where nothing followed it until ``at``."""
        return self._flush() if at >= self._until else []

    def _collect(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._length += len(text)

    def _flush(self) -> list[Event]:
        if not self._text:
            return []
        text = "".join(self._text)
        self._text.clear()
        self._length = 0
        return [Paste(text)]


def written(key: Key) -> str:
    """What the key writes as text: a character, a tab, a line end; "" for any other key."""
    if key.key in ("enter", "ctrl+j"):
        return "\n"
    if key.key == "tab":
        return "\t"
    return key.text if key.text is not None and key.text.isprintable() else ""
