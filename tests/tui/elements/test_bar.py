from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_core.protocol.elements import ProgressElement
from felan_tui.elements.bar import EMPTY, FULL, bar_text, is_indeterminate
from felan_tui.text.cells import cell_len
from tests.tui.gallery_samples import element


def progress(**members: Any) -> ProgressElement:
    made = element(**{"kind": "progress", "id": "p", "label": "Tests", "state": "running", **members})
    assert isinstance(made, ProgressElement)
    return made


def width_of(shown: Any) -> int:
    bar = shown.before + shown.filled + shown.rest
    parts = (
        f"{shown.glyph} {shown.label}"
        + (f"  {bar}" if bar else "")
        + (f"  {shown.figures}" if shown.figures else "")
    )
    return cell_len(parts)


def test_share_amounts_rate_and_time_left() -> None:
    shown = bar_text(progress(value=25, total=100, unit="tests"), 80, rate=5, left=15)
    assert shown.figures == "25% · 25 of 100 tests · 5 tests/s · 15 s left"
    bar = shown.filled + shown.rest
    assert shown.filled.count(FULL) == pytest.approx(len(bar) / 4, abs=1)


@pytest.mark.parametrize(("state", "glyph"), [("done", "✓"), ("failed", "✗"), ("cancelled", "–")])
def test_an_ended_progress_has_a_sign_a_word_and_no_bar(state: str, glyph: str) -> None:
    shown = bar_text(progress(state=state, value=1, total=2), 80)
    assert shown.glyph == glyph
    assert shown.figures.endswith(state)
    assert not shown.filled


def test_without_a_total_the_piece_runs_through_the_bar() -> None:
    assert is_indeterminate(progress())
    places = {bar_text(progress(), 60, beat=beat).before for beat in range(20)}
    assert len(places) > 10
    assert is_indeterminate(progress(total=0))
    assert not is_indeterminate(progress(state="done"))


@pytest.mark.parametrize(
    ("value", "total", "said"), [(29, 100, "29%"), (57, 100, "57%"), (1.0, 1e-308, "100%")]
)
def test_the_share_is_exact_and_never_past_the_whole(value: float, total: float, said: str) -> None:
    assert said in bar_text(progress(value=value, total=total), 120).figures


@given(
    st.integers(14, 200),
    st.floats(-10, 1e12) | st.none(),
    st.floats(0, 1e12) | st.none(),
    st.text(max_size=60),
    st.sampled_from(["running", "done", "failed", "cancelled"]),
    st.integers(0, 1000),
)
def test_the_line_never_leaves_its_width(
    width: int, value: float | None, total: float | None, label: str, state: str, beat: int
) -> None:
    members: dict[str, Any] = {"label": label, "state": state, "unit": "bytes"}
    members |= {name: number for name, number in (("value", value), ("total", total)) if number is not None}
    shown = bar_text(progress(**members), width, rate=3, left=5, beat=beat)
    assert width_of(shown) <= width
    if shown.before or shown.filled or shown.rest:
        assert set(shown.before) <= {EMPTY}
