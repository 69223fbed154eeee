"""The state of the connection on the screen: on the bar while it is not connected, and as notices."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from felan_tui.bars import PointerBar
from felan_tui.session.app_screen import AppScreen

if TYPE_CHECKING:
    from textual.timer import Timer

    from felan_core.client.link import Link
    from felan_core.protocol.elements import Tone


class Words(NamedTuple):
    """What the bar shows of the connection, and its tone."""

    text: str
    tone: "Tone"


def connection_words(link: "Link", now: float) -> Words:
    """Nothing while it is connected. ``now``: seconds of the clock of ``link``."""
    from felan_core.client.link import LinkState

    match link.state:
        case LinkState.WAITING:
            return Words(f"reconnecting in {link.seconds(now)} s", "warning")
        case LinkState.CONNECTING:
            return Words("reconnecting", "warning")
        case LinkState.LOST:
            return Words("host is gone", "error")
        case LinkState.CONNECTED | LinkState.CLOSED:
            return Words("", "muted")


def host_gone(reason: str) -> str:
    """The notice of a host that is lost. A reason that is a sentence holds its own advice."""
    return reason if reason.endswith(".") else f"The host is gone: {reason}. Quit, then felan -c goes on."


class ConnectionStatus:
    """``on_lost`` is called with the reason when there will be no connection any more; ``on_connected`` when
    everything that waited has been sent.
    """

    def __init__(
        self,
        screen: AppScreen,
        on_lost: Callable[[str], None],
        on_connected: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = screen
        self._on_lost = on_lost
        self._on_connected = on_connected
        self._clock = clock
        self._link: Link | None = None
        self._counting: Timer | None = None
        self._interrupted = False
        self._session_gone = False

    @property
    def connected(self) -> bool:
        """Whether what is asked now is sent now."""
        return self._link is None or not (self._interrupted or self._link.ended)

    def changed(self, link: "Link") -> None:
        """The link has another state."""
        from felan_core.client.link import LinkState

        self._link = link
        match link.state:
            case LinkState.WAITING if not self._interrupted:
                self._interrupted = True
                self._screen.say(f"Reconnecting: {link.reason}. What you send waits for the host.", "warning")
            case LinkState.CONNECTED:
                if self._interrupted:
                    self._screen.say("Connected again")
                self._interrupted = False
                self._on_connected()
            case LinkState.LOST:
                self._screen.say(host_gone(link.reason), "error")
                self._on_lost(link.reason)
            case _:
                pass
        self._draw()

    def session_lost(self, reason: str) -> None:
        """The host goes on without the session that is shown."""
        self._session_gone = True
        self._screen.say(f"This session cannot be shown any more: {reason}", "error")
        self._draw()

    def session_shown(self) -> None:
        """Another session is shown."""
        self._session_gone = False
        self._draw()

    def _draw(self) -> None:
        from felan_core.client.link import LinkState

        if self._link is None or not self._screen.is_attached:
            return
        words = connection_words(self._link, self._clock())
        if self._session_gone and not words.text:
            words = Words("session is gone", "error")
        self._screen.query_one(PointerBar).show_connection(*words)
        if self._link.state is LinkState.WAITING:
            self._counting = self._counting or self._screen.set_interval(1.0, self._draw)
        elif self._counting is not None:
            self._counting.stop()
            self._counting = None
