"""What the tests of the pointer's screen share: a second writer, and the ways to it."""

from pathlib import Path
from typing import Any

from felan_core.pointer.rules import State
from felan_core.pointer.store import PointerStore
from felan_tui.pointer.conflict import PointerConflict
from felan_tui.pointer.editor import PointerEditor
from felan_tui.screens.pointer import PointerScreen
from tests.tui.screens.stage import Stage

WIDE = (110, 24)
TASK = "6f1c1e1e-0000-4000-8000-000000000001"


class Other:
    """Another writer of the same pointer: an agent's publisher, or another terminal."""

    def __init__(self, on: Stage, folder: Path) -> None:
        self.store = PointerStore(str(folder / "data" / "pointers"))
        self.id: str = on.link.id

    @property
    def state(self) -> State:
        state = self.store.read(self.id)
        assert state is not None
        return state

    def publishes(self, text: str) -> State:
        now = self.store.read(self.id)
        generation, revision = ("ABSENT", 0) if now is None else (now.generation, now.revision)
        return self.store.publish(self.id, generation, revision, TASK, "CLEAN", text)

    def prompts(self) -> State:
        return self.store.prompt(self.id)


def screen(on: Stage) -> PointerScreen:
    front = on.app.screen
    assert isinstance(front, PointerScreen)
    return front


async def opened(on: Stage) -> PointerScreen:
    await on.pilot.press("f8")
    await on.until(lambda: isinstance(on.app.screen, PointerScreen) and on.app.screen.focused is not None)
    return screen(on)


def latest(on: Stage) -> Any:
    return on.session._view.pointer.latest


async def knows(on: Stage, revision: int) -> None:
    await on.until(lambda: latest(on) is not None and latest(on).revision == revision)


async def told(on: Stage, *texts: str) -> None:
    """Like ``sees``, wherever the lines are broken."""

    def flat() -> str:
        return " ".join(" ".join(row.strip(" │F›─▌") for row in on.lines).split())

    await on.until(lambda: all(text in flat() for text in texts))


async def edits(on: Stage, text: str) -> PointerEditor:
    """Into the editor, and ``text`` in place of what is there."""
    await on.pilot.press("e")
    editor = screen(on).query_one(PointerEditor)
    await on.until(lambda: editor.display and editor.area.has_focus)
    editor.area.select_all()
    editor.area.replace(text, *editor.area.selection)
    editor.area.move_cursor(editor.area.document.end)
    await on.pilot.pause()
    return editor


async def comes_too_late(on: Stage, other: Other, *, mine: str = "mine", theirs: str = "theirs") -> None:
    """An edit that somebody else's publish overtakes, up to the question what is to be done."""
    other.publishes("from the start")
    await knows(on, 1)
    await opened(on)
    await edits(on, mine)
    other.publishes(theirs)
    await on.pilot.press("f9")
    conflict = screen(on).query_one(PointerConflict)
    await on.until(lambda: conflict.display)
    await told(on, "Nothing is overwritten", "Yours, begun from CLEAN r1", "Theirs: ● CLEAN r2")
    await on.settle_card()
