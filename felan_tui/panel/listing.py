"""The list of processes: one line each, the newest last, one of them chosen."""

from collections.abc import Callable, Sequence

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip

from felan_core.protocol.session import ProcessRow
from felan_tui.panel.words import list_row
from felan_tui.transcript.line_view import LineView
from felan_tui.transcript.rows import strip_of


class ProcessList(LineView, can_focus=True, inherit_bindings=False):
    """Shows rows and posts `Chosen`. `now`: milliseconds since the epoch.

    Its keys are up and down alone: the others are the output's, whichever of the two has the focus.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    ProcessList {
        overflow-y: auto;
    }
    """

    BINDINGS = [
        Binding("up", "choose(-1)", "Previous process", show=False),
        Binding("down", "choose(1)", "Next process", show=False),
    ]

    class Chosen(Message):
        """Another process was chosen."""

        def __init__(self, process_id: str) -> None:
            super().__init__()
            self.process_id = process_id

    def __init__(self, now: Callable[[], int], *, unicode: bool = True, id: str | None = None) -> None:
        super().__init__(unicode=unicode, id=id)
        self._now = now
        self._rows: list[ProcessRow] = []
        self._ends: dict[str, int] = {}
        self.chosen: str | None = None

    @property
    def rows(self) -> list[ProcessRow]:
        """The listed processes, oldest first."""
        return self._rows

    def row(self, process_id: str | None) -> ProcessRow | None:
        """The row of a process."""
        return next((row for row in self._rows if row.id == process_id), None)

    def show(self, rows: Sequence[ProcessRow], chosen: str | None) -> None:
        """Other rows, oldest first."""
        self._rows = list(rows)
        self.chosen = chosen
        self.set_rows(len(self._rows))
        self._reveal()
        self.refresh()

    def note_end(self, process_id: str, end: int) -> None:
        """A read saw so many bytes of output."""
        if self._ends.get(process_id) != end:
            self._ends[process_id] = end
            self.refresh()

    def action_choose(self, by: int) -> None:
        """Chooses the process so many lines below."""
        if not self._rows:
            return
        ids = [row.id for row in self._rows]
        at = ids.index(self.chosen) if self.chosen in ids else len(ids)
        self._choose(ids[min(max(0, at + by), len(ids) - 1)])

    def _choose(self, process_id: str) -> None:
        if process_id == self.chosen:
            return
        self.chosen = process_id
        self._reveal()
        self.refresh()
        self.post_message(self.Chosen(process_id))

    def _reveal(self) -> None:
        at = next((index for index, row in enumerate(self._rows) if row.id == self.chosen), None)
        if at is None or self.line_width < 1:
            return
        top = self.scroll_offset.y
        if not top <= at < top + self.page:
            self.scroll_to(y=at if at < top else at - self.page + 1, force=True)

    def on_resize(self, _event: events.Resize) -> None:
        self.set_rows(len(self._rows))
        self.call_after_refresh(self._reveal)

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        index = self.scroll_offset.y + place.y if place is not None else -1
        if 0 <= index < len(self._rows):
            self._choose(self._rows[index].id)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.line_width
        index = self.scroll_offset.y + y
        if not 0 <= index < len(self._rows):
            return Strip.blank(width, self.ground)
        row = self._rows[index]
        end = self._ends.get(row.id, 0)
        line = list_row(row, width, self._now(), self.look, chosen=row.id == self.chosen, read_end=end)
        return strip_of(line).adjust_cell_length(width).apply_style(self.ground)
