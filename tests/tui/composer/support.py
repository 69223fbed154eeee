"""A screen with nothing but a composer on it, and what it said."""

import time
from pathlib import Path

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Static

from felan_tui.composer import Composer
from felan_tui.composer.area import When, event_time

SIZES = [(80, 24), (160, 48), (60, 16)]


class Writing(App[None]):
    def __init__(self, *, data: Path | None = None, cwd: str = "/x/api", when: When = event_time) -> None:
        super().__init__()
        self.composer_arguments = (cwd, data, when)
        self.said: list[Message] = []
        self.interrupts = 0
        self.quits = 0
        self.escapes = 0

    def compose(self) -> ComposeResult:
        cwd, data, when = self.composer_arguments
        yield Static("above", id="above")
        yield Composer(cwd=cwd, data=data, when=when)

    CSS = "#above { height: 1fr; }"
    BINDINGS = [("ctrl+c", "interrupt"), ("ctrl+d", "quit_here"), ("escape", "cancel")]

    def on_mount(self) -> None:
        self.query_one(Composer).focus()

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    def action_interrupt(self) -> None:
        self.interrupts += 1

    def action_quit_here(self) -> None:
        self.quits += 1

    def action_cancel(self) -> None:
        self.escapes += 1

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.said.append(event)

    def on_composer_follow_up(self, event: Composer.FollowUp) -> None:
        self.said.append(event)

    def on_composer_shell_submitted(self, event: Composer.ShellSubmitted) -> None:
        self.said.append(event)

    def on_composer_empty_enter(self, event: Composer.EmptyEnter) -> None:
        self.said.append(event)

    def on_composer_keep_failed(self, event: Composer.KeepFailed) -> None:
        self.said.append(event)

    def on_composer_not_taken(self, event: Composer.NotTaken) -> None:
        self.said.append(event)

    @property
    def problems(self) -> list[str]:
        return [event.problem for event in self.said if isinstance(event, Composer.NotTaken)]

    def heard(self) -> list[tuple[str, str]]:
        """What was said, as (kind, text)."""
        return [(type(m).__name__, getattr(m, "command", getattr(m, "text", ""))) for m in self.said]


def shown(app: App[None]) -> str:
    """The whole screen as text."""
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()
    )


def paste(app: App[None], text: str) -> None:
    """A bracketed paste, as the driver delivers it."""
    app.post_message(events.Paste(text))


def type_at(app: App[None], text: str, start: float, gap: float) -> float:
    """Keys with times of our own, `gap` seconds apart; returns the time of the last."""
    at = start
    for number, character in enumerate(text):
        at = start + number * gap
        key = {"\r": "enter", "\n": "ctrl+j", "\t": "tab"}.get(character)
        event = events.Key(key or character, character)
        event.time = at
        app.post_message(event)
    return at


async def write(pilot: Pilot[None], *texts: str) -> None:
    """Typed text, at a typist's pace but without the waiting; a longer name ("ctrl+t") is a key."""
    for text in texts:
        if text.startswith(("ctrl+", "shift+")):
            await pilot.press(text)
        else:
            type_at(pilot.app, text, time.monotonic(), 0.05)
            await pilot.pause()
