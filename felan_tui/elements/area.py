"""Holds the elements of one place of the screen: a widget each, kept while its element is there."""

import asyncio
import time
from collections.abc import Iterable
from datetime import tzinfo

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import (
    DocumentElement,
    Element,
    Placement,
    ProgressElement,
    StatusElement,
    ViewElement,
)
from felan_tui.cards.guard import Clock
from felan_tui.elements.actions import ActionBar
from felan_tui.elements.document import DocumentView, RenderMarkdown, plain_markdown
from felan_tui.elements.host import is_host_element
from felan_tui.elements.progress import ProgressLine
from felan_tui.elements.status import StatusLines
from felan_tui.elements.view import ViewPanel


def place_of(element: Element) -> Placement:
    """Where the element wants to be: as it says, else above the composer, or at the side if it is long."""
    default: Placement = "side" if isinstance(element, DocumentElement | ViewElement) else "above"
    return or_default(element.placement, default)


class ElementBox(Widget):
    """One element that is more than a status, and its actions below it."""

    DEFAULT_CSS = """
    ElementBox { layout: vertical; width: 1fr; height: auto; }
    ElementBox.-tall { height: 1fr; }
    """

    def __init__(
        self,
        element: ProgressElement | DocumentElement | ViewElement,
        *,
        render_markdown: RenderMarkdown,
        clock: Clock,
        zone: tzinfo | None,
        still: bool,
    ) -> None:
        super().__init__()
        self.element = element
        self.actions = ActionBar(element, clock=clock)
        self.main: ProgressLine | DocumentView | ViewPanel
        match element:
            case ProgressElement():
                self.main = ProgressLine(element, clock=clock, still=still)
            case DocumentElement():
                self.main = DocumentView(element, render_markdown=render_markdown)
            case ViewElement():
                self.main = ViewPanel(element, zone=zone)
        self.set_class(isinstance(element, DocumentElement), "-tall")

    def compose(self) -> ComposeResult:
        yield self.main
        yield self.actions

    async def on_view_panel_row_chosen(self, event: ViewPanel.RowChosen) -> None:
        event.stop()
        await self.actions.choose_row(event.item)

    def on_action_bar_row_left(self, event: ActionBar.RowLeft) -> None:
        event.stop()
        # Back to the rows, unless the focus went elsewhere meanwhile.
        focused = self.screen.focused
        if focused is None or focused is self.actions or self.actions in focused.ancestors_with_self:
            self.main.focus()

    async def show(self, element: Element) -> bool:
        """The element as it is now. False when it is of another kind and needs another box."""
        match self.main, element:
            case (ProgressLine() as line, ProgressElement()):
                line.show(element)
            case (DocumentView() as document, DocumentElement()):
                document.show(element)
            case (ViewPanel() as view, ViewElement()):
                view.show(element)
            case _:
                return False
        self.element = element
        await self.actions.show(element)
        return True


class ElementArea(VerticalScroll, can_focus=False):
    """The elements of some places, statuses first. Host elements (`felan.*`) are shown elsewhere."""

    DEFAULT_CSS = """
    ElementArea { height: auto; width: 1fr; }
    ElementArea.-side { height: 1fr; }
    """

    def __init__(
        self,
        *places: Placement,
        render_markdown: RenderMarkdown = plain_markdown,
        clock: Clock = time.monotonic,
        zone: tzinfo | None = None,
        still: bool = False,
        id: str | None = None,
    ) -> None:
        """`places` are the placements that are shown here. `still` stops what pulses, for a slow link."""
        super().__init__(id=id)
        self._places = places
        self._render_markdown = render_markdown
        self._clock = clock
        self._zone = zone
        self._still = still
        self._status = StatusLines()
        self._boxes: dict[str, ElementBox] = {}
        self._lock = asyncio.Lock()
        self.set_class("side" in places, "-side")
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._status

    @property
    def shown(self) -> list[str]:
        """The ids of the elements that have a box here, in order; statuses are lines and have none."""
        return list(self._boxes)

    def box(self, element_id: str) -> ElementBox | None:
        """The box of an element."""
        return self._boxes.get(element_id)

    async def show(self, elements: Iterable[Element]) -> None:
        """All elements of the session as they are now, in order."""
        async with self._lock:
            mine = [one for one in elements if not is_host_element(one.id) and place_of(one) in self._places]
            self._status.show([one for one in mine if isinstance(one, StatusElement)])
            await self._show_boxes([one for one in mine if not isinstance(one, StatusElement)])
            self.display = bool(mine)

    async def _show_boxes(self, elements: list[ProgressElement | DocumentElement | ViewElement]) -> None:
        ids = {element.id for element in elements}
        for gone in [one for one in self._boxes if one not in ids]:
            await self._boxes.pop(gone).remove()
        for element in elements:
            box = self._boxes.get(element.id)
            if box is not None:
                if box.element == element or await box.show(element):
                    continue
                await self._boxes.pop(element.id).remove()
            box = ElementBox(
                element,
                render_markdown=self._render_markdown,
                clock=self._clock,
                zone=self._zone,
                still=self._still,
            )
            self._boxes[element.id] = box
            await self.mount(box)
