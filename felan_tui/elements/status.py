"""Shows status elements as lines above the composer: tone by glyph and colour."""

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import StatusElement
from felan_tui.elements.host import is_host_element
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line

TONES = {
    "info": ("•", "$accent"),
    "success": ("✓", "$success"),
    "warning": ("!", "$warning"),
    "error": ("✗", "$error"),
    "muted": ("·", "$text-muted"),
}
MOST = 4
"""The largest number of rows; the last one counts the rest."""


class StatusLines(Widget):
    """One row for each status element, in their order. The host's own elements are not shown here."""

    DEFAULT_CSS = """
    StatusLines { height: auto; width: 1fr; padding: 0 1; }
    """

    def __init__(
        self,
        elements: Sequence[StatusElement] = (),
        *,
        skip: Callable[[str], bool] = is_host_element,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._skip = skip
        self._elements: list[StatusElement] = []
        self.show(elements)

    def show(self, elements: Sequence[StatusElement]) -> None:
        """Show these elements instead."""
        elements = [element for element in elements if not self._skip(element.id)]
        if elements == self._elements and self.display == bool(elements):
            return
        self._elements = elements
        self.display = bool(elements)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(MOST, len(self._elements))

    def _line(self, element: StatusElement, width: int) -> Content:
        glyph, style = TONES[element.tone]
        title = safe_line(or_default(element.title, "")).strip()
        text = safe_line(element.text, mark="⏎")
        text = cut(f"{title}: {text}" if title else text, max(1, width - 2))
        return Content.assemble(
            (f"{glyph} ", f"bold {style}"), (text, style if element.tone != "info" else "$text")
        )

    def render(self) -> Content:
        width = self.content_size.width
        shown = self._elements if len(self._elements) <= MOST else self._elements[: MOST - 1]
        lines = [self._line(element, width) for element in shown]
        if hidden := len(self._elements) - len(shown):
            lines.append(Content.assemble((f"+{hidden} more", "$text-muted")))
        return Content("\n").join(lines)
