"""Errors of the wire: the known codes, the typed body, and the exception that carries one."""

from typing import Annotated, Any, Final, Literal, Self, get_args

from msgspec import Meta

from felan_core.protocol.base import LIMITS, UNSET, JsonObject, Maybe, Wire

KnownErrorCode = Literal[
    "invalid_request",
    "unsupported_operation",
    "protocol_mismatch",
    "unavailable",
    "authentication_required",
    "busy",
    "request_conflict",
    "stale_request",
    "expired",
    "not_found",
    "forbidden",
    "already_resolved",
    "storage_failure",
    "ownership_lost",
    "resync_required",
    "indeterminate",
    "request_capacity",
    "target_mismatch",
]
"""A code that this version knows, for a type checker."""
ERROR_CODES: Final[tuple[str, ...]] = get_args(KnownErrorCode)
"""The codes that this version knows. On the wire a code is any bounded string (session protocol §3)."""


class ErrorBody(Wire, frozen=True, kw_only=True):
    """``{code, message, retryable?, details?}``. A newer code gets the generic treatment."""

    code: Annotated[str, Meta(min_length=1, max_length=LIMITS.error_code_bytes)]
    message: Annotated[str, Meta(max_length=LIMITS.error_message_bytes)]
    retryable: Maybe[bool] = UNSET
    details: Maybe[Annotated[JsonObject, Meta(extra={"encoded": LIMITS.error_detail_bytes})]] = UNSET


class ProtocolError(Exception):
    """A refusal in the contract's own words.

    ``code`` is one of ``ERROR_CODES`` or a bounded string of a newer peer; ``message`` is for people, names
    the place and the rule (``params.fields[3].options: more than 256 entries``), and never echoes more than a
    little of the input: at most ``errorMessageBytes``. ``retryable`` and ``details`` are as on the wire
    (session protocol §3).
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool | None = None,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = _within(message, LIMITS.error_message_bytes)
        self.retryable = retryable
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from ``args``, which holds the text alone: pickle needs the members.
        return _rebuilt, (type(self), self.code, self.message, self.retryable, self.details)

    @property
    def body(self) -> ErrorBody:
        """The error as it is on the wire."""
        return ErrorBody(
            code=self.code,
            message=self.message,
            retryable=UNSET if self.retryable is None else self.retryable,
            details=UNSET if self.details is None else self.details,
        )

    @classmethod
    def of(cls, body: ErrorBody) -> Self:
        """The exception for an error that a peer sent."""
        return cls(
            body.code,
            body.message,
            retryable=body.retryable if isinstance(body.retryable, bool) else None,
            details=body.details if isinstance(body.details, dict) else None,
        )


class LocalProtocolError(ProtocolError):
    """The caller's fault: a step that the state forbids, or a value that may not be sent. Nothing changed."""


class RemoteProtocolError(ProtocolError):
    """The peer's fault: bytes that are not the protocol. The connection ends."""


class RequestRefused(ProtocolError):
    """The host refused a request: it had no effect."""


class RequestIndeterminate(ProtocolError):
    """The host cannot tell whether a request had its effect. It is never repeated by itself."""


def _rebuilt(
    kind: type[ProtocolError],
    code: str,
    message: str,
    retryable: bool | None,
    details: JsonObject | None,
) -> ProtocolError:
    return kind(code, message, retryable=retryable, details=details)


def _within(text: str, limit: int) -> str:
    """As much of ``text`` as fits into ``limit`` bytes."""
    if text.isascii():
        return text[:limit]
    # A lone surrogate, out of a file's name for one, could not be sent.
    return text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def invalid(message: str, **details: object) -> ProtocolError:
    """An ``invalid_request`` in the contract's own words."""
    return ProtocolError("invalid_request", message, details=dict(details) or None)
