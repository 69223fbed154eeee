"""Keeps the draft in a file while it is typed: a moment after the last key, in a thread, in order."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from felan_tui.composer.draft import Draft
from felan_tui.composer.files import write_whole
from felan_tui.composer.history import draft_line, read_draft

PAUSE_SECONDS = 0.2
MAX_BYTES = 64 * 1024 * 1024


class DraftFile:
    """One draft in one file. Its calls block: they belong in a thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Draft:
        """The draft that was kept; an empty one where there is none, or no draft in the file. OSError."""
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES)
        except FileNotFoundError:
            return Draft()
        return read_draft(data) or Draft()

    def load_with_time(self) -> tuple[Draft, int]:
        """The draft that was kept, and when (milliseconds since the epoch; 0 for none). OSError."""
        draft = self.load()
        return draft, self.path.stat().st_mtime_ns // 1_000_000 if draft else 0

    def save(self, draft: Draft) -> None:
        """Keep the draft; an empty one is no file. OSError."""
        if draft:
            write_whole(self.path, draft_line(draft))
        else:
            with contextlib.suppress(FileNotFoundError):
                self.path.unlink()


class Autosave:
    """`changed` with each change; `run` as a task. `failed` is told once when saving stops to work."""

    def __init__(
        self, file: DraftFile, failed: Callable[[OSError], None], *, pause: float = PAUSE_SECONDS
    ) -> None:
        self._file = file
        self._failed = failed
        self._pause = pause
        self._latest = Draft()
        self._saved: Draft | None = None
        self._news = asyncio.Event()
        self._stopped = asyncio.Event()
        self._writing = asyncio.Lock()
        self._broken = False

    def changed(self, draft: Draft) -> None:
        """This is the draft now."""
        self._latest = draft
        self._news.set()

    async def run(self) -> None:
        """Until `stop`. Typing without a pause is saved as often as typing with pauses."""
        while not self._stopped.is_set():
            await self._news.wait()
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), self._pause)
            await self.flush()

    async def move(self, file: DraftFile) -> None:
        """Save to `file` from now on. The old file is emptied when the draft is in the new one."""
        async with self._writing:
            old, self._file, self._saved = self._file, file, None
        await self.flush()
        if self._saved is not None:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(old.save, Draft())

    def stop(self) -> None:
        """Ends `run`, without the pause."""
        self._stopped.set()
        self._news.set()

    async def flush(self) -> None:
        """Save what is not saved yet."""
        async with self._writing:
            draft = self._latest
            if draft == self._saved:
                return
            try:
                await asyncio.to_thread(self._file.save, draft)
            except OSError as error:
                if not self._broken:
                    self._broken = True
                    self._failed(error)
            else:
                self._saved, self._broken = draft, False

    def flush_now(self) -> None:
        """Save in this thread: for an end that does not wait."""
        with contextlib.suppress(OSError):
            self._file.save(self._latest)
