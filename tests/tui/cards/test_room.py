"""What a person sees of a card in little room: options, keys and waiting time, and how much is hidden."""

from typing import Any

import pytest
from textual.app import App, ComposeResult

from felan_core.protocol.interactions import Interaction
from felan_tui.cards.card import CardContext
from felan_tui.cards.stack import CardStack
from tests.tui.cards.looking import CARD_SIZES, Clock, gallery, go, lines, shows, text, until
from tests.tui.gallery_samples import FORM, interaction
from tests.tui.text.hostile import ALL, FORBIDDEN

SCOPE = "Yes, and don't ask again for git push commands in /tmp/proj, /tmp/other and every folder below them"


class Few(App[None]):
    """A stack that has a bounded number of rows, as below a long transcript."""

    AUTO_FOCUS = None

    def __init__(self, one: Interaction, rows: int) -> None:
        super().__init__()
        self.clock = Clock()
        self.stack = CardStack(around=CardContext(clock=self.clock, agent=lambda: "opencode"))
        self.stack.styles.max_height = rows
        self._one = one

    def compose(self) -> ComposeResult:
        yield self.stack

    def on_mount(self) -> None:
        self.stack.show([self._one])


def asking(command: str, *labels: tuple[str, str]) -> Interaction:
    options = [{"id": f"o{n}", "label": label, "effect": effect} for n, (effect, label) in enumerate(labels)]
    request: dict[str, Any] = {
        "kind": "approval",
        "title": "run",
        "subject": {"category": "execute", "command": command},
        "options": options,
    }
    return interaction("a", request)


YES_NO = (("allow_once", "Yes"), ("allow_always", SCOPE), ("reject_once", "No"))


@pytest.mark.parametrize("size", CARD_SIZES)
@pytest.mark.parametrize("rows", [10, 14])
@pytest.mark.parametrize("count", [1, 31, 10_000])
async def test_options_keys_and_waiting_time_are_in_sight_whatever_the_command(
    size: tuple[int, int], rows: int, count: int
) -> None:
    app = Few(asking("\n".join(f"echo {n}" for n in range(count)), *YES_NO), rows)
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "opencode wants to run", "waiting ", "$ echo 0", "1 Yes")
        seen = " ".join(text(app).replace("█", "").replace("┃", "").split())
        assert f"2 {SCOPE} (the agent's rule)" in seen
        assert "3 No" in seen
        assert "4 Reject, say why" in seen
        drawn = sum("echo" in line for line in lines(app))
        if drawn < count:
            hidden = f"{5_000 - drawn:,}+" if count > 5_000 else f"{count - drawn}"
            assert f"… {hidden} more lines · o" in seen


async def test_a_long_command_scrolls_inside_of_the_card() -> None:
    app, clock = gallery("approval-long")
    async with app.run_test(size=(80, 24)) as pilot:
        await go(pilot, clock)
        assert "echo line 40" not in text(app)
        for _ in range(5):
            await pilot.press("pagedown")
        await shows(pilot, "echo line 59", "40 above", "1 Allow once")
        await pilot.press("pageup", "pageup", "pageup")
        await shows(pilot, "$ echo line 1")


async def test_more_options_than_there_are_rows_scroll_with_the_cursor() -> None:
    many = [("allow_once", f"option {n} " + "x" * 60) for n in range(7)] + [("reject_once", "No")]
    app = Few(asking("ls", *many), 12)
    async with app.run_test(size=(60, 16)) as pilot:
        await shows(pilot, "1 Option 0", "below", "$ ls")
        app.stack.focus_current()
        await until(pilot, lambda: app.focused is not None)
        app.clock.wait(1)
        await pilot.press("end")
        await shows(pilot, "Reject, say why", "above", "$ ls")


@pytest.mark.parametrize("size", CARD_SIZES)
async def test_a_label_is_in_sight_with_its_field_and_the_buttons_stay(size: tuple[int, int]) -> None:
    app = Few(interaction("f", {"kind": "form", "form": FORM}), 9)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        app.stack.focus_current()
        await until(pilot, lambda: app.focused is not None)
        app.clock.wait(1)
        for label in ("Version", "Notes", "Sign the tag", "Channel"):
            await until(pilot, lambda label=label: any("▌" in one and label in one for one in lines(app)))
            assert "[ Not now ]  [ Release it ]" in text(app)
            await pilot.press("tab")


@pytest.mark.parametrize("name", ["escapes", *list(ALL)[:6]])
async def test_hostile_text_is_harmless_on_a_small_card(name: str) -> None:
    hostile = ALL.get(name, "\x1b[2J\x1b]52;c;aGk=\x07[red]x[/]\u202e")[:2_000] or "x"
    app = Few(asking(hostile, ("allow_once", hostile[:200]), ("reject_once", "No")), 10)
    async with app.run_test(size=(60, 16)) as pilot:
        await shows(pilot, "opencode wants to run")
        assert not FORBIDDEN & set(text(app).replace("\n", ""))
