"""The terminal's bytes through the real driver: what a paste, a reply and nonsense do to a session."""

import os
import signal
import sys
from pathlib import Path

from tests.e2e.felan import Felan
from tests.harness.terminal import Terminal

REPLIES = [
    b"\x1b[?62;22c",
    b"\x1b]11;rgb:1414/1616/1a1a\x1b\\",
    b"\x1bP>|kitty(0.32.2)\x1b\\",
    b"\x1b[?997;1n",
    b"\x1b[>41;379;0c",
    b"\x1b[<32;NaN;NaNM",
    b"\x1b[65;30;97;0;0;1_",
    b"\x1b_Gi=31;OK\x1b\\",
]
FATAL = [
    b"\x1b[1114112u",
    b"\x1b[55296u",
    b"\x1b[97:65:97;2:3u",
    b"\x1b[1;1:3A",
    b"\x1b[99999999999999999999u",
]


def test_a_paste_never_answers_a_card(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.go_to_card("wants to edit")
        # An escape sequence inside; an end inside, with the answer behind it; without brackets.
        felan.paste("fail: \x1b[31m1 of 3\x1b[0m\n")
        felan.settle()
        felan.past(0.5)
        felan.paste("a\x1b[201~1\r")
        felan.settle()
        felan.past(0.5)
        felan.send(b"1\r1\r1\r1\r1\r1\r")
        felan.settle()
        felan.past(0.5)
        felan.see("wants to edit")
        felan.press("1")
        felan.see_not("wants to edit")


def test_nothing_that_a_terminal_sends_is_typed_or_ends_the_session(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.see("wants to edit")
        for data in [*REPLIES, *FATAL]:
            felan.send(data)
            felan.send(data[:-3])  # cut, and its rest after longer than a key takes
            felan.settle(0.15)
            felan.send(data[-3:])
        felan.send(b"caf\xe9")
        felan.see("› caf\ufffd\n")
        felan.press(*["backspace"] * 4)
        felan.send(b"ab\x1b\rcd")  # Alt+Enter
        felan.see("› ab\n", "  cd\n")
        felan.press(*["backspace"] * 5)
        felan.see("type a message")
        # A paste in pieces, at the worst places; without the focus.
        felan.send(b"\x1b[O")
        for piece in (b"\x1b[200", b"~one \x1b", b"[31mtwo\xff", b"\x1b[20", b"1~"):
            felan.send(piece)
            felan.settle(0.2)
        felan.see("› one two\ufffd\n")
        assert felan.poll() is None


def test_a_paste_whose_end_is_lost_says_so_and_is_left_by_ctrl_c(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.see("wants to edit")
        felan.send(b"\x1b[200~all of it")
        felan.see("The end of the paste is missing.")
        felan.press("ctrl+c")
        felan.see("› all of it")
        felan.write("!")
        felan.see("› all of it!")


def test_it_asks_for_modified_keys_where_the_terminal_knows_no_others(tmp_path: Path) -> None:
    answers = {b"\x1b[c": b"\x1b[?1;2c"}
    with Felan(tmp_path, "demo", "edit", "--pace", "0", answers=answers) as felan:
        felan.see("wants to edit")
        felan.until(lambda: b"\x1b[>4;1m" in felan.output, "the request")
        felan.send(b"a\x1b[27;2;13~b")
        felan.see("› a\n", "  b\n")
        felan.press("backspace", "backspace", "backspace")
        felan.see("type a message")
        assert felan.quit() == 0
        felan.assert_whole()
        assert b"\x1b[>4m" in felan.output


def test_a_terminal_with_kitty_s_keys_is_not_asked_for_others(tmp_path: Path) -> None:
    answers = {b"\x1b[?u": b"\x1b[?25u", b"\x1b[c": b"\x1b[?62;c"}
    with Felan(tmp_path, "demo", "edit", "--pace", "0", answers=answers) as felan:
        felan.see("wants to edit")
        felan.send(b"\x1b[97;;97u\x1b[13;3u\x1b[98;;98u")
        felan.see("› a\n", "  b\n")
        assert b"\x1b[>4;1m" not in felan.output


def test_after_a_stop_pastes_keys_and_the_mouse_are_as_before(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.see("wants to edit")
        # No shell is there to stop for: the launcher continues the app at once.
        os.kill(felan.app, signal.SIGTSTP)
        felan.until(lambda: bytes(felan.output).count(b"\x1b[?2004h") == 2, "the modes again")
        felan.send(b"\x1b[200~after \x1b[31mit\x1b[201~")
        felan.see("› after it")
        felan.resize(100, 30)
        felan.see("Enter steer · Ctrl+T queue · F6 transcript")
        felan.see("wants to edit")
        row = next(y for y, line in enumerate(felan.text().split("\n")) if "wants to edit" in line)
        felan.send(b"\x1b[<0;10;%dM\x1b[<0;10;%dm" % (row + 1, row + 1))
        felan.see("█ Rehearsal wants to edit")


STOPPED = """
import os, signal
from textual.app import App
from felan_tui.terminal.driver import TerminalDriver

class Stopped(App):
    def on_mount(self):
        {stop}

app = Stopped(driver_class=TerminalDriver)
app.run()
print("ended")
"""
STOP = "os.kill(os.getpid(), signal.SIGTSTP)"


def continued(terminal: Terminal) -> None:
    """No shell is there that would do it."""
    stopped = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
    terminal.wait(lambda _: os.waitid(os.P_PID, terminal.pid, stopped), "the stop")
    os.kill(terminal.pid, signal.SIGCONT)


def test_a_stop_inside_a_write_waits_for_the_write(tmp_path: Path) -> None:
    program = STOPPED.format(stop=f"with self._driver._writer_thread._queue.mutex: {STOP}")
    with Terminal([sys.executable, "-c", program], cwd=str(tmp_path)) as terminal:
        continued(terminal)
        terminal.wait(lambda _: bytes(terminal.output).count(b"\x1b[?2004h") == 2, "the modes again")
        terminal.send(b"\x11")
        assert terminal.ended(20) == 0


def test_a_stop_at_the_end_leaves_the_terminal_given_back(tmp_path: Path) -> None:
    program = STOPPED.format(stop=f"self.exit(); {STOP}")
    with Terminal([sys.executable, "-c", program], cwd=str(tmp_path)) as terminal:
        continued(terminal)
        assert terminal.ended(20) == 0
        assert terminal.settings() == terminal.before


def test_esc_and_a_key_at_once_are_both(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.go_to_card("wants to edit")
        felan.send(b"\x1b\x1bOP")  # Esc leaves the card, F1 opens the help
        felan.see("Keys")
        felan.settle()
        felan.see("Keys")
        felan.press("esc")
        felan.see_not("Keys")
        felan.see("wants to edit")
        assert "█ Rehearsal" not in felan.text()
        felan.go_to_card("wants to edit")
        felan.send(b"\x1bhello")  # as tmux joins them
        felan.see("› hello")


def test_keys_typed_at_once_act_one_after_the_other(tmp_path: Path) -> None:
    with Felan(tmp_path, "demo", "edit", "--pace", "0") as felan:
        felan.see("wants to edit")
        # The help is opened and closed, the card gets the focus and is left, and then there is a word.
        felan.send(b"\x1bOP" + b"\x1b\x1bOQ" + b"\x1b\x1b[C" + b"word")
        felan.see("› word", "wants to edit")
        assert "Keys" not in felan.text() and "█ Rehearsal" not in felan.text()
