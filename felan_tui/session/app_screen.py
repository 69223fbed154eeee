"""The base of Felan's screens: it knows its app by type, and shows notices."""

from textual.app import App

from felan_tui.bars.notices import Severity
from felan_tui.compat import PromptScreen
from felan_tui.text.widgets import toast


class AppScreen(PromptScreen[None]):
    """A screen that shows a session's widgets."""

    @property
    def home(self) -> App[object]:
        """The app."""
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] untyped in Textual

    def say(self, text: str, severity: Severity = "information", *, title: str = "") -> None:
        """Show a notice."""
        toast(self.home, text, severity, title=title)
