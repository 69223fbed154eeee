"""What every wire shape is made of: the base struct, optional members, and the bounded scalar types.

An optional member that is absent is ``UNSET``, never ``None``: ``null`` for an optional member is an invalid
request (session protocol §1), and a type that does not take ``None`` says so by itself.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar, Union, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType

__all__ = [
    "CONTROL_VERSION",
    "LIMITS",
    "MAX_INTEGER",
    "PROTOCOL_VERSION",
    "STORAGE_VERSION",
    "UNSET",
    "Base64",
    "Count",
    "Cursor",
    "Id",
    "Instant",
    "Integer",
    "Json",
    "JsonObject",
    "Label",
    "Limits",
    "Maybe",
    "NonEmpty",
    "Number",
    "Page",
    "PageLimit",
    "Revision",
    "Structured",
    "Text",
    "Wire",
    "as_list",
    "as_object",
    "kind_of",
    "or_default",
]

PROTOCOL_VERSION: Final = 1
"""``v`` of every frame (session protocol §1)."""
STORAGE_VERSION: Final = 1
"""``v`` of every stored row (session protocol §8)."""
CONTROL_VERSION: Final = 1
"""``control`` of every control frame (session protocol §9)."""

T = TypeVar("T")
Maybe = Union[T, UnsetType]
"""An optional member: a value, or ``UNSET`` where the member is absent."""

Json = Any
"""Free JSON: None, bool, int, float, str, list or dict with string keys."""
JsonObject = dict[str, Any]
kind_of: Final[Callable[[Json], object]] = type
"""The exact type of a piece of free JSON."""


class Limits(msgspec.Struct, frozen=True, rename="camel"):
    """The one table of numbers (session protocol §1). Bytes are UTF-8 bytes unless said otherwise."""

    json_depth: int = 32
    structured_bytes: int = 64 * 1024
    structured_entries: int = 1024
    ui_hint_bytes: int = 128 * 1024
    page_entries: int = 256
    page_bytes: int = 12 * 1024 * 1024
    snapshot_bytes: int = 14 * 1024 * 1024
    active_streams: int = 8
    stream_bytes: int = 1024 * 1024
    stream_total_bytes: int = 4 * 1024 * 1024
    process_read_bytes: int = 64 * 1024
    process_write_bytes: int = 16 * 1024
    unsent_bytes: int = 32 * 1024 * 1024
    in_flight_requests: int = 64
    instructions_bytes: int = 16 * 1024
    id_bytes: int = 128
    automation_source_bytes: int = 256
    channel_provider_bytes: int = 64
    requests_per_session: int = 100_000
    requests_per_namespace: int = 1_000_000
    reserved_control_slots: int = 1024
    request_retain_ms: int = 7 * 24 * 3600 * 1000
    deferred_ms: int = 30 * 60 * 1000
    frame_bytes: int = 16 * 1024 * 1024
    error_code_bytes: int = 128
    error_message_bytes: int = 4 * 1024
    error_detail_bytes: int = 16 * 1024
    label_bytes: int = 1024
    text_bytes: int = 256 * 1024
    cursor_bytes: int = 1024
    form_fields: int = 64
    form_options: int = 256
    element_actions: int = 16
    elements: int = 64


LIMITS: Final = Limits()
"""The one table: every check reads it."""
MAX_INTEGER: Final = 2**53 - 1

Id = Annotated[str, Meta(min_length=1, max_length=LIMITS.id_bytes)]
Label = Annotated[str, Meta(max_length=LIMITS.label_bytes)]
Text = Annotated[str, Meta(max_length=LIMITS.text_bytes)]
NonEmpty = Annotated[str, Meta(min_length=1, max_length=LIMITS.text_bytes)]
Cursor = Annotated[str, Meta(min_length=1, max_length=LIMITS.cursor_bytes)]
Instant = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
"""Integer milliseconds since the Unix epoch."""
Integer = Annotated[int, Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Revision = Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
PageLimit = Annotated[int, Meta(ge=1, le=LIMITS.page_entries)]
Base64 = Annotated[
    str,
    Meta(
        pattern=r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$(?!\n)"
    ),
]
"""Canonical base64 (RFC 4648): with padding, zero trailing bits, no white space, not the URL alphabet."""
Number = Union[int, float]
StructuredEntries: Final = {"encoded": LIMITS.structured_bytes, "entries": LIMITS.structured_entries}
Structured = Annotated[JsonObject, Meta(extra=StructuredEntries)]
"""A piece of structured data: free JSON of at most 64 KiB, 1,024 entries in any one collection."""
Page = Meta(max_length=LIMITS.page_entries, extra={"encoded": LIMITS.page_bytes})
"""The bounds of a page: ``Annotated[list[Row], Page]``."""


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of every wire shape: immutable, camelCase on the wire, unknown members stripped.

    A shape whose members depend on each other says so in ``verify``; one that is bounded as a whole, in
    ``weigh``. A ``max_length`` of a ``str`` bounds its UTF-8 bytes.
    """

    def verify(self) -> None:
        """Check what the members say about each other. Raises ``Problem``; the parsers call it."""

    def weigh(self, size: int) -> None:
        """Check weights of several members together. ``size``: of the whole frame, in bytes. Raises
        ``Problem``; the parsers call it for frames that are large enough to matter.
        """


def as_object(value: Any) -> JsonObject | None:
    """``value`` as a JSON object, or None when it is none."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """``value`` as a JSON array, or None when it is none."""
    return cast(list[Any], value) if isinstance(value, list) else None


def or_default(value: Union[T, UnsetType], default: T) -> T:
    """The member's value, or ``default`` where the member is absent."""
    return default if isinstance(value, UnsetType) else value
