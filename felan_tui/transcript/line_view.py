"""LineView: the base of every view that scrolls lines. A line is drawn when it is visible."""

from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from felan_tui.transcript.look import Look, look_from_theme


class LineView(ScrollView):
    """A view by Textual's line API, in the theme's look. It scrolls up and down alone, and at once.

    A subclass draws with ``render_line`` and is called by ``scrolled`` and ``restyled``.
    """

    DEFAULT_CSS = """
    LineView {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        background: $background;
    }
    """

    def __init__(
        self,
        *,
        unicode: bool = True,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._unicode = unicode
        self._look: Look | None = None
        self._placing = False
        self.ground = Style()
        """The theme's colours: a terminal's own background is never visible between the lines."""

    def scrolled(self, before: int, after: int) -> None:
        """Called when a person, and not ``place``, moved the view from line ``before`` to ``after``."""

    def restyled(self) -> None:
        """Called when the theme changed."""
        self.refresh()

    @property
    def theme_app(self) -> App[Any]:
        """The app, with a type."""
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] untyped in Textual

    @property
    def look(self) -> Look:
        """The look of the current theme."""
        if self._look is None:
            self._look = look_from_theme(self.theme_app.theme_variables, unicode=self._unicode)
            self.ground = self.rich_style
        return self._look

    @property
    def page(self) -> int:
        """Lines that are visible."""
        return max(1, self.scrollable_content_region.height)

    @property
    def line_width(self) -> int:
        """Cells of a line; 0 before the first layout."""
        return self.scrollable_content_region.width

    # --- the place ---

    def set_rows(self, rows: int) -> None:
        """Set the number of rows. The screen is not laid out anew for that, as `virtual_size` alone does:
        nothing moves but the scroll bar.
        """
        size = Size(self.line_width, rows)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType] a class has the reactive
            self._scroll_update(size)

    def place(self, top: int, rows: int) -> None:
        """Set the number of rows, and put row ``top`` at the top of the view."""
        self._placing = True
        try:
            self.set_rows(rows)
            if round(self.scroll_y) != top:
                self.scroll_y = top
            self.scroll_target_y = top
        finally:
            self._placing = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        before, after = round(old_value), round(new_value)
        if not self._placing and before != after:
            self.scrolled(before, after)

    def scroll_to(self, *args: object, **options: object) -> None:
        """Scroll at once: an animation would miss its end where lines come meanwhile."""
        options["animate"] = False
        super().scroll_to(*args, **options)  # pyright: ignore[reportArgumentType] passed on as they came

    # --- drawing ---

    def on_mount(self) -> None:
        self.theme_app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _theme: object) -> None:
        self._look = None
        self.restyled()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region, all on the same ground: to ask for it costs as much as a line does."""
        self.ground = self.rich_style
        return super().render_lines(crop)

    def render(self) -> str:
        return ""

    def with_selection(self, strip: Strip, start: int, end: int) -> Strip:
        """``strip`` with its characters ``start`` to ``end`` (below 0: to the edge) marked as selected."""
        text = strip.text
        first = strip.index_to_cell_position(min(start, len(text)))
        last = strip.cell_length if end < 0 else strip.index_to_cell_position(min(end, len(text)))
        if last <= first:
            return strip
        style = self.screen.get_component_rich_style("screen--selection")
        chosen = Strip(Segment.apply_style(strip.crop(first, last), post_style=style), last - first)
        return Strip.join([strip.crop(0, first), chosen, strip.crop(last, strip.cell_length)])
