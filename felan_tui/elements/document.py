"""Shows a document element in the side pane: its Markdown as strips that scroll."""

from collections.abc import Callable

from rich.segment import Segment
from textual.binding import Binding
from textual.strip import Strip

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import DocumentElement
from felan_tui.text.cells import cut, pad, wrap
from felan_tui.text.safe import safe, safe_line
from felan_tui.transcript.line_view import LineView

RenderMarkdown = Callable[[str, int], list[Strip]]
"""Markdown and a width in cells to the strips of that width; the transcript's renderer in the real screen."""


def plain_markdown(text: str, width: int) -> list[Strip]:
    """The Markdown source, wrapped: the default where no renderer is passed."""
    return [Strip([Segment(line)]) for line in wrap(safe(text), max(1, width))]


class DocumentView(LineView, can_focus=True):
    """One document. Rendered again only when it or the width changes."""

    DEFAULT_CSS = """
    DocumentView {
        height: 1fr; width: 1fr; padding: 0 1; overflow-y: auto; background: transparent;
        & > .document--title { text-style: bold; color: $accent; }
    }
    """
    COMPONENT_CLASSES = {"document--title"}
    BINDINGS = [
        Binding("up", "scroll_up", "Up", show=False),
        Binding("down", "scroll_down", "Down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown,space", "page_down", "Page down", show=False),
        Binding("home", "scroll_home", "Start", show=False),
        Binding("end", "scroll_end", "End", show=False),
    ]

    def __init__(
        self,
        element: DocumentElement,
        *,
        render_markdown: RenderMarkdown = plain_markdown,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.element = element
        self._render_markdown = render_markdown
        self._made: tuple[int, list[Strip]] | None = None

    def show(self, element: DocumentElement) -> None:
        """The element as it is now. The place in it is kept, as far as it is still there."""
        if element.markdown != self.element.markdown or element.id != self.element.id:
            self._made = None
        self.element = element
        self._resize()
        self.refresh()

    @property
    def title(self) -> str:
        """The title, safe to show; empty for none."""
        return safe_line(or_default(self.element.title, "")).strip()

    def _strips(self, width: int) -> list[Strip]:
        if self._made is None or self._made[0] != width:
            self._made = (width, self._render_markdown(self.element.markdown, width))
        return self._made[1]

    def on_resize(self) -> None:
        self._resize()

    def _resize(self) -> None:
        if self.line_width > 0:
            self.set_rows(len(self._strips(self.line_width)) + bool(self.title))

    def render_line(self, y: int) -> Strip:
        width, base = self.line_width, self.ground
        if self.title and y == 0:
            style = base + self.get_component_rich_style("document--title", partial=True)
            return Strip([Segment(pad(cut(self.title, width), width), style)], width)
        strips = self._strips(width)
        index = y - bool(self.title) + self.scroll_offset.y
        if index >= len(strips):
            return Strip.blank(width, base)
        return strips[index].apply_style(base).adjust_cell_length(width, base)
