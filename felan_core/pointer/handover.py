"""One line for a session that starts without a state where another session left a task (task pointer §3).

The text of the other session is data: one line of it, without anything that could begin another.
"""

from __future__ import annotations

import os
import time

from felan_core.pointer.about import read_about
from felan_core.pointer.context_text import shell_line
from felan_core.pointer.errors import PointerError
from felan_core.pointer.files import STATE_NAME
from felan_core.pointer.store import PointerStore
from felan_core.pointer.values import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from felan_core.pointer.rules import State

MAX_AGE = 14 * 86400  # seconds
SHOWN = 200  # characters of the other pointer
_MOST = 200  # sessions that are looked at, the newest first: a start waits for this


def handover(
    store: PointerStore,
    session_id: str,
    folder: object,
    felan_line: str,
    clock: Callable[[], float] = time.time,
) -> str:
    """The line about the newest task that another session left in `folder`; empty where there is none.

    `felan_line` is the shell line of `felan pointer`. It never raises PointerError.
    """
    if type(folder) is not str or not folder.startswith("/"):
        return ""
    now = clock()
    for name in _newest(store.root, session_id, now):
        about = read_about(store.root, name)
        if about.folder != folder:
            continue
        try:
            state = store.read(name)
        except PointerError:
            continue
        if state is not None and state.pointer_text is not None:
            age = now - instant_seconds(state.updated_at)
            if age <= MAX_AGE:
                return _line(state, about.agent, age, session_id, felan_line, store.root)
    return ""


def _line(state: State, agent: str | None, age: float, session_id: str, felan_line: str, root: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in state.pointer_text or "").split())
    cut = text[:SHOWN] + ("…" if len(text) > SHOWN else "")
    of = f" of {agent}" if agent else ""
    where = f"--state-root {shell_line([root])}"
    return (
        f"other_session: {state.session_id}{of} has a task in this folder, {age_words(age)} old: {cut} | "
        "Take it up only if the user wants that. To read it: "
        f"{felan_line} show {state.session_id} {where} | To publish it here: "
        f"{felan_line} adopt {state.session_id} --to {session_id} {where}"
    )


def age_words(seconds: float) -> str:
    """A length of time as one number and its unit."""
    whole = max(0, int(seconds))
    for size, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {word}"
    return f"{whole} s"


def instant_seconds(instant: str) -> int:
    """Seconds since the epoch of an instant of a state (days from civil, as `calendar` would need `re`)."""
    year, month, day = int(instant[:4]), int(instant[5:7]), int(instant[8:10])
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    return days * 86400 + int(instant[11:13]) * 3600 + int(instant[14:16]) * 60 + int(instant[17:19])


def _newest(root: str, session_id: str, now: float) -> list[str]:
    found: list[tuple[float, str]] = []
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.name == session_id or not is_session_id(entry.name):
                    continue
                try:
                    changed = os.lstat(f"{root}/{entry.name}/{STATE_NAME}").st_mtime
                except OSError:
                    continue
                if now - changed <= MAX_AGE:
                    found.append((changed, entry.name))
    except OSError:
        return []
    return [name for _, name in sorted(found, reverse=True)[:_MOST]]
