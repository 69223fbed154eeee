"""Sessions: listing, making, attaching, their history and branches, configuration (session protocol §4)."""

from typing import Annotated, Literal, Union

from msgspec import Meta, field

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Cursor,
    Id,
    Instant,
    JsonObject,
    Label,
    Maybe,
    NonEmpty,
    PageLimit,
    Revision,
    Text,
    Wire,
)
from felan_core.protocol.entries import Entry
from felan_core.protocol.operations.common import Target
from felan_core.protocol.session import PolicyName, SessionRow, SessionSnapshot, SessionState, Thinking


class SessionsFilter(Wire, frozen=True, kw_only=True):
    cwd: Maybe[Text] = UNSET
    query: Maybe[Label] = UNSET
    state: Maybe[SessionState] = UNSET
    parent: Maybe[Id] = UNSET


class SessionsListParams(Wire, frozen=True, kw_only=True):
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    filter: Maybe[SessionsFilter] = UNSET


class SessionsPage(Wire, frozen=True, kw_only=True):
    items: list[SessionRow]
    next_cursor: Maybe[Cursor] = UNSET


class CreateParams(Wire, frozen=True, kw_only=True):
    """``cwd``: an existing absolute folder. ``extensions``: overrides of extension settings."""

    cwd: NonEmpty
    name: Maybe[Label] = UNSET
    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET
    instructions: Maybe[Annotated[str, Meta(max_length=LIMITS.instructions_bytes)]] = UNSET
    require_policy: Maybe[PolicyName] = UNSET
    extensions: Maybe[JsonObject] = UNSET


class SessionResult(Wire, frozen=True, kw_only=True):
    session: Id
    revision: Revision


class ImportSource(Wire, frozen=True, kw_only=True):
    path: Maybe[NonEmpty] = UNSET
    jsonl: Maybe[str] = UNSET


class ImportParams(Wire, frozen=True, kw_only=True):
    source: ImportSource
    name: Maybe[Label] = UNSET
    require_policy: Maybe[PolicyName] = UNSET


class ImportResult(Wire, frozen=True, kw_only=True):
    session: Id
    revision: Revision
    entries: Count
    skipped: Count


class AttachParams(Wire, frozen=True, kw_only=True):
    target: Maybe[Target] = UNSET
    require_policy: Maybe[PolicyName] = UNSET
    history_limit: Maybe[PageLimit] = UNSET


class AttachResult(Wire, frozen=True, kw_only=True):
    snapshot: SessionSnapshot


class RenameParams(Wire, frozen=True, kw_only=True):
    name: Label


class TreeRow(Wire, frozen=True, kw_only=True):
    id: Id
    kind: Label
    at: Instant
    preview: Label
    parent_id: Union[Id, None] = None
    label: Maybe[Label] = UNSET


class TreePage(Wire, frozen=True, kw_only=True):
    items: list[TreeRow]
    leaf: Union[Id, None] = None
    next_cursor: Maybe[Cursor] = UNSET


class BranchSelectParams(Wire, frozen=True, kw_only=True):
    entry: Id
    expected_revision: Maybe[Revision] = UNSET


class BranchSelectResult(Wire, frozen=True, kw_only=True):
    revision: Revision
    leaf: Id


class LabelParams(Wire, frozen=True, kw_only=True):
    entry: Id
    label: Union[Label, None]
    expected_revision: Maybe[Revision] = UNSET


class CloneParams(Wire, frozen=True, kw_only=True):
    name: Maybe[Label] = UNSET


class SessionOnlyResult(Wire, frozen=True, kw_only=True):
    session: Id


class ForkFrom(Wire, frozen=True, kw_only=True):
    entry: Maybe[Id] = UNSET
    position: Maybe[Count] = UNSET


class ForkParams(Wire, frozen=True, kw_only=True):
    source: ForkFrom = field(name="from")
    name: Maybe[Label] = UNSET


class ForkResult(Wire, frozen=True, kw_only=True):
    session: Id
    text: Text


class ExportParams(Wire, frozen=True, kw_only=True):
    format: Literal["jsonl", "markdown", "html"]
    cursor: Maybe[Cursor] = UNSET


class ExportPage(Wire, frozen=True, kw_only=True):
    data: str
    next_cursor: Maybe[Cursor] = UNSET


class DeleteParams(Wire, frozen=True, kw_only=True):
    expected_revision: Revision


class HistoryParams(Wire, frozen=True, kw_only=True):
    """Pages go back in time. ``entry``: the page that ends with that entry of the captured branch."""

    cursor: Maybe[Cursor] = UNSET
    entry: Maybe[Id] = UNSET
    limit: Maybe[PageLimit] = UNSET


class HistoryPage(Wire, frozen=True, kw_only=True):
    """Oldest first within the page."""

    items: list[Entry]
    next_cursor: Maybe[Cursor] = UNSET


class ConfigGetParams(Wire, frozen=True, kw_only=True):
    keys: Maybe[list[Label]] = UNSET


class ConfigGetResult(Wire, frozen=True, kw_only=True):
    values: JsonObject
    stored: JsonObject


class ConfigSetParams(Wire, frozen=True, kw_only=True):
    values: JsonObject


class ConfigSetResult(Wire, frozen=True, kw_only=True):
    values: JsonObject
