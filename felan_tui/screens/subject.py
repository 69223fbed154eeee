"""All of what an approval is about: the whole command, the whole diff, with hidden characters shown."""

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from felan_core.protocol.base import given
from felan_core.protocol.interactions import ApprovalRequest, Interaction
from felan_tui.text.safe import visible
from felan_tui.text.widgets import Line, Piece
from felan_tui.transcript.diff import FileDiff, changes

_SIGNS = {"added": ("+ ", "$text-success"), "removed": ("- ", "$text-error"), "same": ("  ", "")}


def subject_pieces(interaction: Interaction) -> Iterator[Piece]:
    """The subject as text, whole."""
    request = interaction.request
    if not isinstance(request, ApprovalRequest):
        yield visible(getattr(request, "title", ""))
        return
    subject = request.subject
    yield (f"{visible(request.title)}\n\n", "bold")
    for label, text in (
        ("command", given(subject.command, "")),
        ("folder", given(subject.cwd, "")),
        ("paths", "\n".join(given(subject.paths, []))),
        ("", given(subject.text, "")),
    ):
        if text:
            yield (f"{label}\n" if label else "", "$text-muted")
            yield f"{visible(text)}\n\n"
    for diff in given(subject.diff, []):
        yield (f"{visible(diff.path)}\n", "bold")
        for line in changes(FileDiff(diff.path, given(diff.old, ""), diff.new)).lines:
            sign, style = _SIGNS.get(line.kind, ("… ", "$text-muted"))
            yield (f"{sign}{visible(line.text)}\n", style)


class SubjectScreen(ModalScreen[None]):
    """Reads only: Esc leads back to the card, which still waits."""

    DEFAULT_CSS = """
    SubjectScreen { align: center middle; }
    SubjectScreen > VerticalScroll {
        width: 95%; height: 90%; padding: 1 2; background: $surface; border: round $accent;
    }
    SubjectScreen Line { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,o,q", "leave", "Back")]

    def __init__(self, interaction: Interaction) -> None:
        super().__init__()
        self._interaction = interaction

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Line(*subject_pieces(self._interaction), ("Esc leads back to the card.", "$text-muted"))

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_leave(self) -> None:
        self.dismiss(None)
