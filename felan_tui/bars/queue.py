"""What is queued, above the composer: in order, with who sent it and how, and whether it is held."""

from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.entries import AnyOrigin, AutomationOrigin, ChannelOrigin, LocalOrigin
from felan_core.protocol.session import Queue
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line

SHOWN = 3


def sender(origin: AnyOrigin, me: str) -> str:
    """Who sent a queued message; empty for this client."""
    match origin:
        case LocalOrigin():
            return "" if origin.client == me else origin.client
        case AutomationOrigin():
            return origin.source
        case ChannelOrigin():
            return origin.provider
        case _:
            return origin.user


def queue_lines(queue: Queue, me: str, width: int) -> list[Content]:
    """The queue as lines; nothing when it is empty."""
    lines: list[Content] = []
    for item in queue.items[:SHOWN]:
        who = sender(item.origin, me)
        how = "steer" if item.mode == "steer" else "next"
        head = f"{how}{' · ' + safe_line(who) if who else ''}  "
        lines.append(
            Content.assemble((head, "$text-muted"), cut(safe_line(item.text), max(8, width - 4 - len(head))))
            # house: the head is ASCII but for the name, which is cut with the line
        )
    if len(queue.items) > SHOWN:
        lines.append(Content.assemble((f"+{len(queue.items) - SHOWN} more", "$text-muted")))
    if queue.items and queue.held:
        lines.append(
            Content.assemble(
                ("held", "bold $text-warning"), (" — Enter sends them, Esc takes them back", "$text-muted")
            )
        )
    return lines


class QueueLines(Widget):
    """The queue; it takes no room when nothing is queued."""

    DEFAULT_CSS = """
    QueueLines { height: auto; width: 1fr; padding: 0 1; display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._queue = Queue(items=[], held=False)
        self._me = ""

    def show(self, queue: Queue, me: str) -> None:
        """The queue as it is now. ``me``: this client's name."""
        self._queue, self._me = queue, me
        self.display = bool(queue.items)
        self.refresh(layout=True)

    def render(self) -> Content:
        return Content("\n").join(queue_lines(self._queue, self._me, self.size.width))
