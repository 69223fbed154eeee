"""What the panel says of a process: its state by glyph and in words, times, sizes, the answers to keys. Pure.

Instants and spans are in milliseconds. All texts are one safe line.
"""

from rich.segment import Segment

from felan_core.protocol.base import or_default
from felan_core.protocol.session import ProcessRow
from felan_tui.elements.figures import amount, number
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.exits import SHELL_CODES, exit_words
from felan_tui.text.safe import safe_line
from felan_tui.text.spans import span
from felan_tui.transcript.look import Look, State
from felan_tui.transcript.rows import Row, fill

GUTTER = 2
NARROW = 44
"""Cells below which a row of the list leaves the size of the output out."""

TITLE_LEAST = 12


def state_of(row: ProcessRow) -> State:
    """By which glyph and colour a state is told."""
    if or_default(row.stopped, False):
        return "cancelled"
    match row.state:
        case "running":
            return "running"
        case "exited":
            return "failed" if or_default(row.exit_code, 0) else "completed"
        case "signalled" | "lost":
            return "interrupted"


def title_of(row: ProcessRow) -> str:
    """What a process is called."""
    return safe_line(row.title).strip() or safe_line(row.command, mark="⏎").strip() or row.id


def _lasted(row: ProcessRow, now: int) -> str:
    return span((or_default(row.ended_at, now) - row.started_at) / 1000)


def short_state(row: ProcessRow, now: int) -> str:
    """`running 12 s`, `exit 2 · 3 s`, `not found (exit 127) · 1 s`, `stopped · 3 s`, `SIGTERM · 3 s`,
    `lost`; with `2 left running` where it left something.
    """
    return f"{_short_state(row, now)}{left_words(row, ' · ')}"


def _short_state(row: ProcessRow, now: int) -> str:
    if or_default(row.stopped, False):
        return f"stopped · {_lasted(row, now)}"
    match row.state:
        case "running":
            many = or_default(row.leftovers, 0)
            return f"{f'{many} ' if many > 1 else ''}running {_lasted(row, now)}"
        case "exited":
            return f"{_exit(row)} · {_lasted(row, now)}"
        case "signalled":
            return f"{_signal(row)} · {_lasted(row, now)}"
        case "lost":
            return "lost"


def left_words(row: ProcessRow, before: str = "") -> str:
    """`2 left running`: how many processes run that an ended one left behind; nothing when none do."""
    left = left_of(row)
    return f"{before}{left} left running" if left else ""


def left_of(row: ProcessRow) -> int:
    """How many processes run that an ended one left behind."""
    return 0 if row.state == "running" else or_default(row.leftovers, 0)


def _exit(row: ProcessRow) -> str:
    """What an agent left running has no exit code that we could know."""
    code = or_default(row.exit_code, None)
    return "ended" if code is None else exit_words(code)


def _signal(row: ProcessRow) -> str:
    return safe_line(or_default(row.signal, "")).strip() or "signal"


def ending(row: ProcessRow, now: int) -> str:
    """How a process ended and what it left running, plainly; nothing while it runs."""
    return f"{_ending(row, now)}{left_words(row, '; ')}"


def _ending(row: ProcessRow, now: int) -> str:
    if or_default(row.stopped, False):
        how = _signal(row) if row.state == "signalled" else _exit(row)
        return f"stopped after {_lasted(row, now)} ({how})"
    match row.state:
        case "running":
            return ""
        case "exited":
            code = or_default(row.exit_code, None)
            words = f"exited with code {code}" if code is not None and code not in SHELL_CODES else _exit(row)
            return f"{words} after {_lasted(row, now)}"
        case "signalled":
            return f"ended by {_signal(row)} after {_lasted(row, now)}"
        case "lost" if or_default(row.ended_at, None) is not None:
            return "lost: its host ended first; its exit code is unknown"
        case "lost":
            return "lost: its host ended first; whether it still runs is unknown"


def size_of(row: ProcessRow, read_end: int = 0) -> str:
    """The size of all output so far, kept or not; nothing while it is not known.

    The row of a running process does not follow its output: `read_end` is the end that the last read saw.
    """
    end = max(row.output.end, read_end)
    return amount(end, "B") if end or row.state != "running" else ""


def heading(rows: "list[ProcessRow]") -> str:
    """The panel's title."""
    running = sum(1 for row in rows if row.state == "running")
    ended = len(rows) - running
    parts = [f"{running} running"] if running else []
    parts += [f"{ended} ended"] if ended else []
    return " · ".join(["processes", *parts])


def list_row(row: ProcessRow, width: int, now: int, look: Look, *, chosen: bool, read_end: int = 0) -> Row:
    """One line of the list, `width` cells wide."""
    glyph, style = look.of(state_of(row))
    state = short_state(row, now)
    size = size_of(row, read_end)
    size = f"  {size}" if size and width >= NARROW else ""
    room = width - GUTTER - 2
    if room - cell_len(state) - cell_len(size) - 2 < TITLE_LEAST:
        size = ""
    left = max(0, room - cell_len(state) - cell_len(size) - 2)
    title, command = title_of(row), safe_line(row.command, mark="⏎").strip()
    name = cut(title, left)
    more = (
        cut(f"  {command}", left - cell_len(name)) if command != title and left > cell_len(name) + 4 else ""
    )
    gap = " " * max(0, room - cell_len(name) - cell_len(more) - cell_len(state) - cell_len(size))
    runs = [
        Segment(f"{look.glyphs.cursor} " if chosen else "  ", look.cursor),
        Segment(f"{glyph} ", style),
        Segment(name, look.user if chosen else look.text),
        Segment(more, look.muted),
        Segment(gap, look.text),
        Segment(state, style),
        Segment(size, look.muted),
    ]
    return fill([run for run in runs if run.text], width, look.text)


def head_words(begins_at: int) -> str:
    """That older output is not shown, and where what is shown begins; nothing when all is shown."""
    if not begins_at:
        return ""
    return f"older output is not shown; this begins at byte {number(begins_at)} ({amount(begins_at, 'B')})"


def trouble_words(trouble: str, seconds: float) -> str:
    """Why no output comes, and when it is tried again."""
    return f"the output cannot be read: {trouble} · again in {span(seconds + 0.99)}"


def ask_words(row: ProcessRow, width: int) -> str:
    """The question before a stop, in `width` cells; the name gives way, never what is asked."""
    if row.state == "running":
        before, after = "stop", " (TERM, then KILL, whole group)? press x again"
    else:
        before, after = "stop what is left of", " (TERM, then KILL)? press x again"
    room = min(24, width - cell_len(before) - cell_len(after) - 1)
    return f"{before} {cut(title_of(row), room)}{after}" if room >= 3 else before + after


def sent_words(row: ProcessRow, signal: str) -> str:
    """What was asked of the host, which has not answered yet."""
    name = cut(title_of(row), 24)
    if signal == "int":
        return f"sending INT to the whole group of {name} …"
    return f"stopping {name}: TERM to the whole group, then KILL …"


def stopped_words(row: ProcessRow | None, state: str, signal: str, now: int) -> str:
    """What became of a process that was to be stopped. `state`: as the host answered."""
    name = cut(title_of(row), 24) if row is not None else "the process"
    if row is not None and row.state != "running":
        return f"{name}: {ending(row, now)}"
    if state == "running":
        sent = "INT was sent" if signal == "int" else "TERM and KILL were sent"
        return f"{name}: {sent}, and it is still running"
    known = {"exited": "it has exited", "signalled": "it was ended by a signal", "lost": "it is lost"}
    return f"{name}: {known.get(state) or safe_line(state).strip()}"
