"""Sessions: listing, making, attaching, their history and branches, configuration (session protocol §4)."""

from collections.abc import Callable
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
    Page,
    PageLimit,
    Revision,
    Structured,
    Text,
    Wire,
    or_default,
)
from felan_core.protocol.checks import exactly_one
from felan_core.protocol.entries import Entry
from felan_core.protocol.errors import ProtocolError
from felan_core.protocol.operations.common import Target
from felan_core.protocol.problems import Problem
from felan_core.protocol.session import PolicyName, SessionRow, SessionSnapshot, SessionStateName, Thinking


class SessionsFilter(Wire, frozen=True, kw_only=True):
    """Which sessions to list; ``query`` looks in name and folder."""

    cwd: Maybe[Text] = UNSET
    query: Maybe[Label] = UNSET
    state: Maybe[SessionStateName] = UNSET
    parent: Maybe[Id] = UNSET


class SessionsListParams(Wire, frozen=True, kw_only=True):
    """A page of the sessions of this host, newest created first."""

    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET
    filter: Maybe[SessionsFilter] = UNSET


class SessionsPage(Wire, frozen=True, kw_only=True):
    """Sessions, newest created first."""

    items: Annotated[list[SessionRow], Page]
    next_cursor: Maybe[Cursor] = UNSET


class CreateParams(Wire, frozen=True, kw_only=True):
    """``cwd``: an existing absolute folder. ``extensions``: overrides of extension settings."""

    cwd: NonEmpty
    name: Maybe[Label] = UNSET
    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET
    instructions: Maybe[Annotated[str, Meta(max_length=LIMITS.instructions_bytes)]] = UNSET
    require_policy: Maybe[PolicyName] = UNSET
    extensions: Maybe[Structured] = UNSET


class SessionResult(Wire, frozen=True, kw_only=True):
    """The session that was made, and its revision."""

    session: Id
    revision: Revision


class ImportSource(Wire, frozen=True, kw_only=True):
    """A file of the host's machine, or the text of one: exactly one of the two."""

    path: Maybe[NonEmpty] = UNSET
    jsonl: Maybe[str] = UNSET

    def verify(self) -> None:
        exactly_one(("path", "jsonl"), self)


class ImportParams(Wire, frozen=True, kw_only=True):
    """A history to bring in, validated, under a new id."""

    source: ImportSource
    name: Maybe[Label] = UNSET
    require_policy: Maybe[PolicyName] = UNSET


class ImportResult(Wire, frozen=True, kw_only=True):
    """The new session, how many entries it has and how many lines were skipped."""

    session: Id
    revision: Revision
    entries: Count
    skipped: Count


class AttachParams(Wire, frozen=True, kw_only=True):
    """Follow a session; ``target`` and ``requirePolicy`` assert where and how it runs."""

    target: Maybe[Target] = UNSET
    require_policy: Maybe[PolicyName] = UNSET
    history_limit: Maybe[PageLimit] = UNSET


class AttachResult(Wire, frozen=True, kw_only=True):
    """The session's state, from which events and text go on."""

    snapshot: SessionSnapshot


class RenameParams(Wire, frozen=True, kw_only=True):
    """The new name."""

    name: Label


class TreeRow(Wire, frozen=True, kw_only=True):
    """One entry of a session's tree: its parent (null at a root), its kind, and how it begins."""

    id: Id
    kind: Label
    at: Instant
    preview: Label
    parent_id: Union[Id, None]
    label: Maybe[Label] = UNSET


class TreePage(Wire, frozen=True, kw_only=True):
    """A page of the tree, and the active branch's leaf (null while nothing was said)."""

    items: Annotated[list[TreeRow], Page]
    leaf: Union[Id, None]
    next_cursor: Maybe[Cursor] = UNSET


class BranchSelectParams(Wire, frozen=True, kw_only=True):
    """The entry to go on from."""

    entry: Id
    expected_revision: Maybe[Revision] = UNSET


class BranchSelectResult(Wire, frozen=True, kw_only=True):
    """The session's revision, and the new leaf."""

    revision: Revision
    leaf: Id


class LabelParams(Wire, frozen=True, kw_only=True):
    """A label for an entry; null takes it away."""

    entry: Id
    label: Union[Label, None]
    expected_revision: Maybe[Revision] = UNSET


class CloneParams(Wire, frozen=True, kw_only=True):
    """The name of the copy."""

    name: Maybe[Label] = UNSET


class SessionOnlyResult(Wire, frozen=True, kw_only=True):
    """The session that was made."""

    session: Id


class ForkFrom(Wire, frozen=True, kw_only=True):
    """A stored user message, by its entry's id or its zero-based place among them: exactly one of the two."""

    entry: Maybe[Id] = UNSET
    position: Maybe[Count] = UNSET

    def verify(self) -> None:
        exactly_one(("entry", "position"), self)


class ForkParams(Wire, frozen=True, kw_only=True):
    """A new session that ends before a user message."""

    source: ForkFrom = field(name="from")
    name: Maybe[Label] = UNSET


class ForkResult(Wire, frozen=True, kw_only=True):
    """The new session, and the text that is not in it."""

    session: Id
    text: Text


class ExportParams(Wire, frozen=True, kw_only=True):
    """The format, and where to go on."""

    format: Literal["jsonl", "markdown", "html"]
    cursor: Maybe[Cursor] = UNSET


class ExportPage(Wire, frozen=True, kw_only=True):
    """One piece of the export. Without ``nextCursor`` it is the last."""

    data: Annotated[str, Meta(max_length=LIMITS.page_bytes)]
    next_cursor: Maybe[Cursor] = UNSET


class DeleteParams(Wire, frozen=True, kw_only=True):
    """The session's revision, as it was last listed."""

    expected_revision: Revision


class HistoryParams(Wire, frozen=True, kw_only=True):
    """Pages go back in time. ``entry``: the page that ends with that entry of the captured branch."""

    cursor: Maybe[Cursor] = UNSET
    entry: Maybe[Id] = UNSET
    limit: Maybe[PageLimit] = UNSET


class HistoryPage(Wire, frozen=True, kw_only=True):
    """Oldest first within the page."""

    items: Annotated[list[Entry], Page]
    next_cursor: Maybe[Cursor] = UNSET


def _as_problem(check: Callable[[], object]) -> None:
    try:
        check()
    except ProtocolError as error:
        where, _, rule = error.message.partition(": ")
        raise Problem("." + where, rule) from None


class ConfigGetParams(Wire, frozen=True, kw_only=True):
    """The options to read; all when absent."""

    keys: Maybe[Annotated[list[Label], Meta(max_length=LIMITS.structured_entries)]] = UNSET

    def verify(self) -> None:
        from felan_core.protocol.configuration import check_config_keys  # its table is long, and seldom asked

        _as_problem(lambda: check_config_keys(or_default(self.keys, [])))


class ConfigGetResult(Wire, frozen=True, kw_only=True):
    """The values in force, and those that are stored."""

    values: JsonObject
    stored: JsonObject


class ConfigSetParams(Wire, frozen=True, kw_only=True):
    """The options to change; null unsets one."""

    values: JsonObject

    def verify(self) -> None:
        from felan_core.protocol.configuration import check_config_values

        _as_problem(lambda: check_config_values(self.values))


class ConfigSetResult(Wire, frozen=True, kw_only=True):
    """The values in force from now on."""

    values: JsonObject
