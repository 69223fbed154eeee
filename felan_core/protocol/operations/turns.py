"""What drives a session: prompts, the queue, models, commands, answers, actions (session protocol §4)."""

from typing import Annotated, Literal

from msgspec import Meta

from felan_core.protocol.base import (
    LIMITS,
    UNSET,
    Id,
    Json,
    JsonObject,
    Label,
    Maybe,
    NonEmpty,
    Page,
    Revision,
    Structured,
    Text,
    Wire,
)
from felan_core.protocol.checks import check_entries, exactly_one, weight
from felan_core.protocol.interactions import InteractionState
from felan_core.protocol.operations.common import Image, PtySize
from felan_core.protocol.problems import Problem
from felan_core.protocol.session import Thinking


class PromptParams(Wire, frozen=True, kw_only=True):
    """A message of the user, and pictures beside it."""

    text: NonEmpty
    images: Maybe[Annotated[list[Image], Meta(max_length=LIMITS.page_entries)]] = UNSET


class RunResult(Wire, frozen=True, kw_only=True):
    """``runId``: admitted or started, never finished."""

    run_id: Id


class QueuedResult(Wire, frozen=True, kw_only=True):
    """Either ``itemId`` or ``status: "handled"``, never both."""

    item_id: Maybe[Id] = UNSET
    status: Maybe[Literal["handled"]] = UNSET

    def verify(self) -> None:
        exactly_one(("item_id", "status"), self)


class CancelParams(Wire, frozen=True, kw_only=True):
    """End the turn; with ``queue`` drop what waits as well."""

    run_id: Maybe[Id] = UNSET
    queue: Maybe[bool] = UNSET


class CancelResult(Wire, frozen=True, kw_only=True):
    """``returned``: the texts of queued items that were dropped."""

    cancelled: bool
    returned: Maybe[Annotated[list[Text], Page]] = UNSET


class SetModelParams(Wire, frozen=True, kw_only=True):
    """The model, by its id in the catalogue."""

    model: Label


class SetThinkingParams(Wire, frozen=True, kw_only=True):
    """The thinking level."""

    level: Thinking


class ModelResult(Wire, frozen=True, kw_only=True):
    """What is set from now on."""

    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET


class CompactParams(Wire, frozen=True, kw_only=True):
    """What the summary should keep."""

    instructions: Maybe[Text] = UNSET


class CommandParams(Wire, frozen=True, kw_only=True):
    """A registered command, and what stands after its name."""

    name: Label
    arguments: Maybe[Text] = UNSET


class CommandResult(Wire, frozen=True, kw_only=True):
    """``{}``, ``{runId}`` or ``{status: "handled"}``."""

    run_id: Maybe[Id] = UNSET
    status: Maybe[Literal["handled"]] = UNSET

    def verify(self) -> None:
        if self.run_id is not UNSET and self.status is not UNSET:
            raise Problem("", "runId and status exclude each other")


class AnswerParams(Wire, frozen=True, kw_only=True):
    """An answer to an interaction, checked against its request."""

    interaction: Id
    answer: JsonObject

    def weigh(self, size: int) -> None:
        values: Json = self.answer.get("values")
        limit, entries = LIMITS.structured_bytes, LIMITS.structured_entries
        if size > limit and weight(values) > limit:
            raise Problem(".answer.values", f"more than {limit} bytes")
        try:
            check_entries(values, entries)
        except Problem as problem:
            raise problem.under(".answer.values") from None


class AnswerResult(Wire, frozen=True, kw_only=True):
    """The state that the interaction has now."""

    state: InteractionState


class UiActionParams(Wire, frozen=True, kw_only=True):
    """A declared action of an element, as it was when the user chose it."""

    element: Id
    revision: Revision
    action: Id
    item: Maybe[Id] = UNSET
    values: Maybe[Structured] = UNSET


class ShellParams(Wire, frozen=True, kw_only=True):
    """``share``: put the output in the agent's context. ``cwd``: an existing absolute folder."""

    command: NonEmpty
    cwd: Maybe[NonEmpty] = UNSET
    pty: Maybe[PtySize] = UNSET
    share: Maybe[bool] = UNSET


class ShellResult(Wire, frozen=True, kw_only=True):
    """The process."""

    process: Id


class QueueUpdateParams(Wire, frozen=True, kw_only=True):
    """Reserved: always refused ``unavailable``."""

    item: Id
    action: Literal["remove", "move"]
    before: Maybe[Id] = UNSET
