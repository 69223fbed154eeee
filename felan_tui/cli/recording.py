"""A recorded stream of the session protocol: every line is checked, each reply against its request, each
session for gaps, and every frame for misspelt members.

One direction may follow the other: a reply may come before its request.
"""

from collections import Counter
from contextlib import suppress
from typing import Any, BinaryIO, Final, NamedTuple

from felan_core.protocol import (
    LIMITS,
    OPERATION_CATALOG,
    Accepted,
    EventFrame,
    NoticeFrame,
    ProtocolError,
    ResyncRequired,
    ServerEnvelope,
    TextFrame,
    Unclaimed,
    UnknownEvent,
    parse_client_frame,
    parse_control_request,
    parse_control_response,
    parse_server_frame,
    parse_session_snapshot,
)
from felan_core.protocol.control import is_control
from felan_core.protocol.framing import parse_line
from felan_core.protocol.operations import AttachResult
from felan_core.protocol.problems import printable, refusal_text, short
from felan_tui.cli.members import misspelt_at, unknown_members
from felan_tui.cli.splice import Splice

_MEMBERS: Final = (("outcome", "replies"), ("event", "events"), ("stream", "texts"), ("notice", "notices"))
_HELD_BYTES: Final = 64 * 1024 * 1024
"""Of replies that wait for their request, so that a large recording is not held whole."""
KINDS: Final = ("requests", "replies", "events", "texts", "notices", "controls")


def _is_request(raw: dict[str, Any]) -> bool:
    """Whether a frame is a client's. A member that was added to a host's frame may be named ``op``."""
    return "op" in raw and ("id" in raw or not any(member in raw for member, _ in _MEMBERS))


class Problem(NamedTuple):
    """``line``: counted from 1. ``code``: of the refusal; ``resync_required`` for a gap, at which a client
    attaches again; ``unknown_member`` for a misspelt name. ``message``: the place and why.
    """

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
        self.unknown_members = 0
        self.kinds: Counter[str] = Counter()
        # An id may be used again on another connection of the same file: the last request counts.
        self._asked: dict[str, str] = {}
        self._waiting: list[tuple[int, bytes]] = []
        self._room = _HELD_BYTES
        self._splice = Splice()

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
            "unknownMembers": self.unknown_members,
            "problems": [problem._asdict() for problem in self.problems],
        }

    def summary(self) -> str:
        """One line for people."""
        counts = ", ".join(f"{self.kinds[kind]} {kind}" for kind in KINDS)
        found = (
            (self.unmatched, "replies without their request"),
            (self.unknown_events, "events of an unknown type"),
            (self.unknown_members, "unknown members"),
        )
        extra = "".join(f"; {count} {what}" for count, what in found if count)
        plural = "" if self.frames == 1 else "s"
        return f"{self.frames} frame{plural}: {counts}{extra}. Problems: {len(self.problems) or 'none'}."

    def _check(self, number: int, line: bytes, whole: bool) -> None:
        raw: dict[str, Any] = {}
        try:
            raw = parse_line(line)
            self._frame(number, raw, line)
        except ProtocolError as error:
            self._refuse(number, error.code, error.message + _hint(raw, error.message))
            self._refused(number, raw)
        if not whole:
            self._refuse(number, "invalid_request", "frame: the stream ends inside this frame, before its LF")

    def _frame(self, number: int, raw: dict[str, Any], line: bytes) -> None:
        if is_control(raw):
            self.kinds["controls"] += 1
            self._members(
                number, raw, (parse_control_response if "outcome" in raw else parse_control_request)(raw)
            )
        elif _is_request(raw):
            self.kinds["requests"] += 1
            identity, op = raw.get("id"), raw["op"]
            if isinstance(identity, str) and isinstance(op, str):
                # Also of a request that is refused below: its reply says so, and is a good frame.
                self._asked[identity] = op
            self._members(number, raw, parse_client_frame(line))
        else:
            for member, kind in _MEMBERS:
                self.kinds[kind] += member in raw
            if "outcome" in raw and not self._is_asked(raw):
                self._attach_unasked(raw)
                if len(line) <= self._room:
                    self._room -= len(line)
                    self._waiting.append((number, line))
                    return
                self.unmatched += 1
            frame = parse_server_frame(line, self._operation)
            self._members(number, raw, frame)
            self._follow(number, frame)

    def _follow(self, number: int, frame: ServerEnvelope | Unclaimed) -> None:
        """Check the frame against those of its session before it."""
        problem: str | None = None
        match frame:
            case Accepted(result=AttachResult(snapshot=snapshot)):
                self._splice.attach(snapshot)
            case EventFrame():
                self.unknown_events += isinstance(frame.event, UnknownEvent)
                problem = self._splice.event(frame)
            case TextFrame():
                problem = self._splice.text(frame)
            case NoticeFrame(notice=ResyncRequired(session=session)):
                self._splice.forget(session)
            case _:
                pass
        if problem is not None:
            self._refuse(number, "resync_required", problem)

    def _refused(self, number: int, raw: dict[str, Any]) -> None:
        """The revision of an event that was refused counts: it is no gap too."""
        session, revision = raw.get("session"), raw.get("revision")
        if "event" in raw and isinstance(session, str) and type(revision) is int:
            problem = self._splice.revision(session, revision)
            if problem is not None:
                self._refuse(number, "resync_required", problem)

    def _attach_unasked(self, raw: dict[str, Any]) -> None:
        """The snapshot of an ``attach`` whose request is not known yet: what follows it is read by it."""
        result = raw.get("result")
        if isinstance(result, dict) and "snapshot" in result:
            with suppress(ProtocolError):  # reported when the reply itself is checked
                self._splice.attach(parse_session_snapshot(result["snapshot"]))

    def _members(self, number: int, raw: dict[str, Any], typed: Any) -> None:
        """Count the members that no shape has; one whose name is near to an absent member is misspelt."""
        for member in unknown_members(raw, typed):
            self.unknown_members += 1
            if member.meant is not None:
                rule = f"no member has this name; the nearest is {member.meant}"
                self._refuse(number, "unknown_member", refusal_text(member.place, rule))

    def _check_late(self, number: int, line: bytes) -> None:
        """Check a reply whose request was not before it. One without any request is counted: its envelope is
        checked, and its result as an object of plain JSON.
        """
        try:
            raw = parse_line(line)
            self.unmatched += not self._is_asked(raw)
            self._members(number, raw, parse_server_frame(line, self._operation))
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


def _hint(raw: dict[str, Any], message: str) -> str:
    """For a required member that is absent: the member whose name is near to it."""
    place, _, rule = message.partition(": ")
    meant = misspelt_at(raw, place) if rule == "is required" else None
    return f" ({short(printable(meant))!r} is near to it)" if meant is not None else ""
