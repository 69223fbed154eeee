"""What drives a session: prompts, the queue, models, commands, answers, actions (session protocol §4)."""

from typing import Literal

from felan_core.protocol.base import UNSET, Id, JsonObject, Label, Maybe, NonEmpty, Revision, Text, Wire
from felan_core.protocol.interactions import InteractionState
from felan_core.protocol.operations.common import Image, PtySize
from felan_core.protocol.session import Thinking


class PromptParams(Wire, frozen=True, kw_only=True):
    text: NonEmpty
    images: Maybe[list[Image]] = UNSET


class RunResult(Wire, frozen=True, kw_only=True):
    """``runId``: admitted or started, never finished."""

    run_id: Id


class QueuedResult(Wire, frozen=True, kw_only=True):
    """Either ``itemId`` or ``status: "handled"``, never both."""

    item_id: Maybe[Id] = UNSET
    status: Maybe[Literal["handled"]] = UNSET


class CancelParams(Wire, frozen=True, kw_only=True):
    run_id: Maybe[Id] = UNSET
    queue: Maybe[bool] = UNSET


class CancelResult(Wire, frozen=True, kw_only=True):
    """``returned``: the texts of queued items that were dropped."""

    cancelled: bool
    returned: Maybe[list[Text]] = UNSET


class SetModelParams(Wire, frozen=True, kw_only=True):
    model: Label


class SetThinkingParams(Wire, frozen=True, kw_only=True):
    level: Thinking


class ModelResult(Wire, frozen=True, kw_only=True):
    model: Maybe[Label] = UNSET
    thinking: Maybe[Thinking] = UNSET


class CompactParams(Wire, frozen=True, kw_only=True):
    instructions: Maybe[Text] = UNSET


class CommandParams(Wire, frozen=True, kw_only=True):
    name: Label
    arguments: Maybe[Text] = UNSET


class CommandResult(Wire, frozen=True, kw_only=True):
    run_id: Maybe[Id] = UNSET
    status: Maybe[Literal["handled"]] = UNSET


class AnswerParams(Wire, frozen=True, kw_only=True):
    interaction: Id
    answer: JsonObject


class AnswerResult(Wire, frozen=True, kw_only=True):
    state: InteractionState


class UiActionParams(Wire, frozen=True, kw_only=True):
    element: Id
    revision: Revision
    action: Id
    item: Maybe[Id] = UNSET
    values: Maybe[JsonObject] = UNSET


class ShellParams(Wire, frozen=True, kw_only=True):
    """``share``: put the output in the agent's context. ``cwd``: an existing absolute folder."""

    command: NonEmpty
    cwd: Maybe[NonEmpty] = UNSET
    pty: Maybe[PtySize] = UNSET
    share: Maybe[bool] = UNSET


class ShellResult(Wire, frozen=True, kw_only=True):
    process: Id


class QueueUpdateParams(Wire, frozen=True, kw_only=True):
    item: Id
    action: Literal["remove", "move"]
    before: Maybe[Id] = UNSET
