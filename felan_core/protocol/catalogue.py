"""The one registry of operations: scope, mutation, durability, eligible clients, shapes (session protocol
§4).

Dispatch, schemas and docs come from this table. Being in it is neither presence nor permission: ``hello``
negotiates what is there.
"""

from typing import Any, Final, Literal, NamedTuple

from felan_core.protocol import operations as op
from felan_core.protocol.base import Json
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.validate import parse_schema

Scope = Literal["host", "session", "root", "either"]
Durability = Literal["none", "record", "control"]
CLIENT_KINDS: Final = ("tui", "acp", "headless")


class Operation(NamedTuple):
    """``scope``: ``session`` and ``root`` need the envelope's ``session``, ``host`` forbids it, ``either``
    takes both.

    ``durability``: ``none`` keeps nothing, ``record`` a request record, ``control`` a record that may use
    the reserved slots. ``bulk``: its result is a page of up to ``pageBytes``. ``clients``: the client kinds
    that may use it.
    """

    name: str
    scope: Scope
    durability: Durability
    params: type[Any]
    result: type[Any]
    bulk: bool = False
    clients: tuple[str, ...] = CLIENT_KINDS

    @property
    def mutates(self) -> bool:
        """Whether the operation changes anything, and its request id must be a UUIDv7."""
        return self.durability != "none"


def _table() -> dict[str, Operation]:
    rows = (
        Operation("hello", "host", "none", op.HelloParams, op.HelloResult),
        Operation("host.status", "host", "none", op.Empty, op.HostStatusResult),
        Operation("host.logs", "host", "none", op.LogsParams, op.LogsResult, bulk=True),
        Operation("host.stop", "host", "control", op.StopHostParams, op.LifecycleResult),
        Operation("host.restart", "host", "control", op.StopHostParams, op.LifecycleResult),
        Operation("sessions.list", "host", "none", op.SessionsListParams, op.SessionsPage, bulk=True),
        Operation("sessions.create", "host", "record", op.CreateParams, op.SessionResult),
        Operation("session.import", "host", "record", op.ImportParams, op.ImportResult),
        Operation("attach", "session", "none", op.AttachParams, op.AttachResult),
        Operation("detach", "session", "none", op.Empty, op.Empty),
        Operation("close", "session", "control", op.Empty, op.RevisionResult),
        Operation("prompt", "session", "record", op.PromptParams, op.RunResult),
        Operation("steer", "session", "record", op.PromptParams, op.QueuedResult),
        Operation("follow_up", "session", "record", op.PromptParams, op.QueuedResult),
        Operation("cancel", "session", "control", op.CancelParams, op.CancelResult),
        Operation("set_model", "session", "record", op.SetModelParams, op.ModelResult),
        Operation("set_thinking", "session", "record", op.SetThinkingParams, op.ModelResult),
        Operation("compact", "session", "record", op.CompactParams, op.RunResult),
        Operation("fork", "session", "record", op.ForkParams, op.ForkResult),
        Operation("command.invoke", "session", "record", op.CommandParams, op.CommandResult),
        Operation("interaction.answer", "session", "control", op.AnswerParams, op.AnswerResult),
        Operation("ui.action", "session", "record", op.UiActionParams, op.Empty),
        Operation("shell.execute", "session", "record", op.ShellParams, op.ShellResult),
        Operation("session.reload", "session", "record", op.Empty, op.Empty),
        Operation("session.rename", "session", "record", op.RenameParams, op.RevisionResult),
        Operation("session.tree", "session", "none", op.PageParams, op.TreePage, bulk=True),
        Operation("session.branch.select", "session", "record", op.BranchSelectParams, op.BranchSelectResult),
        Operation("session.entry.label", "session", "record", op.LabelParams, op.RevisionResult),
        Operation("session.clone", "session", "record", op.CloneParams, op.SessionOnlyResult),
        Operation("session.export", "session", "none", op.ExportParams, op.ExportPage, bulk=True),
        Operation("session.delete", "session", "record", op.DeleteParams, op.Empty),
        Operation("session.history", "session", "none", op.HistoryParams, op.HistoryPage, bulk=True),
        Operation("queue.update", "session", "record", op.QueueUpdateParams, op.Empty),
        Operation("config.get", "either", "none", op.ConfigGetParams, op.ConfigGetResult),
        Operation("config.set", "either", "record", op.ConfigSetParams, op.ConfigSetResult),
        Operation("executions.list", "root", "none", op.ExecutionsListParams, op.ExecutionsPage, bulk=True),
        Operation("executions.read", "root", "none", op.ExecutionReadParams, op.HistoryPage, bulk=True),
        Operation("executions.steer", "root", "record", op.ExecutionSteerParams, op.QueuedResult),
        Operation("executions.cancel", "root", "control", op.ExecutionCancelParams, op.CancelResult),
        Operation("processes.list", "root", "none", op.PageParams, op.ProcessesPage, bulk=True),
        Operation("processes.read", "root", "none", op.ProcessReadParams, op.ProcessReadResult),
        Operation("processes.write", "root", "record", op.ProcessWriteParams, op.ProcessWriteResult),
        Operation("processes.resize", "root", "none", op.ProcessResizeParams, op.Empty),
        Operation("processes.stop", "root", "control", op.ProcessStopParams, op.ProcessStopResult),
    )
    return {row.name: row for row in rows}


OPERATION_CATALOG: Final[dict[str, Operation]] = _table()
"""Every operation of the contract by its name (session protocol §4)."""
OPERATION_PARAMS: Final[dict[str, type[Any]]] = {row.name: row.params for row in OPERATION_CATALOG.values()}
"""The shape of each operation's parameters, by its name."""
OPERATION_RESULTS: Final[dict[str, type[Any]]] = {row.name: row.result for row in OPERATION_CATALOG.values()}
"""The shape of each operation's result, by its name."""


def operation_named(name: str) -> Operation:
    """The catalogue's row. Raises ``ProtocolError('unsupported_operation')``."""
    operation = OPERATION_CATALOG.get(name)
    if operation is None:
        raise ProtocolError("unsupported_operation", f"op: no operation is named {name[:64]!r}")
    return operation


def parse_operation_params(name: str, params: Json) -> Any:
    """The typed parameters of operation ``name`` in plain JSON (session protocol §4).

    Raises ``ProtocolError``: ``unsupported_operation`` for a name that is not in the catalogue, else
    ``invalid_request``, also for an ``expectedRevision`` of ``config.set``.
    """
    operation = operation_named(name)
    refuse_expected_revision(name, params)
    return parse_schema(operation.params, params, "params")


def refuse_expected_revision(name: str, params: Json) -> None:
    """``config.set`` merges without a revision: one that is expected is refused, and not stripped (§4).
    Raises ``ProtocolError('invalid_request')``.
    """
    if name == "config.set" and isinstance(params, dict) and "expectedRevision" in params:
        raise invalid("params.expectedRevision: config.set merges without a revision")


def parse_operation_result(name: str, result: Json) -> Any:
    """The typed result of operation ``name`` in plain JSON (session protocol §4).

    Raises ``ProtocolError``: ``unsupported_operation`` for a name that is not in the catalogue, else
    ``invalid_request``.
    """
    return parse_schema(operation_named(name).result, result, "result")
