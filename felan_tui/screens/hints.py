"""The keys of the hint rule: what can be pressed in this state of the screen, as a pure function of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from felan_tui.bars.hint_rule import KeyHint
from felan_tui.screens.policy import Escape

Focus = Literal["composer", "transcript", "card", "panel", "side", "elsewhere"]

ESCAPE_WORDS: Final[dict[Escape, str]] = {"leave": "back", "stop": "stop", "take_back": "take back"}
"""One word for what Esc does now, so that there are never two."""

ALWAYS: Final = (
    KeyHint("F1", "keys", "f1", 2, side="right"),
    KeyHint("Ctrl+P", "actions", "ctrl+p", 8, side="right"),
)

TRANSCRIPT: Final = (
    KeyHint("↑↓", "block", "", 3),
    KeyHint("Enter", "open", "enter", 3),
    KeyHint("y", "copy", "y", 3),
)


@dataclass(frozen=True)
class Situation:
    """What the hints depend on. ``verb``: what Enter does; ``document``: the title of a document or table
    that is new and not in sight; ``new_lines``: None while the transcript follows its end; ``own``: the keys
    of the card or the panel that has the focus.
    """

    focus: Focus = "composer"
    escape: Escape = "nothing"
    waiting: bool = False
    running: bool = False
    held: bool = False
    verb: Literal["send", "steer", "follow_up"] = "send"
    written: bool = False
    shell: bool = False
    processes: int = 0
    panel: bool = False
    side: bool = False
    document: str = ""
    new_lines: int | None = None
    readable: bool = False
    own: Sequence[KeyHint] = ()


def key_hints(now: Situation) -> list[KeyHint]:
    """The hints, in the order in which they are read."""
    hints: list[KeyHint] = []
    if now.waiting and now.focus != "card":
        hints.append(KeyHint("F2", "answer", "f2", 0, loud=True))
    word = ESCAPE_WORDS.get(now.escape)
    leave = [KeyHint("Esc", word, "escape", 1)] if word else []
    match now.focus:
        case "composer":
            hints += [*leave, *_composer(now)]
        case "transcript":
            hints += [*TRANSCRIPT, *leave]
        case "card" | "panel":
            hints += [*(one._replace(rank=3 + at) for at, one in enumerate(now.own)), *leave]
        case _:
            hints += leave
    if now.new_lines is not None:
        hints.append(KeyHint("F7", f"↓ {now.new_lines} new" if now.new_lines else "↓ end", "f7", 2))
    hints += _panes(now)
    return [*hints, *ALWAYS]


def _composer(now: Situation) -> list[KeyHint]:
    if now.shell:
        return [KeyHint("Enter", "run in a shell", "enter", 2)]
    hints: list[KeyHint] = []
    if now.held and not now.written:
        hints.append(KeyHint("Enter", "send the queue", "enter", 1))
    elif now.verb == "steer":
        hints.append(KeyHint("Enter", "steer", "enter", 4))
        hints.append(KeyHint("Ctrl+T", "queue", "ctrl+t", 4))
    elif now.verb == "follow_up":
        hints.append(KeyHint("Enter", "queue", "enter", 4))
    return hints


def _panes(now: Situation) -> list[KeyHint]:
    hints: list[KeyHint] = []
    if now.document:
        hints.append(KeyHint("F5", now.document, "f5", 3))
    elif now.side:
        hints.append(KeyHint("F5", "hide" if now.focus == "side" else "side pane", "f5", 6))
    if now.focus == "panel":
        hints += [KeyHint("F3", "hide", "f3", 5), KeyHint("F4", "full screen", "f4", 6)]
    elif now.processes or now.panel:
        hints.append(KeyHint("F3", "processes", "f3", 5))
    if now.readable and now.focus == "composer" and now.new_lines is None:
        hints.append(KeyHint("F6", "transcript", "f6", 7))
    return hints


__all__ = ["Focus", "Situation", "key_hints"]
