"""What the keys of the panes do: the process panel, the side pane, the transcript."""

from typing import TYPE_CHECKING

from felan_tui.session.app_screen import AppScreen

if TYPE_CHECKING:
    from felan_tui.session.transcript import SessionTranscript
    from felan_tui.session.view import SessionView


class PaneActions(AppScreen):
    """The actions of a screen whose panes show ``_view``, the attached session."""

    def __init__(self) -> None:
        super().__init__()
        self._view: SessionView | None = None

    @property
    def _transcript(self) -> "SessionTranscript | None":
        return self._view.transcript if self._view is not None else None

    async def action_toggle_panel(self) -> None:
        if self._view is not None:
            await self._view.toggle_panel()

    async def action_zoom_panel(self) -> None:
        if self._view is not None:
            await self._view.zoom_panel()

    def action_toggle_side(self) -> None:
        if self._view is not None and not self._view.toggle_side():
            self.say("There is no document and no table")

    def action_focus_transcript(self) -> None:
        if self._transcript is not None and self._transcript.display:
            self._transcript.focus()
        else:
            self.say("There is nothing to read yet")

    def action_page_up(self) -> None:
        if self._transcript is not None:
            self._transcript.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        if self._transcript is not None:
            self._transcript.scroll_page_down(animate=False)

    def action_follow(self) -> None:
        if self._transcript is not None:
            self._transcript.action_follow()
