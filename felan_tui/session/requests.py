"""SessionRequests: what a person asks of the host, sent beside the screen. What is refused comes back.

Until there is a session, what is written waits here.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from felan_tui.composer import Composer, Draft

if TYPE_CHECKING:
    from felan_core.protocol.interactions import Interaction
    from felan_tui.elements.messages import ActionChosen
    from felan_tui.session.app_screen import AppScreen
    from felan_tui.session.view import SessionView

NOT_YET = "The session is not there yet; try again in a moment."


class SessionRequests:
    """``view`` returns the session that is shown, or None before there is one; ``is_connected`` whether a
    request is sent now.
    """

    def __init__(
        self,
        screen: "AppScreen",
        view: "Callable[[], SessionView | None]",
        is_connected: Callable[[], bool] = lambda: True,
    ) -> None:
        self._screen = screen
        self._view = view
        self._is_connected = is_connected
        self.unsent: list[Draft] = []
        """Drafts that were sent before there was a session, in order."""
        self._waiting: list[Draft] = []
        """Drafts in the outbox of a client that is not connected: no host has seen them."""

    @property
    def _composer(self) -> Composer:
        return self._screen.query_one(Composer)

    def ask(
        self,
        work: "Awaitable[object]",
        problem: str,
        *,
        refused: "Callable[[str], object] | None" = None,
        unknown: "Callable[[str], object] | None" = None,
    ) -> None:
        """Ask something of the host. ``refused`` gets the reason when it is not done, and ``unknown`` when
        nobody knows; without them the reason is shown as a notice that begins with ``problem``.
        """

        async def run() -> None:
            from felan_tui.session.controller import Refusal, is_unknown, words

            try:
                await work
            except Refusal as error:
                if unknown is not None and is_unknown(error):
                    unknown(words(error))
                elif refused is not None:
                    refused(words(error))
                else:
                    self._screen.say(f"{problem}: {words(error)}", "error")

        self.spawn(run())

    def spawn(self, work: "Coroutine[Any, Any, None]") -> None:
        """Run beside the screen. A fault of ours in it ends the app with a report, which keeps the draft."""
        self._screen.run_worker(work)

    # --- what is written ---

    def send(self, text: str, draft: Draft, *, follow_up: bool = False) -> None:
        """Send what was written. ``draft`` comes back into the composer when it is refused, and stays in the
        history alone where nobody knows whether it was stored.
        """
        view, composer = self._view(), self._composer
        if view is None:
            self.unsent.append(draft)
            return
        link = view.link
        verb = link.verb if not follow_up or link.verb == "send" else "follow_up"

        def refused(words: str) -> None:
            if draft in self._waiting:
                self._waiting.remove(draft)
            self._screen.say(f"Not sent: {words}", "error")
            composer.restore(draft)

        def unknown(words: str) -> None:
            text = f"It is unknown whether the message was sent ({words}). ↑ brings its text back."
            self._screen.say(text, "error")

        if not self._is_connected():
            self._waiting.append(draft)
            self._screen.say("Sent when the host answers again", "warning")
        view.transcript.action_follow()
        self.ask(link.send(text, verb), "Not sent", refused=refused, unknown=unknown)

    def connected(self) -> None:
        """The client is connected: its outbox is sent."""
        self._waiting.clear()

    def take_unsent(self) -> list[Draft]:
        """What no host has seen, in order; it is nobody's any more."""
        unsent = [*self._waiting, *self.unsent]
        self._waiting, self.unsent = [], []
        return unsent

    def send_waiting(self, first: str | None = None) -> None:
        """Send what was written before there was a session, after ``first``."""
        unsent, self.unsent = self.unsent, []
        if first:
            unsent.insert(0, Draft(first))
        for number, draft in enumerate(unsent):
            self.send(draft.expanded, draft, follow_up=number > 0)

    def shell(self, event: Composer.ShellSubmitted) -> None:
        """Run a shell command as a process of the session, and show it in the panel."""
        view, composer = self._view(), self._composer
        if view is None:
            composer.restore(event.draft)
            self._screen.say(NOT_YET, "warning")
            return

        def refused(words: str) -> None:
            self._screen.say(f"Not started: {words}", "error")
            composer.restore(event.draft)

        def unknown(words: str) -> None:
            self._screen.say(f"It is unknown whether the command was started ({words}).", "error")

        async def run() -> None:
            await view.show_panel(select=await view.link.shell(event.command))

        self.ask(run(), "Not started", refused=refused, unknown=unknown)

    # --- the turn and its queue ---

    def cancel(self) -> None:
        """Stop the turn that runs."""
        if (view := self._view()) is not None:
            view.rule.stop_sent()
            self.ask(view.link.cancel(), "Not stopped")

    def release_queue(self) -> None:
        """Send a held queue."""
        view = self._view()
        if view is not None and view.link.state.queue.held:
            self.ask(view.link.release_queue(), "The queue is still held")

    def take_queue_back(self) -> None:
        """Put the texts of a held queue back into the composer."""
        view, composer = self._view(), self._composer
        if view is None:
            return

        async def run() -> None:
            if texts := await view.link.take_queue_back():
                composer.restore("\n\n".join(texts))

        self.ask(run(), "Not taken back")

    # --- answers and actions ---

    def answer(self, interaction: str, answer: dict[str, Any]) -> None:
        """Answer a question. A refusal is shown on its card."""
        if (view := self._view()) is not None:
            self.ask(
                view.link.answer(interaction, answer),
                "Not answered",
                refused=lambda words: view.cards.reject(interaction, words),
            )

    def ask_again(self, asked: "Interaction") -> None:
        """Send the prompt of a question again whose agent is gone."""
        view = self._view()
        if view is None:
            return
        prompt = view.link.prompt_of(asked)
        if prompt is None:
            view.cards.reject(asked.id, "the prompt of that turn is not known any more; write it again")
            return
        verb = "send" if view.link.verb == "send" else "follow_up"
        self.ask(
            view.link.send(prompt, verb),
            "Not asked",
            refused=lambda words: view.cards.reject(asked.id, words),
        )

    def act(self, event: "ActionChosen") -> None:
        """Use an action of an element."""
        from felan_core.protocol import UNSET
        from felan_core.protocol.operations import UiActionParams

        if (view := self._view()) is None:
            return
        params = UiActionParams(
            element=event.element_id,
            revision=event.revision,
            action=event.action_id,
            item=event.item or UNSET,
            values=UNSET if event.values is None else event.values,
        )
        self.ask(view.link.act(params), "Not done")


__all__ = ["NOT_YET", "SessionRequests"]
