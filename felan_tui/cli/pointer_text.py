"""Pointers and the doctor's findings as lines for a terminal; what an agent wrote is shown harmless."""

import os
from typing import TYPE_CHECKING

from rich.cells import cell_len

from felan_tui.text.cells import cut, pad
from felan_tui.text.safe import safe, safe_line

if TYPE_CHECKING:
    from felan_core.pointer.about import About
    from felan_core.pointer.install.doctor import Finding, Report
    from felan_core.pointer.watch import PointerReading

_LONGEST = 60  # cells of a pointer's first line in a list


def clean(text: str) -> str:
    """One harmless line."""
    return safe_line(text)


def clean_lines(text: str) -> str:
    """Harmless lines."""
    return safe(text)


def line(one: "PointerReading") -> str:
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


def whole(one: "PointerReading") -> str:
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


def next_step(text: str | None) -> str | None:
    """The line of a text that begins with "Next", else its last one; None where it has one line alone."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if len(lines) < 2:
        return None
    named = (line for line in lines[1:] if line.lstrip("-*# ").lower().startswith("next"))
    return next(named, lines[-1])


def entry(one: "PointerReading", about: "About", now: float, width: int) -> list[str]:
    """A session in a list: where it stands, then how its text begins beside its next step."""
    from felan_core.pointer.handover import age_words, instant_seconds

    state = one.state
    head = [clean(one.session_id)]
    if state is None:
        head.append(f"UNREADABLE {one.code or ''}".rstrip())
    else:
        age = age_words(now - instant_seconds(state.updated_at))
        head += [state.status, f"r{state.revision}", f"{age} ago"]
    head += [clean(part) for part in (about.agent, _short(about.folder)) if part]
    rows = [cut("  ".join(head), width)]
    if state is None:
        rows.append(f"  felan pointer reset {clean(one.session_id)}")
    elif state.pointer_text is not None:
        first = state.pointer_text.strip().splitlines()[0]
        after = next_step(state.pointer_text)
        room = width - 2
        if after is None:
            rows.append("  " + cut(clean(first), room))
        else:
            half = (room - 3) // 2
            left = cut(clean(first), max(half, room - 3 - cell_len(clean(after))))
            rows.append(f"  {left} · {cut(clean(after), room - 3 - cell_len(left))}")
    return rows


def _short(folder: str | None) -> str | None:
    """A folder with the home written as ~."""
    if folder is None:
        return None
    home = os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(f"{home}/") else folder


def report_lines(report: "Report", title: str, now: float) -> list[str]:
    """What the doctor found at one agent."""
    from felan_core.pointer.install.doctor import age

    version = f" {report.version}" if report.version else ""
    state = "installed" if report.installed else "not installed"
    rows = [f"{title}{version}: {state} ({clean(report.path)})"]
    if any(state != "missing" for state in report.events.values()):
        rows += [f"  {pad(event, 18)}{state}" for event, state in report.events.items()]
        rows.append(f"  {pad('publish', 18)}{'unasked' if report.publishes else 'asks, or is refused'}")
        seen = "never" if report.last_seen is None else f"{report.last_seen} ({age(report.last_seen, now)})"
        rows.append(f"  {pad('last seen', 18)}{seen}")
    usable = "" if report.state_root_writable else " (not writable)"
    rows.append(f"  {pad('state root', 18)}{clean(report.state_root or '')}{usable}")
    return rows + _findings(report.problems)


def finding_lines(title: str, findings: "list[Finding]") -> list[str]:
    """What the doctor found elsewhere."""
    if not findings:
        return [f"{title}: all can be read"]
    return [f"{title}:", *_findings(findings)]


def _findings(findings: "list[Finding]") -> list[str]:
    rows: list[str] = []
    for one in findings:
        rows += [f"  problem: {clean(one.problem)}", f"    mend: {clean(one.mend)}"]
    return rows
