"""The one table of actions: keys, palette, footer and help are made from it.

A key is one that every terminal sends, also through tmux and SSH; Ctrl+A, B, S, Q and Z belong to tmux and
the terminal. An action's method is ``action_<name>`` of the session screen.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from textual.binding import Binding


class Act(NamedTuple):
    """``keys``: as Textual names them, comma-separated. ``title``: for the palette; ``help``: for the help
    screen.

    ``first``: the screen takes the key before the widget that has the focus (a field has to leave it alone).
    ``command``: what is written in the composer to do it, without its slash; it may have no key then.
    """

    name: str
    keys: str
    shown: str
    title: str
    help: str
    group: str
    first: bool = True
    command: str = ""


ACTIONS: Final = (
    Act(
        "go_to_card",
        "f2",
        "F2",
        "Answer",
        "go to the card that waits; Esc leaves it waiting",
        "Turn",
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
        "copy a selection; clear the draft, then cancel; twice quits",
        "Turn",
    ),
    Act(
        "toggle_panel",
        "f3",
        "F3",
        "Processes",
        "show or hide the process panel",
        "View",
    ),
    Act("zoom_panel", "f4", "F4", "Processes, whole screen", "the process panel on the whole screen", "View"),
    Act(
        "toggle_side",
        "f5",
        "F5",
        "Side pane",
        "go to documents and tables; again hides them",
        "View",
    ),
    Act(
        "focus_transcript",
        "f6",
        "F6",
        "Transcript",
        "go to the transcript, block by block",
        "View",
    ),
    Act("page_up", "pageup", "PgUp", "Scroll up", "scroll up", "View"),
    Act("page_down", "pagedown", "PgDn", "Scroll down", "scroll down", "View"),
    Act("follow", "ctrl+end,f7", "F7", "Follow", "go to the end and follow it", "View"),
    Act(
        "pointer",
        "f8",
        "F8",
        "Task pointer",
        "the task pointer: its text and history; edit, publish, clear",
        "View",
    ),
    Act(
        "clear",
        "",
        "/clear",
        "Clear",
        "a new session here; this one is closed and kept",
        "Felan",
        command="clear",
    ),
    Act(
        "agent",
        "",
        "/agent",
        "Agent",
        "choose another agent, in a new session here; this one is closed and kept",
        "Felan",
        command="agent",
    ),
    Act(
        "notices",
        "",
        "/notices",
        "Notices",
        "the notices since Felan was started",
        "Felan",
        command="notices",
    ),
    Act("help", "f1", "F1", "Help", "show all keys", "Felan"),
    Act("quit", "ctrl+d", "Ctrl+D", "Quit", "quit, when the composer is empty", "Felan"),
    Act("suspend", "ctrl+z", "Ctrl+Z", "Suspend", "suspend Felan; fg in the shell resumes it", "Felan"),
)


class Key(NamedTuple):
    """A key that a widget has of its own. ``keys``: as Textual names them, or nothing where it is text."""

    group: str
    shown: str
    help: str
    keys: str = ""


FURTHER: Final = (
    Key(
        "Composer",
        "Enter",
        "send; while the agent runs: steer it, or queue a follow-up where it cannot be steered; on an empty "
        "composer: send a held queue on",
        "enter",
    ),
    Key("Composer", "Ctrl+T", "queue a follow-up", "ctrl+t"),
    Key(
        "Composer",
        "Ctrl+J",
        "a new line (also Alt+Enter; Shift+Enter where the terminal sends it)",
        "ctrl+j,shift+enter,alt+enter",
    ),
    Key("Composer", "↑ ↓", "at the first and last line: the history of this folder", "up,down"),
    Key("Composer", "Tab", "complete a command", "tab"),
    Key("Composer", "Ctrl+R", "search the history of this folder", "ctrl+r"),
    Key("Composer", "Ctrl+G", "edit the message in $EDITOR", "ctrl+g"),
    Key("Composer", "Ctrl+_", "undo", "ctrl+underscore"),
    Key("Composer", "Ctrl+Y", "redo after an undo; else put back the text that Ctrl+W, U or K cut", "ctrl+y"),
    Key("Composer", "Ctrl+L", "redraw the screen", "ctrl+l"),
    Key("Composer", "! command", "run a shell command as a process of the session"),
    Key("Composer", "/", "list the commands: Felan's own, and the agent's"),
    Key("Card", "1-9", "choose by the number shown; a new card accepts no key for half a second"),
    Key("Card", "↑ ↓ Enter", "choose by the arrows; Space marks where several can be chosen"),
    Key("Card", "w", "reject and say why", "w"),
    Key("Card", "o", "open a long command or diff whole", "o"),
    Key("Card", "r", "ask again, where the agent that asked is gone", "r"),
    Key("Card", "Ctrl+N Ctrl+R", "the next and the previous card", "ctrl+n,ctrl+r"),
    Key("Transcript", "↑ ↓", "the block above and below", "up,down"),
    Key("Transcript", "Enter", "expand or fold it; a process opens in the panel", "enter"),
    Key("Transcript", "y", "copy it", "y"),
    Key("Transcript", "Home End", "the beginning; the end, and follow it", "home,end"),
    Key("Transcript", "letters", "typed into the composer, except y"),
    Key("Panel", "x x", "stop the process: TERM, then KILL, the whole group", "x"),
    Key("Panel", "i", "interrupt it (INT)", "i"),
    Key("Panel", "↑ ↓ j k", "the next and the previous process", "up,down,j,k"),
    Key("Panel", "PgUp PgDn", "scroll the output; End follows it", "pageup,pagedown"),
    Key("Table", "s", "sort by the next column; a click on a heading sorts by it", "s"),
    Key("Task pointer", "e", "edit the text; F9 publishes it, Esc keeps the draft"),
    Key("Task pointer", "x y d", "clear it; copy what is shown; set a draft aside"),
    Key("Task pointer", "1 2 3", "where it changed meanwhile: keep yours, take theirs, merge"),
    Key("Felan", "Ctrl+P", "the palette: every action by name", "ctrl+p"),
)
"""Keys that a widget has of its own, for the help screen."""


def bindings() -> list[Binding]:
    """The session screen's bindings."""
    return [
        Binding(act.keys, act.name, act.title, show=False, priority=act.first, id=f"felan.{act.name}")
        for act in ACTIONS
        if act.keys
    ]


COMMANDS: Final = {act.command: act for act in ACTIONS if act.command}
"""Felan's own commands, by what is written. They go before an agent's of the same name."""


def commands_with(agents: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """All commands that the composer lists, each (name, what it does): Felan's own, then the agent's."""
    own = [(act.command, act.help) for act in COMMANDS.values()]
    return own + [(name, about) for name, about in agents if name.removeprefix("/") not in COMMANDS]


def command_of(text: str) -> tuple[Act, str] | None:
    """The own command that a message is, and what is written after it; None where it is none.

    A message that begins with a space is text.
    """
    word, _, rest = text.rstrip().partition(" ")
    act = COMMANDS.get(word[1:]) if word.startswith("/") else None
    return None if act is None else (act, rest.strip())


def unknown_command(text: str, agents: Iterable[str]) -> str:
    """Advice where a message is a command that neither Felan nor the agent has; "" where it can be sent.

    ``agents``: the names of the agent's commands. One that lists none may still have some.
    """
    found = re.match(r"/([\w:.-]+)(?=\s|$)", text)
    names = {name.removeprefix("/") for name in agents}
    if found is None or not names or found[1] in names or found[1] in COMMANDS:
        return ""
    from difflib import get_close_matches

    near = get_close_matches(found[1], [*COMMANDS, *names], n=1)
    advice = f"Did you mean /{near[0]}? " if near else ""
    return f"There is no command {found[0]}. {advice}A space before it sends it as text."
