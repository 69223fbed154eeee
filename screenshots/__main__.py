"""Drive the real command in a pty through the rehearsal, and write what a person sees as PNG files."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from screenshots.draw import FontMissing, draw
from tests.harness.terminal import Terminal

HERE = Path(__file__).parent
SIZES = ((80, 24), (120, 36))
SHELL = "! for n in 1 2 3 4 5 6; do printf '\\033[32mtest %s\\033[0m ok\\n' $n; sleep 0.1; done; sleep 9"


def pictures(columns: int, rows: int) -> Iterator[tuple[str, Terminal]]:
    """Each moment that is worth a picture, in the order in which a newcomer meets them."""
    felan = str(Path(sys.executable).parent / "felan")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "api-server"
        work.mkdir()
        argv = [felan, "--data-dir", str(Path(folder) / "data")]
        with Terminal(argv, cwd=str(work), columns=columns, rows=rows) as terminal:
            terminal.see("Rehearsal")
            terminal.settle()
            yield "start", terminal
            terminal.press("enter")
            terminal.see("type a message", "F1 keys", "Rehearsal")
            say(terminal, "/edit")
            terminal.see("wants to edit")
            terminal.settle()
            yield "approval", terminal
            answer(terminal, "1")
            terminal.see("rehearsal-scratch.py  +2")
            answer(terminal, "1")
            terminal.see("wants to delete")
            answer(terminal, "3")
            terminal.see_not("Esc stop")
            terminal.settle(1.0)
            yield "session", terminal
            say(terminal, "/form")
            terminal.see("A release")
            terminal.settle()
            yield "form", terminal
            terminal.press("esc")
            terminal.see_not("Esc stop")
            say(terminal, SHELL)
            terminal.see("test 6 ok")
            terminal.settle()
            yield "processes", terminal
            terminal.press("f1")
            terminal.settle()
            yield "help", terminal


def say(terminal: Terminal, text: str) -> None:
    """Type as a person does: an Enter right behind a burst of keys would be taken for part of a paste."""
    terminal.write(text)
    terminal.settle()
    terminal.press("enter")


def answer(terminal: Terminal, key: str) -> None:
    """Go to the card and answer, after the time in which it takes nothing."""
    terminal.press("f2")
    terminal.settle(0.8)
    terminal.press(key)


def main() -> int:
    """Write every picture at every size."""
    try:
        for columns, rows in SIZES:
            for name, terminal in pictures(columns, rows):
                path = HERE / f"{name}-{columns}x{rows}.png"
                draw(terminal.screen, path)
                sys.stdout.write(f"{path.name}\n")
    except FontMissing as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
