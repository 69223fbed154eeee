"""The publisher: a request as bytes in, one JSON answer and an exit code out (task pointer §2)."""

from __future__ import annotations

from felan_core.pointer.errors import PointerError
from felan_core.pointer.lifecycle import publish
from felan_core.pointer.rules import State
from felan_core.pointer.store import PointerStore
from felan_core.pointer.strictjson import dump_readable

EXIT_OK = 0
EXIT_REFUSED = 2
EXIT_UNHEARD = 1  # the answer could not be written


def success(state: State) -> dict[str, str | int | None]:
    """The answer to a publish that won, its members in the order in which they are printed."""
    return {
        "ok": True,
        "session_id": state.session_id,
        "generation": state.generation,
        "revision": state.revision,
        "status": state.status,
        "task_id": state.task_id,
        "updated_at": state.updated_at,
    }


def failure(error: PointerError) -> dict[str, str | int | None]:
    """The answer to a refused publish; the two STALE codes add the current state, for a merge."""
    answer: dict[str, str | int | None] = {"ok": False, "code": error.code, "message": error.message}
    if error.generation is not None:
        answer["generation"] = error.generation
        answer["revision"] = error.revision
        answer["status"] = error.status
        answer["task_id"] = error.task_id
        answer["pointer_text"] = error.pointer_text
    return answer


def run(root: str | PointerStore, request: bytes) -> tuple[int, str]:
    """(exit code, the answer as one line without its line break).

    A caller that reads stdin need not keep more than `MAX_REQUEST_BYTES` + 1 bytes of it.
    """
    try:
        return EXIT_OK, dump_readable(success(publish(root, request)))
    except PointerError as error:
        return EXIT_REFUSED, dump_readable(failure(error))
