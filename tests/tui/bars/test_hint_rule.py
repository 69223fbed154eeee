"""The hint rule: what fits in its width, where a click presses a key, and notices in their time."""

from collections.abc import Sequence

import pytest
from textual.app import App, ComposeResult

from felan_core.protocol.entries import LocalOrigin
from felan_core.protocol.session import Run
from felan_tui.bars.hint_rule import HintRule, KeyHint, fitting, rule_line
from felan_tui.bars.notices import KEPT, SECONDS, Notices, notice_rows
from felan_tui.text.cells import cell_len
from felan_tui.text.widgets import line_content
from tests.tui.text import hostile

HINTS = (
    KeyHint("F2", "answer", "f2", 0, loud=True),
    KeyHint("Esc", "stop", "escape", 1),
    KeyHint("F5", "Install guide", "f5", 3),
    KeyHint("F1", "keys", "f1", 2, side="right"),
    KeyHint("Ctrl+P", "actions", "ctrl+p", 8, side="right"),
)


def drawn(cells: int, *, status: str = "", notice: str = "", hints: Sequence[KeyHint] = HINTS) -> str:
    line = rule_line(hints, (status, "$text"), (notice, "$text"), cells, ink="$accent")
    return line_content(*line.pieces).plain


def test_the_whole_rule_at_80() -> None:
    left, right = "─ F2 answer · Esc stop · F5 Install guide ", " F1 keys · Ctrl+P actions ─"
    assert drawn(80) == left + "─" * (80 - len(left) - len(right)) + right
    assert drawn(80, status="● running 12 s", hints=HINTS[1:]).startswith("─ ● running 12 s · Esc stop · F5 ")


@pytest.mark.parametrize("cells", range(1, 121))
def test_it_fills_every_width_exactly(cells: int) -> None:
    for status in ("", "● running 2 min 07 s"):
        for notice in ("", "Copied by OSC 52"):
            assert cell_len(drawn(cells, status=status, notice=notice)) == cells


def test_where_it_is_narrow_the_least_important_go_first() -> None:
    assert drawn(60).startswith("─ F2 answer · Esc stop · F5 Install guide ──")
    assert drawn(60).endswith("── F1 keys ─")
    assert [one.key for one in fitting(HINTS, 30)] == ["F2", "Esc", "F1"]
    assert [one.key for one in fitting(HINTS, 10)] == ["F2"]
    assert fitting(HINTS, 5) == []


def test_a_click_presses_the_key_that_is_there() -> None:
    line = rule_line(HINTS, ("", ""), ("", ""), 80, ink="$accent")
    text = line_content(*line.pieces).plain
    found = {zone.press: text[zone.start : zone.end] for zone in line.zones}
    assert found == {
        "f2": "F2 answer",
        "escape": "Esc stop",
        "f5": "F5 Install guide",
        "f1": "F1 keys",
        "ctrl+p": "Ctrl+P actions",
    }


@pytest.mark.parametrize("words", hostile.SHORT.values(), ids=hostile.SHORT.keys())
def test_hostile_words_are_harmless(words: str) -> None:
    notices = Notices()
    notice = notices.add(words, "error", at=0, now=0.0, title=words)
    for row in notice_rows(notice.words, 60, 20):
        assert not hostile.harmful(row) and cell_len(row) <= 60
    assert not hostile.harmful(drawn(80, notice=notice.words, hints=[KeyHint("F5", words, "f5")]))


def test_a_notice_is_shown_for_four_seconds_and_kept() -> None:
    notices = Notices()
    notices.add("Copied by OSC 52", "information", at=0, now=10.0)
    assert (shown := notices.shown(10.0 + SECONDS - 0.1)) is not None and shown.words == "Copied by OSC 52"
    assert notices.shown(10.0 + SECONDS) is None
    assert [one.text for one in notices.kept] == ["Copied by OSC 52"]


def test_an_error_waits_for_a_key_that_comes_after_the_time_to_read_it() -> None:
    notices = Notices()
    notices.add("Not sent: no room", "error", at=0, now=10.0)
    notices.add("Copied by OSC 52", "information", at=0, now=11.0)
    assert not notices.key_pressed(11.0)
    assert (shown := notices.shown(1000.0)) is not None and shown.words == "✗ Not sent: no room"
    notices.add("Host is gone", "error", at=0, now=1000.0)
    assert (shown := notices.shown(1000.0)) is not None and shown.words == "✗ Host is gone"
    assert notices.more == " · 1 more in /notices"
    assert notices.key_pressed(1004.0)
    assert (shown := notices.shown(1004.0)) is not None and shown.words == "✗ Not sent: no room"
    assert notices.more == ""
    assert notices.key_pressed(1004.0) and notices.shown(1004.0) is None
    for number in range(KEPT + 5):
        notices.add(str(number), "warning", at=0, now=0.0)
    assert len(notices.kept) == KEPT and notices.kept[-1].text == str(KEPT + 4)


def test_a_long_notice_gets_rows_of_its_own_and_is_cut_nowhere() -> None:
    notices = Notices()
    short = notices.add("short", "error", at=0, now=0.0)
    assert notice_rows(short.words, 78, 76) == []
    words = " ".join(f"word{number}" for number in range(20))
    long = notices.add(words, "error", at=0, now=0.0)
    assert " ".join(notice_rows(long.words, 78, 76)) == f"✗ {words}"
    assert notice_rows(words * 9, 78, 76)[-1] == "… whole in /notices"


class Ruled(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.seconds = 100.0
        self.pressed: list[str] = []
        self.opened = 0
        self.notices = Notices()

    def compose(self) -> ComposeResult:
        yield HintRule(lambda: HINTS, self.notices, clock=lambda: self.seconds)

    def on_hint_rule_pressed(self, event: HintRule.Pressed) -> None:
        self.pressed.append(event.key)

    def on_hint_rule_opened(self) -> None:
        self.opened += 1


async def test_the_rule_on_a_screen() -> None:
    app = Ruled()
    async with app.run_test(size=(80, 24)) as pilot:
        rule = app.query_one(HintRule)
        assert rule.size.height == 1
        await pilot.click(HintRule, offset=(3, 0))
        assert app.pressed == ["f2"]
        app.notices.add("short", "information", at=0, now=app.seconds)
        rule.show_notice()
        await pilot.pause()
        assert rule.render_line(0).text.startswith("─ short ──") and "F1 keys" in rule.render_line(0).text
        await pilot.click(HintRule, offset=(3, 0))
        assert (app.pressed, app.opened) == (["f2"], 1)
        app.notices.add("long " * 30, "error", at=0, now=app.seconds)
        rule.show_notice()
        await pilot.pause()
        assert rule.size.height == 3 and rule.render_line(2).text.startswith("─ F2 answer")
        app.seconds += SECONDS
        rule.key_pressed()
        await pilot.pause()
        assert rule.size.height == 1 and rule.render_line(0).text.startswith("─ F2 answer")


async def test_a_turn_that_waits_for_an_answer_counts_no_seconds_on_the_rule() -> None:
    app, run = Ruled(), Run(id="run-1", started_at=0, origin=LocalOrigin(client="felan"))
    async with app.run_test(size=(80, 24)) as pilot:
        rule = app.query_one(HintRule)
        rule.show_run(run)
        assert rule._tick is not None
        rule.show_run(run, waiting=True)
        assert rule._tick is None and not rule.status.counts
        rule.stop_sent()
        await pilot.pause()
        assert rule._tick is not None and "stopping" in rule.render_line(0).text
        rule.run_ended("cancelled")
        assert rule._tick is None
