"""The notices of this run of Felan, newest first, for who wants to read one again."""

import time
from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from felan_tui.bars.notices import Notice
from felan_tui.text.widgets import Line, Piece, set_titles


def notice_pieces(notices: Sequence[Notice]) -> Iterator[Piece]:
    """Each notice behind the time at which it came."""
    if not notices:
        yield ("Nothing was shown yet.", "$text-muted")
    for number, notice in enumerate(reversed(notices)):
        at = time.strftime("%H:%M:%S", time.localtime(notice.at / 1000))
        if number:
            yield "\n"
        yield (f"{at}  ", "$text-muted")
        yield (notice.words, notice.style)


class NoticesScreen(ModalScreen[None]):
    """The list; Esc, q and Enter close it."""

    DEFAULT_CSS = """
    NoticesScreen { align: center middle; }
    NoticesScreen > VerticalScroll {
        width: 94%; max-width: 92; height: auto; max-height: 94%; padding: 0 1;
        background: $surface; border: round $accent; border-title-color: $text-accent;
        border-subtitle-color: $text-muted; scrollbar-size-vertical: 1;
    }
    NoticesScreen Line { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "leave", "Close")]

    def __init__(self, notices: Sequence[Notice]) -> None:
        super().__init__()
        self._notices = notices

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(*notice_pieces(self._notices))

    def on_mount(self) -> None:
        box = self.query_one(VerticalScroll)
        set_titles(box, "Notices", "↑↓ scroll · Esc close")
        box.focus()

    def action_leave(self) -> None:
        self.dismiss(None)
