"""First paint: from exec to the echo, in the composer, of a key that was written before the start.

Nothing can fake that: the key is drawn only when the screen is there, the composer has the focus and the loop
takes input. The peer is an empty Textual app with a focused TextArea. Both run in a pty with byte code
compiled, in turn, and the ratio is that of the medians.
"""

import contextlib
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from felan_tui.terminal.first_frame import FILE, PLACEHOLDER
from tests.e2e.felan import Felan

KEY = "ø"
COLUMNS, ROWS = 120, 40
LIMIT = 1.3
FELT_LIMIT = 3
PEER = """
from textual.app import App, ComposeResult
from textual.widgets import TextArea
class Empty(App):
    def compose(self) -> ComposeResult:
        yield TextArea()
    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
Empty().run()
"""


def echo_seconds(argv: Sequence[str], cwd: str, timeout: float = 30.0, until: bytes = KEY.encode()) -> float:
    """Start ``argv`` in a fresh pty that has the key waiting; seconds until ``until`` is on the screen."""
    leader, follower = pty.openpty()
    settings = termios.tcgetattr(follower)
    settings[3] &= ~termios.ECHO  # the terminal's own echo must not be taken for the app's
    termios.tcsetattr(follower, termios.TCSANOW, settings)
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.write(leader, KEY.encode())
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.login_tty(follower) if hasattr(os, "login_tty") else _login(follower)
        os.chdir(cwd)
        os.execve(argv[0], list(argv), environment)
    os.close(follower)
    seen = b""
    try:
        while time.perf_counter() - began < timeout:
            ready, _, _ = select.select([leader], [], [], 1.0)
            if not ready:
                continue
            seen += os.read(leader, 65536)
            if until in seen:
                return time.perf_counter() - began
        raise TimeoutError(f"{argv[0]} did not show the key; it wrote {len(seen)} bytes")
    finally:
        os.kill(child, signal.SIGTERM)
        _drain(leader, child)
        os.close(leader)


def _login(follower: int) -> None:
    os.setsid()
    fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
    for descriptor in (0, 1, 2):
        os.dup2(follower, descriptor)


def _drain(leader: int, child: int) -> None:
    """Read until the child has ended, so that it is not held up at its last words."""
    deadline = time.perf_counter() + 10
    while time.perf_counter() < deadline:
        ended, _ = os.waitpid(child, os.WNOHANG)
        if ended:
            return
        ready, _, _ = select.select([leader], [], [], 0.05)
        if ready:
            with contextlib.suppress(OSError):
                os.read(leader, 65536)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def felt(runs: int = 15) -> str:
    """The launcher's frame, against the start and end of Python itself."""
    felan = str(Path(sys.executable).parent / "felan")
    frames: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        first = Felan(Path(folder), "demo", "read", "--pace", "0")
        first.until(lambda: (first.data / FILE).exists() and (first.data / FILE).read_text(), "the colours")
        first.signal(signal.SIGTERM)
        first.ended(30)
        argv = [felan, "--data-dir", str(first.data), "-c"]
        for run in range(runs + 1):
            one = echo_seconds(argv, folder, until=PLACEHOLDER.encode())
            began = time.perf_counter()
            subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
            other = time.perf_counter() - began
            if run:
                frames.append(one)
                bare.append(other)
    frame_ms, bare_ms = statistics.median(frames) * 1000, statistics.median(bare) * 1000
    ratio = frame_ms / bare_ms
    verdict = "within" if ratio <= FELT_LIMIT else "OVER"
    return (
        f"  the launcher's first frame     {frame_ms:7.1f} ms (min {min(frames) * 1000:.1f})\n"
        f"  python -I -S -c pass           {bare_ms:7.1f} ms (min {min(bare) * 1000:.1f})\n"
        f"  ratio                          {ratio:7.2f}    ({verdict} {FELT_LIMIT:.0f})\n"
    )


def measure(runs: int = 15) -> str:
    """The report: both medians and their ratio, and the felt first paint."""
    python = sys.executable
    felan = str(Path(python).parent / "felan")
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        peer = Path(folder) / "peer.py"
        peer.write_text(PEER)
        import py_compile

        compiled = py_compile.compile(str(peer), doraise=True)
        for run in range(runs + 1):
            data = Path(folder) / f"data-{run}"
            one = echo_seconds([felan, "--data-dir", str(data), "--agent", "cat"], folder)
            other = echo_seconds([python, str(compiled)], folder)
            if run:  # the first pair warms the caches
                ours.append(one)
                theirs.append(other)
    felan_ms, peer_ms = statistics.median(ours) * 1000, statistics.median(theirs) * 1000
    ratio = felan_ms / peer_ms
    verdict = "within" if ratio <= LIMIT else "OVER"
    return (
        f"first paint, exec to the echo of a key ({runs} pairs, {COLUMNS}x{ROWS}, byte code compiled)\n"
        f"  felan                          {felan_ms:7.1f} ms (min {min(ours) * 1000:.1f})\n"
        f"  empty Textual app + TextArea   {peer_ms:7.1f} ms (min {min(theirs) * 1000:.1f})\n"
        f"  ratio                          {ratio:7.2f}    ({verdict} {LIMIT})\n" + felt(runs)
    )
