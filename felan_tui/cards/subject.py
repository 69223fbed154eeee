"""The subject of an approval as lines: command, folder, paths, diffs, text; nothing is hidden.

Every string passes `visible`, so that an escape sequence or a bidirectional control is seen as a sign. A
line of a command, a path or a diff is folded hard: its spaces mean something. Prose is wrapped at words.
What an agent wrote has a lead of its own in each row (`$`, `│`, `+`, `-`), so that no part of it can pass for
Felan's words.
"""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from textual.content import Content

from felan_core.protocol.base import or_default
from felan_core.protocol.interactions import (
    ApprovalRequest,
    ApprovalSubject,
    ConfirmRequest,
    DiffSubject,
    FormRequest,
    InputRequest,
    InteractionRequest,
    SelectRequest,
)
from felan_tui.cards.wording import says_more
from felan_tui.text.cells import cell_len, fold_spans, wrap_spans
from felan_tui.text.diff import DiffLine, compare
from felan_tui.text.safe import visible

MUTED = "$text-muted"
WHOLE_CONTEXT = 3
"""Equal lines around a change in the whole view of a diff."""

LONGEST = 20_000
"""Characters of one line of a diff that are shown; a command is shown whole."""

AGENTS = "│ "
"""The lead of a row that an agent wrote."""

_DIFF = {
    "added": ("+ ", "$text-success"),
    "removed": ("- ", "$text-error"),
    "same": ("  ", ""),
    "gap": ("… ", MUTED),
    "note": ("\\ ", MUTED),
}


@dataclass(frozen=True)
class SubjectLine:
    """One line before folding: text that is safe already, and a style of theme variables.

    `lead` stands before its first row, `hang` before those that it is folded into; both are as wide. `prose`
    is wrapped at words.
    """

    text: str
    style: str = ""
    lead: str = ""
    hang: str = ""
    prose: bool = False

    def rows(self, width: int) -> Iterator[tuple[str, str]]:
        """Lead and piece of each row in `width` cells."""
        lead = self.lead
        spans = wrap_spans if self.prose else fold_spans
        for start, end in spans(self.text, max(2, width - cell_len(self.lead))):
            yield lead, self.text[start:end]
            lead = self.hang


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "␊")


def _agents(text: str, style: str = "", first: str = AGENTS, *, prose: bool = False) -> Iterator[SubjectLine]:
    """What an agent wrote, line by line."""
    for line in text.split("\n"):
        yield SubjectLine(visible(line.removesuffix("\r")), style, first, AGENTS, prose)
        first = AGENTS


def _path(path: str) -> str:
    """A path as a shell would need it, so that its spaces and line ends are its own."""
    return _one_line(shlex.quote(path))


def _diff(change: DiffSubject, context: int) -> Iterator[SubjectLine]:
    old = or_default(change.old, None)
    found = compare(old, change.new)
    counts = f"  +{found.added:,} −{found.removed:,}{'  new file' if old is None else ''}"
    yield SubjectLine(f"{_path(change.path)}{counts}", "bold")
    for note in found.notes:
        yield SubjectLine(note, "$text-warning")
    lines = found.lines(context=context, longest=LONGEST, edges=context > 0)
    yield from map(_diff_line, lines)


def _diff_line(line: DiffLine) -> SubjectLine:
    lead, style = _DIFF[line.kind]
    return SubjectLine(line.text, style, lead, AGENTS)


def subject_lines(subject: ApprovalSubject, *, title: str = "", context: int = 0) -> Iterator[SubjectLine]:
    """All lines of an approval, lazily: what would run first.

    `title` is what the agent calls it, and is quoted. `context` equal lines stand around what a diff changes:
    none where there is little room.
    """
    if command := or_default(subject.command, ""):
        yield from _agents(command, "bold", "$ ")
    changes = or_default(subject.diff, [])
    shown = {change.path for change in changes}
    for path in or_default(subject.paths, []):
        if path not in shown:
            yield SubjectLine(_path(path), "bold")
    cwd = or_default(subject.cwd, "")
    folder = [SubjectLine(f"in {_path(cwd)}", MUTED)] if cwd else []
    if not changes:
        yield from folder
    if title:
        yield SubjectLine(f"“{_one_line(title)}”", MUTED if command or changes else "")
    for change in changes:
        yield from _diff(change, context)
    if changes:
        yield from folder
    if text := or_default(subject.text, ""):
        yield from _agents(text)


def request_lines(request: InteractionRequest, *, context: int = WHOLE_CONTEXT) -> Iterator[SubjectLine]:
    """All that a request says beside its options and the title of a card, for its excerpt and its whole
    view.
    """
    match request:
        case ApprovalRequest():
            title = request.title if says_more(request) else ""
            yield from subject_lines(request.subject, title=title, context=context)
        case ConfirmRequest():
            if message := or_default(request.message, ""):
                yield from _agents(message, prose=True)
        case FormRequest():
            if description := or_default(request.form.description, ""):
                yield from _agents(description, prose=True)
        case SelectRequest():
            for option in request.options:
                yield from _agents(option.label, "bold")
                if description := or_default(option.description, ""):
                    yield from _agents(description, prose=True)
        case InputRequest():
            return


def folded(lines: Iterable[SubjectLine], width: int) -> Iterator[Content]:
    """The lines as rows of at most `width` cells each."""
    for line in lines:
        for lead, piece in line.rows(width):
            yield row_content(line, lead, piece)


def row_content(line: SubjectLine, lead: str, piece: str) -> Content:
    """One row of a line."""
    tone = line.style if lead in ("+ ", "- ") else MUTED
    parts = [(lead, tone), (piece, line.style)]
    return Content.assemble(*(part if part[1] else part[0] for part in parts if part[0]))
