"""The session screen: what a session is, shown; what a person does, asked of the host.

It is there before the host is. What is sent before the session is attached waits, and is sent then. What a
key does in which state is in `policy.py`, what the hint rule shows of it in `hints.py`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from felan_tui.actions import bindings, command_of, unknown_command
from felan_tui.bars import HeaderLine, PointerBar, QueueLines
from felan_tui.bars.hint_rule import HintRule, KeyHint
from felan_tui.bars.notices import Notices
from felan_tui.composer import Composer
from felan_tui.screens import policy
from felan_tui.screens.hints import Focus, Situation, key_hints
from felan_tui.screens.panes import PaneActions
from felan_tui.screens.welcome import Welcome
from felan_tui.session.connection import ConnectionStatus
from felan_tui.session.messages import AgentWanted, Leaving
from felan_tui.session.requests import NOT_YET, SessionRequests
from felan_tui.session.start import Start

if TYPE_CHECKING:
    from felan_core.client.replica import Change
    from felan_tui.cards.messages import Answered, AskAgain, Left, OpenSubject
    from felan_tui.elements.messages import ActionChosen
    from felan_tui.panel import ProcessPanel
    from felan_tui.session.controller import SessionController
    from felan_tui.session.transcript import SessionTranscript
    from felan_tui.session.view import SessionView
    from felan_tui.transcript.view import TranscriptView

NEVER = float("-inf")


def _raise(error: Exception) -> None:
    raise error


class SessionScreen(PaneActions):
    """One session. ``attached`` gives it its link; until then it takes what is typed and keeps it."""

    CSS_PATH: ClassVar = "session.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]
    AUTO_FOCUS = "ComposerArea"

    def __init__(self, start: Start, *, data: Path, notices: Notices | None = None) -> None:
        super().__init__()
        self._start = start
        self._data = data
        self._notices = notices or Notices()
        self._requests = SessionRequests(self, lambda: self._view, lambda: self.connection.connected)
        self.connection = ConnectionStatus(self, self._lose, lambda: self._requests.connected())
        self._lost = ""
        self._last_interrupt = NEVER
        self._last_left = NEVER
        self._written = (True, False)

    def compose(self) -> ComposeResult:
        yield HeaderLine(folder=self._start.cwd)
        with Container(id="middle"), Container(id="left"):
            yield Welcome(self._start.cwd, str(Path.home()))
        yield QueueLines()
        yield HintRule(self._key_hints, self._notices)
        yield Composer(cwd=self._start.cwd, data=self._data)
        yield PointerBar()

    # --- the session comes ---

    def starts(self, start: Start) -> None:
        """Another beginning was chosen than the one that the screen was made with."""
        self._start = start

    async def attached(self, link: "SessionController") -> None:
        """The session is there: show it, and send what was written meanwhile."""
        from felan_tui.session.view import SessionView

        if not self.is_attached:
            return  # the app is ending
        self.connection.session_shown()
        self.query_one(Composer).belong_to(link.id, link.sent())
        view = SessionView(self, link)
        await view.build()
        if self.is_attached:
            self.take_up(view)

    def take_up(self, view: "SessionView") -> None:
        """Show this session, and send what was written meanwhile."""
        self._view = view
        view.all()
        if self._lost:
            view.lost()
        prompt, self._start = self._start.prompt, replace(self._start, prompt=None)
        self._requests.send_waiting(prompt)

    def lay_aside(self) -> "SessionView | None":
        """From now on what is sent waits, until a session is shown again."""
        view, self._view = self._view, None
        return view

    def changed(self, change: "Change") -> None:
        """The replica took a frame."""
        if (view := self._view) is not None:
            self._follow(lambda: view.take(change))

    def resynced(self, session: str) -> None:
        """The replica of ``session`` started again from a fresh snapshot."""
        if (view := self._view) is not None and view.link.id == session:
            self._follow(view.all)

    def session_lost(self, session: str, reason: str) -> None:
        """The host has no snapshot of ``session`` for this client any more."""
        if (view := self._view) is not None and view.link.id == session:
            self.connection.session_lost(reason)
            self._follow(view.lost)

    def _lose(self, reason: str) -> None:
        self._lost = reason
        if (view := self._view) is not None:
            self._follow(view.lost)

    def _follow(self, show: Callable[[], None]) -> None:
        """Show what the client's reader brought. A fault in that is the app's, and not the reader's."""
        if not self.is_attached:
            return  # the app is ending
        try:
            show()
        except Exception as error:
            self.call_later(_raise, error)

    def keep(self) -> None:
        """The app ends: what was written and not sent is kept."""
        if self._view is not None:
            self._view.keep()
        composer = self.query_one(Composer)
        for unsent in reversed(self._requests.take_unsent()):
            composer.restore(unsent)
        composer.keep()

    @property
    def _link(self) -> "SessionController | None":
        return self._view.link if self._view is not None else None

    # --- the hint rule ---

    @property
    def rule(self) -> HintRule:
        """The hint rule."""
        return self.query_one(HintRule)

    def show_notice(self) -> None:
        """The app has another notice."""
        if self.is_attached:
            self.rule.show_notice()

    def key_pressed(self) -> None:
        """A key was pressed, whoever gets it."""
        if self.is_attached:
            self.rule.key_pressed()

    @property
    def _focus(self) -> Focus:
        """Where the keys go."""
        focused = self.focused
        if focused is None or self.query_one(Composer).area is focused:
            return "composer"
        return self._view.focus_of(focused) if self._view is not None else "elsewhere"

    @property
    def _away(self) -> bool:
        """Whether there is something to go back from."""
        return self._focus != "composer" or self.has_class("-side") or self.has_class("-zoomed")

    def _escape(self) -> policy.Escape:
        link, rule = self._link, self.rule
        return policy.escape(
            away=self._away,
            running=link is not None and link.state.run is not None and not self._lost,
            stopping=rule.status.stopping,
            held=link is not None and link.state.queue.held and bool(link.state.queue.items),
            since_left=time.monotonic() - self._last_left,
        )

    def _key_hints(self) -> Sequence[KeyHint]:
        composer, focus = self.query_one(Composer), self._focus
        now = Situation(
            focus=focus,
            escape=self._escape(),
            verb=composer.enter_verb,
            written=not composer.is_empty,
            shell=composer.area.text.startswith("!"),
        )
        if (view := self._view) is not None:
            now = view.situation(now)
        return key_hints(now)

    def _focus_moved(self) -> None:
        rule = self.rule
        rule.typing = self._focus == "composer"
        rule.update_line()

    def on_descendant_focus(self) -> None:
        self._focus_moved()

    def on_descendant_blur(self) -> None:
        self._focus_moved()

    @on(Composer.DraftChanged)
    def _on_draft_changed(self) -> None:
        composer = self.query_one(Composer)
        kind = (composer.is_empty, composer.area.text.startswith("!"))
        if kind != self._written:
            self._written = kind
            self.rule.update_line()

    def on_hint_rule_pressed(self, event: HintRule.Pressed) -> None:
        """A click on a key of the rule is that key."""
        self.home.simulate_key(event.key)

    def on_hint_rule_opened(self) -> None:
        self.action_notices()

    def _back_to_the_composer(self) -> None:
        """A card or a pane was left by Esc: another Esc is not to stop the turn by accident."""
        self._last_left = time.monotonic()
        self.query_one(Composer).focus()
        self.set_timer(policy.ESCAPE_SECONDS, self.rule.update_line)

    # --- the composer ---

    @on(Composer.Submitted)
    @on(Composer.FollowUp)
    def _on_written(self, event: Composer.Submitted | Composer.FollowUp) -> None:
        own = command_of(event.text)
        if own is not None and not own[1]:
            self.run_worker(self.run_action(own[0].name))
            return
        agents = self._link.state.catalogue.commands if self._link is not None else []
        problem = unknown_command(event.text, (one.name for one in agents))
        if own is not None:
            problem = f"/{own[0].command} takes no words after it."
        if problem:
            self.query_one(Composer).restore(event.draft)
            self.say(problem, "warning")
        else:
            self._requests.send(event.text, event.draft, follow_up=isinstance(event, Composer.FollowUp))

    @on(Composer.ShellSubmitted)
    def _on_shell(self, event: Composer.ShellSubmitted) -> None:
        self._requests.shell(event)

    @on(Composer.NotTaken)
    @on(Composer.KeepFailed)
    def _on_keep_failed(self, event: Composer.NotTaken | Composer.KeepFailed) -> None:
        self.say(event.problem, "warning")

    @on(Composer.LeftDrafts)
    def _on_left_drafts(self, event: Composer.LeftDrafts) -> None:
        drafts = "An unsent draft" if event.count == 1 else f"{event.count} unsent drafts"
        self.say(f"{drafts} of earlier sessions: ↑")

    @on(Composer.EmptyEnter)
    def _on_empty_enter(self) -> None:
        self._requests.release_queue()

    # --- cards, elements, processes ---

    def on_answered(self, event: "Answered") -> None:
        self._requests.answer(event.interaction_id, event.answer)

    def on_left(self, event: "Left") -> None:
        self._back_to_the_composer()

    def on_open_subject(self, event: "OpenSubject") -> None:
        from felan_tui.cards.whole import WholeSubject

        self.home.push_screen(WholeSubject(event.interaction, agent=event.agent))

    def on_ask_again(self, event: "AskAgain") -> None:
        self._requests.ask_again(event.interaction)

    def on_action_chosen(self, event: "ActionChosen") -> None:
        self._requests.act(event)

    def on_process_panel_stop_requested(self, event: "ProcessPanel.StopRequested") -> None:
        if self._view is not None:
            self._requests.spawn(self._view.stop(event.process_id, event.signal))

    def on_process_panel_keys_changed(self) -> None:
        self.rule.update_line()

    def on_process_panel_closed(self) -> None:
        self.remove_class("-zoomed")
        self._back_to_the_composer()

    def on_transcript_view_follow_changed(self, event: "TranscriptView.FollowChanged") -> None:
        self.rule.update_line()

    def on_session_transcript_at_top(self) -> None:
        if self._view is not None:
            self.run_worker(self._view.older(), exclusive=True, group="older")

    def on_session_transcript_opened(self, event: "SessionTranscript.Opened") -> None:
        if self._view is not None:
            self._requests.spawn(self._view.open_block(event.key))

    def on_session_transcript_copied(self, event: "SessionTranscript.Copied") -> None:
        self._copy(event.text)

    def _copy(self, text: str) -> None:
        self.home.copy_to_clipboard(text)
        self.say("Copied by OSC 52")

    def on_pointer_bar_opened(self) -> None:
        """The bar has one line; a click shows all of the pointer."""
        self.action_pointer()

    def on_header_line_branch_changed(self, event: HeaderLine.BranchChanged) -> None:
        self.query_one(Welcome).tell(branch=event.branch)

    def on_resize(self) -> None:
        if self._view is not None:
            self.call_after_refresh(self._view.place_side)

    # --- actions ---

    def action_go_to_card(self) -> None:
        view = self._view
        if view is None or view.cards.current is None:
            self.say("Nothing waits for an answer")
            return
        # A pane that takes the screen hides the cards.
        view.leave_side()
        self.remove_class("-zoomed")
        self.call_after_refresh(view.cards.focus_current)

    def action_cancel(self) -> None:
        """Esc."""
        match self._escape():
            case "leave":
                if self._view is not None:
                    self._view.leave_side()
                self.remove_class("-zoomed")
                self._back_to_the_composer()
            case "stop":
                self._requests.cancel()
            case "take_back":
                self._requests.take_queue_back()
            case "nothing":
                pass

    def action_interrupt(self) -> None:
        """Ctrl+C."""
        if self.home.screen is not self and self._copied_in_front():
            return
        composer, link, now = self.query_one(Composer), self._link, time.monotonic()
        since, self._last_interrupt = now - self._last_interrupt, now
        selected = self.get_selected_text() or composer.area.selected_text
        running = link is not None and link.state.run is not None
        match policy.interrupt(
            selected=bool(selected), since_last=since, empty=composer.is_empty, running=running
        ):
            case "copy":
                self._copy(selected)
                self.clear_selection()
                composer.area.move_cursor(composer.area.cursor_location)
                self._last_interrupt = NEVER
            case "clear":
                composer.clear_draft()
                self.say("Draft cleared; ↑ brings it back")
            case "quit":
                self._quit()
            case "stop":
                self._requests.cancel()
                self.say("Stopping; Ctrl+C again quits")
            case "ask":
                self.say("Ctrl+C again quits")

    def _copied_in_front(self) -> bool:
        """Whether Ctrl+C copied something in the pointer's screen, which has a text of its own."""
        from felan_tui.screens.pointer import PointerScreen

        front = self.home.screen
        return isinstance(front, PointerScreen) and front.interrupted()

    def action_quit(self) -> None:
        self._quit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that are a widget's own while it has the focus: Ctrl+D in a text, and paging in a pane."""
        composer = self.query_one(Composer)
        if action == "quit":
            return composer.is_empty or not composer.area.has_focus
        if action in ("page_up", "page_down"):
            return self.focused is None or self.focused in (composer.area, self._transcript)
        return True

    def _quit(self) -> None:
        if self._view is None or not self._view.what_would_end():
            self._leave(True)
            return
        from felan_tui.screens.quit import QuitScreen

        if isinstance(self.home.screen, QuitScreen):
            self._leave(True)
        else:
            self.home.push_screen(QuitScreen(self._view.what_would_end), self._leave)

    def _leave(self, sure: bool | None) -> None:
        if sure:
            self.post_message(Leaving())

    def action_pointer(self) -> None:
        """The task pointer whole, over the session."""
        if self._view is None:
            self.say(NOT_YET)
            return
        from felan_tui.screens.pointer import PointerScreen

        if not isinstance(self.home.screen, PointerScreen):
            self.home.push_screen(PointerScreen(self._view.pointer))

    def action_clear(self) -> None:
        """A new session in the place of this one."""
        if self._view is None:
            self.say(NOT_YET)
            return
        from felan_tui.session.replacing import ask_first

        ask_first(self, self._view)

    def action_agent(self) -> None:
        """Another agent, in a new session in the place of this one."""
        if self._view is None:
            self.say(NOT_YET)
        elif self.home.screen is self:
            self.post_message(AgentWanted())

    def change_agent(self, settings: dict[str, str]) -> None:
        """An agent was chosen on the start card."""
        if self._view is not None:
            from felan_tui.session.replacing import ask_first

            ask_first(self, self._view, settings)

    def action_notices(self) -> None:
        from felan_tui.screens.notices import NoticesScreen

        if self.home.screen is self:
            self.home.push_screen(NoticesScreen(self._notices.kept))

    def action_help(self) -> None:
        from felan_tui.screens.help import HelpScreen

        self.home.push_screen(HelpScreen())

    def action_suspend(self) -> None:
        self.home.action_suspend_process()

    # --- keys that nobody has ---

    def _forward_event(self, event: events.Event) -> None:
        """A key while nothing has the focus goes where it is typed. (Textual chooses who gets a key here.)"""
        if isinstance(event, events.Key) and self.focused is None and not event.is_forwarded:
            area = self.query_one(Composer).area
            self.set_focus(area)
            area._forward_event(event)
        else:
            super()._forward_event(event)
