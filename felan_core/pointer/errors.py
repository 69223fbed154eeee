"""The one error of the task pointer, and its codes (task pointer §2)."""

from __future__ import annotations

STALE_GENERATION = "STALE_GENERATION"
STALE_REVISION = "STALE_REVISION"
STATE_INVALID = "STATE_INVALID"
LOCK_TIMEOUT = "LOCK_TIMEOUT"
PATH_UNSAFE = "PATH_UNSAFE"
IO_ERROR = "IO_ERROR"

# What is wrong with an input is said with the name of the input in front: REQUEST_… for the publisher's,
# HOOK_… for a hook's (task pointer §3).
REQUEST = "REQUEST"
HOOK = "HOOK"
TOO_LARGE = "TOO_LARGE"
NOT_UTF8 = "NOT_UTF8"
NOT_JSON = "NOT_JSON"
DUPLICATE_FIELD = "DUPLICATE_FIELD"
FIELDS = "FIELDS"
INVALID = "INVALID"

REQUEST_TOO_LARGE = "REQUEST_TOO_LARGE"
REQUEST_NOT_UTF8 = "REQUEST_NOT_UTF8"
REQUEST_NOT_JSON = "REQUEST_NOT_JSON"
REQUEST_DUPLICATE_FIELD = "REQUEST_DUPLICATE_FIELD"
REQUEST_FIELDS = "REQUEST_FIELDS"
REQUEST_INVALID = "REQUEST_INVALID"

# Every code that the publisher can answer with.
CODES = (
    STALE_GENERATION,
    STALE_REVISION,
    REQUEST_TOO_LARGE,
    REQUEST_NOT_UTF8,
    REQUEST_NOT_JSON,
    REQUEST_DUPLICATE_FIELD,
    REQUEST_FIELDS,
    REQUEST_INVALID,
    STATE_INVALID,
    LOCK_TIMEOUT,
    PATH_UNSAFE,
    IO_ERROR,
)


class PointerError(Exception):
    """A refusal: the state is unchanged.

    `code` is one of `CODES`, or one that begins with HOOK_. `message` is one English sentence that holds
    nothing of the input. `generation`, `revision`, `status`, `task_id` and `pointer_text` are the current
    ones, for the two STALE codes alone, so that the caller can merge and try again; where there is no state
    they are ABSENT, 0, ABSENT, None and None.
    """

    __slots__ = ("code", "generation", "message", "pointer_text", "revision", "status", "task_id")

    def __init__(
        self,
        code: str,
        message: str,
        *,
        generation: str | None = None,
        revision: int | None = None,
        status: str | None = None,
        task_id: str | None = None,
        pointer_text: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.generation = generation
        self.revision = revision
        self.status = status
        self.task_id = task_id
        self.pointer_text = pointer_text

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        # The host raises this in a thread and may pass it on; the keyword arguments must survive copying.
        position = (self.generation, self.revision, self.status, self.task_id, self.pointer_text)
        return _rebuild, (self.code, self.message, *position)


def _rebuild(
    code: str,
    message: str,
    generation: str | None,
    revision: int | None,
    status: str | None,
    task_id: str | None,
    pointer_text: str | None,
) -> PointerError:
    return PointerError(
        code,
        message,
        generation=generation,
        revision=revision,
        status=status,
        task_id=task_id,
        pointer_text=pointer_text,
    )
