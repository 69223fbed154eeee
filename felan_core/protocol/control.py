"""Control: managing a host whose protocol version differs, and saying which host is meant (session protocol
§9). Pure: sealing the root, authenticating the peer and owning the namespace are the host's work.
"""

from collections.abc import Callable
from typing import Annotated, Final, Literal, Union

from msgspec import Meta

from felan_core.protocol.base import (
    CONTROL_VERSION,
    LIMITS,
    UNSET,
    Id,
    Json,
    JsonObject,
    Label,
    Maybe,
    Wire,
    as_object,
)
from felan_core.protocol.errors import ErrorBody, ProtocolError, invalid
from felan_core.protocol.operations import ClientInfo, Target
from felan_core.protocol.operations.hosts import Version, Versions
from felan_core.protocol.plain import plain
from felan_core.protocol.problems import Problem, one_of, refusal_text, short
from felan_core.protocol.session import Lifecycle
from felan_core.protocol.validate import parse_schema


class BootstrapHello(Wire, frozen=True, kw_only=True):
    """The members of a ``hello`` that every version can read; all others are removed."""

    v: Version
    id: Id
    protocol_versions: Versions
    client: Maybe[ClientInfo] = UNSET
    target: Maybe[Target] = UNSET


class ControlRequest(Wire, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``{control, id, command, mode?, target}``, allowed before hello. Closed: work or an environment in it
    is refused, not stripped.
    """

    control: Literal[1] = CONTROL_VERSION
    id: Id
    command: Literal["status", "stop", "restart"]
    target: Target
    mode: Maybe[Literal["drain", "force"]] = UNSET

    def verify(self) -> None:
        """``status`` has no mode."""
        if self.command == "status" and self.mode is not UNSET:
            raise Problem(".mode", "status takes none")


class Binary(Wire, frozen=True, kw_only=True):
    """The program that runs as the host."""

    name: Label
    version: Label


class ControlResponse(Wire, frozen=True, kw_only=True):
    """``protocolVersions``: the versions that the host speaks. Added members are stripped."""

    control: Literal[1] = CONTROL_VERSION
    re: Id
    outcome: Literal["accepted", "rejected", "indeterminate"]
    protocol_versions: Versions
    binary: Binary
    root: Annotated[str, Meta(min_length=1, max_length=LIMITS.text_bytes)]
    instance: Id
    lifecycle: Lifecycle
    error: Maybe[ErrorBody] = UNSET

    def verify(self) -> None:
        """An error goes with every outcome but accepted."""
        if self.outcome == "accepted" and self.error is not UNSET:
            raise Problem(".error", "an accepted response has none")
        if self.outcome != "accepted" and self.error is UNSET:
            raise Problem(".error", "is required")


class ProductionTarget(Wire, tag_field="kind", tag="production", frozen=True, kw_only=True):
    """The user's one host."""


# (?!\n): $ also stands before a newline at the end, and the whole string must match.
Namespace = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]*(?!\n)$", max_length=64)]


class NamespaceTarget(Wire, tag_field="kind", tag="namespace", frozen=True, kw_only=True):
    """A named host that is isolated from every other. ``production`` is no name for one."""

    name: Namespace

    def verify(self) -> None:
        """``production`` is the other kind."""
        if self.name == "production":
            raise Problem(".name", "production is not the name of an isolated namespace")


DaemonTarget = Union[ProductionTarget, NamespaceTarget]
PRODUCTION: Final = ProductionTarget()
_TARGET_MEMBERS: Final = Target.__struct_encode_fields__
_REQUEST_MEMBERS: Final = ControlRequest.__struct_encode_fields__


def parse_bootstrap_hello(raw: Json) -> BootstrapHello:
    """``{v, id, protocolVersions, client?, target?}`` out of a hello of any version, in plain JSON ``raw``.

    It tells a host whom it speaks to before a version is agreed (session protocol §9), so ``v`` may be any
    positive integer.
    Raises ``ProtocolError('invalid_request')``.
    """
    frame = as_object(plain(raw))
    if frame is None:
        raise invalid("hello: not an object")
    if frame.get("op") != "hello":
        raise invalid("op: the first frame is hello")
    params = as_object(frame.get("params"))
    if params is None:
        raise invalid("params: an object is required")
    picked: JsonObject = {name: frame[name] for name in ("v", "id") if name in frame}
    for name in ("protocolVersions", "client", "target"):
        if name in params:
            picked[name] = params[name]
    return parse_schema(BootstrapHello, picked, "")


def parse_control_request(raw: Json) -> ControlRequest:
    """The control request in plain JSON ``raw`` (session protocol §9).

    Raises ``ProtocolError``: ``protocol_mismatch`` for another control version, else ``invalid_request``,
    also for every member that is not declared, in the target too.
    """
    value = _controlled(raw)
    target = as_object(value.get("target"))
    if target is not None:
        for name in target:
            if name not in _TARGET_MEMBERS:
                raise invalid(refusal_text(f"target.{short(name)}", f"the name {one_of(_TARGET_MEMBERS)}"))
    for name in value:
        if name not in _REQUEST_MEMBERS:
            raise invalid(refusal_text(short(name), f"the name {one_of(_REQUEST_MEMBERS)}"))
    return parse_schema(ControlRequest, value, "")


def parse_control_response(raw: Json) -> ControlResponse:
    """The control response in plain JSON ``raw`` (session protocol §9). An error goes with every outcome but
    ``accepted``.

    Raises ``ProtocolError`` as ``parse_control_request``.
    """
    return parse_schema(ControlResponse, _controlled(raw), "")


def is_control(raw: Json) -> bool:
    """Whether a frame is of the control protocol, which no envelope is."""
    frame = as_object(raw)
    return frame is not None and "control" in frame


def same_target(asked: Target, mine: Target, canonical: Callable[[str], str] = str) -> bool:
    """Whether ``asked`` means this host, all of it. ``canonical`` makes a root's path canonical."""
    return (
        asked.namespace == mine.namespace
        and asked.instance == mine.instance
        and canonical(asked.root) == canonical(mine.root)
    )


def require_target(asked: Target, mine: Target, canonical: Callable[[str], str] = str) -> None:
    """Raises ``ProtocolError('target_mismatch')`` when ``asked`` is another host; then nothing is done."""
    if not same_target(asked, mine, canonical):
        raise ProtocolError("target_mismatch", "target: another host is meant")


def parse_daemon_target(value: Json) -> DaemonTarget:
    """The target of a daemon: ``{kind:"production"}`` or ``{kind:"namespace", name}`` (session protocol §9).

    A name matches ``[a-z0-9][a-z0-9_-]*``, is at most 64 bytes, and is not ``production``. Raises
    ``ProtocolError('invalid_request')``.
    """
    members = as_object(plain(value))
    if members is None:
        raise invalid("target: not an object")
    match members.get("kind"):
        case "production":
            return parse_schema(ProductionTarget, members, "target")
        case "namespace":
            return parse_schema(NamespaceTarget, members, "target")
        case _:
            raise invalid("target.kind: must be one of production, namespace")


def _controlled(raw: Json) -> JsonObject:
    value = as_object(plain(raw))
    if value is None:
        raise invalid("frame: not an object")
    version = value.get("control")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise invalid("control: the control version is required")
    if version != CONTROL_VERSION:
        raise ProtocolError(
            "protocol_mismatch",
            f"control: this side speaks version {CONTROL_VERSION}",
            details={"controlVersions": [CONTROL_VERSION]},
        )
    return value
