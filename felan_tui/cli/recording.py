"""A recorded stream of the session protocol: every line checked, replies against their requests.

Both directions may stand one after the other: a reply may come before the request that it answers.
"""

from collections import Counter
from typing import Any, BinaryIO, Final, NamedTuple

from felan_core.protocol import (
    LIMITS,
    OPERATION_CATALOG,
    EventFrame,
    ProtocolError,
    parse_client_frame,
    parse_server_frame,
)
from felan_core.protocol.control import is_control, parse_control_request, parse_control_response
from felan_core.protocol.events import UnknownEvent
from felan_core.protocol.framing import parse_line

_MEMBERS: Final = (("outcome", "replies"), ("event", "events"), ("stream", "texts"), ("notice", "notices"))
_HELD_BYTES: Final = 64 * 1024 * 1024
"""Of replies that wait for their request, so that a large recording is not held whole."""
KINDS: Final = ("requests", "replies", "events", "texts", "notices", "controls")


def _is_request(raw: dict[str, Any]) -> bool:
    """Whether a frame is a client's. A member that was added to a host's frame may be named ``op``."""
    return "op" in raw and ("id" in raw or not any(member in raw for member, _ in _MEMBERS))


class Problem(NamedTuple):
    """What is wrong with a line (counted from 1): the error's code, and where and why in words."""

    line: int
    code: str
    message: str


class Recording:
    """What was found in a stream so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.frames = 0
        self.unmatched = 0
        self.unknown_events = 0
        self.kinds: Counter[str] = Counter()
        # An id may be used again on another connection of the same file: the last request counts.
        self._asked: dict[str, str] = {}
        self._waiting: list[tuple[int, bytes]] = []
        self._room = _HELD_BYTES

    def read(self, stream: BinaryIO) -> None:
        """Check every line of ``stream``. A line past ``frameBytes`` is refused and never held whole."""
        number = 0
        while line := stream.readline(LIMITS.frame_bytes + 1):
            number += 1
            whole = line.endswith(b"\n")
            if not whole and len(line) > LIMITS.frame_bytes:
                self.frames += 1
                self._refuse(number, "invalid_request", f"frame: more than {LIMITS.frame_bytes} bytes")
                while line and not line.endswith(b"\n"):
                    line = stream.readline(1 << 20)
                continue
            if line.strip(b" \t\r\n"):
                self.frames += 1
                self._check(number, line.removesuffix(b"\n"), whole)
        for number, line in self._waiting:
            self._check_late(number, line)
        self._waiting.clear()
        self.problems.sort()

    def report(self) -> dict[str, Any]:
        """The findings as plain JSON."""
        return {
            "frames": self.frames,
            **{kind: self.kinds[kind] for kind in KINDS},
            "unmatchedReplies": self.unmatched,
            "unknownEvents": self.unknown_events,
            "problems": [problem._asdict() for problem in self.problems],
        }

    def summary(self) -> str:
        """One line for people."""
        counts = ", ".join(f"{self.kinds[kind]} {kind}" for kind in KINDS)
        extra = f"; {self.unmatched} replies without their request" if self.unmatched else ""
        extra += (
            f"; {self.unknown_events} events of a type that is not known here" if self.unknown_events else ""
        )
        plural = "" if self.frames == 1 else "s"
        return f"{self.frames} frame{plural}: {counts}{extra}. Problems: {len(self.problems) or 'none'}."

    def _check(self, number: int, line: bytes, whole: bool) -> None:
        try:
            self._frame(number, parse_line(line), line)
        except ProtocolError as error:
            cut = "" if whole else " (the stream ends inside this frame)"
            self._refuse(number, error.code, error.message + cut)

    def _frame(self, number: int, raw: dict[str, Any], line: bytes) -> None:
        if is_control(raw):
            self.kinds["controls"] += 1
            (parse_control_response if "outcome" in raw else parse_control_request)(raw)
        elif _is_request(raw):
            self.kinds["requests"] += 1
            identity, op = raw.get("id"), raw["op"]
            if isinstance(identity, str) and isinstance(op, str):
                # Also of a request that is refused below: its reply says so, and is a good frame.
                self._asked[identity] = op
            parse_client_frame(line)
        else:
            for member, kind in _MEMBERS:
                self.kinds[kind] += member in raw
            if "outcome" in raw and not self._is_asked(raw):
                if len(line) <= self._room:
                    self._room -= len(line)
                    self._waiting.append((number, line))
                    return
                self.unmatched += 1
            frame = parse_server_frame(line, self._operation)
            if isinstance(frame, EventFrame) and isinstance(frame.event, UnknownEvent):
                self.unknown_events += 1

    def _check_late(self, number: int, line: bytes) -> None:
        """Check a reply whose request did not stand before it. One whose request is nowhere is counted. Its
        envelope is checked all the same, and its result as an object of plain JSON: which operation's it is
        nobody can say.
        """
        try:
            self.unmatched += not self._is_asked(parse_line(line))
            parse_server_frame(line, self._operation)
        except ProtocolError as error:
            self._refuse(number, error.code, error.message)

    def _is_asked(self, raw: dict[str, Any]) -> bool:
        re = raw.get("re")
        return isinstance(re, str) and re in self._asked

    def _operation(self, re: str) -> str | None:
        op = self._asked.get(re)
        return op if op in OPERATION_CATALOG else None

    def _refuse(self, number: int, code: str, message: str) -> None:
        self.problems.append(Problem(number, code, message))
