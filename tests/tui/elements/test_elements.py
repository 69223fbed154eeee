from typing import Any

import pytest
from textual.strip import Strip

from felan_core.protocol.elements import Element
from felan_tui.elements.area import ElementArea, place_of
from felan_tui.elements.document import DocumentView, plain_markdown
from felan_tui.elements.host import is_host_element
from felan_tui.elements.progress import ProgressLine
from felan_tui.elements.view import ViewPanel
from felan_tui.text.cells import cell_len
from tests.tui.cards.looking import SIZES, Clock, gallery, lines, shows, text, until
from tests.tui.gallery import Gallery
from tests.tui.gallery_samples import COLUMNS, ELEMENTS, HOSTILE, element
from tests.tui.text.hostile import ESCAPES, FORBIDDEN, INVISIBLE, MARKUP


def status(id: str, words: str, tone: str = "info") -> Element:
    return element(kind="status", id=id, text=words, tone=tone)


def progress(**members: Any) -> Element:
    return element(**{"kind": "progress", "id": "p", "label": "Tests", "state": "running", **members})


def view(rows: int, **members: Any) -> Element:
    items = [{"id": f"r{n}", "fields": {"name": f"row {n}", "size": n}} for n in range(rows)]
    page = {"index": 0, "size": rows or 1, "total": rows, "hasMore": False}
    plain = {
        "kind": "view",
        "id": "v",
        "title": "Rows",
        "layout": "table",
        "columns": COLUMNS,
        "items": items,
        "page": page,
    }
    return element(**{**plain, **members})


@pytest.mark.parametrize("size", SIZES)
async def test_status_lines_tell_their_tone_by_a_sign_and_leave_out_the_hosts_own(
    size: tuple[int, int],
) -> None:
    app, _ = gallery("status")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "✗ 3 tests fail", "✓ CI: build is green")
        assert "· [red]x[/red] [/x] [@click=app.quit]q[/] txt.exe 日本" in text(app)
        assert "the host's own" not in text(app)


async def test_more_statuses_than_fit_are_counted_and_those_that_go_away_leave_nothing() -> None:
    app, _ = gallery("status")
    async with app.run_test() as pilot:
        await app.above.show([status(f"s{n}", f"line {n}") for n in range(9)])
        await until(pilot, lambda: "+6 more" in text(app))
        assert "line 2" in text(app)
        assert "line 3" not in text(app)
        await app.above.show([])
        await until(pilot, lambda: "line 2" not in text(app))
        assert not app.above.display


@pytest.mark.parametrize("size", SIZES)
async def test_progress_shows_bar_share_and_amounts_and_how_it_ended(size: tuple[int, int]) -> None:
    app, _ = gallery("progress")
    async with app.run_test(size=size) as pilot:
        await shows(
            pilot,
            "● Download  ━",
            "25% · 2.9 MiB of 11.4 MiB",
            "1,234 files",
            "✓ Tests",
            "done",
            "✗ Upload",
            "failed",
        )


async def test_progress_tells_its_rate_and_the_time_left() -> None:
    app, clock = gallery("progress")
    async with app.run_test() as pilot:
        for value in (0, 10, 20):
            await app.above.show([progress(value=value, total=100, unit="tests")])
            clock.wait(2)
        clock.wait(-2)
        await app.above.show([progress(value=20, total=100, unit="tests", revision=9)])
        await until(pilot, lambda: "5 tests/s · 16 s left" in text(app))


async def test_only_a_running_progress_on_the_screen_is_redrawn_by_a_timer() -> None:
    app, _ = gallery("progress")
    async with app.run_test() as pilot:
        await until(
            pilot, lambda: [one.moving for one in app.query(ProgressLine)] == [True, True, False, False]
        )
        before = text(app)
        await until(pilot, lambda: text(app) != before)
        app.above.display = False
        await until(pilot, lambda: not any(one.moving for one in app.query(ProgressLine)))


async def test_a_still_screen_has_no_pulse() -> None:
    app = Gallery("status")
    async with app.run_test() as pilot:
        area = ElementArea("above", still=True)
        await app.mount(area)
        await area.show([progress()])
        await pilot.pause(0.05)
        assert [one.moving for one in app.query(ProgressLine)] == [False]


async def test_a_document_is_rendered_by_what_was_given_scrolls_and_keeps_its_place() -> None:
    asked: list[tuple[str, int]] = []

    def render(markdown: str, width: int) -> list[Strip]:
        asked.append((markdown, width))
        return plain_markdown(f"rendered {markdown}", width)

    app = Gallery("status")
    async with app.run_test() as pilot:
        area = ElementArea("side", render_markdown=render)
        await app.mount(area, before=0)
        long = "\n".join(f"line {n}" for n in range(200))
        await area.show([element(kind="document", id="d", title="Plan", markdown=long)])
        await until(pilot, lambda: "rendered line 0" in text(app))
        assert "Plan" in text(app)
        document = app.query_one(DocumentView)
        document.focus()
        await until(pilot, lambda: document.allow_vertical_scroll)  # laid out: there is an end to go to
        await pilot.press("end")
        await until(pilot, lambda: "line 199" in text(app))
        assert "Plan" in text(app)
        await pilot.pause()  # the scroll bar took a column: it is rendered once more for that
        renders = len(asked)
        await area.show([element(kind="document", id="d", title="Plan", markdown=long, revision=6)])
        await pilot.pause()
        assert "line 199" in text(app)
        assert len(asked) == renders


@pytest.mark.parametrize("size", SIZES)
async def test_a_table_stands_in_columns_with_wide_characters(size: tuple[int, int]) -> None:
    app, _ = gallery("view")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "4 of 120")
        rows = [line for line in lines(app) if "2023-11-1" in line]
        assert len(rows) == 4
        assert len({cell_len(row[: row.index("2023-11-1")]) for row in rows}) == 1
        assert any("日本語のファイル.py" in row for row in rows)


async def test_a_list_leads_with_its_first_column_and_says_what_can_be_done_with_a_row() -> None:
    app, _ = gallery("view-list")
    async with app.run_test() as pilot:
        await shows(pilot, "a.py · Size: 1,200 · OK: ✓ yes", "Enter on a row: Open, Drop, Rename")


async def test_a_view_scrolls_its_rows_under_a_header_that_stays() -> None:
    app, _ = gallery("view")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.side.show([view(200)])
        panel = app.query_one(ViewPanel)
        assert panel.cursor is None
        panel.focus()
        await pilot.press("end")
        await until(pilot, lambda: "›row 199" in text(app))
        shown = text(app)
        assert "Name" in shown
        assert "Rows" in shown
        assert "200 of 200" in shown
        await pilot.press("home", "down")
        await until(pilot, lambda: "›row 1 " in text(app))
        assert "row 199" not in text(app)


async def test_the_cursor_stays_on_its_row_when_the_rows_change() -> None:
    app, _ = gallery("view")
    async with app.run_test() as pilot:
        await app.side.show([view(5)])
        panel = app.query_one(ViewPanel)
        panel.focus()
        await pilot.press("down", "down", "down")
        fewer = [{"id": f"r{n}", "fields": {"name": f"row {n}"}} for n in (2, 4)]
        await app.side.show([view(0, items=fewer, revision=6)])
        await until(pilot, lambda: "›row 2" in text(app))
        await app.side.show([view(0, items=fewer[1:], revision=7)])
        await until(pilot, lambda: "row 2" not in text(app))
        assert panel.cursor is None


async def test_a_view_is_sorted_by_key_and_by_a_click_on_a_heading_and_the_cursor_stays_on_its_row() -> None:
    app, _ = gallery("view")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.side.show([view(3)])
        panel = app.query_one(ViewPanel)
        panel.focus()
        await pilot.press("down", "s", "s")
        await until(pilot, lambda: "by Name ↓" in text(app))
        rows = [one for one in lines(app) if "row " in one]
        assert [one.split()[1] for one in rows] == ["2", "1", "0"] and "›row 0" in rows[2]
        heading = next(y for y, one in enumerate(lines(app)) if "Name↓" in one)
        await pilot.click(offset=(lines(app)[heading].index("Name"), heading))
        await until(pilot, lambda: "Name↓" not in text(app))
        assert "›row 0" in next(one for one in lines(app) if "row " in one)
        assert panel.sorting is None


async def test_an_empty_view_says_so() -> None:
    app, _ = gallery("view")
    async with app.run_test() as pilot:
        await app.side.show([view(0)])
        await until(pilot, lambda: "nothing here" in text(app))


def test_elements_go_where_they_say_and_else_where_they_fit() -> None:
    assert place_of(progress()) == "above"
    assert place_of(progress(placement="side")) == "side"
    assert place_of(view(1)) == "side"
    assert place_of(status("s", "x")) == "above"
    assert is_host_element("felan.pointer")
    assert not is_host_element("felanx")


async def test_an_element_that_changes_its_kind_gets_another_widget() -> None:
    app, _ = gallery("progress")
    async with app.run_test() as pilot:
        await app.above.show([progress(id="x")])
        await app.above.show([element(kind="document", id="x", markdown="now a text", placement="above")])
        await until(pilot, lambda: bool(app.query(DocumentView)))
        assert not app.query(ProgressLine)


async def test_an_unknown_hint_changes_nothing() -> None:
    app, _ = gallery("progress")
    async with app.run_test() as pilot:
        hint = {"id": "somebody.bar", "version": 7, "data": {"colour": HOSTILE}}
        await app.above.show([progress(hint=hint, value=1, total=2)])
        await until(pilot, lambda: "50% · 1 of 2" in text(app))


@pytest.mark.parametrize("group", [MARKUP, ESCAPES, INVISIBLE], ids=["markup", "escapes", "invisible"])
async def test_hostile_text_in_every_member_of_every_kind_is_harmless(group: dict[str, str]) -> None:
    evil = "\n".join(group.values())[:900]
    action = {"id": "a", "label": evil, "scope": "element", "confirm": evil}
    made = [
        element(kind="status", id="1", text=evil, title=evil, tone="info"),
        progress(id="2", label=evil, unit=evil, title=evil, actions=[action]),
        element(kind="document", id="3", title=evil, markdown=evil, actions=[action]),
        view(
            1,
            id="4",
            title=evil,
            columns=[{"id": "name", "label": evil, "type": "string"}],
            actions=[action],
            items=[{"id": evil[:100], "fields": {"name": evil}}],
        ),
    ]
    app, _ = gallery("status")
    async with app.run_test(size=(160, 48)) as pilot:
        await app.above.show(made)
        await app.side.show(made)
        await pilot.pause()
        assert app.side.shown == ["3", "4"]
        assert not (FORBIDDEN - {"\n"}) & set(text(app))


def test_every_sample_of_the_gallery_is_of_a_known_kind() -> None:
    kinds = {type(one).__name__ for made in ELEMENTS.values() for one in made}
    assert kinds == {"StatusElement", "ProgressElement", "DocumentElement", "ViewElement"}
    assert Clock()() == 100
