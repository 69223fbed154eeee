"""The session screen: what a session is, shown; what a person does, asked of the host.

It is there before the host is. What is sent before the session is attached waits, and is sent then.
"""

import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from felan_tui.actions import bindings
from felan_tui.bars import HeaderLine, PointerBar, QueueLines, RunLine
from felan_tui.composer import Composer, Draft
from felan_tui.session.start import Start
from felan_tui.text.widgets import Line, toast
from felan_tui.transcript.view import TranscriptView

if TYPE_CHECKING:
    from felan_core.client.replica import Change
    from felan_tui.cards.messages import Answered, AskAgain, Left, OpenSubject
    from felan_tui.elements.messages import ActionChosen
    from felan_tui.panel import ProcessPanel
    from felan_tui.session.link import SessionLink
    from felan_tui.session.parts import Parts

QUIT_SECONDS = 2.0


class SessionScreen(Screen[None]):
    """One session. ``attached`` gives it its link; until then it takes what is typed and keeps it."""

    CSS_PATH: ClassVar = "session.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    AUTO_FOCUS = "ComposerArea"

    def __init__(self, start: Start, *, data: Path) -> None:
        super().__init__()
        self._start = start
        self._data = data
        self._parts: Parts | None = None
        self._unsent: list[Draft] = []
        self._last_interrupt = -QUIT_SECONDS

    def compose(self) -> ComposeResult:
        yield HeaderLine(folder=self._start.cwd)
        with Container(id="middle"), Container(id="left"):
            yield TranscriptView()
            yield Line(id="new-below", one_line=True)
        yield QueueLines()
        yield RunLine()
        yield Composer(cwd=self._start.cwd, data=self._data)
        yield PointerBar()

    # --- the session comes ---

    def starts(self, start: Start) -> None:
        """Another beginning was chosen than the one that the screen was made with."""
        self._start = start

    async def attached(self, link: "SessionLink") -> None:
        """The session is there: show it, and send what was written meanwhile."""
        from felan_tui.session.parts import Parts

        self._parts = Parts(self, link)
        await self._parts.build()
        unsent, self._unsent = self._unsent, []
        if self._start.prompt:
            unsent.insert(0, Draft(self._start.prompt))
        for number, draft in enumerate(unsent):
            self._send(draft.expanded, draft, follow_up=number > 0)

    def changed(self, change: "Change") -> None:
        """The replica took a frame."""
        if self._parts is not None:
            self._parts.take(change)

    def resynced(self) -> None:
        """The replica started again from a fresh snapshot."""
        if self._parts is not None:
            self._parts.all()

    def lost(self, reason: str) -> None:
        """The host is gone."""
        toast(self.app, f"The host is gone: {reason}. Quit, then `felan -c` goes on.", "error", seconds=60)
        if self._parts is not None:
            self._parts.lost(reason)

    def keep(self) -> None:
        """The app ends: what was written and not sent is kept."""
        if self._parts is not None:
            self._parts.keep()
        composer = self.query_one(Composer)
        for unsent in reversed(self._unsent):
            composer.restore(unsent)
        composer.keep()

    @property
    def _link(self) -> "SessionLink | None":
        return self._parts.link if self._parts is not None else None

    # --- the composer ---

    @on(Composer.Submitted)
    def _on_submitted(self, event: Composer.Submitted) -> None:
        self._send(event.text, event.draft)

    @on(Composer.FollowUp)
    def _on_follow_up(self, event: Composer.FollowUp) -> None:
        self._send(event.text, event.draft, follow_up=True)

    def _send(self, text: str, draft: Draft, *, follow_up: bool = False) -> None:
        """Send what was written. ``draft`` comes back when it cannot be sent."""
        link = self._link
        if link is None:
            self._unsent.append(draft)
            return
        verb = link.verb if not follow_up or link.verb == "send" else "follow_up"

        async def send() -> None:
            from felan_tui.session.link import Refusal, words

            try:
                await link.send(text, verb)
            except Refusal as error:
                toast(self.app, f"Not sent: {words(error)}", "error")
                self.query_one(Composer).restore(draft)

        self.query_one(TranscriptView).action_follow()
        self.run_worker(send(), exit_on_error=False)

    @on(Composer.ShellSubmitted)
    def _on_shell(self, event: Composer.ShellSubmitted) -> None:
        link, parts = self._link, self._parts
        if link is None or parts is None:
            self.query_one(Composer).restore(event.draft)
            toast(self.app, "The session is not there yet; try again in a moment.", "warning")
            return

        async def run() -> None:
            from felan_tui.session.link import Refusal, words

            try:
                process = await link.shell(event.command)
            except Refusal as error:
                toast(self.app, f"Not started: {words(error)}", "error")
                self.query_one(Composer).restore(event.draft)
                return
            await parts.show_panel(select=process)

        self.run_worker(run(), exit_on_error=False)

    @on(Composer.KeepFailed)
    def _on_keep_failed(self, event: Composer.KeepFailed) -> None:
        toast(self.app, event.problem, "warning")

    @on(Composer.EmptyEnter)
    def _on_empty_enter(self) -> None:
        link = self._link
        if link is not None and link.state.queue.held:
            self._do(link.release_queue(), "The queue stays held")

    def _do(self, work: "Awaitable[object]", problem: str) -> None:
        """Ask something of the host beside the screen; a refusal is said."""

        async def run() -> None:
            from felan_tui.session.link import Refusal, words

            try:
                await work
            except Refusal as error:
                toast(self.app, f"{problem}: {words(error)}", "error")

        self.run_worker(run(), exit_on_error=False)

    # --- cards, elements, processes ---

    def on_answered(self, event: "Answered") -> None:
        link, parts = self._link, self._parts
        if link is None or parts is None:
            return

        async def answer() -> None:
            from felan_tui.session.link import Refusal, words

            try:
                await link.answer(event.interaction_id, event.answer)
            except Refusal as error:
                parts.cards.reject(event.interaction_id, words(error))

        self.run_worker(answer(), exit_on_error=False)

    def on_left(self, event: "Left") -> None:
        self.query_one(Composer).focus()

    def on_open_subject(self, event: "OpenSubject") -> None:
        from felan_tui.cards.whole import WholeSubject

        self.app.push_screen(WholeSubject(event.interaction))

    def on_ask_again(self, event: "AskAgain") -> None:
        link = self._link
        said = link.prompt_of(event.interaction) if link is not None else None
        if said is not None:
            self._send(said, Draft(said))
        elif self._parts is not None:
            self._parts.cards.reject(
                event.interaction.id, "what was said then is not known any more; write it again"
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
        self._do(link.act(params), "Not done")

    def on_stop_requested(self, event: "ProcessPanel.StopRequested") -> None:
        link, parts = self._link, self._parts
        if link is not None and parts is not None:
            self.run_worker(parts.stop(event.process_id, event.signal), exit_on_error=False)

    def on_closed(self) -> None:
        self.query_one(Composer).focus()

    @on(TranscriptView.FollowChanged)
    def _on_follow_changed(self, event: TranscriptView.FollowChanged) -> None:
        mark = self.query_one("#new-below", Line)
        mark.display = not event.following
        new = f"↓ {event.new_lines} new" if event.new_lines else "↓ not at the end"
        mark.show((new, "bold"), ("  F7 goes there", "$text-muted"))

    # --- actions ---

    def action_go_to_card(self) -> None:
        if self._parts is None or not self._parts.cards.focus_current():
            toast(self.app, "Nothing waits for an answer.")

    def action_cancel(self) -> None:
        """Esc: leave what has the focus; then the turn; then a held queue."""
        composer, link = self.query_one(Composer), self._link
        if not composer.area.has_focus:
            composer.focus()
        elif link is None:
            return
        elif link.state.run is not None:
            self._do(link.cancel(), "Not cancelled")
        elif link.state.queue.held:
            self.run_worker(self._take_queue_back(link), exit_on_error=False)

    async def _take_queue_back(self, link: "SessionLink") -> None:
        from felan_tui.session.link import Refusal, words

        try:
            texts = await link.take_queue_back()
        except Refusal as error:
            toast(self.app, f"Not taken back: {words(error)}", "error")
            return
        if texts:
            self.query_one(Composer).restore("\n\n".join(texts))

    def action_interrupt(self) -> None:
        """Ctrl+C: copy a selection; clear the draft; cancel; twice within two seconds quits."""
        now = time.monotonic()
        twice, self._last_interrupt = now - self._last_interrupt < QUIT_SECONDS, now
        if selected := self.get_selected_text():
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
            toast(self.app, "Sent to the terminal's clipboard (OSC 52).")
            self._last_interrupt = -QUIT_SECONDS
            return
        composer, link = self.query_one(Composer), self._link
        if twice:
            self._quit()
        elif composer.clear_draft():
            toast(self.app, "The draft is cleared; ↑ brings it back.")
        elif link is not None and link.state.run is not None:
            self._do(link.cancel(), "Not cancelled")
            toast(self.app, "Cancelling. Ctrl+C once more quits.")
        else:
            toast(self.app, "Ctrl+C once more quits.")

    def action_quit(self) -> None:
        self._quit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Ctrl+D is the composer's own key while there is text in it."""
        if action == "quit":
            composer = self.query_one(Composer)
            return composer.is_empty or not composer.area.has_focus
        return True

    def _quit(self) -> None:
        reasons = self._parts.what_would_end() if self._parts is not None else []
        if not reasons:
            self._leave(True)
            return
        from felan_tui.screens.quit import QuitScreen

        self.app.push_screen(QuitScreen(reasons), self._leave)

    def _leave(self, sure: bool | None) -> None:
        from felan_tui.app import FelanApp

        if sure and isinstance(self.app, FelanApp):
            self.app.leave()

    async def action_toggle_panel(self) -> None:
        if self._parts is not None:
            await self._parts.toggle_panel()

    async def action_zoom_panel(self) -> None:
        if self._parts is not None:
            await self._parts.zoom_panel()

    def action_toggle_side(self) -> None:
        if self._parts is not None and not self._parts.toggle_side():
            toast(self.app, "There is no document and no table.")

    def action_focus_transcript(self) -> None:
        self.query_one(TranscriptView).focus()

    def action_page_up(self) -> None:
        view = self.query_one(TranscriptView)
        if view.scroll_offset.y == 0 and self._parts is not None:
            self.run_worker(self._parts.older(), exclusive=True, group="older", exit_on_error=False)
        view.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        self.query_one(TranscriptView).scroll_page_down(animate=False)

    def action_follow(self) -> None:
        self.query_one(TranscriptView).action_follow()

    def action_help(self) -> None:
        from felan_tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen())

    def action_suspend(self) -> None:
        self.app.action_suspend_process()
