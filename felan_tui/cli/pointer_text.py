"""Pointers and the doctor's findings as lines for a terminal; what an agent wrote is shown harmless."""

from typing import TYPE_CHECKING

from felan_tui.text.cells import cut, pad
from felan_tui.text.safe import safe, safe_line

if TYPE_CHECKING:
    from felan_core.pointer.install.doctor import Report
    from felan_core.pointer.watch import Look

_LONGEST = 60  # cells of a pointer's first line in a list


def clean(text: str) -> str:
    """One harmless line."""
    return safe_line(text)


def clean_lines(text: str) -> str:
    """Harmless lines."""
    return safe(text)


def line(one: "Look") -> str:
    """A session on one line: when, status, revision, id, and how its text begins."""
    state = one.state
    if state is None:
        status = "ABSENT" if one.code is None else "ERROR"
        words = f"{pad('', 20)}  {pad(status, 7)}  {pad('', 5)}  {clean(one.session_id)}  {one.code or ''}"
        return words.rstrip()
    # A task's first line says most of it; the rest is a `show` away.
    first = cut(clean((state.pointer_text or "").strip().split("\n")[0]), _LONGEST)
    revision = pad(f"r{state.revision}", 5)
    words = f"{state.updated_at}  {pad(state.status, 7)}  {revision}  {clean(one.session_id)}  {first}"
    return words.rstrip()


def whole(one: "Look") -> str:
    """Everything that a state holds."""
    state = one.state
    assert state is not None
    rows = [
        f"session     {clean(state.session_id)}",
        f"status      {state.status}",
        f"generation  {state.generation}",
        f"revision    {state.revision}",
        f"updated     {state.updated_at}",
    ]
    if state.task_id is not None and state.pointer_text is not None:
        rows += [f"task        {state.task_id}", "", clean_lines(state.pointer_text)]
    return "\n".join(rows)


def report_lines(report: "Report", title: str) -> list[str]:
    """What the doctor found at one agent."""
    from felan_core.pointer.install.doctor import age

    rows = [f"{title}: {'installed' if report.installed else 'not installed'} ({clean(report.path)})"]
    if any(state != "missing" for state in report.events.values()):
        rows += [f"  {pad(event, 18)}{state}" for event, state in report.events.items()]
    seen = "never" if report.last_seen is None else f"{report.last_seen} ({age(report.last_seen)})"
    rows.append(f"  last prompt or clear seen: {seen}")
    usable = "writable" if report.state_root_writable else "not writable"
    rows.append(f"  state root {clean(report.state_root or '')}: {usable}")
    rows += [f"  to mend: {clean(problem)}" for problem in report.problems]
    return rows
