"""The text that a hook adds to an agent's context (task pointer §3), and the publisher's shell line in it.

The order of the lines is fixed, and each is `name: value` after the marker, which stands alone on the first
one. Lines of the pointer text begin with `| `, so that no text can be taken for the header. Both agents cut
or drop what is longer than `MAX_CONTEXT_BYTES`, so it is cut here, where the header is known.
"""

from __future__ import annotations

from felan_core.pointer.rules import State, position
from felan_core.pointer.strictjson import dump_object
from felan_core.pointer.values import CLEAN, DIRTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARKER = "TASK_POINTER_V2"
MARKER_BOOTSTRAP = "TASK_POINTER_V2_BOOTSTRAP"
MERGE_FIRST = "MERGE_FIRST"
CONTINUE = "CONTINUE"
NONE = "NONE"

MAX_CONTEXT_BYTES = 10000
TEXT_PREFIX = "| "
NO_TASK_ID = "<a new lower-case UUID v4>"

_MODE = {DIRTY: MERGE_FIRST, CLEAN: CONTINUE}
_HOW = {
    MERGE_FIRST: "MERGE_FIRST: a prompt came after this pointer was published; merge before going on.",
    CONTINUE: "CONTINUE: go on from this pointer.",
    NONE: "NONE: there is no task yet; publish one as soon as there is a goal.",
}
_COUNTS = "Of all task pointers in this conversation, the one with the highest revision counts."
_PUBLISH = (
    "Whenever the goal or the next step changes, write both into the request's pointer_text and send it to "
    "the publisher's stdin; where it answers STALE_GENERATION or STALE_REVISION, merge with the current "
    "pointer and send again with the generation and revision that it names."
)
# What is left out, one after the other, where the header alone is too long.
_LEFT_OUT = ((), ("request",), ("request", "note"), ("request", "note", "publisher"))


def context(state: State | None, publisher_command: str, session_id: str) -> str:
    """The additional context for a session, at most `MAX_CONTEXT_BYTES` UTF-8 bytes, without a line break at
    its end; `state` None where the session has none.

    `publisher_command` is the shell line of the publisher with its absolute path (`shell_line`).
    """
    label = ""
    text = None if state is None else state.pointer_text
    if text is not None:
        label = f"\npointer_text: {_cut_label(text, len(text.encode('utf-8')))}"  # as long as a label can be
    header = ""
    for left_out in _LEFT_OUT:
        header = "\n".join(_header(state, publisher_command, session_id, left_out))
        if _size(header) + len(label) <= MAX_CONTEXT_BYTES:
            break
    if text is None:
        return header
    return header + _text_lines(text, MAX_CONTEXT_BYTES - _size(header), len(label))


def _header(
    state: State | None, publisher_command: str, session_id: str, left_out: tuple[str, ...]
) -> Iterable[str]:
    generation, revision, status = position(state)
    mode = _MODE.get(status, NONE)
    yield MARKER_BOOTSTRAP if mode == NONE else MARKER
    yield f"status: {status}"
    yield f"generation: {generation}"
    yield f"revision: {revision}"
    yield f"session_id: {session_id}"
    yield f"recovery_mode: {mode}"
    if "publisher" not in left_out and _is_one_line(publisher_command):
        yield f"publisher: {publisher_command}"
    else:
        yield "publisher: (its path cannot be shown here)"
    if "request" not in left_out:
        yield f"request: {request_template(state, session_id)}"
    if "note" not in left_out:
        yield f"note: {_HOW[mode]} {_COUNTS} {_PUBLISH}"


def request_template(state: State | None, session_id: str) -> str:
    """The request to send, as JSON on one line, with the expected values filled in.

    What the agent has to fill in is refused by the publisher as it stands here: the empty text, and the task
    id where there is no task. So a template that is sent as it is replaces nothing.
    """
    generation, revision, _ = position(state)
    return dump_object(
        {
            "schema_version": 3,
            "session_id": session_id,
            "expected_generation": generation,
            "expected_revision": revision,
            "task_id": (state.task_id if state else None) or NO_TASK_ID,
            "target_status": CLEAN,
            "pointer_text": "",
        }
    )


def _cut_label(text: str, shown: int) -> str:
    return f"cut, {shown} of {_size(text)} bytes"


def _text_lines(text: str, room: int, label_room: int) -> str:
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
    return f"\npointer_text: {_cut_label(text, shown)}{''.join(parts)}"


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
