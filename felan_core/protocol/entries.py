"""Transcript entries: messages, tool calls and notices of the host.

The seed names no shape for them; these are decided once and listed in ``docs/protocol.md``. An entry gets
its ``seq`` and its ``parent`` when it is first committed; ``seq`` orders the transcript. A message that is
still streaming has none yet and is always the newest. Completed entries replace their transients by ``id``.
"""

from typing import Annotated, Literal, Union

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Count,
    Id,
    Instant,
    Integer,
    Json,
    Label,
    Maybe,
    StructuredEntries,
    Text,
    Wire,
)
from felan_core.protocol.checks import unique_ids, weight
from felan_core.protocol.problems import Problem

StreamKind = Literal["assistant", "thinking"]
MessageOutcome = Literal["completed", "cancelled", "failed", "interrupted"]
Tone = Literal["info", "success", "warning", "error", "muted"]
ToolStateName = Literal["running", "completed", "failed", "interrupted"]


class Origin(Wire, tag_field="kind", frozen=True, kw_only=True):
    """Where a run, queue item or message came from (session protocol §11)."""


AutomationSource = Annotated[str, Meta(min_length=1, max_length=LIMITS.automation_source_bytes)]
ChannelProvider = Annotated[
    str, Meta(max_length=LIMITS.channel_provider_bytes, pattern=r"^[a-z][a-z0-9_-]*$(?!\n)")
]


class LocalOrigin(Origin, tag="local", frozen=True, kw_only=True):
    """A client of this host."""

    client: Label


class WebOrigin(Origin, tag="web", frozen=True, kw_only=True):
    """A user of the platform, and the queued command."""

    user: Label
    command: Id


class AutomationOrigin(Origin, tag="automation", frozen=True, kw_only=True):
    """An automation of the platform."""

    source: AutomationSource


class ChannelOrigin(Origin, tag="channel", frozen=True, kw_only=True):
    """A channel of the platform (a chat), its user where there is one, and the queued command."""

    provider: ChannelProvider
    command: Id
    user: Maybe[Label] = UNSET


AnyOrigin = Union[LocalOrigin, WebOrigin, AutomationOrigin, ChannelOrigin]


class Part(Wire, tag_field="type", frozen=True, kw_only=True):
    """One piece of a message; ``id`` is the id of the stream that carried it, unique in the message."""

    id: Id
    text: str


class TextPart(Part, tag="text", frozen=True, kw_only=True):
    """A message of the agent or the user."""


class ThinkingPart(Part, tag="thinking", frozen=True, kw_only=True):
    """``millis``: how long the thinking took, where that is known."""

    millis: Maybe[Count] = UNSET


AnyPart = Union[TextPart, ThinkingPart]


class EntryBase(Wire, tag_field="kind", frozen=True, kw_only=True):
    """What every entry has. The whole of one is at most 12 MiB of JSON, and nothing in it is cut."""

    id: Id
    seq: Count
    at: Instant
    parent: Maybe[Id] = UNSET
    run: Maybe[Id] = UNSET

    def weigh(self, size: int) -> None:
        if size > LIMITS.page_bytes and weight(self) > LIMITS.page_bytes:
            raise Problem("", f"more than {LIMITS.page_bytes} bytes")


class MessageEntry(EntryBase, tag="message", frozen=True, kw_only=True):
    """A message of the user or the agent, completed."""

    role: Literal["user", "assistant"]
    parts: list[AnyPart]
    outcome: MessageOutcome
    origin: Maybe[AnyOrigin] = UNSET

    def verify(self) -> None:
        unique_ids(self.parts, ".parts", "the part")

    @property
    def text(self) -> str:
        """The plain text of the message, thinking left out."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, TextPart))


class ToolContent(Wire, tag_field="type", frozen=True, kw_only=True):
    """One part of a tool call's content."""


class ToolText(ToolContent, tag="text", frozen=True, kw_only=True):
    """Text of a tool call."""

    text: str


class ToolDiff(ToolContent, tag="diff", frozen=True, kw_only=True):
    """The whole old and new text of one file; ``old`` absent: the file is new."""

    path: Text
    new: str
    old: Maybe[str] = UNSET


class ToolProcess(ToolContent, tag="process", frozen=True, kw_only=True):
    """The output is a process of the session, read with ``processes.read``."""

    process: Id


AnyToolContent = Union[ToolText, ToolDiff, ToolProcess]


class ToolDetails(Wire, frozen=True, kw_only=True):
    """Status details. ``reason``: why it failed or was interrupted (``rejected``, ``cancelled``,
    ``not_run``, ``lost``, ``stopped``, a signal's name).
    """

    reason: Maybe[Label] = UNSET
    exit_code: Maybe[Integer] = UNSET
    message: Maybe[Text] = UNSET


class ToolEntry(EntryBase, tag="tool", frozen=True, kw_only=True):
    """A tool call, running or ended: the whole of it in every ``tool.updated``.

    ``waiting``: true while it is ``running`` and waits for an answer to a question about it; its work has not
    begun, and ``started_at`` becomes the time of the answer.
    """

    name: Label
    category: Label
    title: Label
    state: ToolStateName
    started_at: Instant
    ended_at: Maybe[Instant] = UNSET
    waiting: Maybe[bool] = UNSET
    arguments: Maybe[Json] = UNSET
    locations: Maybe[list[Text]] = UNSET
    content: Maybe[list[AnyToolContent]] = UNSET
    details: Maybe[Annotated[ToolDetails, Meta(extra=StructuredEntries)]] = UNSET

    def verify(self) -> None:
        if self.arguments is None:
            raise Problem(".arguments", "null is no value; leave it out")


class NoticeEntry(EntryBase, tag="notice", frozen=True, kw_only=True):
    """A notice of the host in the transcript: an agent died, an agent's memory is lost."""

    tone: Tone
    title: Label
    text: Maybe[Text] = UNSET
    details: Maybe[Text] = UNSET


Entry = Union[MessageEntry, ToolEntry, NoticeEntry]
