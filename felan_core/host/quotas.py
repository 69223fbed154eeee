"""What may stand in a session beside its history, so that its snapshot always fits (session protocol §1, §7).

A snapshot is shortened where that loses nothing: history, of which there are pages, and prefixes, which come
with their message. What is left has to fit by itself, or nobody could attach any more: it has shares, and
what would pass one is refused to whoever hands it over.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from felan_core.protocol.checks import weight
from felan_core.protocol.elements import Element
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.interactions import InteractionRequest
from felan_core.protocol.reducer import OPEN_STATES, SessionState
from felan_core.protocol.session import Catalogue, QueueItem

_MB: Final = 1024 * 1024
AGENT_BYTES: Final = 11 * _MB
"""Of what an agent puts up: its elements, its open questions and its catalogue, together."""
QUEUE_BYTES: Final = _MB * 3 // 2
ENDED_BYTES: Final = _MB // 2
"""Of questions that ended, the newest first."""
PROCESSES_BYTES: Final = _MB // 2
"""Of the rows of processes, the newest first."""
_SMALL_BYTES: Final = 4 * 1024
"""An element up to here is not weighed: all that there may be take a quarter of a megabyte."""

T = TypeVar("T", bound=msgspec.Struct)


def newest_within(rows: Sequence[T], limit: int) -> list[T]:
    """The newest rows, oldest first, that take ``limit`` bytes together at the most."""
    kept: list[T] = []
    for row in reversed(rows):
        limit -= weight(row) + 1
        if limit < 0:
            break
        kept.append(row)
    return kept[::-1]


def check_queue(items: list[QueueItem]) -> None:
    """Raises ``busy`` where the queue would take more than its share."""
    if weight(items) > QUEUE_BYTES:
        raise ProtocolError("busy", f"the queue holds {QUEUE_BYTES} bytes at the most", retryable=True)


def check_element(state: SessionState, element: Element) -> None:
    """Raises ``invalid_request`` where the agent's share has no room for ``element``."""
    if weight(element) > _SMALL_BYTES:
        others = [one for one in state.presentation.values() if one.id != element.id]
        _check("presentation", state, elements=[*others, element])


def check_request(state: SessionState, request: InteractionRequest) -> None:
    """Raises ``invalid_request`` where the agent's share has no room for one more question."""
    _check("request", state, requests=[*_open(state), request])


def check_catalogue(state: SessionState, catalogue: Catalogue) -> None:
    """Raises ``invalid_request`` where the agent's share has no room for ``catalogue``."""
    _check("catalogue", state, catalogue=catalogue)


def _open(state: SessionState) -> list[InteractionRequest]:
    return [one.request for one in state.interactions.values() if one.state in OPEN_STATES]


def _check(
    what: str,
    state: SessionState,
    *,
    elements: list[Element] | None = None,
    requests: list[InteractionRequest] | None = None,
    catalogue: Catalogue | None = None,
) -> None:
    total = weight(list(state.presentation.values()) if elements is None else elements)
    total += weight(_open(state) if requests is None else requests)
    total += weight(state.catalogue if catalogue is None else catalogue)
    if total > AGENT_BYTES:
        raise invalid(f"{what}: elements, open questions and catalogue take more than {AGENT_BYTES} bytes")
