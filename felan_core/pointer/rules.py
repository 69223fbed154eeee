"""The rules of the task pointer, pure: the state, every step that it can take, and the comparison (§1, §2a).

A clock (seconds since the epoch) and a maker of generations come in as parameters; nothing here reads a file.

The table `STEPS` is the table of §2a: a row is where a state stands, a column is what happens to it, and a
cell is the status that comes out and whether the generation is a new one. The revision is one higher in
every cell. A new generation is drawn wherever a request from before must not win afterwards: at the first
write of a session, at the upgrade from v2, and at each clear (ABA).
"""

from __future__ import annotations

from felan_core.pointer.errors import STALE_GENERATION, STALE_REVISION, STATE_INVALID, PointerError
from felan_core.pointer.strictjson import check_fields, dump_text, dump_value, parse_object
from felan_core.pointer.values import (
    ABSENT,
    CLEAN,
    CLEARED,
    DIRTY,
    LEGACY_V2,
    MAX_REVISION,
    STATUSES,
    instant,
    is_generation,
    is_instant,
    is_revision,
    is_session_id,
    is_uuid4,
    normalise,
    text_fault,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

STATE_FIELDS = (
    "schema_version",
    "session_id",
    "generation",
    "revision",
    "status",
    "task_id",
    "pointer_text",
    "updated_at",
)
STATE_FIELDS_V2 = tuple(field for field in STATE_FIELDS if field != "generation")

# 8192 bytes of text can take twelve bytes of JSON for each CRLF in a file of another writer.
MAX_STATE_BYTES = 131072


class State:
    """A task pointer as it is stored in a file (§1); immutable.

    `generation` is `LEGACY_V2` for a state that was read from schema v2, which has none. `task_id` and
    `pointer_text` are None exactly when `status` is CLEARED; the text is normalised (LF alone).
    `updated_at` is `yyyy-MM-ddTHH:mm:ssZ`.
    """

    __slots__ = ("generation", "pointer_text", "revision", "session_id", "status", "task_id", "updated_at")

    session_id: str
    generation: str
    revision: int
    status: str
    task_id: str | None
    pointer_text: str | None
    updated_at: str

    def __init__(
        self,
        session_id: str,
        generation: str,
        revision: int,
        status: str,
        task_id: str | None,
        pointer_text: str | None,
        updated_at: str,
    ) -> None:
        put = object.__setattr__
        put(self, "session_id", session_id)
        put(self, "generation", generation)
        put(self, "revision", revision)
        put(self, "status", status)
        put(self, "task_id", task_id)
        put(self, "pointer_text", pointer_text)
        put(self, "updated_at", updated_at)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a State is never changed, so {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a State is never changed, so {name} cannot be deleted")

    @property
    def has_task(self) -> bool:
        """Whether there is a task that can be continued: CLEAN or DIRTY."""
        return self.status != CLEARED

    @property
    def is_legacy(self) -> bool:
        """Whether it was read from schema v2."""
        return self.generation == LEGACY_V2

    def _key(self) -> tuple[object, ...]:
        return (
            self.session_id,
            self.generation,
            self.revision,
            self.status,
            self.task_id,
            self.pointer_text,
            self.updated_at,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"State({', '.join(map(repr, self._key()))})"

    def __reduce__(self) -> tuple[object, ...]:
        return State, self._key()


# Columns of the table of §2a.
PUBLISH_CLEAN = "publish CLEAN"
PUBLISH_CLEARED = "publish CLEARED"
PROMPT = "prompt"
CLEAR = "SessionStart clear"
STEP_NAMES = (PUBLISH_CLEAN, PUBLISH_CLEARED, PROMPT, CLEAR)

# Its rows.
NOTHING = "ABSENT"
V2_TASK = "v2 CLEAN or DIRTY"
V2_CLEARED = "v2 CLEARED"
V3_TASK = "v3 CLEAN or DIRTY"
V3_CLEARED = "v3 CLEARED"

# Its cells: (status afterwards, whether a new generation is drawn).
STEPS: dict[str, dict[str, tuple[str, bool]]] = {
    NOTHING: {
        PUBLISH_CLEAN: (CLEAN, True),
        PUBLISH_CLEARED: (CLEARED, True),
        PROMPT: (CLEARED, True),
        CLEAR: (CLEARED, True),
    },
    V2_TASK: {
        PUBLISH_CLEAN: (CLEAN, True),
        PUBLISH_CLEARED: (CLEARED, True),
        PROMPT: (DIRTY, True),
        CLEAR: (CLEARED, True),
    },
    V2_CLEARED: {
        PUBLISH_CLEAN: (CLEAN, True),
        PUBLISH_CLEARED: (CLEARED, True),
        PROMPT: (CLEARED, True),
        CLEAR: (CLEARED, True),
    },
    V3_TASK: {
        PUBLISH_CLEAN: (CLEAN, False),
        PUBLISH_CLEARED: (CLEARED, True),
        PROMPT: (DIRTY, False),
        CLEAR: (CLEARED, True),
    },
    V3_CLEARED: {
        PUBLISH_CLEAN: (CLEAN, False),
        PUBLISH_CLEARED: (CLEARED, True),
        PROMPT: (CLEARED, False),
        CLEAR: (CLEARED, True),
    },
}


def row_of(state: State | None) -> str:
    """The row of the table that a state belongs to."""
    if state is None:
        return NOTHING
    if state.is_legacy:
        return V2_TASK if state.has_task else V2_CLEARED
    return V3_TASK if state.has_task else V3_CLEARED


def advance(
    state: State | None,
    step: str,
    session_id: str,
    *,
    clock: Callable[[], float],
    new_generation: Callable[[], str],
    task_id: str | None = None,
    pointer_text: str | None = None,
) -> State:
    """The state after `step` (one of `STEP_NAMES`).

    `task_id` and `pointer_text` (normalised) are those of a PUBLISH_CLEAN; the other steps keep the task
    that is there or drop it, and take neither. Raises PointerError STATE_INVALID where the revision cannot
    grow any more.
    """
    status, new = STEPS[row_of(state)][step]
    revision = 1 if state is None else state.revision + 1
    if revision > MAX_REVISION:
        raise PointerError(STATE_INVALID, f"The revision cannot be higher than {MAX_REVISION}.")
    generation = new_generation() if new or state is None else state.generation
    if step != PUBLISH_CLEAN:
        kept = state if status == DIRTY else None
        task_id = kept.task_id if kept else None
        pointer_text = kept.pointer_text if kept else None
    return State(session_id, generation, revision, status, task_id, pointer_text, instant(clock()))


def position(state: State | None) -> tuple[str, int, str]:
    """(generation, revision, status) as a publisher sees them; ABSENT, 0, ABSENT where there is no state."""
    if state is None:
        return ABSENT, 0, ABSENT
    return state.generation, state.revision, state.status


_MERGE = (
    "Merge your text with this one, and publish it with the generation and the revision of this answer. "
    "If the status is CLEARED, publish only what still is a task."
)


def compare(state: State | None, expected_generation: str, expected_revision: int) -> None:
    """The compare of compare-and-set (§2): the generation first, then the revision.

    Raises PointerError STALE_GENERATION or STALE_REVISION with all that the caller needs to merge.
    """
    generation, revision, status = position(state)
    if expected_generation != generation:
        code, message = STALE_GENERATION, f"The pointer has another generation now. {_MERGE}"
    elif expected_revision != revision:
        code, message = STALE_REVISION, f"The pointer has another revision now. {_MERGE}"
    else:
        return
    raise PointerError(
        code,
        message,
        generation=generation,
        revision=revision,
        status=status,
        task_id=state.task_id if state else None,
        pointer_text=state.pointer_text if state else None,
    )


def read_state(data: bytes, session_id: str) -> State:
    """The state out of a file's bytes, schema v3 or v2; `session_id` is its folder's name.

    Raises PointerError STATE_INVALID for anything else, an empty file too.
    """
    if not data:
        raise _bad_state("it is empty")
    try:
        value = parse_object(data, "STATE", MAX_STATE_BYTES)
        version = value.get("schema_version")
        if type(version) is not int or version not in (2, 3):
            raise _bad_state("schema_version is neither 3 nor 2")
        check_fields(value, STATE_FIELDS if version == 3 else STATE_FIELDS_V2, STATE_INVALID)
    except PointerError as error:
        if error.code == STATE_INVALID:
            raise
        raise _bad_state(error.message) from None
    generation = value["generation"] if version == 3 else LEGACY_V2
    revision, status, updated_at = value["revision"], value["status"], value["updated_at"]
    if not is_session_id(value["session_id"]):
        raise _bad_state("session_id is not one")
    if value["session_id"] != session_id:
        raise _bad_state("session_id is not the name of its folder")
    if version == 3 and not is_generation(generation):
        raise _bad_state("generation is not g- and 32 lower-case hex digits")
    if not is_revision(revision):
        raise _bad_state(f"revision is not an integer from 1 to {MAX_REVISION}")
    if type(status) is not str or status not in STATUSES:
        raise _bad_state("status is none of CLEAN, DIRTY and CLEARED")
    if not is_instant(updated_at):
        raise _bad_state("updated_at is not an instant like 2026-01-01T00:00:00Z")
    task_id, text = check_task(value["task_id"], value["pointer_text"], status != CLEARED, _bad_state)
    return State(session_id, str(generation), revision, status, task_id, text, updated_at)


def check_task(
    task_id: object, pointer_text: object, wanted: bool, refuse: Callable[[str], PointerError]
) -> tuple[str | None, str | None]:
    """(task_id, normalised text) where a task is wanted, else two nulls; raises what `refuse` makes."""
    if not wanted:
        if task_id is not None or pointer_text is not None:
            raise refuse("task_id and pointer_text have to be null where the status is CLEARED")
        return None, None
    if not is_uuid4(task_id):
        raise refuse("task_id is not a lower-case UUID of version 4")
    if type(pointer_text) is not str:
        raise refuse("pointer_text is not a string")
    text = normalise(pointer_text)
    fault = text_fault(text)
    if fault is not None:
        raise refuse(f"pointer_text {fault}")
    return task_id, text


def _bad_state(reason: str) -> PointerError:
    return PointerError(STATE_INVALID, f"The state file cannot be used: {reason.rstrip('.')}.")


def state_bytes(state: State) -> bytes:
    """A state as the bytes of its file: schema v3, a member a line, UTF-8 (the writer writes v3 alone)."""
    if state.is_legacy:
        raise ValueError("a v2 state is read, never written")
    members = (
        "3",
        dump_value(state.session_id),
        dump_value(state.generation),
        dump_value(state.revision),
        dump_value(state.status),
        dump_value(state.task_id),
        "null" if state.pointer_text is None else dump_text(state.pointer_text),
        dump_value(state.updated_at),
    )
    lines = (f'  "{name}": {value}' for name, value in zip(STATE_FIELDS, members, strict=True))
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8")
