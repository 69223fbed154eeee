"""Envelopes: requests, replies, events, text and notices (session protocol §3).

Each direction has two ways in: ``parse_client_frame`` and ``parse_server_frame`` take one line in bytes,
``parse_client_envelope`` and ``parse_server_envelope`` the same as plain JSON. Both come to one verdict.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from msgspec import UNSET, Meta

from felan_core.protocol.base import (
    LIMITS,
    PROTOCOL_VERSION,
    Id,
    Instant,
    JsonObject,
    Label,
    Maybe,
    Revision,
    Wire,
)
from felan_core.protocol.errors import ErrorBody
from felan_core.protocol.events import KnownEvent, SessionEvent
from felan_core.protocol.streams import StreamPosition

Delta = Annotated[str, Meta(min_length=1, max_length=LIMITS.stream_bytes)]


class Request(Wire, frozen=True, kw_only=True):
    """``{v, id, op, session?, params}``.

    What a parser returns holds the operation's typed parameters; a sender may put plain JSON there.
    """

    v: Literal[1] = PROTOCOL_VERSION
    id: Id
    op: Label
    params: Any
    session: Maybe[Id] = UNSET


class Accepted(Wire, frozen=True, kw_only=True):
    """``{v, re, outcome:"accepted", result}``; an empty result is ``{}``. ``result``: the operation's typed
    result.
    """

    re: Id
    result: Any
    v: Literal[1] = PROTOCOL_VERSION
    outcome: Literal["accepted"] = "accepted"


class Unclaimed(Wire, frozen=True, kw_only=True):
    """An accepted reply to a request that is not outstanding, so that nothing says what its result is.

    It is never sent: ``parse_server_frame`` returns it. ``result``: plain JSON as it came.
    """

    re: Id
    result: JsonObject


class Refused(Wire, frozen=True, kw_only=True):
    """A rejected or indeterminate reply: ``{v, re, outcome, error}``."""

    re: Id
    outcome: Literal["rejected", "indeterminate"]
    error: ErrorBody
    v: Literal[1] = PROTOCOL_VERSION


if TYPE_CHECKING:
    AnyEvent = SessionEvent
else:
    # A decoder takes the known ones; an unknown one is put in by the parser.
    AnyEvent = KnownEvent


class EventFrame(Wire, frozen=True, kw_only=True):
    """``{v, session, revision, at, event}``: one event, one change, one revision."""

    session: Id
    revision: Revision
    at: Instant
    event: AnyEvent
    v: Literal[1] = PROTOCOL_VERSION


class TextFrame(Wire, frozen=True, kw_only=True):
    """``{v, session, stream, text}``: not revisioned; ``text`` is not empty."""

    session: Id
    stream: StreamPosition
    text: Delta
    v: Literal[1] = PROTOCOL_VERSION


class ResyncRequired(Wire, tag_field="type", tag="resync_required", frozen=True, kw_only=True):
    """The client missed events of ``session`` and has to attach again."""

    session: Id
    reason: Label


class ProtocolFailure(Wire, tag_field="type", tag="protocol_error", frozen=True, kw_only=True):
    """The other side broke the protocol. The connection closes after this frame."""

    error: ErrorBody


Notice = Union[ResyncRequired, ProtocolFailure]


class NoticeFrame(Wire, frozen=True, kw_only=True):
    """``{v, session?, notice}``: something about the connection, not about a session's state."""

    notice: Notice
    v: Literal[1] = PROTOCOL_VERSION
    session: Maybe[Id] = UNSET


Reply = Union[Accepted, Refused]
ServerEnvelope = Union[Accepted, Refused, EventFrame, TextFrame, NoticeFrame]
