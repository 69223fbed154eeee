"""The one table of actions: keys, palette, footer and help are made from it.

A key is one that every terminal sends, also through tmux and SSH; Ctrl+A, B, S, Q and Z belong to tmux and
the terminal. An action's method is ``action_<name>`` of the session screen.
"""

from typing import Final, NamedTuple

from textual.binding import Binding


class Act(NamedTuple):
    """``keys``: as Textual names them, comma-separated. ``title``: for the palette; ``help``: for the help
    screen.

    ``first``: the screen takes the key before the widget that has the focus (a field has to leave it alone).
    """

    name: str
    keys: str
    shown: str
    title: str
    help: str
    group: str
    first: bool = True
    footer: bool = False


ACTIONS: Final = (
    Act(
        "go_to_card",
        "f2",
        "F2",
        "Answer",
        "go to the card that waits; Esc leaves it waiting",
        "Turn",
        footer=True,
    ),
    Act(
        "cancel",
        "escape",
        "Esc",
        "Cancel",
        "cancel the turn; take a held queue back; leave a pane",
        "Turn",
        first=False,
    ),
    Act(
        "interrupt",
        "ctrl+c",
        "Ctrl+C",
        "Clear or cancel",
        "clear the draft, then cancel, twice quits",
        "Turn",
    ),
    Act("toggle_panel", "f3", "F3", "Processes", "show or hide the process panel", "View", footer=True),
    Act("zoom_panel", "f4", "F4", "Processes, whole screen", "the process panel on the whole screen", "View"),
    Act("toggle_side", "f5", "F5", "Side pane", "show or hide documents and tables", "View", footer=True),
    Act(
        "focus_transcript",
        "f6",
        "F6",
        "Transcript",
        "go to the transcript: ↑ ↓ by block, Enter expands, y copies",
        "View",
        footer=True,
    ),
    Act("page_up", "pageup", "PgUp", "Scroll up", "scroll the transcript up", "View"),
    Act("page_down", "pagedown", "PgDn", "Scroll down", "scroll the transcript down", "View"),
    Act("follow", "ctrl+end,f7", "F7", "Follow", "go to the end and follow it", "View"),
    Act("help", "f1", "F1", "Help", "show all keys", "Felan", footer=True),
    Act("quit", "ctrl+d", "Ctrl+D", "Quit", "quit, when the composer is empty", "Felan"),
    Act("suspend", "ctrl+z", "Ctrl+Z", "Suspend", "back to the shell; fg comes back", "Felan"),
)

FURTHER: Final = (
    (
        "Composer",
        "Enter",
        "send; while the agent runs: steer it, or queue a follow-up where it cannot be steered",
    ),
    ("Composer", "Ctrl+T", "queue a follow-up"),
    ("Composer", "Ctrl+J", "a new line (Shift+Enter where the terminal sends it)"),
    ("Composer", "↑ ↓", "at the first and last line: the history of this folder"),
    ("Composer", "! command", "run a shell command as a process of the session"),
    ("Composer", "/", "the agent's commands; Tab completes"),
    ("Card", "1-9", "choose, in the order shown; nothing is taken in the first half second"),
    ("Card", "o", "open a long command or diff whole"),
    ("Card", "r", "ask again, where the agent that asked is gone"),
    ("Panel", "x x", "stop a process: TERM, then KILL, the whole group"),
    ("Felan", "Ctrl+P", "the palette: every action by name"),
)
"""Keys that a widget has of its own, for the help screen."""


def bindings() -> list[Binding]:
    """The session screen's bindings."""
    return [
        Binding(act.keys, act.name, act.title, show=act.footer, priority=act.first, id=f"felan.{act.name}")
        for act in ACTIONS
    ]
