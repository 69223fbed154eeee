"""What the kernel says about the processes of a session: /proc where there is one, else psutil (macOS)."""

import functools
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType


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
    return _members_proc(session) if has_proc() else members_psutil(session)


def member(pid: int) -> Member | None:
    """That process, also when it is a zombie; None when there is none."""
    found = _read_stat(pid) if has_proc() else _read_psutil(pid)
    return found[0] if found else None


def carries(pid: int, marker: str) -> bool:
    """Whether it was started with `marker` (`NAME=value`) in its environment, as far as we may see."""
    if has_proc():
        try:
            return marker.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
    return carries_psutil(pid, marker)


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


def members_psutil(session: int) -> list[Member]:
    """As `members`, for a kernel without /proc."""
    psutil = _psutil()
    found: list[Member] = []
    for pid in psutil.pids():
        try:
            # One system call sorts out the many; psutil then reads only ours.
            if os.getsid(pid) != session:
                continue
        except OSError:
            continue
        read = _read_psutil(pid)
        if read and not read[1]:
            found.append(read[0])
    return found


def carries_psutil(pid: int, marker: str) -> bool:
    """As `carries`, for a kernel without /proc."""
    psutil = _psutil()
    name, _, value = marker.partition("=")
    try:
        return psutil.Process(pid).environ().get(name) == value
    except psutil.Error:
        return False


def _read_psutil(pid: int) -> tuple[Member, bool] | None:
    """The process and whether it is a zombie. The start time is in seconds since the epoch."""
    psutil = _psutil()
    try:
        process = psutil.Process(pid)
        member = Member(pid, os.getpgid(pid), f"{process.create_time():.6f}")
        return member, process.status() == psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return None


def _psutil() -> ModuleType:
    """Imported where it is called: a kernel with /proc never needs it."""
    return importlib.import_module("psutil")
