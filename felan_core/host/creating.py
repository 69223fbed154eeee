"""A new session: from what a client asks, and for a clear from the session whose place it takes."""

from felan_core.credentials import refusal
from felan_core.host.pointer import RECOVERY
from felan_core.host.processes import checked_folder
from felan_core.host.request_context import RequestContext
from felan_core.host.services import AGENT_SETTING, CLEARS_SETTING, Services
from felan_core.pointer.errors import PointerError
from felan_core.pointer.lifecycle import CLEAR_SOURCE, session_started
from felan_core.protocol import UNSET, ProtocolError, or_default
from felan_core.protocol.base import JsonObject
from felan_core.protocol.errors import invalid
from felan_core.protocol.operations import CreateParams, SessionResult
from felan_core.protocol.session import AgentInfo, Queue, SessionHeader
from felan_core.store.batch import Batch
from felan_core.store.rows import SessionRecord


async def create_session(services: Services, call: RequestContext, params: CreateParams) -> SessionResult:
    """``sessions.create``. The agent is started when it is first needed.

    With the setting ``felan.clears`` the new session takes the place of the one that it names: it has its
    settings and instructions where the request has none of its own, and begins with SessionStart(clear)
    under the new id (task pointer §3). The old session is not touched; who asks closes it.
    Raises ``invalid_request`` for a setting that no extension has, ``not_found`` where there is no such
    session, and ``storage_failure`` where the pointer of the new one cannot be written.
    """
    cwd = checked_folder(params.cwd, "params.cwd")
    wanted = or_default(params.extensions, {})
    _check_secrets(wanted)
    services.check_settings(wanted)
    cleared = await _cleared(services, wanted)
    settings: JsonObject = {**(cleared.settings if cleared else {}), **wanted}
    kind = services.agent_kind(settings)
    if params.require_policy == "acp-strict":
        raise ProtocolError("unavailable", f"requirePolicy: the {kind} backend cannot enforce acp-strict")
    if params.model is not UNSET or params.thinking is not UNSET:
        raise ProtocolError("unavailable", f"model: the {kind} backend has none to choose")
    now = services.clock()
    session = services.new_id()
    agent = AgentInfo(kind=kind, name=kind, state="none", memory=True)
    record = SessionRecord(
        id=session,
        root=session,
        parent=None,
        created_at=now,
        updated_at=now,
        revision=1,
        next_seq=1,
        cwd=cwd,
        name=params.name or None,
        header=SessionHeader(state="idle", cwd=cwd, agent=agent, name=params.name or UNSET),
        queue=Queue(items=[], held=False),
        run=None,
        settings={**settings, AGENT_SETTING: kind},
        memory=None,
        instructions=or_default(params.instructions, cleared.instructions if cleared else ""),
        policy="default",
        leaf=None,
        waiting=0,
    )
    if cleared is not None:
        await call.reserve()
        try:
            await services.on_pointers(session_started, services.pointers, session, CLEAR_SOURCE)
        except PointerError as error:
            why = f"the new session's task pointer cannot be written: {RECOVERY}:{error.code}"
            raise ProtocolError("storage_failure", why) from error
    result = SessionResult(session=session, revision=1)
    batch = Batch()
    batch.put_session(record)
    call.settle(batch, result)
    await services.store.write(batch)
    return result


def _check_secrets(wanted: JsonObject) -> None:
    """Settings are stored: refuse a secret in them, before the request itself is recorded."""
    for name, value in wanted.items():
        if isinstance(value, str) and (secret := refusal(value) or refusal(f"{name}={value}")):
            raise invalid(f"extensions.{name[:128]}: {secret}")


async def _cleared(services: Services, wanted: JsonObject) -> SessionRecord | None:
    """The session that ``felan.clears`` names; None where it is not there."""
    if CLEARS_SETTING not in wanted:
        return None
    session = wanted[CLEARS_SETTING]
    where = f"extensions.{CLEARS_SETTING}"
    record = await services.store.session_record(session)
    if record is None:
        raise ProtocolError("not_found", f"{where}: there is no such session")
    return record
