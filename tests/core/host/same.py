"""Two replicas of a session, compared field by field."""

from typing import Any

from felan_core.client.replica import SessionReplica
from tests.core.host.rig import Rig

FIELDS = (
    "session",
    "root",
    "parent",
    "created_at",
    "revision",
    "header",
    "queue",
    "run",
    "catalogue",
    "policy",
    "branch",
    "interactions",
    "children",
    "processes",
    "presentation",
    "completion_only",
)


def seen(replica: SessionReplica) -> dict[str, Any]:
    """All that a replica shows."""
    shown: dict[str, Any] = {name: getattr(replica.state, name) for name in FIELDS}
    shown["entries"] = list(replica.state.entries)
    shown["live"] = replica.live_messages()
    return shown


def differences(one: SessionReplica, other: SessionReplica) -> dict[str, tuple[Any, Any]]:
    """What the two do not agree on, by field."""
    mine, theirs = seen(one), seen(other)
    return {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}


async def fresh(rig: Rig, session: str) -> SessionReplica:
    """The session as a client sees it that attaches now, with all the history that fits a snapshot."""
    return await (await rig.client()).attach(session, history_limit=256)
