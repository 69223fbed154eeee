"""The session screen: what a session is, shown; what a person does, asked of the host.

It is there before the host is. What is sent before the session is attached waits, and is sent then.
"""

import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.message import Message

from felan_tui.actions import bindings, command_of
from felan_tui.bars import HeaderLine, PointerBar, QueueLines
from felan_tui.bars.keys import KeyHint, KeyLine
from felan_tui.composer import Composer, Draft
from felan_tui.screens.hints import WELCOME, host_gone, key_hints
from felan_tui.session.app_screen import AppScreen
from felan_tui.session.start import Start
from felan_tui.text.widgets import Line

if TYPE_CHECKING:
    from felan_core.client.replica import Change
    from felan_tui.cards.messages import Answered, AskAgain, Left, OpenSubject
    from felan_tui.elements.messages import ActionChosen
    from felan_tui.panel import ProcessPanel
    from felan_tui.session.link import SessionLink
    from felan_tui.session.transcript import SessionTranscript
    from felan_tui.session.view import SessionView
    from felan_tui.transcript.view import TranscriptView

QUIT_SECONDS = 2.0
NOT_YET = "The session is not there yet; try again in a moment."


def _raise(error: Exception) -> None:
    raise error


class SessionScreen(AppScreen):
    """One session. ``attached`` gives it its link; until then it takes what is typed and keeps it."""

    CSS_PATH: ClassVar = "session.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]
    AUTO_FOCUS = "ComposerArea"

    class Leaving(Message):
        """The person quits, and was asked where something would end by it."""

    def __init__(self, start: Start, *, data: Path) -> None:
        super().__init__()
        self._start = start
        self._data = data
        self._view: SessionView | None = None
        self._unsent: list[Draft] = []
        self._lost = ""
        self._last_interrupt = -QUIT_SECONDS

    def compose(self) -> ComposeResult:
        yield HeaderLine(folder=self._start.cwd)
        with Container(id="middle"), Container(id="left"):
            yield Line(*WELCOME, id="welcome")
            yield Line(id="new-below", one_line=True)
        yield QueueLines()
        yield KeyLine(self._key_hints)
        yield Composer(cwd=self._start.cwd, data=self._data)
        yield PointerBar()

    # --- the session comes ---

    def starts(self, start: Start) -> None:
        """Another beginning was chosen than the one that the screen was made with."""
        self._start = start

    async def attached(self, link: "SessionLink") -> None:
        """The session is there: show it, and send what was written meanwhile."""
        from felan_tui.session.view import SessionView

        if not self.is_attached:
            return  # the app is ending
        view = SessionView(self, link)
        await view.build()
        if self.is_attached:
            self.take_up(view)

    def take_up(self, view: "SessionView") -> None:
        """Show this session, and send what was written meanwhile."""
        self._view = view
        view.all()
        if self._lost:
            view.lost(self._lost)
        unsent, self._unsent = self._unsent, []
        if self._start.prompt:
            unsent.insert(0, Draft(self._start.prompt))
            self._start = replace(self._start, prompt=None)
        for number, draft in enumerate(unsent):
            self._send(draft.expanded, draft, follow_up=number > 0)

    def lay_aside(self) -> "SessionView | None":
        """From now on what is sent waits, until a session is shown again."""
        view, self._view = self._view, None
        return view

    def changed(self, change: "Change") -> None:
        """The replica took a frame."""
        if (view := self._view) is not None:
            self._follow(lambda: view.take(change))

    def resynced(self) -> None:
        """The replica started again from a fresh snapshot."""
        if (view := self._view) is not None:
            self._follow(view.all)

    def lost(self, reason: str) -> None:
        """The host is gone."""
        self._lost = reason
        if not self.is_attached:
            return
        self.say(host_gone(reason), "error", seconds=60)
        if (view := self._view) is not None:
            self._follow(lambda: view.lost(reason))

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
        for unsent in reversed(self._unsent):
            composer.restore(unsent)
        composer.keep()

    @property
    def _link(self) -> "SessionLink | None":
        return self._view.link if self._view is not None else None

    @property
    def _transcript(self) -> "SessionTranscript | None":
        return self._view.transcript if self._view is not None else None

    def _key_hints(self) -> list[KeyHint]:
        view, link = self._view, self._link
        return key_hints(
            asks=view is not None and view.can_answer and link is not None and link.state.run is None,
            away=self.focused is not None and self.focused is not self.query_one(Composer).area,
            side=view is not None and view.has_side,
            clears=view is not None and not view.welcomes,
        )

    def _ask(
        self,
        work: "Awaitable[object]",
        problem: str,
        *,
        refused: "Callable[[str], object] | None" = None,
    ) -> None:
        """Ask something of the host beside the screen. ``refused`` gets the words when it is not done; they
        are said in a notice otherwise, and so is a fault of our own.
        """

        async def run() -> None:
            from felan_tui.session.link import Refusal, words

            try:
                await work
            except Refusal as error:
                if refused is not None:
                    refused(words(error))
                else:
                    self.say(f"{problem}: {words(error)}", "error")

        self._spawn(run())

    def _spawn(self, work: "Coroutine[Any, Any, None]") -> None:
        """Beside the screen. A fault of ours in it ends the app with a report, which keeps the draft."""
        self.run_worker(work)

    # --- the composer ---

    @on(Composer.Submitted)
    @on(Composer.FollowUp)
    def _on_written(self, event: Composer.Submitted | Composer.FollowUp) -> None:
        own = command_of(event.text)
        if own is None:
            self._send(event.text, event.draft, follow_up=isinstance(event, Composer.FollowUp))
            return
        act, rest = own
        if rest:
            self.query_one(Composer).restore(event.draft)
            self.say(f"/{act.command} takes no words after it; not done.", "warning")
        else:
            getattr(self, f"action_{act.name}")()

    def _send(self, text: str, draft: Draft, *, follow_up: bool = False) -> None:
        """Send what was written. ``draft`` comes back when it cannot be sent."""
        link = self._link
        if link is None:
            self._unsent.append(draft)
            return
        verb = link.verb if not follow_up or link.verb == "send" else "follow_up"

        composer = self.query_one(Composer)

        def refused(words: str) -> None:
            self.say(f"Not sent: {words}", "error")
            composer.restore(draft)

        if self._transcript is not None:
            self._transcript.action_follow()
        self._ask(link.send(text, verb), "Not sent", refused=refused)

    @on(Composer.ShellSubmitted)
    def _on_shell(self, event: Composer.ShellSubmitted) -> None:
        link, view = self._link, self._view
        if link is None or view is None:
            self.query_one(Composer).restore(event.draft)
            self.say(NOT_YET, "warning")
            return

        composer = self.query_one(Composer)

        def refused(words: str) -> None:
            self.say(f"Not started: {words}", "error")
            composer.restore(event.draft)

        async def run() -> None:
            await view.show_panel(select=await link.shell(event.command))

        self._ask(run(), "Not started", refused=refused)

    @on(Composer.KeepFailed)
    def _on_keep_failed(self, event: Composer.KeepFailed) -> None:
        self.say(event.problem, "warning")

    @on(Composer.EmptyEnter)
    def _on_empty_enter(self) -> None:
        link = self._link
        if link is not None and link.state.queue.held:
            self._ask(link.release_queue(), "The queue stays held")

    # --- cards, elements, processes ---

    def on_answered(self, event: "Answered") -> None:
        link, view = self._link, self._view
        if link is None or view is None:
            return

        self._ask(
            link.answer(event.interaction_id, event.answer),
            "Not answered",
            refused=lambda words: view.cards.reject(event.interaction_id, words),
        )

    def on_left(self, event: "Left") -> None:
        self.query_one(Composer).focus()

    def on_open_subject(self, event: "OpenSubject") -> None:
        from felan_tui.cards.whole import WholeSubject

        self.home.push_screen(WholeSubject(event.interaction, agent=event.agent))

    def on_ask_again(self, event: "AskAgain") -> None:
        link, view = self._link, self._view
        if link is None or view is None:
            return
        asked = event.interaction
        said = link.prompt_of(asked)
        if said is None:
            view.cards.reject(asked.id, "what was said then is not known any more; write it again")
            return
        verb = "send" if link.verb == "send" else "follow_up"
        self._ask(
            link.send(said, verb), "Not asked", refused=lambda words: view.cards.reject(asked.id, words)
        )

    def on_action_chosen(self, event: "ActionChosen") -> None:
        from felan_core.protocol import UNSET
        from felan_core.protocol.operations import UiActionParams

        link = self._link
        if link is None:
            return
        params = UiActionParams(
            element=event.element_id,
            revision=event.revision,
            action=event.action_id,
            item=event.item or UNSET,
            values=UNSET if event.values is None else event.values,
        )
        self._ask(link.act(params), "Not done")

    def on_process_panel_stop_requested(self, event: "ProcessPanel.StopRequested") -> None:
        link, view = self._link, self._view
        if link is not None and view is not None:
            self._spawn(view.stop(event.process_id, event.signal))

    def on_process_panel_closed(self) -> None:
        self.remove_class("-zoomed")
        self.query_one(Composer).focus()

    def on_transcript_view_follow_changed(self, event: "TranscriptView.FollowChanged") -> None:
        mark = self.query_one("#new-below", Line)
        mark.display = not event.following
        new = f"↓ {event.new_lines} new" if event.new_lines else "↓ not at the end"
        mark.show((new, "bold"), ("  F7 goes there", "$text-muted"))

    def on_session_transcript_at_top(self) -> None:
        if self._view is not None:
            self.run_worker(self._view.older(), exclusive=True, group="older")

    def on_session_transcript_opened(self, event: "SessionTranscript.Opened") -> None:
        if self._view is not None:
            self._spawn(self._view.show_process_of(event.key))

    def on_session_transcript_copied(self, event: "SessionTranscript.Copied") -> None:
        self._copy(event.text)

    def _copy(self, text: str) -> None:
        self.home.copy_to_clipboard(text)
        self.say("Sent to the terminal's clipboard (OSC 52).")

    def on_pointer_bar_opened(self) -> None:
        """The bar has one line; a click shows all of the pointer."""
        self.action_pointer()

    def on_descendant_focus(self) -> None:
        self.query_one(KeyLine).refresh()

    def on_descendant_blur(self) -> None:
        self.query_one(KeyLine).refresh()

    def on_resize(self) -> None:
        if self._view is not None:
            self.call_after_refresh(self._view.place_side)

    # --- actions ---

    def action_go_to_card(self) -> None:
        view = self._view
        if view is None or view.cards.current is None:
            self.say("Nothing waits for an answer.")
            return
        # A pane that takes the screen hides the cards.
        view.leave_side()
        self.remove_class("-zoomed")
        self.call_after_refresh(view.cards.focus_current)

    def action_cancel(self) -> None:
        """Esc: leave what has the focus; then the turn; then a held queue."""
        composer, link, view = self.query_one(Composer), self._link, self._view
        if not composer.area.has_focus or self.has_class("-side"):
            if view is not None:
                view.leave_side()
            self.remove_class("-zoomed")
            composer.focus()
        elif link is None:
            return
        elif link.state.run is not None:
            self._cancel(link)
        elif link.state.queue.held:
            self._ask(self._take_queue_back(link), "Not taken back")

    def _cancel(self, link: "SessionLink") -> None:
        self.query_one(KeyLine).cancelling()
        self._ask(link.cancel(), "Not cancelled")

    async def _take_queue_back(self, link: "SessionLink") -> None:
        if texts := await link.take_queue_back():
            self.query_one(Composer).restore("\n\n".join(texts))

    def action_interrupt(self) -> None:
        """Ctrl+C: copy a selection; clear the draft; cancel; twice within two seconds quits."""
        if self.home.screen is not self and self._copied_in_front():
            return
        now = time.monotonic()
        twice, self._last_interrupt = now - self._last_interrupt < QUIT_SECONDS, now
        composer, link = self.query_one(Composer), self._link
        if selected := self.get_selected_text() or composer.area.selected_text:
            self._copy(selected)
            self.clear_selection()
            composer.area.move_cursor(composer.area.cursor_location)
            self._last_interrupt = -QUIT_SECONDS
            return
        if twice and composer.is_empty:
            self._quit()
        elif composer.clear_draft():
            self.say("The draft is cleared; ↑ brings it back.")
        elif link is not None and link.state.run is not None:
            self._cancel(link)
            self.say("Cancelling. Ctrl+C once more quits.")
        else:
            self.say("Ctrl+C once more quits.")

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
        reasons = self._view.what_would_end() if self._view is not None else []
        if not reasons:
            self._leave(True)
            return
        from felan_tui.screens.quit import QuitScreen

        if isinstance(self.home.screen, QuitScreen):
            self._leave(True)
        else:
            self.home.push_screen(QuitScreen(reasons), self._leave)

    def _leave(self, sure: bool | None) -> None:
        if sure:
            self.post_message(self.Leaving())

    async def action_toggle_panel(self) -> None:
        if self._view is not None:
            await self._view.toggle_panel()

    async def action_zoom_panel(self) -> None:
        if self._view is not None:
            await self._view.zoom_panel()

    def action_toggle_side(self) -> None:
        if self._view is not None and not self._view.toggle_side():
            self.say("There is no document and no table.")

    def action_focus_transcript(self) -> None:
        if self._transcript is not None and self._transcript.display:
            self._transcript.focus()
        else:
            self.say("There is nothing to read yet.")

    def action_page_up(self) -> None:
        if self._transcript is not None:
            self._transcript.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        if self._transcript is not None:
            self._transcript.scroll_page_down(animate=False)

    def action_follow(self) -> None:
        if self._transcript is not None:
            self._transcript.action_follow()

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
        from felan_tui.session.clearing import ask_first

        ask_first(self, self._view)

    def action_help(self) -> None:
        from felan_tui.screens.help import HelpScreen

        self.home.push_screen(HelpScreen())

    def action_suspend(self) -> None:
        self.home.action_suspend_process()
