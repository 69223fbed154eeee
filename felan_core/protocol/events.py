"""Event types: one event, one change, one revision (session protocol §7).

An unknown type is kept as ``UnknownEvent``: it advances the revision and invents no behaviour. A malformed
event of a known type is refused; it never slips through as unknown.
"""

from typing import Any, Literal, Union

from felan_core.protocol.base import LIMITS, UNSET, Id, Json, JsonObject, Label, Maybe, Wire, as_object
from felan_core.protocol.checks import weight
from felan_core.protocol.elements import Element
from felan_core.protocol.entries import Entry, ToolEntry
from felan_core.protocol.errors import ErrorBody, invalid
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.plain import plain
from felan_core.protocol.session import (
    Branch,
    Catalogue,
    ExecutionRow,
    Policy,
    ProcessRow,
    Queue,
    Run,
    RunOutcome,
    SessionHeader,
)
from felan_core.protocol.streams import StreamRef
from felan_core.protocol.validate import shape_of


class SessionUpdated(Wire, tag_field="type", tag="session.updated", frozen=True, kw_only=True):
    """The session's header, whole."""

    header: SessionHeader


class SessionClosed(Wire, tag_field="type", tag="session.closed", frozen=True, kw_only=True):
    """The session was closed; its row stays."""


class RunStarted(Wire, tag_field="type", tag="run.started", frozen=True, kw_only=True):
    """A run began."""

    run: Run


class RunEnded(Wire, tag_field="type", tag="run.ended", frozen=True, kw_only=True):
    """The run ended, how, and why where it failed."""

    run: Id
    outcome: RunOutcome
    error: Maybe[ErrorBody] = UNSET


class MessageCompleted(Wire, tag_field="type", tag="message.completed", frozen=True, kw_only=True):
    """A message or notice, whole; it replaces the streams of the same id."""

    entry: Entry


class StreamCompletionOnly(Wire, tag_field="type", tag="stream.completion_only", frozen=True, kw_only=True):
    """The stream's text comes with its completed message alone; a reader drops what it has."""

    stream: StreamRef
    reason: Literal["limit"]


class ToolUpdated(Wire, tag_field="type", tag="tool.updated", frozen=True, kw_only=True):
    """A tool call, whole; it replaces the one with its id."""

    tool: ToolEntry


class QueueUpdated(Wire, tag_field="type", tag="queue.updated", frozen=True, kw_only=True):
    """The queue, whole."""

    queue: Queue


class InteractionUpdated(Wire, tag_field="type", tag="interaction.updated", frozen=True, kw_only=True):
    """An interaction, whole."""

    interaction: Interaction


class PresentationUpdated(Wire, tag_field="type", tag="presentation.updated", frozen=True, kw_only=True):
    """An element, whole; its revision is that of this event."""

    element: Element


class PresentationRemoved(Wire, tag_field="type", tag="presentation.removed", frozen=True, kw_only=True):
    """An element is gone."""

    element: Id


class ProcessUpdated(Wire, tag_field="type", tag="process.updated", frozen=True, kw_only=True):
    """A process's row, whole."""

    process: ProcessRow


class ExecutionUpdated(Wire, tag_field="type", tag="execution.updated", frozen=True, kw_only=True):
    """A child execution's row, whole."""

    execution: ExecutionRow


class BranchUpdated(Wire, tag_field="type", tag="branch.updated", frozen=True, kw_only=True):
    """Another branch is the active one, or the active one grew."""

    branch: Branch


class EntryLabelled(Wire, tag_field="type", tag="entry.labelled", frozen=True, kw_only=True):
    """An entry got a label; without one it lost it."""

    entry: Id
    label: Maybe[Label] = UNSET


class CatalogUpdated(Wire, tag_field="type", tag="catalog.updated", frozen=True, kw_only=True):
    """What the session can do, whole."""

    catalogue: Catalogue


class PolicyUpdated(Wire, tag_field="type", tag="policy.updated", frozen=True, kw_only=True):
    """The policy in force."""

    policy: Policy


KnownEvent = Union[
    SessionUpdated,
    SessionClosed,
    RunStarted,
    RunEnded,
    MessageCompleted,
    StreamCompletionOnly,
    ToolUpdated,
    QueueUpdated,
    InteractionUpdated,
    PresentationUpdated,
    PresentationRemoved,
    ProcessUpdated,
    ExecutionUpdated,
    BranchUpdated,
    EntryLabelled,
    CatalogUpdated,
    PolicyUpdated,
]

EVENT_TYPES: dict[str, type[Any]] = {
    str(event.__struct_config__.tag): event  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] msgspec types the config loosely
    for event in KnownEvent.__args__
}


class UnknownEvent(dict[str, Any]):
    """An event of a type that this version does not know: the JSON as it came, unstripped."""

    @property
    def type(self) -> str:
        """The type that it has, not known here."""
        return self["type"]

    @property
    def value(self) -> JsonObject:
        """The whole event as a plain object."""
        return dict(self)


SessionEvent = Union[KnownEvent, UnknownEvent]


def parse_session_event(value: Json) -> SessionEvent:
    """The typed event for plain JSON ``{type, …}`` (session protocol §3, §7).

    An unknown type is kept as ``UnknownEvent`` (depth 32, 12 MiB); a malformed event of a known type is
    refused. Raises ``ProtocolError('invalid_request')``.
    """
    return parse_plain_event(plain(value, path="event"))


def parse_plain_event(value: Json) -> SessionEvent:
    """``parse_session_event`` for JSON that is normalised already."""
    event = as_object(value)
    kind = event.get("type") if event is not None else None
    if event is None or not isinstance(kind, str) or not kind:
        raise invalid("event.type: a string is required")
    shape = EVENT_TYPES.get(kind)
    if shape is not None:
        return shape_of(shape).convert(event, "event")
    if weight(event) > LIMITS.page_bytes:
        raise invalid(f"event: more than {LIMITS.page_bytes} bytes")
    return UnknownEvent(event)
