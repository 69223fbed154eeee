"""Felan session protocol v1, sans-IO: bytes and plain JSON in, typed structs out.

Nothing here does I/O. ``JsonLineDecoder`` and ``encode_frame`` are the framing; ``parse_client_frame`` and
``parse_server_frame`` read the envelopes from bytes, ``parse_client_envelope`` and ``parse_server_envelope``
from plain JSON; ``OPERATION_CATALOG`` has the operations. ``docs/protocol.md`` is the guide.

Each name is loaded from its module at its first use, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from felan_core.protocol.base import (
        CONTROL_VERSION,
        LIMITS,
        PROTOCOL_VERSION,
        STORAGE_VERSION,
        UNSET,
        Limits,
        Maybe,
        Wire,
        or_default,
    )
    from felan_core.protocol.catalogue import (
        OPERATION_CATALOG,
        OPERATION_PARAMS,
        OPERATION_RESULTS,
        Operation,
        operation_named,
        parse_operation_params,
        parse_operation_result,
    )
    from felan_core.protocol.configuration import (
        CONFIG_OPTIONS,
        check_config_keys,
        check_config_values,
    )
    from felan_core.protocol.connection import (
        ClientConnection,
        ClientEvent,
        ConnectionState,
        Ended,
        Failed,
        Greeted,
        Offer,
        Probe,
        Published,
        Replied,
        Requested,
        Resync,
        ServerConnection,
        ServerEvent,
    )
    from felan_core.protocol.control import (
        BootstrapHello,
        ControlRequest,
        ControlResponse,
        DaemonTarget,
        parse_bootstrap_hello,
        parse_control_request,
        parse_control_response,
        parse_daemon_target,
    )
    from felan_core.protocol.elements import (
        Element,
    )
    from felan_core.protocol.entries import (
        AnyOrigin,
        Entry,
        MessageEntry,
        NoticeEntry,
        ToolEntry,
    )
    from felan_core.protocol.envelopes import (
        Accepted,
        EventFrame,
        NoticeFrame,
        ProtocolFailure,
        Refused,
        Request,
        ResyncRequired,
        ServerEnvelope,
        TextFrame,
        Unclaimed,
    )
    from felan_core.protocol.errors import (
        ERROR_CODES,
        ErrorBody,
        KnownErrorCode,
        LocalProtocolError,
        ProtocolError,
        RemoteProtocolError,
        RequestIndeterminate,
        RequestRefused,
    )
    from felan_core.protocol.events import (
        BranchUpdated,
        CatalogUpdated,
        EntryLabelled,
        ExecutionUpdated,
        InteractionUpdated,
        KnownEvent,
        MessageCompleted,
        PolicyUpdated,
        PresentationRemoved,
        PresentationUpdated,
        ProcessUpdated,
        QueueUpdated,
        RunEnded,
        RunStarted,
        SessionClosed,
        SessionEvent,
        SessionUpdated,
        StreamCompletionOnly,
        ToolUpdated,
        UnknownEvent,
        parse_session_event,
    )
    from felan_core.protocol.forms import (
        Form,
        FormField,
    )
    from felan_core.protocol.frames import (
        SessionCommand,
        parse_client_envelope,
        parse_client_frame,
        parse_server_envelope,
        parse_server_frame,
        parse_session_command,
        request_id,
    )
    from felan_core.protocol.framing import (
        JsonLineDecoder,
        encode_frame,
    )
    from felan_core.protocol.ids import (
        new_uuid7,
        normalise_mutation_id,
    )
    from felan_core.protocol.interactions import (
        INTERACTION_KINDS,
        Answer,
        ApprovalAnswer,
        ApprovalRequest,
        ConfirmAnswer,
        ConfirmRequest,
        FormAnswer,
        FormRequest,
        InputAnswer,
        InputRequest,
        Interaction,
        InteractionRequest,
        SelectAnswer,
        SelectRequest,
        deferred_until,
        is_overdue,
        validate_interaction_answer,
    )
    from felan_core.protocol.operations import (
        ClientInfo,
        HelloParams,
        HelloResult,
    )
    from felan_core.protocol.records import (
        StoredEventRow,
        StoredRequestRecord,
        canonical_request_payload,
        check_request_capacity,
        compare_request_payload,
        is_retained,
        parse_stored_event_row,
        parse_stored_request_record,
        request_retain_until,
    )
    from felan_core.protocol.reducer import (
        SessionState,
    )
    from felan_core.protocol.remote import (
        REMOTE_FEATURES,
        RemoteCommandRow,
        RemoteOperation,
        parse_remote_command_row,
        parse_remote_operation,
    )
    from felan_core.protocol.session import (
        KnownLifecycle,
        Lifecycle,
        SessionRow,
        SessionSnapshot,
    )
    from felan_core.protocol.snapshots import (
        parse_interaction,
        parse_session_snapshot,
    )
    from felan_core.protocol.streams import (
        COMPLETED,
        COMPLETION_ONLY,
        ActiveStream,
        CompletionOnlyStream,
        StreamPosition,
        StreamPrefix,
        StreamState,
        TextBuffer,
        classify_revision,
        classify_text_delta,
    )
    from felan_core.protocol.validate import (
        decode,
        parse_json_value,
        parse_schema,
    )

_NAMES: Final = {
    "base": ("CONTROL_VERSION LIMITS PROTOCOL_VERSION STORAGE_VERSION UNSET Limits Maybe Wire or_default"),
    "catalogue": (
        "OPERATION_CATALOG OPERATION_PARAMS OPERATION_RESULTS Operation operation_named "
        "parse_operation_params parse_operation_result"
    ),
    "configuration": ("CONFIG_OPTIONS check_config_keys check_config_values"),
    "connection": (
        "ClientConnection ClientEvent ConnectionState Ended Failed Greeted Offer Probe "
        "Published Replied Requested Resync ServerConnection ServerEvent"
    ),
    "control": (
        "BootstrapHello ControlRequest ControlResponse DaemonTarget parse_bootstrap_hello "
        "parse_control_request parse_control_response parse_daemon_target"
    ),
    "elements": ("Element"),
    "entries": ("AnyOrigin Entry MessageEntry NoticeEntry ToolEntry"),
    "envelopes": (
        "Accepted EventFrame NoticeFrame ProtocolFailure Refused Request ResyncRequired "
        "ServerEnvelope TextFrame Unclaimed"
    ),
    "errors": (
        "ERROR_CODES ErrorBody KnownErrorCode LocalProtocolError ProtocolError "
        "RemoteProtocolError RequestIndeterminate RequestRefused"
    ),
    "events": (
        "BranchUpdated CatalogUpdated EntryLabelled ExecutionUpdated InteractionUpdated "
        "KnownEvent MessageCompleted PolicyUpdated PresentationRemoved "
        "PresentationUpdated ProcessUpdated QueueUpdated RunEnded RunStarted "
        "SessionClosed SessionEvent SessionUpdated StreamCompletionOnly ToolUpdated "
        "UnknownEvent parse_session_event"
    ),
    "forms": ("Form FormField"),
    "frames": (
        "SessionCommand parse_client_envelope parse_client_frame parse_server_envelope "
        "parse_server_frame parse_session_command request_id"
    ),
    "framing": ("JsonLineDecoder encode_frame"),
    "ids": ("new_uuid7 normalise_mutation_id"),
    "interactions": (
        "INTERACTION_KINDS Answer ApprovalAnswer ApprovalRequest ConfirmAnswer "
        "ConfirmRequest FormAnswer FormRequest InputAnswer InputRequest Interaction "
        "InteractionRequest SelectAnswer SelectRequest deferred_until is_overdue "
        "validate_interaction_answer"
    ),
    "operations": ("ClientInfo HelloParams HelloResult"),
    "records": (
        "StoredEventRow StoredRequestRecord canonical_request_payload "
        "check_request_capacity compare_request_payload is_retained "
        "parse_stored_event_row parse_stored_request_record request_retain_until"
    ),
    "reducer": ("SessionState"),
    "remote": (
        "REMOTE_FEATURES RemoteCommandRow RemoteOperation parse_remote_command_row parse_remote_operation"
    ),
    "session": ("KnownLifecycle Lifecycle SessionRow SessionSnapshot"),
    "snapshots": ("parse_interaction parse_session_snapshot"),
    "streams": (
        "COMPLETED COMPLETION_ONLY ActiveStream CompletionOnlyStream StreamPosition "
        "StreamPrefix StreamState TextBuffer classify_revision classify_text_delta"
    ),
    "validate": ("decode parse_json_value parse_schema"),
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    module = _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "COMPLETED",
    "COMPLETION_ONLY",
    "CONFIG_OPTIONS",
    "CONTROL_VERSION",
    "ERROR_CODES",
    "INTERACTION_KINDS",
    "LIMITS",
    "OPERATION_CATALOG",
    "OPERATION_PARAMS",
    "OPERATION_RESULTS",
    "PROTOCOL_VERSION",
    "REMOTE_FEATURES",
    "STORAGE_VERSION",
    "UNSET",
    "Accepted",
    "ActiveStream",
    "Answer",
    "AnyOrigin",
    "ApprovalAnswer",
    "ApprovalRequest",
    "BootstrapHello",
    "BranchUpdated",
    "CatalogUpdated",
    "ClientConnection",
    "ClientEvent",
    "ClientInfo",
    "CompletionOnlyStream",
    "ConfirmAnswer",
    "ConfirmRequest",
    "ConnectionState",
    "ControlRequest",
    "ControlResponse",
    "DaemonTarget",
    "Element",
    "Ended",
    "Entry",
    "EntryLabelled",
    "ErrorBody",
    "EventFrame",
    "ExecutionUpdated",
    "Failed",
    "Form",
    "FormAnswer",
    "FormField",
    "FormRequest",
    "Greeted",
    "HelloParams",
    "HelloResult",
    "InputAnswer",
    "InputRequest",
    "Interaction",
    "InteractionRequest",
    "InteractionUpdated",
    "JsonLineDecoder",
    "KnownErrorCode",
    "KnownEvent",
    "KnownLifecycle",
    "Lifecycle",
    "Limits",
    "LocalProtocolError",
    "Maybe",
    "MessageCompleted",
    "MessageEntry",
    "NoticeEntry",
    "NoticeFrame",
    "Offer",
    "Operation",
    "PolicyUpdated",
    "PresentationRemoved",
    "PresentationUpdated",
    "Probe",
    "ProcessUpdated",
    "ProtocolError",
    "ProtocolFailure",
    "Published",
    "QueueUpdated",
    "Refused",
    "RemoteCommandRow",
    "RemoteOperation",
    "RemoteProtocolError",
    "Replied",
    "Request",
    "RequestIndeterminate",
    "RequestRefused",
    "Requested",
    "Resync",
    "ResyncRequired",
    "RunEnded",
    "RunStarted",
    "SelectAnswer",
    "SelectRequest",
    "ServerConnection",
    "ServerEnvelope",
    "ServerEvent",
    "SessionClosed",
    "SessionCommand",
    "SessionEvent",
    "SessionRow",
    "SessionSnapshot",
    "SessionState",
    "SessionUpdated",
    "StoredEventRow",
    "StoredRequestRecord",
    "StreamCompletionOnly",
    "StreamPosition",
    "StreamPrefix",
    "StreamState",
    "TextBuffer",
    "TextFrame",
    "ToolEntry",
    "ToolUpdated",
    "Unclaimed",
    "UnknownEvent",
    "Wire",
    "canonical_request_payload",
    "check_config_keys",
    "check_config_values",
    "check_request_capacity",
    "classify_revision",
    "classify_text_delta",
    "compare_request_payload",
    "decode",
    "deferred_until",
    "encode_frame",
    "is_overdue",
    "is_retained",
    "new_uuid7",
    "normalise_mutation_id",
    "operation_named",
    "or_default",
    "parse_bootstrap_hello",
    "parse_client_envelope",
    "parse_client_frame",
    "parse_control_request",
    "parse_control_response",
    "parse_daemon_target",
    "parse_interaction",
    "parse_json_value",
    "parse_operation_params",
    "parse_operation_result",
    "parse_remote_command_row",
    "parse_remote_operation",
    "parse_schema",
    "parse_server_envelope",
    "parse_server_frame",
    "parse_session_command",
    "parse_session_event",
    "parse_session_snapshot",
    "parse_stored_event_row",
    "parse_stored_request_record",
    "request_id",
    "request_retain_until",
    "validate_interaction_answer",
]
