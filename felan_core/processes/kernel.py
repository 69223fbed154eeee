"""The processes that the kernel knows: who is in a session, who carries a marker, who descends from whom.

psutil reads them, on Linux and on macOS; it is imported at the first look.
"""

import functools
import importlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True, slots=True)
class Member:
    """One living process.

    `started` tells two holders of one pid apart, also after the machine restarted; `session` and `group` are
    its numbers of today.
    """

    pid: int
    group: int
    session: int
    started: str


def sessions() -> frozenset[int]:
    """The numbers of all sessions. Blocks for about a millisecond."""
    return frozenset(found for pid in _psutil().pids() if (found := _session_of(pid)) is not None)


def relatives(
    session: int, marker: str, known: Collection[tuple[int, str]], before: Collection[int] = ()
) -> list[Member]:
    """The living processes of a tree, wherever they went.

    They are in `session`, or carry `marker` (`NAME=value`) in their environment, or are in `known` (pid and
    start), or descend from one of these. `before`: the sessions that were there when the tree began; none of
    it can be in them, since a process enters a session only by making it. Blocks for about 0.15 ms for each
    process that is in no such session.
    """
    psutil = _psutil()
    kin = {pid for pid, _ in known}
    parents: dict[int, int] = {}
    found: set[int] = set()
    for pid in psutil.pids():
        inside = _session_of(pid)
        if pid == os.getpid() or inside is None or (inside in before and inside != session):
            continue
        try:
            process = psutil.Process(pid)
            parents[pid] = process.ppid()
            mine = inside == session or _carries(process, marker)
        except psutil.Error:
            continue
        if mine or (pid in kin and (pid, _started(process)) in known):
            found.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= more
    return [one for pid in sorted(found) if (one := living(pid))]


def carriers(name: str) -> dict[str, list[Member]]:
    """The living processes with the variable `name` in their environment, by its value.

    Blocks for about 0.15 ms a process.
    """
    psutil = _psutil()
    found: dict[str, list[Member]] = {}
    for pid in psutil.pids():
        try:
            value = psutil.Process(pid).environ().get(name)
        except (psutil.Error, OSError):
            continue
        if value and pid != os.getpid() and (one := living(pid)):
            found.setdefault(value, []).append(one)
    return found


def member(pid: int) -> Member | None:
    """That process, also when it is a zombie; None when there is none."""
    psutil = _psutil()
    try:
        return Member(pid, os.getpgid(pid), os.getsid(pid), _started(psutil.Process(pid)))
    except (psutil.Error, OSError):
        return None


def living(pid: int) -> Member | None:
    """That process, unless it is a zombie."""
    psutil = _psutil()
    try:
        status = psutil.Process(pid).status()
    except psutil.Error:
        return None
    return None if status in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD) else member(pid)


def still_living(known: list[Member]) -> list[Member]:
    """Those of `known` that live on."""
    return [one for one in known if (now := living(one.pid)) and now.started == one.started]


def carries(pid: int, marker: str) -> bool:
    """Whether it was started with `marker` (`NAME=value`) in its environment, as far as we may see."""
    psutil = _psutil()
    try:
        return _carries(psutil.Process(pid), marker)
    except psutil.Error:
        return False


def command_of(pid: int) -> str:
    """Its command line, cut to 200 characters; empty when it cannot be read."""
    psutil = _psutil()
    try:
        return " ".join(psutil.Process(pid).cmdline())[:200]
    except psutil.Error:
        return ""


def _carries(process: Any, marker: str) -> bool:
    name, _, value = marker.partition("=")
    try:
        return process.environ().get(name) == value
    except (_psutil().Error, OSError):
        # Another user's, one that is in the middle of an exec, or one that has just ended.
        return False


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _started(process: Any) -> str:
    """Ticks since a boot that is named, where the kernel has them; else the instant that psutil computes.

    psutil adds the ticks to the time of the boot, which moves when the clock is set.
    """
    try:
        text = Path(f"/proc/{process.pid}/stat").read_bytes()
    except OSError:
        return f"{process.create_time():.6f}"
    # The name in brackets may contain anything, brackets too.
    return f"{_boot()}/{text[text.rindex(b')') + 2 :].split()[19].decode()}"


@functools.cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "-"


@functools.cache
def _psutil() -> ModuleType:
    return importlib.import_module("psutil")
