"""The screen as what shows a session needs it: where it mounts widgets, and how it says something."""

from typing import Literal

from textual.app import App
from textual.screen import Screen

from felan_tui.text.widgets import toast


class AppScreen(Screen[None]):
    """A screen that knows its app by type, and says things that go away by themselves."""

    @property
    def home(self) -> App[object]:
        """The app."""
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] untyped in Textual

    def say(
        self,
        text: str,
        severity: Literal["information", "warning", "error"] = "information",
        *,
        title: str = "",
        seconds: float | None = None,
    ) -> None:
        """Say something that goes away by itself."""
        toast(self.home, text, severity, title=title, seconds=seconds)
