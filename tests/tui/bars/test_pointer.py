"""The pointer bar: exact in cells at every width; what waits is dropped after what is decoration."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from felan_core.protocol.base import JsonObject
from felan_core.protocol.elements import Column, StatusElement, ViewElement, ViewItem, ViewPage
from felan_tui.bars.pointer import Parts, PointerFacts, bar_line, pointer_facts
from felan_tui.bars.pointer_bar import PointerBar
from felan_tui.text.cells import cell_len
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Piece, line_content
from tests.tui.text import hostile

GOAL = "목표: flaky login\nrun CI"
ALL = Parts(usage="ctx 41 %", processes=2, waiting=1, connection="host is gone", connection_tone="error")


def element(**fields: object) -> ViewElement:
    known: JsonObject = dict(fields)
    return ViewElement(
        id="felan.pointer",
        revision=4,
        layout="list",
        columns=[Column(id=name, label=name, type="string") for name in known]
        or [Column(id="status", label="status", type="string")],
        items=[ViewItem(id="pointer", fields=known)],
        page=ViewPage(index=0, size=1, has_more=False),
    )


def text(pieces: list[Piece]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)


def line(facts: PointerFacts | None, parts: Parts, width: int) -> str:
    shown = text(bar_line(facts, parts, width).pieces)
    assert cell_len(shown) == width
    return shown


@pytest.mark.parametrize(
    ("status", "sign"), [("DIRTY", "◆"), ("CLEAN", "●"), ("CLEARED", "○"), ("ABSENT", "·")]
)
def test_state_shows_by_sign_and_by_word(status: str, sign: str) -> None:
    facts = pointer_facts(element(status=status, revision=3, text=GOAL))
    assert line(facts, Parts(), 60).startswith(f"{sign} {status} r3 목표: flaky login → run CI")


def test_states_differ_in_colour_too() -> None:
    styles = set()
    for status in ("DIRTY", "CLEAN", "CLEARED"):
        head = bar_line(PointerFacts(status, 1, "x"), Parts(), 60).pieces[0]
        assert not isinstance(head, str)
        styles.add(head[1])
    assert len(styles) == 3


def test_what_cannot_be_read_says_why() -> None:
    facts = pointer_facts(element(status="ABSENT", revision=0, code="bad_state"))
    assert line(facts, Parts(), 60).startswith("! task pointer unreadable: bad_state")
    assert line(pointer_facts(element(status="?")), Parts(), 60).startswith("! ")


def test_a_stale_publish_shows_its_code_beside_the_current_text() -> None:
    facts = pointer_facts(element(status="CLEAN", revision=5, text="new goal", code="stale"))
    assert line(facts, Parts(), 60).startswith("● CLEAN r5 (stale) new goal")


def test_without_an_element_nothing_is_claimed() -> None:
    assert pointer_facts(None) is None
    assert "no task pointer yet" in line(None, Parts(), 60)


def test_at_120_all_of_it_is_there() -> None:
    shown = line(PointerFacts("DIRTY", 3, GOAL), ALL, 120)
    assert shown.startswith("◆ DIRTY r3 목표: flaky login → run CI ")
    assert shown.endswith("ctx 41 % · 2 running · ◷ 1 · ● host is gone")


def test_parts_go_in_the_declared_order_and_what_waits_goes_last() -> None:
    facts = PointerFacts("DIRTY", 3, GOAL)
    lost = [bar_line(facts, ALL, width).dropped for width in range(120, 10, -1)]
    assert lost[-1] == ("usage", "processes", "connection", "waiting")
    for fewer, more in pairwise(lost):
        assert more[: len(fewer)] == fewer
    assert bar_line(facts, ALL, 64).dropped == ("usage", "processes")
    assert "◷ 1" in line(facts, ALL, 60)
    assert "목표: flaky login → run" in line(facts, ALL, 60)


def test_a_lost_connection_outlives_what_is_decoration() -> None:
    parts = Parts(usage="ctx 41%", processes=2, connection="reconnecting in 3 s", connection_tone="warning")
    shown = bar_line(PointerFacts("DIRTY", 3, GOAL), parts, 60)
    assert "reconnecting in 3 s" in text(shown.pieces)
    assert "connection" not in shown.dropped


@given(
    st.text(max_size=200),
    st.text(max_size=40),
    st.sampled_from(["DIRTY", "CLEAN", "CLEARED", "ABSENT", "", "odd"]),
    st.integers(0, 2**53),
    st.integers(1, 200),
)
def test_any_text_fills_any_width_exactly(
    goal: str, words: str, status: str, revision: int, width: int
) -> None:
    parts = Parts(usage=words, connection=words, processes=revision % 3, waiting=revision % 2)
    pieces = bar_line(PointerFacts(status, revision, goal, words), parts, width).pieces
    drawn = line_content(*pieces).plain
    assert cell_len(drawn) == width
    assert not hostile.harmful(drawn)
    assert safe_line(drawn) == drawn


class Bar(App[None]):
    def compose(self) -> ComposeResult:
        yield PointerBar()


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (60, 16)])
async def test_the_bar_follows_its_element_and_the_size(size: tuple[int, int]) -> None:
    app = Bar()
    async with app.run_test(size=size) as pilot:
        bar = app.query_one(PointerBar)
        bar.show_pointer(element(status="DIRTY", revision=3, text=GOAL))
        bar.show_usage(StatusElement(id="felan.usage", revision=1, text="ctx 41%", tone="muted"))
        bar.show_counts(processes=2, waiting=1)
        await pilot.pause()
        row = bar.render_line(0).text
        assert cell_len(row) == size[0] - 2  # a cell of padding on each side
        assert "◆ DIRTY r3 목표: flaky login" in row
        assert "◷ 1" in row
        bar.show_pointer(element(status="CLEAN", revision=4, text=GOAL))
        await pilot.pause()
        assert "● CLEAN r4" in bar.render_line(0).text
        await pilot.resize_terminal(61, 16)
        await pilot.pause()
        assert cell_len(bar.render_line(0).text) == 59
        assert "◷ 1" in bar.render_line(0).text


@pytest.mark.parametrize("words", hostile.SHORT.values(), ids=hostile.SHORT.keys())
def test_hostile_words_are_harmless(words: str) -> None:
    parts = Parts(usage=words, connection=words)
    drawn = line_content(*bar_line(PointerFacts("DIRTY", 1, words, words), parts, 200).pieces).plain
    assert not hostile.harmful(drawn)
