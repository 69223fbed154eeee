"""What was sent or cleared before, newest last: going back and forth through it, and its file.

The file is JSON Lines, one draft a line, appended to; a line that cannot be read is passed over.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from felan_core.files.private import open_private, own_folder
from felan_tui.composer.draft import Draft
from felan_tui.composer.files import write_whole

FILE = "history.jsonl"
MAX_ENTRIES = 1000
MAX_BYTES = 4 * 1024 * 1024
MAX_ENTRY = 256 * 1024
"""Characters of a line in the file; a longer draft is remembered until the end of the program."""


class History:
    """Pure. `older` and `newer` walk through it; what stood in the composer before is the newest of all."""

    def __init__(self, entries: Iterable[Draft] = ()) -> None:
        # By what they say, so that the same words again are one entry, where they were said last.
        self._entries: dict[object, Draft] = {}
        self._walk: list[Draft] = []
        self._at: int | None = None
        self._present = Draft()
        self.load(entries)

    @property
    def entries(self) -> list[Draft]:
        """Oldest first."""
        return list(self._entries.values())

    def load(self, earlier: Iterable[Draft]) -> None:
        """Entries of earlier runs, before those of this one."""
        known = self.entries
        self._entries = {}
        for entry in [*earlier, *known]:
            self._append(entry)
        self.rest()

    def add(self, draft: Draft) -> bool:
        """Remember a draft; False when there was nothing to remember. Ends the walk."""
        self.rest()
        if not draft.text.strip():
            return False
        self._append(draft)
        return True

    def _append(self, draft: Draft) -> None:
        key = (draft.text, *draft.pastes.items())
        self._entries.pop(key, None)
        self._entries[key] = draft
        while len(self._entries) > MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]

    def older(self, present: Draft) -> Draft | None:
        """The entry before the one shown; None at the oldest. `present` is what stands in the composer."""
        if self._at is None:
            self._walk, self._present = self.entries, present
        at = len(self._walk) if self._at is None else self._at
        while at > 0:
            at -= 1
            if self._walk[at] != present:
                self._at = at
                return self._walk[at]
        return None

    def newer(self) -> Draft | None:
        """The entry after the one shown, at last what stood there before; None when no walk is under way."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._walk):
            present = self._present
            self.rest()
            return present
        return self._walk[self._at]

    def rest(self) -> None:
        """Ends the walk."""
        self._at, self._present, self._walk = None, Draft(), []


class HistoryFile:
    """The file of one project: `folder` is the project's in `history/`, and both are Felan's own.

    Its calls block: they belong in a thread.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def load(self) -> list[Draft]:
        """The entries, oldest first. A file that has grown too long is written anew. Raises OSError."""
        try:
            with self.path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - 2 * MAX_BYTES))
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        history = History()
        for line in lines[-4 * MAX_ENTRIES :]:
            if (draft := read_draft(line)) is not None:
                history.add(draft)
        entries = history.entries
        if size > MAX_BYTES or len(lines) > 2 * MAX_ENTRIES:
            self._compact(entries)
        return entries

    def append(self, draft: Draft) -> None:
        """Add an entry at the end. Raises OSError."""
        line = draft_line(draft)
        if len(line) > MAX_ENTRY:
            return
        for folder in (self.path.parent.parent, self.path.parent):
            own_folder(folder)
        handle = open_private(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def _compact(self, entries: list[Draft]) -> None:
        lines: list[bytes] = []
        size = 0
        for entry in reversed(entries):
            line = draft_line(entry)
            size += len(line)
            if size > MAX_BYTES // 2:
                break
            lines.append(line)
        write_whole(self.path, b"".join(reversed(lines)))


def draft_line(draft: Draft) -> bytes:
    """A draft as one line of JSON, with its line end."""
    row: dict[str, Any] = {"text": draft.text}
    if draft.pastes:
        row["pastes"] = draft.pastes
    return json.dumps(row).encode() + b"\n"


def read_draft(line: bytes) -> Draft | None:
    """The draft in a line; None when it is none."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    text: object = row.get("text")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # JSON
    pastes: object = row.get("pastes", {})  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(text, str) or not isinstance(pastes, dict):
        return None
    kept = {
        key: value
        for key, value in pastes.items()  # pyright: ignore[reportUnknownVariableType]  # JSON
        if isinstance(key, str) and isinstance(value, str)
    }
    return Draft(text, kept)
