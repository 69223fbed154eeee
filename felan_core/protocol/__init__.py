"""Felan session protocol v1, sans-IO: bytes and plain JSON in, typed structs out.

Nothing here does I/O. ``JsonLineDecoder`` and ``encode_frame`` are the framing, ``parse_client_envelope`` and
``parse_server_envelope`` the envelopes, ``OPERATION_CATALOG`` the operations; ``docs/protocol.md`` is the
guide.
"""

from felan_core.protocol.base import (
    CONTROL_VERSION,
    LIMITS,
    PROTOCOL_VERSION,
    STORAGE_VERSION,
    UNSET,
    Maybe,
    given,
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
from felan_core.protocol.envelopes import (
    Accepted,
    EventFrame,
    NoticeFrame,
    Refused,
    Request,
    TextFrame,
    Unclaimed,
)
from felan_core.protocol.errors import ERROR_CODES, ErrorBody, KnownErrorCode, ProtocolError
from felan_core.protocol.events import parse_session_event
from felan_core.protocol.frames import (
    parse_client_envelope,
    parse_client_frame,
    parse_server_envelope,
    parse_server_frame,
    request_id,
)
from felan_core.protocol.framing import JsonLineDecoder, encode_frame
from felan_core.protocol.ids import new_uuid7, normalise_mutation_id
from felan_core.protocol.interactions import INTERACTION_KINDS, validate_interaction_answer
from felan_core.protocol.records import (
    StoredRequestRecord,
    canonical_request_payload,
    compare_request_payload,
    request_retain_until,
)
from felan_core.protocol.snapshots import parse_interaction, parse_session_snapshot
from felan_core.protocol.streams import classify_revision, classify_text_delta

__all__ = [
    "CONTROL_VERSION",
    "ERROR_CODES",
    "INTERACTION_KINDS",
    "LIMITS",
    "OPERATION_CATALOG",
    "OPERATION_PARAMS",
    "OPERATION_RESULTS",
    "PROTOCOL_VERSION",
    "STORAGE_VERSION",
    "UNSET",
    "Accepted",
    "ErrorBody",
    "EventFrame",
    "JsonLineDecoder",
    "KnownErrorCode",
    "Maybe",
    "NoticeFrame",
    "Operation",
    "ProtocolError",
    "Refused",
    "Request",
    "StoredRequestRecord",
    "TextFrame",
    "Unclaimed",
    "canonical_request_payload",
    "classify_revision",
    "classify_text_delta",
    "compare_request_payload",
    "encode_frame",
    "given",
    "new_uuid7",
    "normalise_mutation_id",
    "operation_named",
    "parse_client_envelope",
    "parse_client_frame",
    "parse_interaction",
    "parse_operation_params",
    "parse_operation_result",
    "parse_server_envelope",
    "parse_server_frame",
    "parse_session_event",
    "parse_session_snapshot",
    "request_id",
    "request_retain_until",
    "validate_interaction_answer",
]
