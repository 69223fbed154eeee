"""What the panel's two views have in common: lines drawn when they are visible, in the theme's look."""

from typing import Any

from rich.style import Style
from textual.app import App
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from felan_tui.transcript.look import Look, look_from_theme


class DrawnLines(ScrollView):
    """A view by Textual's line API that scrolls up and down alone, and never in between."""

    DEFAULT_CSS = """
    DrawnLines {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        background: $background;
    }
    """

    def __init__(self, *, unicode: bool, id: str | None) -> None:
        super().__init__(id=id)
        self._unicode = unicode
        self._look: Look | None = None
        self.ground = Style()

    @property
    def _app(self) -> App[Any]:
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] untyped in Textual

    @property
    def look(self) -> Look:
        """The look of the theme of now."""
        if self._look is None:
            self._look = look_from_theme(self._app.theme_variables, unicode=self._unicode)
        return self._look

    def set_rows(self, rows: int) -> None:
        """How many rows there are. The screen is not laid out anew for that, as `virtual_size` alone does:
        nothing moves but the scroll bar.
        """
        size = Size(self.scrollable_content_region.width, rows)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType] a class has the reactive
            self._scroll_update(size)

    def on_mount(self) -> None:
        self._app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _theme: object) -> None:
        self._look = None
        self.refresh()

    def scroll_to(self, *args: object, **options: object) -> None:
        """Scrolls at once: what comes meanwhile would move the end of an animation."""
        options["animate"] = False
        super().scroll_to(*args, **options)  # pyright: ignore[reportArgumentType] passed on as they came

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region, all on the same ground: to ask for it costs as much as a line does."""
        self.ground = self.rich_style
        return super().render_lines(crop)

    def render(self) -> str:
        return ""
