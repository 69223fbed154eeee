"""SessionView: the widgets of a session that is attached, kept in step with its replica.

Changes are collected and drawn at most once a frame; text goes to the transcript at once, which paces itself.
"""

import time
from collections.abc import Awaitable, Sequence
from dataclasses import replace

from textual.timer import Timer
from textual.widget import Widget

from felan_core.client.replica import Change
from felan_core.protocol.base import UNSET, or_default
from felan_core.protocol.elements import StatusElement, ViewElement
from felan_core.protocol.entries import Entry, ToolEntry
from felan_core.protocol.events import (
    CatalogUpdated,
    InteractionUpdated,
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
from felan_core.protocol.operations.processes import StopSignal
from felan_core.protocol.reducer import OPEN_STATES
from felan_tui.actions import commands_with
from felan_tui.bars import HeaderLine, PointerBar, QueueLines
from felan_tui.bars.header import agent_words
from felan_tui.bars.hint_rule import HintRule, KeyHint
from felan_tui.cards.card import CardContext
from felan_tui.cards.stack import CardStack
from felan_tui.cards.wording import can_ask_again
from felan_tui.composer import Composer
from felan_tui.elements.area import ElementArea
from felan_tui.elements.host import is_host_element
from felan_tui.panel import ProcessPanel
from felan_tui.pointer.controller import PointerController
from felan_tui.pointer.facts import ELEMENT as POINTER
from felan_tui.screens.hints import Focus, Situation
from felan_tui.screens.policy import pane_key
from felan_tui.screens.welcome import Welcome
from felan_tui.session.app_screen import AppScreen
from felan_tui.session.column import SessionColumn
from felan_tui.session.controller import NAME, Refusal, SessionController, words
from felan_tui.session.documents import drawn_document
from felan_tui.session.messages import AgentReady
from felan_tui.session.presenter import TranscriptPresenter, missing_seq
from felan_tui.session.shown import tool_process
from felan_tui.session.transcript import SessionTranscript
from felan_tui.text.safe import safe_line

FRAME = 1 / 30
_TOUCHES: dict[type, tuple[str, ...]] = {
    SessionUpdated: ("header", "run", "composer"),
    SessionClosed: ("header",),
    RunStarted: ("run", "composer", "cards"),
    RunEnded: ("run", "composer", "branch"),
    QueueUpdated: ("queue", "composer"),
    CatalogUpdated: ("composer",),
    InteractionUpdated: ("cards", "counts"),
    PresentationUpdated: ("elements",),
    PresentationRemoved: ("elements",),
    ProcessUpdated: ("processes", "counts", "branch"),
}
_ALL = frozenset(one for touched in _TOUCHES.values() for one in touched)


class SessionView:
    """Everything of the screen that shows the session."""

    def __init__(self, screen: AppScreen, link: SessionController) -> None:
        self.link = link
        self._screen = screen
        self.rule = screen.query_one(HintRule)
        self.transcript = SessionTranscript(lambda: screen.query_one(Composer).area)
        self._presenter = TranscriptPresenter(self.transcript, link.replica, me=NAME)
        self.cards = CardStack(
            around=CardContext(me=link.me, agent=self._agent),
            leave_to=lambda: screen.query_one(Composer).area,
        )
        self._above = ElementArea("above", "transcript")
        self._side = ElementArea("side", id="side", render_markdown=drawn_document(screen))
        self.pointer = PointerController(link.act, now=lambda: time.time_ns() // 1_000_000)
        self._panel: ProcessPanel | None = None
        self._dirty: set[str] = set()
        self._waiting = False
        self._lost = False
        self._side_closed = False
        self._unseen = ""
        self._welcomes = True
        self._agent_is_ready = False
        self._known_waiting: set[str] = set()
        self._ticking: Timer | None = None
        self._gone = False

    async def build(self) -> None:
        """Put up the widgets that only an attached session needs, and show all of it."""
        left = self._screen.query_one("#left")
        left.styles.set_rule("layout", SessionColumn())
        with self._screen.home.batch_update():
            await left.mount(self.transcript, self.cards, self._above)
            await self._screen.query_one("#middle").mount(self._side)
        self._ticking = self._screen.set_interval(1.0, self._second)
        self.all()

    async def take_away(self) -> None:
        """Take the widgets down: another session is to be shown in their place."""
        self._gone = True
        if self._ticking is not None:
            self._ticking.stop()
        self._screen.remove_class("-side", "-zoomed")
        self.rule.show_run(None)
        self.rule.run_ended("completed")
        widgets = [self.transcript, self.cards, self._above, self._side]
        for widget in [*widgets, *([self._panel] if self._panel is not None else [])]:
            await widget.remove()

    def _second(self) -> None:
        """The times of running tools go on; where none runs, nothing wakes the screen each second."""
        if self._ticking is not None and not self._presenter.tick():
            self._ticking.pause()

    def _go_on_ticking(self) -> None:
        if self._ticking is not None:
            self._ticking.resume()

    def all(self) -> None:
        """Show everything anew: after attaching, and after a fresh snapshot."""
        self._presenter.all()
        self._go_on_ticking()
        self._announce_agent()
        self.pointer.take(self.link.state.presentation.get(POINTER))
        self._greet()
        self._touch(_ALL)

    def take(self, change: Change) -> None:
        """One change of the replica."""
        self._presenter.take(change)
        self._greet()
        match change.event:
            case None:
                return
            case SessionUpdated():
                self._announce_agent()
            case PresentationUpdated() as event:
                self.pointer.take(event.element)
            case ToolUpdated():
                self._go_on_ticking()
            case InteractionUpdated() as event:
                # At once, as the text that follows is: what is typed behind it is for the composer.
                self.cards.settle(event.interaction)
            case RunEnded() as event:
                message = event.error.message if event.error is not UNSET else ""
                self.rule.run_ended(event.outcome, message)
            case _:
                pass
        self._touch(frozenset(_TOUCHES.get(type(change.event), ())))

    def _announce_agent(self) -> None:
        """Post that the agent works, once; where a new session's agent did not start, name the way on."""
        state = self.link.state.header.agent.state
        if self._agent_is_ready or state not in ("ready", "gone"):
            return
        self._agent_is_ready = True
        if state == "ready":
            self._screen.post_message(AgentReady(self.link.settings))
        elif self.link.settings:
            self._screen.say("The agent did not start. /agent chooses another.", "warning")

    def lost(self) -> None:
        """The host or the session is gone: what is shown stays, and nothing that needs it is promised."""
        self._lost = True
        self._touch(_ALL)

    def keep(self) -> None:
        """The app ends."""
        self.cards.keep_drafts()

    def _agent(self) -> str:
        """The name of the agent that asks."""
        agent = self.link.state.header.agent
        return "" if agent.state == "none" else agent.name

    @property
    def can_answer(self) -> bool:
        """Whether a question waits for an answer."""
        return self.cards.waiting > 0

    def focus_of(self, focused: Widget) -> Focus:
        """Which of the session's panes a widget that has the focus is in."""
        around = focused.ancestors_with_self
        if self.transcript in around:
            return "transcript"
        if self.cards in around:
            return "card"
        if self._panel is not None and self._panel in around:
            return "panel"
        return "side" if self._side in around else "elsewhere"

    def situation(self, now: Situation) -> Situation:
        """What the session adds to what the hints depend on."""
        state, transcript = self.link.state, self.transcript
        return replace(
            now,
            waiting=self.can_answer,
            own=self._own_keys(now.focus),
            running=state.run is not None and not self._lost,
            held=state.queue.held and bool(state.queue.items),
            processes=len(state.processes),
            panel=self._panel is not None and bool(self._panel.display),
            side=bool(self._side.shown),
            document=self._unseen,
            new_lines=None if transcript.following or not transcript.display else transcript.new_lines,
            readable=bool(transcript.display),
        )

    def _own_keys(self, focus: Focus) -> Sequence[KeyHint]:
        if focus == "card":
            return self.cards.keys
        return self._panel.keys if focus == "panel" and self._panel is not None else ()

    def _greet(self) -> None:
        """What to do first is said for as long as there is nothing to read."""
        empty = not self.transcript.blocks_known
        if self.transcript.display == empty or self._welcomes != empty:
            self._welcomes = empty
            self._screen.query_one(Welcome).display = empty
            self.transcript.display = not empty

    def _touch(self, parts: frozenset[str]) -> None:
        self._dirty |= parts
        if self._dirty and not self._waiting and not self._gone:
            self._waiting = True
            self._screen.set_timer(FRAME, self._draw)

    async def _draw(self) -> None:
        self._waiting = False
        if self._gone or not self._screen.is_attached:
            return  # another session is shown, or the app is ending
        dirty, self._dirty = self._dirty, set()
        state = self.link.state
        if "header" in dirty:
            self._screen.query_one(HeaderLine).show(state.header)
            agent = " · ".join(one.text for one in agent_words(state.header.agent))
            self._screen.query_one(Welcome).tell(folder=state.header.cwd, agent=agent)
        if "branch" in dirty:
            self._screen.query_one(HeaderLine).look_up_branch()
        if "queue" in dirty:
            self._screen.query_one(QueueLines).show(state.queue, NAME)
        if "cards" in dirty:
            interactions = state.interactions.values()
            # What could be asked again and was passed over by what was said since is history.
            self.cards.show(
                one for one in interactions if not (can_ask_again(one) and self.link.is_past(one))
            )
            self._ring()
        if "elements" in dirty:
            await self._draw_elements()
        if "processes" in dirty and self._panel is not None:
            self._panel.set_processes(list(state.processes.values()))
        if "counts" in dirty:
            self._draw_counts()
        if "composer" in dirty:
            composer = self._screen.query_one(Composer)
            composer.enter_verb = self.link.verb
            agents = ((one.name, one.description or "") for one in state.catalogue.commands)
            composer.set_commands(commands_with(agents))
        self.draw_keys()

    def draw_keys(self) -> None:
        """The run, and the keys that do something now."""
        self.rule.show_run(None if self._lost else self.link.state.run, waiting=self.can_answer)

    def _draw_counts(self) -> None:
        state, bar = self.link.state, self._screen.query_one(PointerBar)
        running = self._running
        waiting = sum(one.state in OPEN_STATES for one in state.interactions.values())
        bar.show_counts(processes=running, waiting=waiting)

    def _ring(self) -> None:
        """A new question rings where the person looks elsewhere."""
        waiting = {one.id for one in self.link.state.interactions.values() if one.state == "waiting"}
        if waiting - self._known_waiting and not self._screen.home.app_focus:
            self._screen.home.bell()
        self._known_waiting = waiting

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
        new = [one for one in self._side.shown if one not in before]
        if not self._side.shown or new:
            self._side_closed = False
        if new and (element := elements.get(new[-1])) is not None:
            self._unseen = safe_line(or_default(element.title, "")).strip() or "side pane"
        self.place_side()

    # --- panes ---

    def place_side(self) -> None:
        """Show the side pane where there is something in it. A narrow screen shows it only when asked to."""
        shown = bool(self._side.shown) and not self._side_closed
        narrow = self._screen.has_class("-narrow")
        if not narrow:
            self._screen.remove_class("-side")  # there is room beside it again
        whole = self._screen.has_class("-side")
        self._side.display = whole or (shown and not narrow)
        if self._side.display or not self._side.shown:
            self._unseen = ""
        if whole and not self._side.shown:
            self.leave_side()

    def toggle_side(self) -> bool:
        """Show or hide the side pane, which takes a narrow screen whole. False when it would be empty."""
        if not self._side.shown:
            return False
        if self._screen.has_class("-narrow"):
            if self._screen.has_class("-side"):
                self.leave_side()
            else:
                self._screen.add_class("-side")
                self.place_side()
                self._focus_side()
        elif self._side.display and not self._inside(self._side):
            self._focus_side()
        else:
            self._side_closed = bool(self._side.display)
            self.place_side()
            if self._side_closed:
                self._screen.query_one(Composer).focus()
            else:
                self._focus_side()
        return True

    def leave_side(self) -> None:
        """Back from a side pane that took the screen."""
        if self._screen.has_class("-side"):
            self._screen.remove_class("-side")
            self._side.display = not self._screen.has_class("-narrow") and not self._side_closed

    def _focus_side(self) -> None:
        target = next((one for one in self._side.query("DocumentView, ViewPanel") if one.focusable), None)
        if target is not None:
            target.focus()

    def _inside(self, pane: Widget) -> bool:
        focused = self._screen.focused
        return focused is not None and pane in focused.ancestors_with_self

    async def _ensure_panel(self) -> ProcessPanel:
        if self._panel is None:
            self._panel = ProcessPanel()
            self._panel.display = False
            self._panel.attach(self.link)
            await self._screen.mount(self._panel, after="#middle")
            self._panel.set_processes(list(self.link.state.processes.values()))
        return self._panel

    async def show_panel(self, *, select: str | None = None, focus: bool = False) -> None:
        """Show the process panel, with one process selected."""
        panel = await self._ensure_panel()
        panel.set_processes(list(self.link.state.processes.values()))
        if select is not None:
            panel.select(select)
        panel.display = True
        if focus:
            panel.focus()

    async def open_block(self, key: str) -> None:
        """Show the process that a tool call runs, or fetch the entries that are missing."""
        if (seq := missing_seq(key)) is not None:
            await self._fetch(self.link.fill(seq))
            return
        entry = self.link.state.entries.get(key)
        process = tool_process(entry) if isinstance(entry, ToolEntry) else None
        if process is not None:
            await self.show_panel(select=process, focus=True)

    async def toggle_panel(self) -> None:
        """Show the process panel and go there; from inside hide it."""
        panel = await self._ensure_panel()
        if pane_key(exists=True, shown=bool(panel.display), inside=self._inside(panel)) == "hide":
            self._screen.remove_class("-zoomed")
            panel.display = False
            self._screen.query_one(Composer).focus()
        else:
            panel.display = True
            panel.focus()

    async def zoom_panel(self) -> None:
        """The panel on the whole screen, and back."""
        panel = await self._ensure_panel()
        zoomed = not self._screen.has_class("-zoomed")
        self._screen.set_class(zoomed, "-zoomed")
        panel.display = True
        panel.focus()

    async def stop(self, process: str, signal: StopSignal) -> None:
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
        await self._fetch(self.link.older())

    async def _fetch(self, page: Awaitable[list[Entry]]) -> None:
        try:
            if entries := await page:
                self._presenter.older(entries)
        except Refusal as error:
            if not self._lost:
                self._screen.say(f"Older history was not fetched: {words(error)}", "error")

    def what_a_clear_ends(self) -> list[str]:
        """What would end with this session, a line each. What is queued comes back into the composer."""
        state = self.link.state
        reasons = self._unpublished()
        if self._lost:
            return reasons
        if state.run is not None:
            reasons.append("a turn is running; it is cancelled")
        if asked := sum(one.state in OPEN_STATES for one in state.interactions.values()):
            reasons.append(f"{_count(asked, 'question')} would be withdrawn")
        if queued := len(state.queue.items):
            reasons.append(f"{_count(queued, 'queued message')} would return to the composer")
        if running := self._running:
            reasons.append(f"{_count(running, 'process', 'processes')} would be stopped")
        return reasons

    def _unpublished(self) -> list[str]:
        draft = self.pointer.draft
        return [] if draft is None else ["the draft of the task pointer is unpublished"]

    @property
    def _running(self) -> int:
        """How many processes run, those included that an ended one left behind."""
        rows = self.link.state.processes.values()
        return sum(max(row.state == "running", or_default(row.leftovers, 0)) for row in rows)

    def what_would_end(self) -> list[str]:
        """What a quit would stop, a line each."""
        state = self.link.state
        reasons = self._unpublished()
        if self._lost:
            return reasons
        if state.run is not None:
            reasons.append("a turn is running; it ends as interrupted")
        open_ones = [one for one in state.interactions.values() if one.state == "waiting"]
        kept = sum(one.deferrable for one in open_ones)
        if kept:
            reasons.append(f"{_count(kept, 'question')} can still be answered for 30 minutes")
        if len(open_ones) > kept:
            reasons.append(f"{_count(len(open_ones) - kept, 'question')} would be cancelled")
        if running := self._running:
            reasons.append(f"{_count(running, 'process', 'processes')} would be stopped")
        return reasons


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
