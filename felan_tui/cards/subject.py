"""What an approval is about, as lines to show: command, folder, paths, text, diffs; nothing stays hidden.

Every string passes `visible`, so that an escape sequence or a bidirectional control is seen as a sign. A line
is folded hard, not wrapped at words: the spaces of a command mean something.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from textual.content import Content

from felan_core.protocol.base import given
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
from felan_tui.cards.diffs import diff_lines
from felan_tui.text.cells import fold_spans
from felan_tui.text.safe import visible

MUTED = "$text-muted"
WHOLE_CONTEXT = 3
"""Equal lines around a change in the whole view of a diff."""

LONGEST = 20_000
"""Characters of one line of a diff that are shown; a command, which the contract bounds, is shown whole."""
_STYLES = {"+": "$success", "-": "$error", " ": "", "…": MUTED}


@dataclass(frozen=True)
class Line:
    """One line before folding: text that is safe already, and a style of theme variables."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Preview:
    """The first lines of a subject, folded to the width; `whole` says that nothing is left out."""

    lines: tuple[Content, ...]
    whole: bool


def _text_lines(text: str, style: str = "") -> Iterator[Line]:
    for line in text.split("\n"):
        yield Line(visible(line.removesuffix("\r")), style)


def _diff(change: DiffSubject, context: int) -> Iterator[Line]:
    old = given(change.old, None)
    lines = list(diff_lines(old or "", change.new, context=context))
    marks = [mark for mark, _ in lines]
    counts = f"  +{marks.count('+'):,} −{marks.count('-'):,}{' (new file)' if old is None else ''}"
    yield Line(f"{visible(change.path)}{counts}", "bold")
    for mark, line in lines:
        more = len(line) - LONGEST
        shown = visible(line[:LONGEST])
        yield Line(f"{mark} {shown}{f' … {more:,} more characters' if more > 0 else ''}", _STYLES[mark])


def subject_lines(subject: ApprovalSubject, *, context: int = 0) -> Iterator[Line]:
    """All lines of an approval's subject, lazily: the most telling part first.

    `context` equal lines stand around what a diff changes: none where there is little room.
    """
    if command := given(subject.command, ""):
        yield from _text_lines(command, "bold")
    if cwd := given(subject.cwd, ""):
        yield Line(f"in {visible(cwd)}", MUTED)
    changes = given(subject.diff, [])
    shown = {change.path for change in changes}
    for path in given(subject.paths, []):
        if path not in shown:
            yield from _text_lines(path)
    if text := given(subject.text, ""):
        yield from _text_lines(text)
    for change in changes:
        yield from _diff(change, context)


def request_lines(request: InteractionRequest) -> Iterator[Line]:
    """All that a request says beside its title and its options, for the whole view of it."""
    match request:
        case ApprovalRequest():
            yield from subject_lines(request.subject, context=WHOLE_CONTEXT)
        case ConfirmRequest():
            if message := given(request.message, ""):
                yield from _text_lines(message)
        case FormRequest():
            if description := given(request.form.description, ""):
                yield from _text_lines(description)
        case SelectRequest():
            for option in request.options:
                yield from _text_lines(option.label, "bold")
                if description := given(option.description, ""):
                    yield from _text_lines(description)
        case InputRequest():
            return


def folded(lines: Iterable[Line], width: int) -> Iterator[Content]:
    """The lines in at most `width` cells each."""
    for line in lines:
        for start, end in fold_spans(line.text, max(2, width)):
            piece = line.text[start:end]
            yield Content.assemble((piece, line.style)) if line.style else Content(piece)


def preview(lines: Iterable[Line], width: int, rows: int) -> Preview:
    """The first `rows` rows of the lines at this width."""
    most = (rows + 1) * max(2, width)
    cut_short = False

    def short() -> Iterator[Line]:
        # A line of megabytes is not folded whole to show its first rows.
        nonlocal cut_short
        for line in lines:
            cut_short = cut_short or len(line.text) > most
            yield Line(line.text[:most], line.style)

    found = tuple(islice(folded(short(), width), rows + 1))
    return Preview(found[:rows], whole=len(found) <= rows and not cut_short)
