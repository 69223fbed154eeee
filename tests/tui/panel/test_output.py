"""The view of one output alone, on a log of a few lines."""

from textual.app import App, ComposeResult

from felan_tui.panel.log import OutputLog
from felan_tui.panel.output import OutputView
from tests.tui.panel.looking import text, until


class OutputApp(App[None]):
    def compose(self) -> ComposeResult:
        yield OutputView(head=lambda at: f"begins at byte {at}" if at else "", moved=lambda: None)


def numbered(start: int, stop: int) -> bytes:
    return b"".join(b"line %05d\n" % number for number in range(start, stop))


async def test_home_shows_what_is_said_of_the_beginning_when_the_oldest_lines_went_unseen() -> None:
    app, log = OutputApp(), OutputLog(max_lines=1000)
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(OutputView)
        log.feed(numbered(0, 400), 0)
        view.show(log)
        view.scroll_to(y=390)
        view.action_page_up()
        await until(pilot, lambda: log.hold is not None)
        for start in range(400, 2000, 400):
            log.feed(numbered(start, start + 400), log.next_offset)
        view.grew()
        await until(pilot, lambda: view.mark.startswith("↓ 16"))
        log.hold = None
        log.trim()
        assert log.first > 0
        view.scroll_home()  # before the view has looked at its log again
        # The lines are folded in slices of time: they may come a moment after the words above them.
        await until(pilot, lambda: f"line {log.first:05d}" in text(app))
        assert f"begins at byte {log.begins_at}" in text(app)
