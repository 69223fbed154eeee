"""The elements of a session: the host's own and the backend's, and the checks of ``ui.action`` (§5)."""

from collections.abc import Sequence

import msgspec

from felan_core.host.actor import SessionActor
from felan_core.host.quotas import check_element
from felan_core.host.request_context import RequestContext
from felan_core.protocol import LIMITS, ProtocolError, or_default
from felan_core.protocol.elements import Action, Element, StatusElement, ViewElement
from felan_core.protocol.errors import invalid
from felan_core.protocol.events import PresentationRemoved, PresentationUpdated
from felan_core.protocol.forms import check_values
from felan_core.protocol.operations import UiActionParams
from felan_core.protocol.problems import one_of

HOST_PREFIX = "felan."
HOST_ELEMENTS = 8
"""Places kept for the host's own: an agent that fills the rest must not keep a queue from being held."""


def show(actor: SessionActor, element: Element) -> list[PresentationUpdated]:
    """The event that puts ``element`` up, or none where it would change nothing."""
    known = actor.state.presentation.get(element.id)
    if known is not None and msgspec.structs.replace(element, revision=known.revision) == known:
        return []
    if known is None and not element.id.startswith(HOST_PREFIX):
        others = sum(not one.startswith(HOST_PREFIX) for one in actor.state.presentation)
        if others >= LIMITS.elements - HOST_ELEMENTS:
            raise invalid(f"presentation: more than {LIMITS.elements - HOST_ELEMENTS} elements of an agent")
    check_element(actor.state, element)
    return [PresentationUpdated(element=element)]


def hide(actor: SessionActor, element: str) -> list[PresentationRemoved]:
    """The event that removes an element, or none where there is none."""
    return [PresentationRemoved(element=element)] if element in actor.state.presentation else []


def check_action(actor: SessionActor, call: RequestContext, params: UiActionParams) -> Action:
    """Check a ``ui.action`` against the current element, in the contract's order; the declared action."""
    if actor.id not in call.connection.attached:
        raise ProtocolError("forbidden", "element: attach to the session first")
    if "ui.action" not in call.connection.capabilities:
        raise ProtocolError("forbidden", "element: this client did not say that it knows ui.action")
    element = actor.state.presentation.get(params.element)
    if element is None:
        raise ProtocolError("not_found", "element: there is none with this id")
    kind = str(element.__struct_config__.tag)
    if f"ui.{kind}" not in call.connection.capabilities:
        raise ProtocolError("forbidden", f"element: this client did not say that it knows ui.{kind}")
    if params.revision != element.revision:
        raise ProtocolError(
            "stale_request",
            "revision: the element changed meanwhile",
            details={"revision": element.revision},
        )
    declared: Sequence[Action] = [] if isinstance(element, StatusElement) else or_default(element.actions, [])
    action = next((one for one in declared if one.id == params.action), None)
    if action is None:
        raise invalid(f"action: {one_of(one.id for one in declared)}")
    _check_item(element, action, params)
    check_values(or_default(action.fields, []), or_default(params.values, {}), "values")
    return action


def _check_item(element: Element, action: Action, params: UiActionParams) -> None:
    if action.scope == "element":
        if params.item:
            raise invalid("item: this action is of the whole element")
        return
    if not params.item:
        raise invalid("item: this action needs one")
    items = element.items if isinstance(element, ViewElement) else []
    item = next((one for one in items if one.id == params.item), None)
    if item is None:
        raise ProtocolError("not_found", "item: there is none with this id")
    offered = or_default(item.actions, [action.id])
    if action.id not in offered:
        raise invalid(f"action: of this item {one_of(offered)}")
