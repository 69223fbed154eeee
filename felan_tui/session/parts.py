"""Parts: the widgets of a session that is attached, kept in step with its replica.

Changes are collected and drawn at most once a frame; text goes to the transcript at once, which paces itself.
"""

from typing import TYPE_CHECKING, Literal

from textual.strip import Strip

from felan_core.client.replica import Change
from felan_core.protocol.elements import StatusElement, ViewElement
from felan_core.protocol.events import (
    CatalogUpdated,
    InteractionUpdated,
    MessageCompleted,
    PresentationRemoved,
    PresentationUpdated,
    ProcessUpdated,
    QueueUpdated,
    RunEnded,
    RunStarted,
    SessionClosed,
    SessionUpdated,
    ToolUpdated,
)
from felan_core.protocol.reducer import OPEN_STATES
from felan_tui.bars import HeaderLine, PointerBar, QueueLines, RunLine
from felan_tui.cards.card import Surroundings
from felan_tui.cards.stack import CardStack
from felan_tui.composer import Composer
from felan_tui.elements.area import ElementArea
from felan_tui.elements.host import is_host_element
from felan_tui.panel import ProcessPanel
from felan_tui.session.feed import Feed
from felan_tui.session.link import NAME, Refusal, SessionLink, words
from felan_tui.text.widgets import toast
from felan_tui.transcript.view import TranscriptView

if TYPE_CHECKING:
    from felan_tui.screens.session import SessionScreen

FRAME = 1 / 30
CARD_KEY = "F2"
_TOUCHES: dict[type, tuple[str, ...]] = {
    SessionUpdated: ("header", "run", "composer"),
    SessionClosed: ("header",),
    RunStarted: ("run", "composer"),
    RunEnded: ("run", "composer"),
    QueueUpdated: ("queue", "composer"),
    CatalogUpdated: ("composer",),
    InteractionUpdated: ("cards", "counts"),
    PresentationUpdated: ("elements",),
    PresentationRemoved: ("elements",),
    ProcessUpdated: ("processes", "counts"),
    MessageCompleted: (),
    ToolUpdated: (),
}


class Parts:
    """Everything of the screen that shows the session."""

    def __init__(self, screen: "SessionScreen", link: SessionLink) -> None:
        self.link = link
        self._screen = screen
        self._feed = Feed(screen.query_one(TranscriptView), link.replica, me=NAME)
        self.cards = CardStack(around=Surroundings(me=link.me, key=CARD_KEY))
        self._above = ElementArea("above", "transcript")
        self._side = ElementArea("side", id="side", render_markdown=self._markdown)
        self._panel: ProcessPanel | None = None
        self._dirty: set[str] = set()
        self._waiting = False
        self._connection = ("embedded", "muted")
        self._side_closed = False

    def _markdown(self, text: str, width: int) -> list[Strip]:
        """A document's text as strips, in the look of the theme that is on."""
        from felan_tui.transcript.look import look_from_theme
        from felan_tui.transcript.markdown import markdown_rows

        look = look_from_theme(self._screen.app.theme_variables)
        return [Strip(row).adjust_cell_length(width) for row in markdown_rows(text, width, look)]

    async def build(self) -> None:
        """Put up the widgets that only an attached session needs, and show all of it."""
        left = self._screen.query_one("#left")
        await left.mount(self.cards, self._above)
        await self._screen.query_one("#middle").mount(self._side)
        self.all()
        self._screen.set_interval(1.0, self._feed.tick)

    def all(self) -> None:
        """Show everything anew: after attaching, and after a fresh snapshot."""
        self._feed.all()
        self._touch({one for touched in _TOUCHES.values() for one in touched})

    def take(self, change: Change) -> None:
        """One change of the replica."""
        self._feed.take(change)
        if change.event is not None:
            self._touch(set(_TOUCHES.get(type(change.event), ())))

    def lost(self, reason: str) -> None:
        """The host is gone."""
        self._connection = ("host is gone", "error")
        self._touch({"counts"})

    def keep(self) -> None:
        """The app ends."""
        self.cards.keep_drafts()

    def _touch(self, parts: set[str]) -> None:
        self._dirty |= parts
        if self._dirty and not self._waiting:
            self._waiting = True
            self._screen.set_timer(FRAME, self._draw)

    async def _draw(self) -> None:
        self._waiting = False
        dirty, self._dirty = self._dirty, set()
        state = self.link.state
        if "header" in dirty:
            self._screen.query_one(HeaderLine).show(state.header)
        if "run" in dirty:
            self._screen.query_one(RunLine).show(state.run, state.header.state)
        if "queue" in dirty:
            self._screen.query_one(QueueLines).show(state.queue, NAME)
        if "cards" in dirty:
            self.cards.show(state.interactions.values())
        if "elements" in dirty:
            await self._draw_elements()
        if "processes" in dirty and self._panel is not None:
            self._panel.set_processes(list(state.processes.values()))
        if "counts" in dirty:
            self._draw_counts()
        if "composer" in dirty:
            composer = self._screen.query_one(Composer)
            composer.enter_verb = self.link.verb
            composer.set_commands([(one.name, one.description or "") for one in state.catalogue.commands])

    def _draw_counts(self) -> None:
        state, bar = self.link.state, self._screen.query_one(PointerBar)
        running = sum(row.state == "running" for row in state.processes.values())
        waiting = sum(one.state in OPEN_STATES for one in state.interactions.values())
        bar.show_counts(processes=running, waiting=waiting)
        bar.show_connection(self._connection[0], "error" if self._connection[1] == "error" else "muted")

    async def _draw_elements(self) -> None:
        elements = self.link.state.presentation
        bar = self._screen.query_one(PointerBar)
        pointer, usage = elements.get("felan.pointer"), elements.get("felan.usage")
        bar.show_pointer(pointer if isinstance(pointer, ViewElement) else None)
        bar.show_usage(usage if isinstance(usage, StatusElement) else None)
        shown = [one for one in elements.values() if not is_host_element(one.id)]
        await self._above.show(shown)
        before = set(self._side.shown)
        await self._side.show(shown)
        if not self._side.shown or set(self._side.shown) - before:
            self._side_closed = False
        self._side.display = bool(self._side.shown) and not self._side_closed

    # --- panes ---

    def toggle_side(self) -> bool:
        """Show or hide the side pane. False when it would be empty."""
        if not self._side.shown:
            return False
        self._side_closed = bool(self._side.display)
        self._side.display = not self._side_closed
        return True

    async def _ensure_panel(self) -> ProcessPanel:
        if self._panel is None:
            self._panel = ProcessPanel()
            self._panel.attach(self.link)
            await self._screen.mount(self._panel, after="#middle")
            self._panel.set_processes(list(self.link.state.processes.values()))
        return self._panel

    async def show_panel(self, *, select: str | None = None) -> None:
        """Show the process panel, with one process selected."""
        panel = await self._ensure_panel()
        panel.set_processes(list(self.link.state.processes.values()))
        if select is not None:
            panel.select(select)
        panel.display = True

    async def toggle_panel(self) -> None:
        """Show or hide the process panel; shown, it has the focus."""
        panel = await self._ensure_panel()
        self._screen.remove_class("-zoomed")
        panel.display = not panel.display
        if panel.display:
            panel.focus()
        else:
            self._screen.query_one(Composer).focus()

    async def zoom_panel(self) -> None:
        """The panel on the whole screen, and back."""
        panel = await self._ensure_panel()
        zoomed = not self._screen.has_class("-zoomed")
        self._screen.set_class(zoomed, "-zoomed")
        panel.display = True
        panel.focus()

    async def stop(self, process: str, signal: Literal["int", "term", "kill"]) -> None:
        """Stop a process, and let the panel say what became of it."""
        panel = await self._ensure_panel()
        try:
            state = await self.link.stop(process, signal)
        except Refusal as error:
            panel.stop_failed(words(error))
        else:
            panel.stopped(process, state)

    async def older(self) -> None:
        """Fetch older history above what is shown."""
        try:
            if await self.link.older():
                self._feed.older()
        except Refusal as error:
            toast(self._screen.app, f"Older history was not fetched: {words(error)}", "error")

    def what_would_end(self) -> list[str]:
        """What a quit would stop, a line each."""
        state = self.link.state
        reasons: list[str] = []
        if state.run is not None:
            reasons.append("a turn is running; it ends as interrupted")
        open_ones = [one for one in state.interactions.values() if one.state == "waiting"]
        kept = sum(one.deferrable for one in open_ones)
        if kept:
            reasons.append(f"{kept} question{'s' if kept > 1 else ''} wait; still answerable for 30 minutes")
        if len(open_ones) > kept:
            reasons.append(f"{len(open_ones) - kept} question(s) wait and would be cancelled")
        running = sum(row.state == "running" for row in state.processes.values())
        if running:
            reasons.append(f"{running} process{'es' if running > 1 else ''} would be stopped")
        return reasons
