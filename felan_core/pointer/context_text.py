"""The text that a hook adds to an agent's context (task pointer §3), and the publisher's shell line in it.

The order of the lines is fixed, and each is `name: value` after the marker, which is alone on the first one.
Lines of the pointer text begin with `| `, so that no text can be taken for the header. Both agents cut or
drop what is longer than `MAX_CONTEXT_BYTES`, so it is cut here, where the header is known.

A model reads the brief context at every prompt and the long one at the start of a session. Every word of the
brief one is paid for at each prompt: without the pointer's text it has at most `MAX_BRIEF_BYTES`.
"""

from __future__ import annotations

from felan_core.pointer.rules import State, position
from felan_core.pointer.strictjson import dump_object
from felan_core.pointer.values import CLEAN, DIRTY, new_task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MARKER = "TASK_POINTER_V2"
MARKER_BOOTSTRAP = "TASK_POINTER_V2_BOOTSTRAP"
MERGE_FIRST = "MERGE_FIRST"
CONTINUE = "CONTINUE"
NONE = "NONE"

MAX_CONTEXT_BYTES = 10000
MAX_BRIEF_BYTES = 700
"""With ids of 36 characters and a publisher's path of 60; some 240 tokens of o200k."""
TEXT_PREFIX = "| "

_MODE = {DIRTY: MERGE_FIRST, CLEAN: CONTINUE}
# Both agents' permission checks accept this form: Claude Code refuses heredocs, and replaces \u0027 in a
# command by the quote itself, so a quote inside has to be closed, escaped and opened again.
_SEND = "printf '%s' '<request>' | <publisher>"
_BRIEF = f"newest context counts; new goal or next step: {_SEND}, ' as '\\''"
_HOW = {
    MERGE_FIRST: "MERGE_FIRST: a prompt came after this pointer was published. Merge it with the pointer.",
    CONTINUE: "CONTINUE: this pointer was published after the last prompt.",
    NONE: "NONE: this session has no task. Publish one as soon as there is a goal.",
}
_ABOUT = (
    "A task pointer keeps the goal and the next step of this session for after a compaction or a restart. "
    "It says where the work was, not that it has to go on: the user's newest message comes first."
)
_WHEN = (
    "Publish when the goal or the next step changes, and before you end a turn: write both into the "
    f"request's pointer_text and send it as one shell line, {_SEND}, with each ' inside written as '\\'' "
    "and each line break as \\n."
)
_ANSWER = (
    "The newest context counts; publish only under its session_id. The answer's revision is the "
    "expected_revision of your next publish. At STALE_GENERATION or STALE_REVISION the answer holds the "
    "current text: merge yours into it and publish with the answer's generation and revision."
)
_END = (
    "A new task takes a new task_id (a random UUID v4, lower case). To finish a task, publish "
    "target_status CLEARED with task_id and pointer_text null."
)
_LONG = (_ABOUT, _WHEN, _ANSWER, _END)
# The parts to drop, step by step, where the header alone is too long.
_LEFT_OUT = ((), ("request",), ("request", "note"), ("request", "note", "publisher"))


def context(
    state: State | None,
    publisher_command: str,
    session_id: str,
    *,
    brief: bool = False,
    show_command: str = "felan pointer show",
    handover: str = "",
    new_task_id: Callable[[], str] = new_task_id,
) -> str:
    """The additional context for a session, at most `MAX_CONTEXT_BYTES` UTF-8 bytes, without a line break at
    its end; `state` None where the session has none.

    `publisher_command` is the shell line of the publisher with its absolute path (`shell_line`), and
    `show_command` that of the command that shows the whole text. `brief` is for a prompt, which comes after
    a start's long context. `handover` is one line about another session (`handover.py`).
    """
    label_size = 0
    text = None if state is None else state.pointer_text
    if text is not None:
        size = _size(text)
        label_size = _size(f"\npointer_text: {_cut_label(size, size, show_command)}")  # at its longest
    request = request_template(state, session_id, new_task_id)
    mode = _MODE.get(position(state)[2], NONE)
    notes = [_BRIEF] if brief else [_HOW[mode], *_LONG]
    header = ""
    for left_out in _LEFT_OUT:
        lines = [*_position(state, session_id, mode)]
        shown = "publisher" not in left_out and _is_one_line(publisher_command)
        lines.append(f"publisher: {publisher_command if shown else '(its path cannot be shown here)'}")
        if "request" not in left_out:
            lines.append(f"request: {request}")
        if "note" not in left_out:
            lines += [f"note: {note}" for note in notes]
            if handover:
                lines.append(handover)
        header = "\n".join(lines)
        if _size(header) + label_size <= MAX_CONTEXT_BYTES:
            break
    if text is None:
        return header
    return header + _text_lines(text, MAX_CONTEXT_BYTES - _size(header), label_size, show_command)


def _position(state: State | None, session_id: str, mode: str) -> Iterable[str]:
    generation, revision, status = position(state)
    yield MARKER_BOOTSTRAP if mode == NONE else MARKER
    yield f"status: {status}"
    yield f"generation: {generation}"
    yield f"revision: {revision}"
    yield f"session_id: {session_id}"
    yield f"recovery_mode: {mode}"


def request_template(
    state: State | None, session_id: str, new_task_id: Callable[[], str] = new_task_id
) -> str:
    """The request to send, as JSON on one line, with the expected values filled in.

    The publisher refuses it as it is, for its empty text: a template that is sent unfilled replaces nothing.
    """
    generation, revision, _ = position(state)
    return dump_object(
        {
            "schema_version": 3,
            "session_id": session_id,
            "expected_generation": generation,
            "expected_revision": revision,
            "task_id": (state.task_id if state else None) or new_task_id(),
            "target_status": CLEAN,
            "pointer_text": "",
        }
    )


def _cut_label(size: int, shown: int, show_command: str) -> str:
    whole = show_command if _is_one_line(show_command) else "felan pointer show"
    return f"cut, {shown} of {size} bytes; the whole: {whole}"


def _text_lines(text: str, room: int, label_room: int, show_command: str) -> str:
    """The label and the prefixed lines, at most `room` bytes; cut at a character where they do not fit."""
    # One break more, so that an empty last line is not swallowed.
    lines = (text + "\n").splitlines(keepends=True)
    bodies = [line.splitlines()[0] for line in lines]
    whole = "".join(f"\n{TEXT_PREFIX}{body}" for body in bodies)
    label = f"\npointer_text: {_size(text)} bytes"
    if _size(label) + _size(whole) <= room:
        return label + whole
    left = room - label_room
    shown = 0  # bytes of the text itself
    parts: list[str] = []
    for line, body in zip(lines, bodies, strict=True):
        left -= 1 + len(TEXT_PREFIX)
        part = _fit(body, left)
        if part or left >= 0:
            parts.append(f"\n{TEXT_PREFIX}{part}")
        if part != body or left < 0:
            shown += _size(part)
            break
        left -= _size(body)
        shown += _size(line)
    return f"\npointer_text: {_cut_label(_size(text), shown, show_command)}{''.join(parts)}"


def _fit(text: str, room: int) -> str:
    return text.encode("utf-8")[: max(room, 0)].decode("utf-8", "ignore")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _is_one_line(command: str) -> bool:
    # A path that is not UTF-8 reaches Python with surrogates in it, which no JSON answer may hold.
    return command.splitlines() == [command] and not any("\ud800" <= c <= "\udfff" for c in command)


_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./-_")


def shell_line(arguments: Iterable[str]) -> str:
    """A command as one POSIX shell line (as `shlex.join` does, which would import `re`)."""
    return " ".join(
        word if word and _PLAIN.issuperset(word) else "'" + word.replace("'", "'\"'\"'") + "'"
        for word in arguments
    )
