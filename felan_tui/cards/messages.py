"""What a card tells the screen. The screen talks to the host; a card never does."""

from typing import Any

from textual.message import Message

from felan_core.protocol.interactions import Interaction


class Answered(Message):
    """Somebody answered: `answer` is plain JSON that `validate_interaction_answer` has accepted.

    The card says "sending…" until the interaction's update comes, or `reject` is called on it.
    """

    def __init__(self, interaction_id: str, answer: dict[str, Any]) -> None:
        super().__init__()
        self.interaction_id = interaction_id
        self.answer = answer


class Left(Message):
    """The focus goes back to the composer. Nothing was answered by this."""

    def __init__(self, interaction_id: str) -> None:
        super().__init__()
        self.interaction_id = interaction_id


class Dismissed(Message):
    """A card that ended is to go away. For the stack alone: it takes the card away and posts `Left`."""

    def __init__(self, interaction_id: str) -> None:
        super().__init__()
        self.interaction_id = interaction_id


class OpenSubject(Message):
    """Show all of what the interaction is about: the whole command, the whole diff. `agent` asks it."""

    def __init__(self, interaction: Interaction, agent: str = "") -> None:
        super().__init__()
        self.interaction = interaction
        self.agent = agent


class AskAgain(Message):
    """Let the question be asked once more: its agent went away before it was answered.

    The card then goes away by itself, unless `reject` says that it could not be asked.
    """

    def __init__(self, interaction: Interaction) -> None:
        super().__init__()
        self.interaction = interaction
