"""The three lifecycle events and the publish, for the host and the hook command alike (task pointer §3).

Each takes a state root or a PointerStore, blocks, and raises PointerError; what an event's failure means to
the agent (block, go on, stop) is for the caller to say. `context_text.context` makes the text that goes with
the state.
"""

from __future__ import annotations

from felan_core.pointer.errors import HOOK
from felan_core.pointer.request import check_request, parse_request
from felan_core.pointer.rules import State
from felan_core.pointer.store import PointerStore
from felan_core.pointer.strictjson import invalid
from felan_core.pointer.values import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

USER_PROMPT_SUBMIT = "UserPromptSubmit"
PRE_COMPACT = "PreCompact"
SESSION_START = "SessionStart"
EVENTS = (USER_PROMPT_SUBMIT, PRE_COMPACT, SESSION_START)

CLEAR_SOURCE = "clear"
TRIGGERS = ("manual", "auto")


def prompt_submitted(root: str | PointerStore, session_id: object) -> State:
    """UserPromptSubmit: a task becomes DIRTY; without one the CLEARED fence is set up."""
    return _store(root).prompt(_session(session_id))


def session_started(root: str | PointerStore, session_id: object, source: object) -> State | None:
    """SessionStart: `clear` writes CLEARED; every other source, a new one too, reads and writes nothing.

    The state afterwards, None where the session has none. Raises HOOK_INVALID where `source` is no string.
    """
    session = _session(session_id)
    if type(source) is not str:
        raise invalid(HOOK, "The event cannot be used: source is not a string.")
    store = _store(root)
    return store.clear(session) if source == CLEAR_SOURCE else store.read(session)


def pre_compact(root: str | PointerStore, session_id: object, trigger: object) -> None:
    """PreCompact: checks the event and changes nothing, since prompt and publish made the pointer durable."""
    _session(session_id)
    if type(trigger) is not str or trigger not in TRIGGERS:
        raise invalid(HOOK, "The event cannot be used: trigger is neither manual nor auto.")


def publish(root: str | PointerStore, request: bytes | Mapping[str, object]) -> State:
    """The publisher's compare-and-set: a request as bytes, or its seven members."""
    checked = parse_request(request) if isinstance(request, bytes) else check_request(request)
    return _store(root).publish_request(checked)


def read(root: str | PointerStore, session_id: object) -> State | None:
    """The current state, None where the session has none."""
    return _store(root).read(_session(session_id))


def _store(root: str | PointerStore) -> PointerStore:
    return PointerStore(root) if isinstance(root, str) else root


def _session(session_id: object) -> str:
    if not is_session_id(session_id):
        raise invalid(HOOK, "The event cannot be used: its session_id is not one.")
    return session_id
