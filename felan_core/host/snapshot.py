"""A session as a client gets it that attaches: all that fits, and where the rest is to be had (§1, §7).

Questions that ended and processes have a share of their own, the newest first. History is shortened first
(its cursor says so), then prefixes become completion-only. Where even that is not enough, running tools are
left out, the oldest first: each is told whole when it next changes.
"""

from typing import TypeVar

import msgspec
from msgspec import UnsetType
from msgspec.structs import replace

from felan_core.host.actor import SessionActor
from felan_core.host.cursors import HistoryCursor, history_cursor
from felan_core.host.quotas import ENDED_BYTES, PROCESSES_BYTES, newest_within
from felan_core.protocol.base import LIMITS, UNSET, Maybe
from felan_core.protocol.entries import Entry, ToolEntry
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.reducer import OPEN_STATES
from felan_core.protocol.session import History, SessionSnapshot
from felan_core.protocol.streams import CompletionOnlyStream, StreamPrefix

E = TypeVar("E", bound=Entry)
_encode = msgspec.json.Encoder().encode


def captured(actor: SessionActor, streams: list[StreamPrefix], history_limit: int) -> SessionSnapshot:
    """The session as of now, within ``snapshotBytes``. Inside a job. Raises ``unavailable``."""
    state = actor.state
    shown = _newest(actor, history_limit)
    withheld = list(state.completion_only.values())
    running = [one for one in state.entries if isinstance(one, ToolEntry) and one.state == "running"]
    running = newest_within(running[-LIMITS.page_entries :], LIMITS.page_bytes)
    while True:
        there = {entry.id for entry in shown}
        snapshot = state.to_snapshot(
            history=History(entries=shown, cursor=_cursor(actor, shown)),
            tools=[tool for tool in running if tool.id not in there],
            streams=streams,
            completion_only=withheld,
        )
        snapshot = _within_shares(snapshot)
        excess = len(_encode(snapshot)) - LIMITS.snapshot_bytes
        if excess <= 0:
            return snapshot
        if shown:
            shown = _without_oldest(shown, excess)
        elif streams:
            withheld += [
                CompletionOnlyStream(message=one.message, id=one.id, kind=one.kind, reason="limit")
                for one in streams
            ]
            streams = []
        elif running:
            running = _without_oldest(running, excess)
        else:
            raise ProtocolError("unavailable", "session: it does not fit into a snapshot")


def _within_shares(snapshot: SessionSnapshot) -> SessionSnapshot:
    """The snapshot without the oldest questions that ended, and processes, where they are too large."""
    ended = [one for one in snapshot.interactions if one.state not in OPEN_STATES]
    kept = {one.id for one in newest_within(ended, ENDED_BYTES)}
    return replace(
        snapshot,
        interactions=[one for one in snapshot.interactions if one.state in OPEN_STATES or one.id in kept],
        processes=newest_within(snapshot.processes, PROCESSES_BYTES),
    )


def _newest(actor: SessionActor, limit: int) -> list[Entry]:
    """The newest entries without a gap among them, at most ``limit`` and ``pageBytes``."""
    shown: list[Entry] = []
    room = LIMITS.page_bytes
    for entry in reversed(actor.state.entries.newest(limit)):
        room -= len(_encode(entry)) + 1
        if room < 0 or entry.seq < actor.floor:
            break
        shown.append(entry)
    return shown[::-1]


def _without_oldest(entries: list[E], excess: int) -> list[E]:
    """The entries that are left when the oldest that make up ``excess`` bytes are dropped: one at least."""
    dropped = 0
    while dropped < len(entries) and excess > 0:
        excess -= len(_encode(entries[dropped])) + 1
        dropped += 1
    return entries[dropped:]


def _cursor(actor: SessionActor, shown: list[Entry]) -> Maybe[str]:
    leaf = actor.state.branch.leaf
    before = shown[0].seq if shown else actor.next_seq
    if isinstance(leaf, UnsetType) or not (actor.floor or actor.state.entries.before(before)):
        return UNSET
    return history_cursor(actor.id, HistoryCursor(leaf, shown[0].id if shown else ""))
