import subprocess
import sys

import pytest
from textual.containers import Container

from felan_tui.panel import ProcessPanel
from felan_tui.panel.output import OutputView
from felan_tui.text.cells import cell_len
from tests.tui.panel.looking import SIZES, START, Clock, PanelApp, Source, lines, row, text, until
from tests.tui.text.hostile import ESCAPES, FORBIDDEN, INVISIBLE, LONG, MARKUP


def numbered(start: int, stop: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(start, stop))


def told(app: PanelApp) -> list[tuple[str, str]]:
    stops = [one for one in app.told if isinstance(one, ProcessPanel.StopRequested)]
    return [(one.process_id, one.signal) for one in stops]


def numbers(app: PanelApp) -> list[str]:
    return [" ".join(one.split()[:2]) for one in lines(app) if one.startswith("line")]


def line(app: PanelApp) -> str:
    """What the panel's lowest line says."""
    return lines(app)[-1].strip()


def keys(app: PanelApp) -> list[str]:
    return [f"{one.key} {one.does}" for one in app.panel.keys]


@pytest.mark.parametrize("size", SIZES)
async def test_the_list_says_how_each_process_stands_and_the_newest_running_one_is_shown(
    size: tuple[int, int],
) -> None:
    source = Source()
    source.write("c", b"output of c\n")
    app = PanelApp(source)
    async with app.run_test(size=size) as pilot:
        app.panel.set_processes(
            [
                row("a", "make all", state="exited", code=2, size=2_500_000),
                row("b", "sleep 9", state="signalled", signal="SIGTERM"),
                row("c", "pytest -x --a-very-long-option=" + "x" * 200, title="the tests", ran=65_000),
            ]
        )
        await until(pilot, lambda: "output of c" in text(app) and "2.4 MiB" in text(app))
        screen = lines(app)
        assert "processes · 1 running · 2 ended" in screen[0]
        assert all(cell_len(one) <= size[0] for one in screen)
        listed = [next(one for one in screen if name in one) for name in ("make all", "sleep 9", "the tests")]
        assert screen.index(listed[0]) < screen.index(listed[1]) < screen.index(listed[2])
        assert "✗ make all" in listed[0] and "exit 2 · 12 s  2.4 MiB" in listed[0]
        assert "⊘ sleep 9" in listed[1] and "SIGTERM · 12 s" in listed[1]
        assert "▌ ● the tests" in listed[2] and "running 1 min 05 s" in listed[2]
        assert keys(app) == ["↑↓ process", "x stop", "i interrupt"]
        await pilot.press("k")
        assert app.panel.selected == "b"
        assert keys(app) == ["↑↓ process"]
        await pilot.press("up", "down", "j")
        assert app.panel.selected == "c"


async def test_without_a_process_the_panel_says_how_to_start_one() -> None:
    app = PanelApp(Source())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Type ! and a command to start one" in text(app))
        await pilot.press("x", "i", "n", "up", "end")
        assert told(app) == []


async def test_output_is_shown_live_with_its_colours() -> None:
    source = Source()
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: "no output yet" in text(app))
        source.write("a", b"\x1b[1;31mFAIL\x1b[0m one\n")
        await until(pilot, lambda: "FAIL one" in text(app))
        assert "no output yet" not in text(app)
        view = app.query_one(OutputView)
        segments = list(view.render_line(0))
        assert segments[0].text == "FAIL"
        style = segments[0].style
        assert style is not None and style.bold and style.color is not None and style.color.number == 1
        source.write("a", b"12 %\r57 %")
        await until(pilot, lambda: "57 %" in text(app))
        assert "12 %" not in text(app)


async def test_reading_back_holds_still_and_the_end_key_follows_again() -> None:
    source = Source()
    source.write("a", numbered(0, 200))
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: "line 199" in text(app))
        await pilot.press("up", "pageup")
        before = numbers(app)
        assert "line 199" not in before
        source.write("a", numbered(200, 212))
        await until(pilot, lambda: "↓ 12 new" in line(app))
        assert numbers(app) == before
        assert "End follows" in line(app)
        await pilot.press("end")
        await until(pilot, lambda: "line 211" in text(app))
        assert "new" not in line(app)
        source.write("a", b"more\n")
        await until(pilot, lambda: "more" in text(app))


async def test_what_is_read_stays_in_place_while_the_oldest_lines_go_and_reading_then_waits() -> None:
    source = Source()
    source.write("a", numbered(0, 19_000))
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: "line 18999" in text(app))
        view = app.query_one(OutputView)
        view.scroll_to(y=10_000)
        await until(pilot, lambda: "line 10000" in text(app))
        before = numbers(app)
        source.write("a", numbered(19_000, 60_000))
        await until(pilot, lambda: "output waits while you read" in line(app))
        assert numbers(app) == before
        view.scroll_home()
        await until(pilot, lambda: "older output is not shown; this begins at byte" in text(app))
        source.end("a")
        await pilot.press("end")
        await until(pilot, lambda: "line 59999" in text(app))


async def test_a_stop_takes_the_key_twice() -> None:
    clock = Clock()
    app = PanelApp(Source(), clock)
    async with app.run_test(size=(60, 16)) as pilot:
        app.panel.set_processes([row("a", "sleep 100")])
        await pilot.press("x")
        assert line(app).endswith("(TERM, then KILL, whole group)? press x again")
        assert told(app) == []
        clock.at += 2_999
        await pilot.press("x")
        assert told(app) == [("a", "term")]
        assert line(app).startswith("stopping sleep 100: TERM")
        app.panel.stopped("a", "signalled")
        await pilot.pause()
        assert line(app) == "sleep 100: it was ended by a signal"
        app.panel.set_processes([row("a", "sleep 100", state="signalled", signal="SIGKILL")])
        await pilot.pause()
        assert line(app) == "sleep 100: ended by SIGKILL after 12 s"
        clock.at += 20_000
        await until(pilot, lambda: "ended by SIGKILL" not in line(app), turns=300)


async def test_a_stop_asks_anew_when_the_question_was_left_standing_or_was_for_another() -> None:
    clock = Clock()
    app = PanelApp(Source(), clock)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a"), row("b", "sleep 200")])
        await pilot.press("x")
        clock.at += 3_000
        await pilot.press("x")
        assert "stop sleep 200 (TERM" in line(app)
        await pilot.press("p", "x")
        assert "stop sleep 100 (TERM" in line(app)
        assert told(app) == []
        await pilot.press("escape")
        assert "press x again" not in text(app)
        assert app.told == []
        await pilot.press("x")
        assert told(app) == []
        await pilot.press("x")
        assert told(app) == [("a", "term")]


async def test_what_a_stop_did_not_do_is_said_plainly() -> None:
    app = PanelApp(Source())
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a", "sleep 100")])
        await pilot.press("x", "x")
        app.panel.stop_failed("the host is gone: [red]\x1b[2J")
        await pilot.pause()
        assert line(app) == "not stopped: the host is gone: [red]"
        await pilot.press("x", "x")
        app.panel.stopped("a", "running")
        await pilot.pause()
        assert line(app) == "sleep 100: TERM and KILL were sent, and it is still running"


async def test_an_interrupt_is_sent_once_and_only_to_what_runs() -> None:
    app = PanelApp(Source())
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a", "sleep 100")])
        await pilot.press("i")
        assert told(app) == [("a", "int")]
        assert line(app).startswith("sending INT to the whole group of sleep 100")
        app.panel.stopped("a", "running")
        await pilot.pause()
        assert line(app) == "sleep 100: INT was sent, and it is still running"
        app.panel.set_processes([row("a", "sleep 100", state="exited", code=130)])
        await pilot.press("i")
        assert told(app) == [("a", "int")]
        assert line(app) == "sleep 100: exited with code 130 after 12 s"


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (row("a", state="exited", code=0), "✓ exited with code 0 after 12 s"),
        (row("a", state="exited", code=3), "✗ exited with code 3 after 12 s"),
        (row("a", state="signalled", signal="SIGKILL"), "⊘ ended by SIGKILL after 12 s"),
        (row("a", state="lost"), "⊘ lost: its host ended first; whether it still runs is unknown"),
    ],
)
async def test_below_the_output_stands_how_the_process_ended(ended: object, said: str) -> None:
    source = Source()
    source.write("a", b"the last words")
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: "the last words" in text(app))
        app.panel.set_processes([ended])  # pyright: ignore[reportArgumentType]
        await pilot.pause()
        assert said not in text(app), "its output has not come to its end yet"
        source.end("a")
        await until(pilot, lambda: said in text(app))
        screen = lines(app)
        assert screen.index("the last words") + 1 == next(n for n, one in enumerate(screen) if said in one)


async def test_nothing_is_read_while_the_panel_is_hidden() -> None:
    source = Source()
    source.write("a", b"one\n")
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: len(source.reads) == 2)
        app.panel.display = False
        await until(pilot, lambda: not app.panel.is_on_screen)
        source.write("a", b"two\n")
        for _ in range(10):
            await pilot.pause()
        assert len(source.reads) == 2
        source.write("a", b"three\n")
        app.panel.display = True
        await until(pilot, lambda: "three" in text(app))


async def test_a_panel_that_was_never_shown_reads_nothing() -> None:
    source = Source()
    source.write("a", b"one\n")

    class Hidden(PanelApp):
        def compose(self):
            self.panel.display = False
            with Container():
                yield self.panel

    app = Hidden(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        for _ in range(10):
            await pilot.pause()
        assert source.reads == []
        app.panel.display = True
        await until(pilot, lambda: "one" in text(app))


async def test_another_size_keeps_the_text_at_the_top_and_splits_no_wide_character() -> None:
    source = Source()
    wide = "日本語のとても長い行です" * 12
    body = "".join(f"{number} {wide}\n" for number in range(100))
    source.write("a", body.encode())
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: lines(app)[-2].strip() != "")
        view = app.query_one(OutputView)
        view.scroll_to(y=120)
        await until(pilot, lambda: not view.following)
        await pilot.pause()
        top = lines(app)[2]
        number = top.split()[0]
        assert number == "30"
        await pilot.resize_terminal(61, 16)
        await until(pilot, lambda: lines(app)[2].startswith(f"{number} 日"))
        await until(pilot, lambda: wide in "".join(lines(app)[2:-1]))
        assert all(cell_len(one) <= 61 for one in lines(app))
        await pilot.resize_terminal(160, 48)
        await until(pilot, lambda: f"│{number} 日" in lines(app)[1])


@pytest.mark.parametrize("table", [MARKUP, ESCAPES, INVISIBLE], ids=["markup", "escapes", "invisible"])
async def test_hostile_output_and_titles_are_shown_harmlessly(table: dict[str, str]) -> None:
    source = Source()
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        for number, evil in enumerate(table.values()):
            id = f"p{number}"
            source.write(id, b"before\n" + evil.encode("utf-8", "surrogatepass") + b"\nafter %d.\n" % number)
            clean = evil.encode("utf-8", "replace").decode()
            app.panel.set_processes([row(id, f"run {clean}", title=f"title {clean}")])
            await until(pilot, lambda number=number: f"after {number}." in text(app))
            await pilot.press("x")
            app.panel.stop_failed(clean)
            await pilot.pause()
            assert not FORBIDDEN & set(text(app).replace("\n", ""))
            assert "before" in text(app)
            for styled in app.query_one(OutputView).render_line(1):
                assert not (styled.style and (styled.style.meta.keys() - {"offset"} or styled.style.link))


@pytest.mark.parametrize("name", list(LONG))
async def test_a_megabyte_without_a_break_is_folded(name: str) -> None:
    source = Source()
    source.write("a", LONG[name].encode() + b"\nlast\n")
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a", LONG[name][:4000])])
        await until(pilot, lambda: "last" in text(app), turns=2000)
        assert lines(app)[10] in (LONG[name][:79], LONG[name][:39])


async def test_a_read_that_fails_is_said_and_tried_again() -> None:
    source = Source()
    source.faults = [OSError("the host is gone")]
    source.write("a", b"here it is\n")
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: "✗ the output cannot be read: the host is gone · again in" in text(app))
        await until(pilot, lambda: "here it is" in text(app))
        assert "cannot be read" not in text(app)


async def test_another_source_goes_on_where_the_first_one_stopped() -> None:
    first, second = Source(), Source()
    first.write("a", b"one\n")
    second.write("a", b"one\ntwo\n")
    app = PanelApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await pilot.pause()
        app.panel.attach(first)
        await until(pilot, lambda: "one" in text(app))
        app.panel.attach(second)
        await until(pilot, lambda: "two" in text(app))
        assert text(app).count("one") == 1
        assert second.reads[0][1] == 4


async def test_a_panel_told_early_shows_it_later_and_reads_nothing_without_a_source() -> None:
    source = Source()
    source.write("a", b"early\n")
    app = PanelApp(source)
    app.panel.set_processes([row("a")])
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "early" in text(app))
        app.panel.attach(None)
        reads = len(source.reads)
        source.write("a", b"late\n")
        for _ in range(5):
            await pilot.pause()
        assert (len(source.reads), "late" in text(app)) == (reads, False)
        app.panel.attach(source)
        await until(pilot, lambda: "late" in text(app))
        assert text(app).count("early") == 1
        await app.panel.remove()
        reads = len(source.reads)
        source.write("a", b"nobody looks\n")
        for _ in range(5):
            await pilot.pause()
        assert len(source.reads) == reads


async def test_processes_are_chosen_by_key_by_mouse_and_by_the_screen() -> None:
    source = Source()
    for name in "abc":
        source.write(name, f"output of {name}\n".encode())
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        rows = [row("a", "one"), row("b", "two")]
        app.panel.set_processes(rows)
        await until(pilot, lambda: "output of b" in text(app))
        await pilot.press("p")
        await until(pilot, lambda: "output of a" in text(app))
        await pilot.click("#process-list", offset=(10, 1))
        await until(pilot, lambda: "output of b" in text(app))
        app.panel.select("c")
        app.panel.set_processes(rows)
        assert app.panel.selected == "c"
        await until(pilot, lambda: "output of c" in text(app))
        app.panel.set_processes([*rows, row("c", "three")])
        assert app.panel.selected == "c"
        app.panel.set_processes(rows)
        assert app.panel.selected == "b"


async def test_in_the_list_the_arrows_choose_and_the_other_keys_are_the_outputs() -> None:
    source = Source()
    source.write("a", numbered(0, 100))
    source.write("b", numbered(100, 200))
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a", "one"), row("b", "two")])
        await until(pilot, lambda: "line 199" in text(app))
        app.query_one("#process-list").focus()
        await pilot.press("up")
        await until(pilot, lambda: "line 99" in text(app))
        await pilot.press("home")
        await until(pilot, lambda: "line 0" in numbers(app))
        assert app.panel.selected == "a"
        await pilot.press("pagedown")
        await until(pilot, lambda: "line 0" not in numbers(app))
        await pilot.press("end")
        await until(pilot, lambda: "line 99" in numbers(app))


async def test_the_chosen_one_of_many_is_in_sight() -> None:
    app = PanelApp(Source())
    async with app.run_test(size=(60, 16)) as pilot:
        app.panel.set_processes([row(f"p{number}", f"number {number}") for number in range(40)])
        await until(pilot, lambda: "▌ ● number 39" in text(app))
        await pilot.press("p", "p", "p", "p", "p")
        await until(pilot, lambda: "▌ ● number 34" in text(app))
        assert sum("number" in one for one in lines(app)) == 4


async def test_text_is_selected_with_the_mouse_and_a_folded_line_is_copied_as_one() -> None:
    source = Source()
    source.write("a", b"first\n" + b"y" * 100 + b"\n\x1b[32mlast\x1b[0m line\n")
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: "last line" in text(app))
        view = app.query_one(OutputView)
        await pilot.mouse_down(view, offset=(2, 0))
        await pilot.hover(view, offset=(3, 3))
        await pilot.mouse_up(view, offset=(3, 3))
        await pilot.pause()
        chosen = app.screen.get_selected_text()
        assert chosen is not None
        assert chosen.rstrip("\n") in ("rst\n" + "y" * 100 + "\nlas", "rst\n" + "y" * 100 + "\nlast")
        assert not view.following
        # What comes meanwhile moves neither the text nor what is selected of it.
        source.write("a", numbered(0, 100))
        await until(pilot, lambda: "↓" in line(app))
        assert app.screen.get_selected_text() == chosen


async def test_escape_leaves_the_panel() -> None:
    app = PanelApp(Source())
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await pilot.press("escape")
        assert [type(one) for one in app.told] == [ProcessPanel.Closed]


async def test_the_time_of_what_runs_goes_on() -> None:
    clock = Clock()
    app = PanelApp(Source(), clock)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a")])
        await until(pilot, lambda: "running 12 s" in text(app))
        clock.at = START + 60_000
        await until(pilot, lambda: "running 1 min 12 s" in text(app), turns=300)


def test_the_import_stays_light() -> None:
    heavy = "{'pygments', 'markdown_it', 'felan_tui.cards', 'felan_core.client'}"
    code = f"import sys, felan_tui.panel; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
