"""What the session screen says of its keys: a welcome where there is nothing to read, and what helps now."""

from typing import Final

from felan_tui.actions import ACTIONS
from felan_tui.bars.keys import KeyHint

WELCOME: Final = (
    ("Write what is to be done, and press Enter.\n\n", "$text"),
    ("!", "bold $text-accent"),
    (" runs a shell command here, ", "$text-muted"),
    ("/", "bold $text-accent"),
    (" lists what the agent knows, ", "$text-muted"),
    ("F1", "bold $text-accent"),
    (" shows every key.", "$text-muted"),
)
_NAMED: Final = {act.name: act for act in ACTIONS if act.footer}


def _hint(name: str, *, urgent: bool = False) -> KeyHint:
    return KeyHint(_NAMED[name].shown, _NAMED[name].word, urgent)


def key_hints(*, asks: bool, away: bool, side: bool, clears: bool) -> list[KeyHint]:
    """What can be pressed now, the most needed first.

    ``asks``: a question waits that no running turn tells of; ``away``: the focus is not in the composer;
    ``side``: there is something for the side pane; ``clears``: there is something to begin anew from.
    """
    hints = [_hint("go_to_card", urgent=True)] if asks else []
    if away:
        hints.append(KeyHint("Esc", "back"))
    hints.append(_hint("help"))
    if side:
        hints.append(_hint("toggle_side"))
    hints += [_hint("toggle_panel"), _hint("focus_transcript"), KeyHint("Ctrl+P", "all actions")]
    return [*hints, _hint("clear")] if clears else hints


def host_gone(reason: str) -> str:
    """The notice of a lost connection. A reason that is a sentence holds its own advice."""
    return reason if reason.endswith(".") else f"The host is gone: {reason}. Quit, then felan -c goes on."
