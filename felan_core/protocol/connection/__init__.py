"""A connection without I/O: bytes in, events out, for both sides of session protocol v1 (§2, §3, §7).

``ServerConnection`` and ``ClientConnection`` hold all that a connection is: its state, the handshake, the
requests in flight, the bytes that wait to be sent, and the deadlines. Whoever owns a transport reads bytes
and calls ``receive``, calls the methods that send, and writes the bytes that come out; a test joins two
objects.

The state changes by ``_STEPS`` alone. A step that the table does not name raises ``LocalProtocolError`` and
changes nothing.

    NEW      nothing but hello is accepted
    READY    hello was accepted: requests, replies, events
    CLOSING  no input is read any more; queued bytes are still sent
    CLOSED   nothing is read or sent

Errors say whose fault it is. ``RemoteProtocolError``: the peer sent bytes that are not the protocol; it
comes as a ``Failed`` event, after the events of the good frames before it. ``LocalProtocolError``: our own
caller asked for an illegal step or sent an invalid value; it is raised. A refusal of the host is
``RequestRefused`` or ``RequestIndeterminate`` in a ``Replied`` event.

Time is data: ``now`` is in seconds of any monotonic clock, ``deadline`` says when ``expire`` has something
to do.
"""

from felan_core.protocol.connection.client import LEAST_HEARTBEAT, ClientConnection
from felan_core.protocol.connection.server import (
    HELLO_SECONDS,
    Offer,
    ServerConnection,
    published_frame,
    refusal_frame,
    too_many,
)
from felan_core.protocol.connection.states import (
    ClientEvent,
    ConnectionState,
    Ended,
    Failed,
    Greeted,
    Probe,
    Published,
    Replied,
    Requested,
    Resync,
    ServerEvent,
    Step,
)

__all__ = [
    "HELLO_SECONDS",
    "LEAST_HEARTBEAT",
    "ClientConnection",
    "ClientEvent",
    "ConnectionState",
    "Ended",
    "Failed",
    "Greeted",
    "Offer",
    "Probe",
    "Published",
    "Replied",
    "Requested",
    "Resync",
    "ServerConnection",
    "ServerEvent",
    "Step",
    "published_frame",
    "refusal_frame",
    "too_many",
]
