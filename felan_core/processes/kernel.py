"""What the kernel says about the processes of a session: /proc where there is one, else `ps` (macOS)."""

import functools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Member:
    """One living process. `started` tells two holders of one pid apart, also after the machine restarted."""

    pid: int
    group: int
    started: str


def members(session: int) -> list[Member]:
    """The processes of the session that `session` leads or led; zombies are not among them.

    Blocks for milliseconds.
    """
    return _members_proc(session) if has_proc() else members_ps(session)


def member(pid: int) -> Member | None:
    """That process, also when it is a zombie; None when there is none."""
    if has_proc():
        found = _read_stat(pid)
        return found[0] if found else None
    return next((found for found, _ in _ps("-p", str(pid))), None)


def carries(pid: int, marker: str) -> bool:
    """Whether it was started with `marker` (`NAME=value`) in its environment, as far as we may see."""
    if has_proc():
        try:
            return marker.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
    return carries_ps(pid, marker)


@functools.cache
def has_proc() -> bool:
    return Path("/proc/self/stat").exists()


@functools.cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "-"


def _read_stat(pid: int) -> tuple[Member, bool] | None:
    """The process and whether it is dead already. The name in brackets may hold anything, brackets too."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    started = f"{_boot()}/{fields[19].decode()}"
    return Member(pid, int(fields[2]), started), fields[0] in (b"Z", b"X", b"x")


def _members_proc(session: int) -> list[Member]:
    found: list[Member] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        pid = int(name)
        try:
            # One system call sorts out the many; only ours are then read.
            if os.getsid(pid) != session:
                continue
        except OSError:
            continue
        read = _read_stat(pid)
        if read and not read[1]:
            found.append(read[0])
    return found


def members_ps(session: int) -> list[Member]:
    """As `members`, for a kernel without /proc."""
    found: list[Member] = []
    for candidate, dead in _ps("-ax"):
        try:
            if not dead and os.getsid(candidate.pid) == session:
                found.append(candidate)
        except OSError:
            continue
    return found


def carries_ps(pid: int, marker: str) -> bool:
    """As `carries`, for a kernel without /proc.

    `ps` joins the variables with blanks, so a marker has none.
    """
    flags = ["-Eww"] if sys.platform == "darwin" else ["eww"]
    return marker in _run(["ps", *flags, "-o", "command=", "-p", str(pid)]).split()


def _ps(*which: str) -> list[tuple[Member, bool]]:
    rows: list[tuple[Member, bool]] = []
    for line in _run(["ps", *which, "-o", "pid=,pgid=,stat=,lstart="]).splitlines():
        fields = line.split()
        if len(fields) < 4 or not (fields[0].isdigit() and fields[1].isdigit()):
            continue
        rows.append((Member(int(fields[0]), int(fields[1]), " ".join(fields[3:])), fields[2].startswith("Z")))
    return rows


def _run(command: list[str]) -> str:
    # The C locale and UTC: the start time is compared as text, later and from another terminal.
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")
