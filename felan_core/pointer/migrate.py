"""Envelopes of schema v1 made into states, and back (task pointer §5). Never read at run time.

A v1 envelope is one file `<session_id>.json`. It becomes a v3 state of revision 1 with its status, task, text
and time, where its session has no state yet; the envelope goes, and a copy of it stays in the backup:

    <backups>/<time>-migrate/manifest.json       what was done, and from what
    <backups>/<time>-migrate/v1/<id>.json        each envelope, byte for byte
    <backups>/<time>-migrate/replaced/<id>.json  after a rollback: a state that had gone on meanwhile
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from felan_core.pointer.errors import STATE_INVALID, PointerError
from felan_core.pointer.fileops import FILE_OPS
from felan_core.pointer.files import (
    LOCK_NAME,
    LOCK_WAIT,
    STATE_NAME,
    lock_session,
    open_session,
    read_file,
    refusal,
    release,
    unlock_session,
)
from felan_core.pointer.install.backups import new_folder
from felan_core.pointer.install.files import read_whole, sync_folder, write_whole
from felan_core.pointer.rules import MAX_STATE_BYTES, State, check_task
from felan_core.pointer.store import PointerStore
from felan_core.pointer.strictjson import check_fields, parse_object
from felan_core.pointer.values import CLEARED, STATUSES, is_instant, is_session_id, new_generation

MANIFEST = "manifest.json"
_FORMAT = 1
_KIND = "task pointer migration"
_ENVELOPE = ("session_id", "task_id", "status", "pointer_text", "updated_at")


class MigrateError(Exception):
    """A migration or a rollback that cannot begin; nothing was changed."""


@dataclass(frozen=True)
class Found:
    """A file of the v1 folder: its migrated state, or the reason why it is left alone."""

    path: str
    session_id: str | None
    state: State | None
    data: bytes = b""
    reason: str = ""

    @property
    def migrates(self) -> bool:
        return self.state is not None and not self.reason


@dataclass(frozen=True)
class Outcome:
    """The result for one file. `done` is False where it was left alone, for `reason`."""

    path: str
    session_id: str
    done: bool
    reason: str = ""


def scan(
    folder: str, store: PointerStore, make_generation: Callable[[], str] = new_generation
) -> list[Found]:
    """Every file of a v1 folder, in order. Writes nothing. Raises PointerError where it cannot be listed."""
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refusal(error, "list the v1 folder") from error
    return [_look(os.path.join(folder, name), store, make_generation) for name in names]


def _look(path: str, store: PointerStore, make_generation: Callable[[], str]) -> Found:
    name, ending = os.path.splitext(os.path.basename(path))
    if ending != ".json" or not is_session_id(name):
        return Found(path, None, None, reason="It is not named <session_id>.json.")
    try:
        data = _read_plain(path)
        state = read_envelope(data, name, make_generation)
    except (OSError, PointerError) as error:
        said = error.message if isinstance(error, PointerError) else f"Cannot be read: {error.strerror}."
        return Found(path, name, None, reason=said)
    try:
        there = store.read(name) is not None
    except PointerError as error:
        return Found(path, name, state, data, f"Its session's state cannot be read ({error.code}).")
    return Found(path, name, state, data, "Its session has a state already." if there else "")


def _read_plain(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _bad("it is not a regular file")
        return file.read(MAX_STATE_BYTES + 1)


def read_envelope(data: bytes, session_id: str, make_generation: Callable[[], str]) -> State:
    """The state that an envelope becomes. Raises PointerError STATE_INVALID for any other shape."""
    try:
        value = parse_object(data, "STATE", MAX_STATE_BYTES)
        check_fields(value, ("schema_version", "envelope"), STATE_INVALID)
        envelope = value["envelope"]
        if type(value["schema_version"]) is not int or value["schema_version"] != 1:
            raise _bad("schema_version is not 1")
        if not isinstance(envelope, dict):
            raise _bad("the envelope is not an object")
        inner = cast(dict[str, object], envelope)
        check_fields(inner, _ENVELOPE, STATE_INVALID)
    except PointerError as error:
        raise PointerError(STATE_INVALID, error.message) from None
    if inner["session_id"] != session_id:
        raise _bad("session_id is not the name of the file")
    status, updated_at = inner["status"], inner["updated_at"]
    if type(status) is not str or status not in STATUSES:
        raise _bad("status is none of CLEAN, DIRTY and CLEARED")
    if not is_instant(updated_at):
        raise _bad("updated_at is not an instant like 2026-01-01T00:00:00Z")
    task_id, text = check_task(inner["task_id"], inner["pointer_text"], status != CLEARED, _bad)
    return State(session_id, make_generation(), 1, status, task_id, text, updated_at)


def _bad(reason: str) -> PointerError:
    return PointerError(STATE_INVALID, f"It is no v1 envelope: {reason}.")


def migrate(
    found: list[Found], store: PointerStore, backups: str, clock: Callable[[], float] = time.time
) -> tuple[str, list[Outcome]]:
    """(the manifest's path, what became of each file that was to be migrated).

    The manifest and the copies are on the disk before anything is changed, so that a run that was killed can
    be rolled back like any other. Raises OSError where the backup cannot be written.
    """
    chosen = [one for one in found if one.migrates]
    backup = new_folder(backups, "migrate", clock)
    entries: list[dict[str, object]] = []
    for one in chosen:
        assert one.state is not None
        name = f"{one.state.session_id}.json"
        write_whole(os.path.join(backup, "v1", name), one.data, 0o600)
        entries.append(
            {
                "session_id": one.state.session_id,
                "path": os.path.abspath(one.path),
                "mode": os.stat(one.path).st_mode & 0o7777,
                "generation": one.state.generation,
                "folder_existed": os.path.lexists(os.path.join(store.root, one.state.session_id)),
            }
        )
    manifest = os.path.join(backup, MANIFEST)
    value = {"format": _FORMAT, "kind": _KIND, "state_root": store.root, "entries": entries}
    write_whole(manifest, (json.dumps(value, indent=2) + "\n").encode("utf-8"), 0o600)
    return manifest, [_migrate_one(one, store) for one in chosen]


def _migrate_one(one: Found, store: PointerStore) -> Outcome:
    assert one.state is not None
    session_id = one.state.session_id
    try:
        if _read_plain(one.path) != one.data:
            return Outcome(one.path, session_id, False, "The file changed meanwhile.")
        store.establish(one.state)
        os.unlink(one.path)
        sync_folder(os.path.dirname(os.path.abspath(one.path)))
    except PointerError as error:
        return Outcome(one.path, session_id, False, str(error))
    except OSError as error:
        return Outcome(one.path, session_id, False, f"{error.strerror}.")
    return Outcome(one.path, session_id, True)


def rollback(manifest: str) -> list[Outcome]:
    """Puts every envelope of a migration back, and takes the states away that came of them.

    A state that had gone on meanwhile is kept in the backup. Doing it twice changes nothing. Raises
    MigrateError where `manifest` is none of ours.
    """
    if os.path.isdir(manifest):
        manifest = os.path.join(manifest, MANIFEST)
    backup = os.path.dirname(os.path.abspath(manifest))
    value = _read_manifest(manifest)
    return [_put_back(entry, value["state_root"], backup) for entry in value["entries"]]


def _read_manifest(path: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(read_whole(path) or b"")
        right = (
            value["format"] == _FORMAT
            and value["kind"] == _KIND
            and os.path.isabs(value["state_root"])
            and all(
                is_session_id(entry["session_id"])
                and os.path.isabs(entry["path"])
                and type(entry["mode"]) is int
                and isinstance(entry["generation"], str)
                and isinstance(entry["folder_existed"], bool)
                for entry in value["entries"]
            )
        )
    except (OSError, ValueError, LookupError, TypeError):
        raise MigrateError(f"{path} is not the manifest of a migration.") from None
    if not right:
        raise MigrateError(f"{path} is not the manifest of a migration.")
    return value


def _put_back(entry: dict[str, Any], root: str, backup: str) -> Outcome:
    session_id, path = entry["session_id"], entry["path"]
    copy = read_whole(os.path.join(backup, "v1", f"{session_id}.json"))
    if copy is None:
        return Outcome(path, session_id, False, "The backup's copy is gone.")
    try:
        there = read_whole(path)
        if there is not None and there != copy:
            return Outcome(path, session_id, False, "Another file stands in its place.")
        # An envelope that is there was perhaps never migrated: then only a state of this very run goes.
        only = entry["generation"] if there is not None else None
        _take_state(root, session_id, only, entry["folder_existed"], backup)
        if there is None:
            write_whole(path, copy, entry["mode"])
    except PointerError as error:
        return Outcome(path, session_id, False, str(error))
    except OSError as error:
        return Outcome(path, session_id, False, f"{error.strerror}.")
    return Outcome(path, session_id, True)


def _take_state(root: str, session_id: str, only: str | None, folder_existed: bool, backup: str) -> None:
    """Deletes a session's state under its lock, with its folder where the migration made that."""
    ops = FILE_OPS
    folder = open_session(ops, root, session_id, create=False)
    if folder is None:
        return
    try:
        lock = lock_session(ops, folder, wait=LOCK_WAIT, monotonic=time.monotonic, sleep=time.sleep)
        try:
            data = read_file(ops, folder, MAX_STATE_BYTES)
            if data is not None:
                if only is not None and f'"{only}"'.encode() not in data:
                    return
                write_whole(os.path.join(backup, "replaced", f"{session_id}.json"), data, 0o600)
                ops.unlink(STATE_NAME, folder)
                ops.fsync(folder)
            if not folder_existed:
                ops.unlink(LOCK_NAME, folder)
                with contextlib.suppress(OSError):  # something of somebody else's is in it
                    os.rmdir(os.path.join(root, session_id))
        finally:
            unlock_session(ops, lock)
    finally:
        release(ops, folder)
