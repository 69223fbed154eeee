"""One key after the other: a key is delivered when all that the key before it caused has happened.

Textual hands a key to the focused widget, whose messages and the key itself climb to the app one queue after
the other; a key that follows at once may overtake them (F1 opened the help before an Esc left the card, and
the Esc closed the help). A marker that is sent behind a key climbs the same way, so its arrival says that the
key is done; a second one, that what the key posted is done too.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from textual import events
from textual.dom import DOMNode
from textual.events import Event
from textual.message import Message

ROUNDS: Final = 2
PATIENCE: Final = 0.5
"""Seconds after which the next key is delivered anyway: a widget that is removed takes the marker with it."""

Deliver = Callable[[Event], Awaitable[None]]
After = Callable[[float, Callable[[], Awaitable[None]]], object]
"""A timer of the app: seconds, and what to call."""


class KeyDone(Message):
    """The marker; it climbs from the widget that got the key to the app."""

    def __init__(self, number: int, round: int = 1) -> None:
        super().__init__()
        self.number = number
        self.round = round


class KeyOrder:
    """Holds input back while a key is under way. ``deliver``: handles one event, as the app does."""

    def __init__(self, deliver: Deliver, after: After) -> None:
        self._deliver = deliver
        self._after = after
        self._waiting: deque[Event] = deque()
        self._target: DOMNode | None = None  # of the last key, until it is known to be done
        self._number = 0
        self._marked = False

    def holds(self, event: Event) -> bool:
        """Whether the event is kept until the key before it is done."""
        if not self._waiting and not self._under_way():
            return False
        self._waiting.append(event)
        return True

    def _under_way(self) -> bool:
        """Whether the last key may not be done; a marker finds out."""
        if self._marked or self._target is None:
            return self._marked
        number = self._number
        if not self._target.is_attached or not self._target.post_message(KeyDone(number)):
            self._target = None
            return False
        self._marked = True
        self._after(PATIENCE, lambda: self._release(number))
        return True

    def sent(self, target: DOMNode) -> None:
        """A key went to this widget."""
        self._number += 1
        self._target = target

    async def done(self, marker: KeyDone) -> None:
        """A marker arrived."""
        if marker.number != self._number or self._target is None:
            return
        if marker.round < ROUNDS and self._target.is_attached:
            self._target.post_message(KeyDone(marker.number, marker.round + 1))
        else:
            await self._release(marker.number)

    async def _release(self, number: int) -> None:
        if number != self._number or not self._marked:
            return
        self._marked = False
        self._target = None
        while self._waiting and not self._under_way():
            await self._deliver(self._waiting.popleft())


def is_ordered(event: Event) -> bool:
    """Whether the event is input that arrives from the terminal, and not one that climbs."""
    if isinstance(event, events.InputEvent):
        return not event.is_forwarded
    return isinstance(event, events.AppFocus | events.AppBlur)
