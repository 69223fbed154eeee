"""Parsing of snapshots and interactions that stand alone (session protocol §6, §7)."""

from felan_core.protocol.base import Json
from felan_core.protocol.interactions import Interaction
from felan_core.protocol.session import SessionSnapshot
from felan_core.protocol.validate import parse_schema


def parse_session_snapshot(value: Json) -> SessionSnapshot:
    """The typed snapshot in plain JSON (session protocol §7).

    Checked together: no row stands twice, ``activeStreams`` with the completion-only ones,
    ``streamTotalBytes`` of their text, ``pageBytes`` of history and of each list, ``snapshotBytes`` in all.
    Raises ``ProtocolError('invalid_request')``.
    """
    return parse_schema(SessionSnapshot, value, "snapshot")


def parse_interaction(value: Json) -> Interaction:
    """The typed interaction in plain JSON, its request by its kind (session protocol §6).

    Instants are milliseconds since the Unix epoch. Raises ``ProtocolError('invalid_request')``.
    """
    return parse_schema(Interaction, value, "interaction")
