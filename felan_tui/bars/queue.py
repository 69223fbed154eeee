"""The queue above the composer: what will be said next, in order, by whom, and whether it is held."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Piece, line_content

if TYPE_CHECKING:  # the queue is painted before anything of the contract is loaded
    from felan_core.protocol.entries import AnyOrigin
    from felan_core.protocol.session import Queue, QueueItem

MOST = 4
"""Rows of items; what is more is counted."""

HELD = "held — Enter sends, Esc takes them back"

_MODES = {"steer": "steer", "follow_up": "follow-up"}


def who(origin: "AnyOrigin", me: str = "") -> str:
    """Who sent it, as safe words; `me` is the client name of this screen."""
    from felan_core.protocol.base import or_default
    from felan_core.protocol.entries import AutomationOrigin, ChannelOrigin, LocalOrigin, WebOrigin

    match origin:
        case LocalOrigin(client=client):
            return "you" if client == me else safe_line(client) or "a client"
        case WebOrigin(user=user):
            return safe_line(user) or "web"
        case AutomationOrigin(source=source):
            return safe_line(source) or "automation"
        case ChannelOrigin():
            return safe_line(or_default(origin.user, "")) or safe_line(origin.provider) or "a channel"


def queue_lines(items: "Sequence[QueueItem]", held: bool, cells: int, me: str = "") -> list[list[Piece]]:
    """The rows: first whether it is held, then the items."""
    if not items:
        return []
    lines: list[list[Piece]] = []
    if held:
        lines.append([(cut(f"‖ {len(items)} {HELD}", cells), "bold $text-warning")])
    shown = items if len(items) <= MOST else items[: MOST - 1]
    for number, item in enumerate(shown, 1):
        head = f"{number} "
        by = cut(f"{_MODES[item.mode]} · {who(item.origin, me)}", max(8, cells // 3)) + "  "
        text = cut(safe_line(item.text[:4096], mark=" ⏎ "), max(0, cells - cell_len(head) - cell_len(by)))
        lines.append([(head, "$text-accent"), (by, "$text-muted"), (text, "$text")])
    if len(shown) < len(items):
        lines.append([(cut(f"… and {len(items) - len(shown)} more", cells), "$text-muted")])
    return lines


class QueueLines(Widget):
    """The queue; not there at all while it is empty."""

    DEFAULT_CSS = """
    QueueLines { height: auto; width: 1fr; padding: 0 1; display: none; }
    QueueLines.-some { display: block; }
    """

    def __init__(self, *, me: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self._me: str = me
        self._items: list[QueueItem] = []
        self._held = False

    @property
    def held(self) -> bool:
        """Whether there is something, and it waits to be released."""
        return self._held and bool(self._items)

    def show(self, queue: "Queue", me: str | None = None) -> None:
        """The queue as it is now; `me`: this client's name, as `who` takes it."""
        known = (self._items, self._held, self._me)
        self._items, self._held = list(queue.items), queue.held
        if me is not None:
            self._me = me
        if known == (self._items, self._held, self._me):
            return
        self.set_class(bool(self._items), "-some")
        self.refresh(layout=True)

    def render(self) -> Content:
        lines = queue_lines(self._items, self._held, self.content_size.width or 80, self._me)
        return Content("\n").join([line_content(*line) for line in lines])


__all__ = ["HELD", "QueueLines", "queue_lines", "who"]
