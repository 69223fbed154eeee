"""Remote commands: what a platform queues for a registered host, who is behind it, and the features that a
host advertises (session protocol §11). The host authorises the requester, not these shapes.
"""

from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args

import msgspec
from msgspec import UNSET, Meta

from felan_core.protocol.base import (
    Id,
    Instant,
    Json,
    JsonObject,
    Maybe,
    Wire,
    as_object,
)
from felan_core.protocol.catalogue import OPERATION_CATALOG, parse_operation_params
from felan_core.protocol.entries import (
    AutomationOrigin,
    AutomationSource,
    ChannelOrigin,
    ChannelProvider,
    WebOrigin,
)
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.operations import CreateParams
from felan_core.protocol.plain import plain
from felan_core.protocol.problems import Problem, short
from felan_core.protocol.validate import parse_schema

REMOTE_FEATURES: Final = ("sessions.create.session-id", "sessions.create.instructions")
"""The features that this version knows. A host says which it has; a reader ignores the others."""

RemoteName = Literal[
    "sessions.create",
    "prompt",
    "steer",
    "follow_up",
    "cancel",
    "interaction.answer",
    "ui.action",
    "close",
]
REMOTE_OPERATIONS: Final[tuple[str, ...]] = get_args(RemoteName)
"""The operations that a platform can ask of a host."""

# (?!\n): $ also stands before a newline at the end, and the whole string must match.
SessionUuid = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\n)$")]


class Automation(Wire, frozen=True, kw_only=True):
    """A rule or a schedule of the platform."""

    source: AutomationSource


class Channel(Wire, frozen=True, kw_only=True):
    """A chat or ticket system; who wrote there is the row's ``requester``."""

    provider: ChannelProvider


class RemoteCreateParams(CreateParams, frozen=True, kw_only=True):
    """``sessions.create`` with the id that the platform chose (in use already: ``request_conflict``)."""

    session_id: Maybe[SessionUuid] = UNSET


class RemoteCommandRow(Wire, frozen=True, kw_only=True):
    """A command as a platform keeps it, with exactly one provenance: a ``requester`` alone (a user of the
    web), ``automation``, or ``channel``, where ``requester`` is the channel's user.
    """

    id: Id
    host: Id
    op: RemoteName
    params: JsonObject
    created_at: Instant
    session: Maybe[Id] = UNSET
    requester: Maybe[Id] = UNSET
    automation: Maybe[Automation] = UNSET
    channel: Maybe[Channel] = UNSET

    def verify(self) -> None:
        """Exactly one provenance; a session where the operation's scope says so."""
        if self.automation is not UNSET and self.channel is not UNSET:
            raise Problem(".channel", "automation or a channel, not both")
        if self.automation is not UNSET and self.requester is not UNSET:
            raise Problem(".requester", "an automation has none")
        if self.automation is UNSET and self.channel is UNSET and self.requester is UNSET:
            raise Problem("", "one of requester, automation and channel is required")
        scoped = OPERATION_CATALOG[self.op].scope != "host"
        if scoped and self.session is UNSET:
            raise Problem(".session", f"{self.op} needs one")
        if not scoped and self.session is not UNSET:
            raise Problem(".session", f"{self.op} takes none")

    @property
    def origin(self) -> Union[WebOrigin, AutomationOrigin, ChannelOrigin]:
        """The origin that the host keeps on the run, the queue items and the messages of this command."""
        if self.automation is not UNSET:
            return AutomationOrigin(source=self.automation.source)
        if self.channel is not UNSET:
            return ChannelOrigin(provider=self.channel.provider, user=self.requester, command=self.id)
        assert self.requester is not UNSET, "the parser takes no row without a provenance"
        return WebOrigin(user=self.requester, command=self.id)


class RemoteOperation(NamedTuple):
    """An operation of a remote command: its name and its typed parameters."""

    op: str
    params: Any


def parse_remote_operation(value: Json) -> RemoteOperation:
    """``{op, params}`` of a remote command in plain JSON (session protocol §11).

    ``sessions.create`` takes an optional lower-case UUID ``sessionId``; all else is as local. Raises
    ``ProtocolError``: ``unsupported_operation`` for what cannot be asked remotely.
    """
    command = as_object(plain(value))
    if command is None:
        raise invalid("command: not an object")
    op, params = command.get("op"), as_object(command.get("params"))
    if not isinstance(op, str):
        raise invalid("op: a string is required")
    if params is None:
        raise invalid("params: an object is required")
    if op not in REMOTE_OPERATIONS:
        raise ProtocolError("unsupported_operation", f"op: {short(op)!r} is not a remote operation")
    if op == "sessions.create":
        return RemoteOperation(op, parse_schema(RemoteCreateParams, params, "params"))
    return RemoteOperation(op, parse_operation_params(op, params))


def parse_remote_command_row(value: Json) -> RemoteCommandRow:
    """The row in plain JSON, its provenance and its operation checked; ``params`` as they were checked
    (session protocol §11).

    Raises ``ProtocolError``: ``unsupported_operation`` for what cannot be asked remotely, else
    ``invalid_request``.
    """
    members = as_object(plain(value))
    if members is None:
        raise invalid("row: not an object")
    command = parse_remote_operation({name: members[name] for name in ("op", "params") if name in members})
    params: JsonObject = msgspec.to_builtins(command.params)
    return parse_schema(RemoteCommandRow, {**members, "params": params}, "row")
