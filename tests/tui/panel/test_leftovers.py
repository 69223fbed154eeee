"""What processes left running, and the size of one that runs."""

import msgspec

from felan_core.protocol import UNSET
from tests.tui.panel.looking import PanelApp, Source, lines, row, text, until
from tests.tui.panel.test_panel import keys, line, told


async def test_what_an_ended_process_left_running_is_shown_and_can_be_stopped() -> None:
    app = PanelApp(Source())
    async with app.run_test(size=(80, 24)) as pilot:
        left = msgspec.structs.replace(row("a", "./serve", state="exited", code=0), leftovers=2)
        app.panel.set_processes([left])
        await until(pilot, lambda: "exit 0 · 12 s · 2 left running" in lines(app)[1])
        assert keys(app) == ["x stop what is left running"]
        await pilot.press("x")
        assert line(app) == "stop what is left of ./serve (TERM, then KILL)? press x again"
        await pilot.press("x")
        assert told(app) == [("a", "term")]
        app.panel.set_processes([msgspec.structs.replace(left, leftovers=UNSET)])
        await until(pilot, lambda: "left running" not in text(app))


async def test_what_an_agent_left_running_is_a_process_without_output_or_exit_code() -> None:
    source = Source()
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        running = msgspec.structs.replace(row("a", "setsid serve", title="left by it"), leftovers=13)
        app.panel.set_processes([running])
        await until(pilot, lambda: "13 running 12 s" in lines(app)[1])
        assert "its output is not recorded" in text(app)
        source.end("a")
        app.panel.set_processes([row("a", "setsid serve", title="left by it", state="exited")])
        await until(pilot, lambda: "ended · 12 s" in lines(app)[1])


async def test_the_size_of_a_running_process_follows_the_reads() -> None:
    source = Source()
    source.write("a", b"x" * 3_000)
    app = PanelApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.set_processes([row("a"), row("b")])
        app.panel.select("a")
        await until(pilot, lambda: "2.9 KiB" in lines(app)[1])
        source.write("a", b"y" * 3_000)
        await until(pilot, lambda: "5.9 KiB" in lines(app)[1])
        assert lines(app)[2].rstrip().endswith("running 12 s"), "of one that nobody read nothing is known"
