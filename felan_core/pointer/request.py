"""The publisher's request (task pointer §2): seven fields, checked in the order of §2a."""

from __future__ import annotations

from felan_core.pointer.errors import REQUEST, REQUEST_FIELDS, PointerError
from felan_core.pointer.rules import PUBLISH_CLEAN, PUBLISH_CLEARED, check_task
from felan_core.pointer.strictjson import check_fields, invalid, parse_object
from felan_core.pointer.values import (
    ABSENT,
    CLEAN,
    CLEARED,
    LEGACY_V2,
    MAX_REVISION,
    is_generation,
    is_revision,
    is_session_id,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_REQUEST_BYTES = 12288

REQUEST_KEYS = (
    "schema_version",
    "session_id",
    "expected_generation",
    "expected_revision",
    "task_id",
    "target_status",
    "pointer_text",
)


class PublishRequest:
    """A request that is well formed, from `parse_request` or `check_request`; its text is normalised."""

    __slots__ = (
        "expected_generation",
        "expected_revision",
        "pointer_text",
        "session_id",
        "target_status",
        "task_id",
    )

    def __init__(
        self,
        session_id: str,
        expected_generation: str,
        expected_revision: int,
        task_id: str | None,
        target_status: str,
        pointer_text: str | None,
    ) -> None:
        self.session_id = session_id
        self.expected_generation = expected_generation
        self.expected_revision = expected_revision
        self.task_id = task_id
        self.target_status = target_status
        self.pointer_text = pointer_text

    @property
    def step(self) -> str:
        """The column of the table of §2a."""
        return PUBLISH_CLEAN if self.target_status == CLEAN else PUBLISH_CLEARED


def parse_request(data: bytes) -> PublishRequest:
    """A request out of the bytes of the publisher's stdin; raises PointerError REQUEST_…"""
    return check_request(parse_object(data, REQUEST, MAX_REQUEST_BYTES))


def check_request(value: Mapping[str, object]) -> PublishRequest:
    """A request out of its seven members.

    Raises PointerError REQUEST_FIELDS where they are not exactly these, REQUEST_INVALID where a value is
    wrong.
    """
    check_fields(value, REQUEST_KEYS, REQUEST_FIELDS)
    version, session_id = value["schema_version"], value["session_id"]
    generation, revision = value["expected_generation"], value["expected_revision"]
    status = value["target_status"]
    if type(version) is not int or version != 3:
        raise _refuse("schema_version is not 3")
    if not is_session_id(session_id):
        raise _refuse("session_id is not 1 to 128 letters, digits, dots, underscores and hyphens")
    if type(generation) is not str or not (generation in (ABSENT, LEGACY_V2) or is_generation(generation)):
        raise _refuse("expected_generation is none of ABSENT, LEGACY_V2 and g- with 32 lower-case hex digits")
    if generation == ABSENT:
        if type(revision) is not int or revision != 0:
            raise _refuse("expected_revision is not 0, though expected_generation is ABSENT")
    elif not is_revision(revision):
        raise _refuse(f"expected_revision is not an integer from 1 to {MAX_REVISION}")
    if type(status) is not str or status not in (CLEAN, CLEARED):
        raise _refuse("target_status is neither CLEAN nor CLEARED")
    task_id, text = check_task(value["task_id"], value["pointer_text"], status == CLEAN, _refuse)
    return PublishRequest(session_id, generation, revision, task_id, status, text)


def _refuse(reason: str) -> PointerError:
    return invalid(REQUEST, f"The request cannot be used: {reason}.")
