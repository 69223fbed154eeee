"""Parsing of snapshots and interactions that stand alone (session protocol §6, §7)."""

from felan_core.protocol.base import LIMITS, Json
from felan_core.protocol.errors import invalid
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.plain import convert, plain
from felan_core.protocol.session import SessionSnapshot


def parse_session_snapshot(value: Json) -> SessionSnapshot:
    """The typed snapshot, its aggregates checked. Raises ``ProtocolError``."""
    snapshot = convert(plain(value), SessionSnapshot, "snapshot")
    if len(snapshot.streams) + len(snapshot.completion_only_streams) > LIMITS.active_streams:
        raise invalid(f"snapshot.streams: more than {LIMITS.active_streams} with the completion-only ones")
    return snapshot


def parse_interaction(value: Json) -> Interaction:
    """The typed interaction. Raises ``ProtocolError``."""
    return convert(plain(value), Interaction, "interaction")
