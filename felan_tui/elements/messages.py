"""The messages that an element posts to the screen."""

from typing import Any

from textual.message import Message


class ActionChosen(Message):
    """An action of an element was chosen, confirmed where it asks for that, and its fields filled in.

    The members are those of the operation `ui.action` (session protocol §4, §5); `values` is None for an
    action without fields. The host may refuse it as stale: the element's next revision shows what changed.
    """

    def __init__(
        self,
        element_id: str,
        revision: int,
        action_id: str,
        item: str | None = None,
        values: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.element_id = element_id
        self.revision = revision
        self.action_id = action_id
        self.item = item
        self.values = values
