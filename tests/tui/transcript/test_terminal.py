"""What reaches a real terminal when the transcript shows hostile text, and how much a streamed
message sends.
"""

import re
import sys
from pathlib import Path

from tests.harness.terminal import Terminal

ROOT = str(Path(__file__).parents[3])

HOSTILE = """
from textual.app import App
from felan_tui.transcript.blocks import MarkdownBlock, NoticeBlock, UserBlock
from felan_tui.transcript.tools import ToolBlock
from felan_tui.transcript.view import TranscriptView
from tests.tui.text import hostile

class Once(App):
    def compose(self):
        yield TranscriptView()
    def on_ready(self):
        view = self.query_one(TranscriptView)
        text = "MARK".join(hostile.SHORT.values())
        view.put(UserBlock("u", text), 1)
        view.put(MarkdownBlock("m", text + "\\n\\n```\\n" + text + "\\n```"), 2)
        view.put(ToolBlock("t", text, text, output=text, arguments=text), 3)
        view.toggle("t")
        view.put(NoticeBlock("n", "error", text, text), 4)
        for at in range(0, len(text), 7):
            view.append_text("l", "markdown", text[at:at + 7])
        self.set_timer(0.6, self.exit)
Once().run()
"""

STREAMED = """
from textual.app import App
from felan_tui.transcript.view import TranscriptView

class Once(App):
    def compose(self):
        yield TranscriptView()
    async def on_ready(self):
        view = self.query_one(TranscriptView)
        view.append_text("m", "markdown", "first line\\n\\n" + "filled line\\n\\n" * 200)
        self.left = 20
        self.set_interval(0.05, self.more)
    def more(self):
        self.left -= 1
        if self.left < 0:
            self.exit()
        else:
            self.query_one(TranscriptView).append_text("m", "markdown", f"word{self.left} ")
Once().run()
"""


def output(program: str, *, rows: int = 60) -> str:
    with Terminal([sys.executable, "-c", program], cwd=ROOT, columns=100, rows=rows) as terminal:
        assert terminal.ended(60) == 0
        return terminal.output.decode(errors="surrogateescape")


def test_no_sequence_of_the_text_reaches_a_terminal() -> None:
    text = output(HOSTILE)
    assert "MARK" in text
    # Textual itself sends OSC 22, the shape of the pointer, and CSI alone.
    assert set(re.findall("\x1b](\\d*)", text)) <= {"22"}
    assert set(re.findall("\x1b([^\\[\\]])", text)) == set()
    assert "\x1b[2J" not in text
    assert "owned" not in text
    assert not {"\x00", "\x08", "\x0e", "\x7f", "\x9b", "\x9d", "\x90", "\u202e", "\u200b"} & set(text)


def test_a_word_that_comes_redraws_a_line_and_never_the_screen() -> None:
    text = output(STREAMED, rows=40)
    assert text.count("\x1b[2J") <= 1
    # Twenty words on two lines: a screen of 40 rows is 6 KB, and only a new line shifts it.
    assert len(text) - text.index("word19") < 40_000


SCROLLED_UP = """
from textual.app import App
from felan_tui.transcript.view import TranscriptView

class Once(App):
    def compose(self):
        yield TranscriptView()
    def on_ready(self):
        view = self.query_one(TranscriptView)
        view.append_text("m", "markdown", "first line\\n\\n" + "filled line\\n\\n" * 200)
        self.set_timer(0.3, self.up)
    def up(self):
        self.query_one(TranscriptView).scroll_relative(y=-30, animate=False)
        self.left = 30
        self.set_timer(0.3, lambda: self.set_interval(0.06, self.more))
    def more(self):
        if self.left == 29:
            self._driver.write("\\x1b]22;MARK\\x07")
        self.left -= 1
        if self.left < 0:
            self._driver.write("\\x1b]22;END\\x07")
            self.exit()
        else:
            text = f"word{self.left} " * 10 + "\\n\\n"
            self.query_one(TranscriptView).append_text("m", "markdown", text)
Once().run()
"""


def test_rows_that_stay_are_not_sent_again_while_a_reader_is_above_the_end() -> None:
    text = output(SCROLLED_UP, rows=40)
    sent = text[text.index("\x1b]22;MARK") : text.index("\x1b]22;END")]
    assert "filled" not in sent
    assert "word" not in sent
    # The thumb of the scrollbar becomes shorter, by a cell or two; one screen of 40 rows is more than 6 KB.
    assert len(sent) < 5_000
