"""The messages by which the session screen calls the app."""

from collections.abc import Mapping

from textual.message import Message


class Leaving(Message):
    """The person quits, and was asked where something would end by it."""


class AgentWanted(Message):
    """The person wants to choose another agent."""


class AgentReady(Message):
    """The agent of the visible session has started.

    ``settings``: those that the session was created with; empty for one that was there before.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__()
        self.settings = settings
