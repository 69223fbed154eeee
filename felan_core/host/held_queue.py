"""The host element ``felan.queue``: a queue that is held, and the action that releases it."""

from typing import Final

from felan_core.host.sanitize import label
from felan_core.protocol.elements import Action, Column, Hint, ViewElement, ViewItem, ViewPage
from felan_core.protocol.session import Queue

QUEUE_ELEMENT: Final = "felan.queue"


def held_element(queue: Queue) -> ViewElement:
    """The host element of a held queue, with the action that releases it."""
    return ViewElement(
        id=QUEUE_ELEMENT,
        revision=1,
        title="held",
        hint=Hint(id=QUEUE_ELEMENT, version=1),
        layout="list",
        columns=[Column(id="text", label="message", type="string")],
        items=[ViewItem(id=item.id, fields={"text": label(item.text)}) for item in queue.items],
        page=ViewPage(index=0, size=len(queue.items), total=len(queue.items), has_more=False),
        actions=[Action(id="release", label="send them", scope="element")],
    )
