"""What Felan needs of Textual beyond its public interface still works as it is used."""

import asyncio
import gc
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.css import stylesheet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from felan_tui.compat import (
    BURST,
    Allowance,
    KeepingStylesheet,
    PromptScreen,
    cell_widths,
    forwarded_key,
    has_meta,
)
from felan_tui.session.start import Start
from tests.tui.screens.stage import stage, work


def test_a_burst_is_allowed_at_once_and_then_sixty_a_second() -> None:
    now = [100.0]
    allowance = Allowance(lambda: now[0])
    assert [allowance.take() for _ in range(BURST + 1)] == [True] * BURST + [False]
    now[0] += 1 / 50
    assert [allowance.take() for _ in range(2)] == [True, False]
    now[0] += 3600
    assert [allowance.take() for _ in range(BURST + 1)] == [True] * BURST + [False]
    taken = 0
    for _ in range(1000):
        now[0] += 1 / 1000
        taken += allowance.take()
    assert 58 <= taken <= 61


class Field(PromptScreen[None]):
    def compose(self) -> ComposeResult:
        yield Input()


class Typing(App[None]):
    def on_mount(self) -> None:
        self.push_screen(Field())


async def test_a_key_is_painted_without_a_tick_of_the_timer() -> None:
    app = Typing()
    painted: list[str] = []
    async with app.run_test() as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, Field)
        resumed: list[None] = []
        resume = screen._update_timer.resume
        screen._update_timer.resume = lambda: (resumed.append(None), resume())[1]
        display = app._display

        def paint(screen: Any, renderable: Any) -> None:
            painted.append(app.screen.query_one(Input).value)
            display(screen, renderable)

        app._display = paint
        app.set_focus(screen.query_one(Input))
        await pilot.pause(1)
        resumed.clear()
        await pilot.press("x")
    assert painted[-1] == "x"
    assert not resumed


class Row(Static):
    """A row that counts how often it is rendered, and how often it is shown."""

    renders = 0
    shown = 0

    def on_show(self) -> None:
        self.shown += 1

    def render_lines(self, crop: Region) -> list[Strip]:
        self.renders += 1
        return super().render_lines(crop)


class Rows(PromptScreen[None]):
    def compose(self) -> ComposeResult:
        for number in range(10):
            yield Row(f"row {number}", id=f"row{number}")


async def test_an_update_renders_the_rows_that_changed_alone() -> None:
    app = Typing()
    async with app.run_test(size=(40, 12)) as pilot:
        app.push_screen(Rows())
        await pilot.pause(1)
        rows = list(app.screen.query(Row))
        for row in rows:
            row.renders = 0
        rows[3].update("another", layout=False)
        await pilot.pause(1)
        assert [row.renders for row in rows] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        shown = [
            "".join(segment.text for segment in strip).rstrip()
            for strip in app.screen._compositor.render_strips()
        ]
        assert shown == ["row 0", "row 1", "row 2", "another", *(f"row {n}" for n in range(4, 10)), "", ""]


async def test_a_widget_is_shown_also_where_its_place_was_asked_for_before_the_layout() -> None:
    app = Typing()
    async with app.run_test(size=(40, 12)) as pilot:
        app.push_screen(Rows())
        await pilot.pause(1)
        row = app.screen.query_one("#row3", Row)
        row.display = False
        await pilot.pause(1)
        row.shown = 0
        row.display = True
        app.screen._compositor._full_map_invalidated = True  # as after a scroll
        assert row in app.screen._compositor.full_map
        await pilot.pause(1)
        assert row.shown == 1


async def test_what_changes_all_the_time_is_painted_sixty_times_a_second() -> None:
    app = Typing()
    async with app.run_test() as pilot:
        await pilot.pause(1)
        painted = 0
        display = app._display

        def paint(screen: Any, renderable: Any) -> None:
            nonlocal painted
            painted += 1
            display(screen, renderable)

        app._display = paint
        field = app.screen.query_one(Input)
        began = time.monotonic()
        for number in range(1000):
            field.value = str(number)
            await asyncio.sleep(0.001)
        assert 10 <= painted <= BURST + 1 + (time.monotonic() - began) * 60


def test_reading_the_sources_again_parses_what_is_new_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = ("A { color: $tone; }", ("one", "")), ("B { color: $tone; }", ("two", ""))
    plain = Stylesheet(variables={"tone": "red"})
    for source in (one, two):
        plain.add_source(*source)
    plain.reparse()
    styles = KeepingStylesheet(variables={"tone": "red"})
    # Textual's own makes another stylesheet of it, which knows nothing of what was parsed.
    monkeypatch.setattr(stylesheet, "Stylesheet", None)
    styles.add_source(*one)
    styles.reparse()
    (first,) = styles.rules
    styles.add_source(*two)
    styles.reparse()
    assert styles.rules[0] is first
    assert [rule.css for rule in styles.rules] == [rule.css for rule in plain.rules]
    styles.set_variables({"tone": "blue"})
    styles.reparse()
    assert "#0000FF" in styles.rules[0].css


@pytest.mark.parametrize("kind", ["ask", "agent"])
async def test_collections_are_on_again_after_the_first_paint(tmp_path: Path, kind: str) -> None:
    async def refused() -> None:
        assert gc.isenabled()

    gc.disable()
    try:
        begin = Start(kind=kind, cwd=work(tmp_path))  # pyright: ignore[reportArgumentType]
        async with stage(tmp_path, start=begin, opens=refused) as on:
            await on.until(gc.isenabled)
    finally:
        gc.enable()


async def test_a_key_that_is_forwarded_acts_once() -> None:
    class Target(Widget, can_focus=True):
        def on_key(self) -> None:
            seen.append("key")

    class Bound(App[None]):
        BINDINGS: ClassVar[list[BindingType]] = [Binding("a", "note", priority=True)]

        def compose(self) -> ComposeResult:
            yield Target()

        def action_note(self) -> None:
            seen.append("binding")

    for key, expected in ((events.Key("a", "a"), ["key", "binding"]), (None, ["key"])):
        seen: list[str] = []
        app = Bound()
        async with app.run_test() as pilot:
            target = app.query_one(Target)
            target.focus()
            await pilot.pause()
            target.post_message(key or forwarded_key(events.Key("a", "a")))
            await pilot.pause()
        assert seen == expected


def test_a_style_with_meta_data_is_told_from_one_without() -> None:
    assert has_meta(Style(meta={"source": "x"}))
    assert has_meta(Style(bold=True) + Style(meta={"source": "x"}))
    assert not has_meta(Style(bold=True))


def test_the_widths_of_characters_are_ranges_in_order() -> None:
    widths = cell_widths()
    assert all(first <= last and cells in (0, 1, 2) for first, last, cells in widths)
    assert [cells for first, last, cells in widths if first <= 0x0301 <= last] == [0]
    assert [cells for first, last, cells in widths if first <= 0x4E00 <= last] == [2]
