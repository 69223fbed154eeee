"""One key after the other: a key is delivered when all that the key before it caused has happened.

Textual hands a key to the focused widget, whose messages and the key itself climb to the app one queue after
the other; a key that follows at once may overtake them (F1 opened the help before an Esc left the card, and
the Esc closed the help). A marker that is sent behind a key climbs the same way, so its arrival says that the
key is done; a second one, that what the key posted is done too. What was asked for behind the next refresh,
as a move of the focus is, comes last.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.events import Event
from textual.message import Message

from felan_tui.text.fields import SafeInput, SafeTextArea

ROUNDS: Final = 2
PATIENCE: Final = 0.5
"""Seconds after which it is seen whether the widget that has the marker is still there."""

TRIES: Final = 6
"""So often is it waited for, while the widget is there."""

Deliver = Callable[[Event], Awaitable[None]]


class KeyDone(Message):
    """The marker; it climbs from the widget that got the key to the app."""

    def __init__(self, number: int, round: int = 1) -> None:
        super().__init__()
        self.number = number
        self.round = round


class KeyOrder:
    """Holds input back while a key is under way. ``deliver`` handles one event, as the app does."""

    def __init__(self, app: App[None], deliver: Deliver) -> None:
        self._app = app
        self._deliver = deliver
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

    def sent(self, event: Event, target: DOMNode) -> None:
        """The event went to this widget. A field's text is in its queue, where nothing overtakes it."""
        self._number += 1
        typed = (
            isinstance(event, events.Key)
            and event.is_printable
            and isinstance(target, SafeTextArea | SafeInput)
        )
        self._target = None if typed else target

    def _under_way(self) -> bool:
        """Whether the last key may not be done; a marker finds out."""
        if self._marked or self._target is None:
            return self._marked
        self._marked = True
        self._watch(self._number, TRIES)
        self._send(KeyDone(self._number))
        return True

    def _send(self, marker: KeyDone) -> None:
        target = self._target
        if target is None or not target.is_attached or not target.post_message(marker):
            self._climbed(marker.number)

    def done(self, marker: KeyDone) -> None:
        """A marker arrived."""
        if marker.number != self._number or not self._marked:
            return
        if marker.round < ROUNDS:
            self._send(KeyDone(marker.number, marker.round + 1))
        else:
            self._climbed(marker.number)

    def _climbed(self, number: int) -> None:
        """The key is done, and what it posted: wait for what it asked for behind the next refresh."""

        def refreshed() -> None:
            # The focus moves by a call of the app, which is queued before this one.
            self._app.call_later(self._release, number)

        if not self._app.screen.call_after_refresh(refreshed):
            refreshed()

    def _watch(self, number: int, tries: int) -> None:
        """Go on without the marker where a widget that was removed took it along."""

        async def look() -> None:
            if self._marked and number == self._number:
                if tries and self._target is not None and self._target.is_attached:
                    self._watch(number, tries - 1)
                else:
                    await self._release(number)

        self._app.set_timer(PATIENCE, look)

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
