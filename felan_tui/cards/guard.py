"""Decides whether a key, a click or a paste may act on a card: nothing is ever answered by accident.

A pure policy; the clock (monotonic seconds) is passed in. It knows no widget and no answer. The rules:

* A card accepts nothing for its first `GRACE` seconds, counted from when it was first seen and again from
  when it got the focus. A key in that time starts it anew, because a held key repeats.
* A paste answers nothing, and neither does what comes right behind it: a paste that contains its own end
  marker goes on as keys.
* The click that brings the terminal to the front answers nothing.
"""

from collections.abc import Callable

GRACE = 0.5
"""Seconds in which a card that has just appeared or just got the focus accepts nothing."""

PASTE_TAIL = 0.12
"""Seconds after a paste, and after each key in that time, in which keys count as a part of it."""

TERMINAL_CLICK = 0.3
"""Seconds after the terminal got the focus in which a click is the one that gave it."""

Clock = Callable[[], float]


class Guard:
    """One card's guard. Every method is called at the moment of what it is named after."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed_until = clock() + GRACE
        self._paste_until = 0.0
        self._terminal_until = 0.0

    def _close(self) -> None:
        self._closed_until = self._clock() + GRACE

    def appeared(self) -> None:
        """The card was shown for the first time."""
        self._close()

    def focused(self) -> None:
        """The focus came to the card from outside of it."""
        self._close()

    def terminal_focused(self) -> None:
        """The terminal window got the focus."""
        self._terminal_until = self._clock() + TERMINAL_CLICK

    def pasted(self) -> None:
        """A paste came while the card had the focus. It is never an answer."""
        self._paste_until = self._clock() + PASTE_TAIL

    @property
    def open(self) -> bool:
        """Whether a key would be accepted now; asking changes nothing."""
        now = self._clock()
        return now >= self._closed_until and now >= self._paste_until

    def key(self) -> bool:
        """A key was pressed: whether it counts. One that does not starts the time anew."""
        now = self._clock()
        if now < self._paste_until:
            self._paste_until = now + PASTE_TAIL
            return False
        if now < self._closed_until:
            self._close()
            return False
        return True

    def click(self) -> bool:
        """A click fell on the card: whether it counts."""
        now = self._clock()
        return now >= self._terminal_until and now >= self._closed_until
