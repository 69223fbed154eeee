"""What the store takes and gives back: a session's record, and all that a host loads to bring it up again."""

from typing import NamedTuple

import msgspec

from felan_core.protocol.base import JsonObject
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import Entry, ToolEntry
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.session import ProcessRow, Queue, Run, SessionHeader


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session without its lists. Instants in milliseconds since the Unix epoch.

    ``next_seq``: the seq of the next entry. ``memory``: what the agent's backend asked to remember. ``leaf``:
    the newest entry of the active branch. ``waiting``: how many interactions wait for an answer.
    """

    id: str
    root: str
    parent: str | None
    created_at: int
    updated_at: int
    revision: int
    next_seq: int
    cwd: str
    name: str | None
    header: SessionHeader
    queue: Queue
    run: Run | None
    settings: JsonObject
    memory: JsonObject | None
    instructions: str
    policy: str
    leaf: str | None
    waiting: int

    @property
    def bulk(self) -> tuple[object, ...]:
        """The members that are large or seldom change: they are stored apart, when one of them changed."""
        return self.queue, self.settings, self.memory, self.instructions


class UnreadableSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose row does not decode: what its columns say, and why in a sentence."""

    id: str
    root: str
    parent: str | None
    created_at: int
    updated_at: int
    cwd: str
    problem: str


class StoredInteraction(msgspec.Struct, frozen=True):
    """An interaction, and what its backend needs to go on after a restart (never told to a client)."""

    interaction: Interaction
    resume: JsonObject | None


class LoadedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as one moment of the database.

    ``entries``: the newest, oldest first, at most ``history_limit`` and ``pageBytes``; ``more``: there are
    older ones. ``running_tools``: tool calls that have not ended, wherever in the history they stand, oldest
    first. ``interactions``: all that wait or are deferred and the newest others, at most ``pageEntries``
    unless more are open, in the order they were asked. ``elements``: in the order they were first shown.
    ``processes``: all that run and the newest others, at most ``pageEntries`` unless more run, in the order
    they were started.
    """

    record: SessionRecord
    entries: list[Entry]
    more: bool
    running_tools: list[ToolEntry]
    interactions: list[StoredInteraction]
    elements: list[Element]
    processes: list[ProcessRow]


class Counts(NamedTuple):
    """How much is stored. ``open``: sessions that a restart would look at (``Store.open_sessions``)."""

    sessions: int
    open: int
    processes: int
    requests: int


class Commits(NamedTuple):
    """Transactions committed since the store was opened, and how many of them were synced to the disk."""

    total: int
    durable: int
