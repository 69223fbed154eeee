"""Every widget shows hostile text harmlessly: on its strips, and as bytes of a real terminal."""

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult

from felan_tui.text import safe, safe_line
from felan_tui.text.fields import SafeCheckbox, SafeInput, SafeTextArea
from felan_tui.text.lists import SafeOptionList, option
from felan_tui.text.widgets import Line, SafeButton, set_titles, toast
from tests.tui.text import hostile

ROOT = Path(__file__).parents[3]


class Gallery(App[None]):
    """One of each widget for each text."""

    CSS = "Screen > * { height: 3; } .titled { border: solid $primary; }"

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = texts
        self.booms = 0

    def action_boom(self) -> None:
        self.booms += 1

    def compose(self) -> ComposeResult:
        for text in self.texts:
            line = Line(text, (text, "bold"), classes="titled")
            set_titles(line, text, text)
            yield line
            yield Line(text, one_line=True)
            yield SafeButton(text)
            yield SafeCheckbox(text)
            yield SafeInput(text, placeholder=text)
            yield SafeInput(placeholder=text)
            yield SafeTextArea(text, placeholder=text)
            yield SafeTextArea(placeholder=text)
            options = SafeOptionList()
            options.set_rows([option(text, (text, "bold"), id="a")])
            yield options

    def on_mount(self) -> None:
        for text in self.texts:
            toast(self, text, "warning", title=text)


def strips(app: App[None]) -> Iterator[str]:
    for widget in app.screen.query("*"):
        for strip in widget.render_lines(widget.size.region):
            yield strip.text


@pytest.mark.parametrize(
    "texts", [hostile.MARKUP, hostile.ESCAPES, hostile.INVISIBLE], ids=["markup", "escapes", "invisible"]
)
async def test_every_widget_shows_hostile_text_harmlessly(texts: dict[str, str]) -> None:
    each = list(texts.values())
    # Markup stands alone, so that it is found as it is; of the others some share a widget.
    size = 1 if texts is hostile.MARKUP else 4
    app = Gallery(*(" | ".join(each[at : at + size]) for at in range(0, len(each), size)))
    async with app.run_test(size=(80, 40), notifications=True) as pilot:
        await pilot.pause()
        shown = "\n".join(strips(app))
        assert not hostile.harmful(shown)
        if texts is hostile.MARKUP:
            for text in texts.values():
                assert shown.count(text) >= 5, text
        assert app.is_running


@pytest.mark.parametrize("text", hostile.LONG.values(), ids=hostile.LONG.keys())
async def test_a_line_of_a_megabyte_does_not_hang_the_screen(text: str) -> None:
    class Two(App[None]):
        def compose(self) -> ComposeResult:
            yield Line(text[:100_000], one_line=True)
            yield SafeButton(text[:100_000])

    async with Two().run_test(size=(80, 10)) as pilot:
        await pilot.pause()
        assert pilot.app.is_running


async def test_an_action_in_untrusted_text_cannot_be_clicked() -> None:
    app = Gallery("[@click=app.boom]xxxxxxxx[/]")
    async with app.run_test(size=(80, 40)) as pilot:
        for y in (1, 4, 6, 7, 10, 13, 16, 19, 22, 25):
            await pilot.click(offset=(8, y))
        assert app.booms == 0


async def test_what_is_pasted_is_safe() -> None:
    app = Gallery("")
    async with app.run_test(size=(80, 40)) as pilot:
        for kind in (SafeInput, SafeTextArea):
            field = app.query(kind).last()
            field.focus()
            await pilot.pause()
            app.post_message(events.Paste("a\x1b[2J\x00b\r\nc\u202ed\x1b]52;c;aGk=\x07"))
            await pilot.pause()
        assert app.query(SafeInput).last().value == "ab cd"
        assert app.query(SafeTextArea).last().text == "ab\ncd"


async def test_a_line_is_replaced_without_a_new_layout() -> None:
    app = Gallery("before")
    async with app.run_test(size=(80, 40)) as pilot:
        line = app.query(Line).last()
        line.show("[x] after\x1b[2J")
        await pilot.pause()
        assert line.render_lines(line.size.region)[0].text.startswith("[x] after")


async def test_the_highlight_stays_on_its_row_when_the_rows_change() -> None:
    app = Gallery("x")
    async with app.run_test(size=(80, 40)):
        rows = app.query_one(SafeOptionList)
        rows.set_rows([option("a", id="a"), option("b", id="b")])
        rows.highlighted = 1
        rows.set_rows([option("new", id="n"), option("a", id="a"), option("b", id="b")])
        assert rows.highlighted_option is not None
        assert rows.highlighted_option.id == "b"


TINY = """
import sys
sys.path.insert(0, {root!r})
from tests.tui.text import hostile
from tests.tui.text.test_widgets import Gallery

class Once(Gallery):
    def on_ready(self):
        self.set_timer(0.4, self.exit)

Once("MARK".join(hostile.SHORT.values())).run()
"""


def test_no_sequence_of_the_text_reaches_a_terminal() -> None:
    main, child = pty.openpty()
    os.set_inheritable(child, True)
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-c", TINY.format(root=str(ROOT))],
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment,
        start_new_session=True,
    )
    os.close(child)
    seen = bytearray()
    while select.select([main], [], [], 30)[0]:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(main)
    assert process.wait(10) == 0
    text = seen.decode(errors="surrogateescape")
    assert "MARK" in text
    # Textual itself sends OSC 22, the shape of the pointer.
    assert set(re.findall("\x1b](\\d*)", text)) <= {"22"}
    assert "\x1bP" not in text
    assert "\x1b_" not in text
    assert "owned" not in text
    assert "\x00" not in text
    assert not {"\x9b", "\x9d", "\x90", "\u202e", "\u200b", "\x7f"}.intersection(text)


def test_the_gallery_text_is_what_the_safe_functions_make_of_it() -> None:
    assert safe_line("a\nb") == "a b"
    assert safe("a\nb") == "a\nb"
