"""The composer widget: the text area, the list of commands above it, its history and its draft on disk."""

import asyncio
import contextlib
from collections.abc import Coroutine, Generator, Iterable
from pathlib import Path
from typing import Any, Literal, Self

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from felan_core.files.advice import unwritable
from felan_tui.composer.area import ComposerArea, When, event_time
from felan_tui.composer.autosave import Autosave, DraftFile
from felan_tui.composer.commands import Completion
from felan_tui.composer.draft import Draft
from felan_tui.composer.files import Slot, claim_slot, draft_key, left_drafts, project_key
from felan_tui.composer.history import History, HistoryFile
from felan_tui.composer.lists import CommandLines, SearchLines
from felan_tui.composer.search import HistorySearch
from felan_tui.text.widgets import Line

EnterVerb = Literal["send", "steer", "follow_up"]

_SURELY_FITS = 60_000
"""Characters, of at most four bytes each, that a message always takes."""
PLACEHOLDER = "type a message · / commands · ! shell"


class Composer(Vertical):
    """Where a person writes. The history is the folder's (`cwd`); the draft belongs to the session that
    `belong_to` names. Without `data` nothing is kept.

    `when` tells the time of an event (`felan_tui.composer.pastes` says what for).
    """

    DEFAULT_CSS = """
    Composer {
        height: auto; width: 1fr;
        & > Horizontal { height: auto; padding: 0 1; }
        & .composer--sign { width: 2; color: $text-muted; }
        &:focus-within .composer--sign { color: $text-accent; }
    }
    """

    class Submitted(Message):
        """Enter. `text` is what to send, `verb` what the composer said Enter would do."""

        def __init__(self, text: str, verb: EnterVerb, draft: Draft) -> None:
            super().__init__()
            self.text = text
            self.verb: EnterVerb = verb
            self.draft = draft

    class FollowUp(Message):
        """The key for a follow-up."""

        def __init__(self, text: str, draft: Draft) -> None:
            super().__init__()
            self.text = text
            self.draft = draft

    class ShellSubmitted(Message):
        """`! command`: `command` is to run as a process; `text` is what was typed."""

        def __init__(self, command: str, text: str, draft: Draft) -> None:
            super().__init__()
            self.command = command
            self.text = text
            self.draft = draft

    class EmptyEnter(Message):
        """Enter with nothing written: releases a held queue."""

    class DraftChanged(Message):
        """What is written changed."""

    class NotTaken(Message):
        """What is written stays in the composer: `problem` says why."""

        def __init__(self, problem: str) -> None:
            super().__init__()
            self.problem = problem

    class LeftDrafts(Message):
        """Earlier sessions of this folder have drafts; they are in the history now."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class KeepFailed(Message):
        """History or draft cannot be kept on disk (told once); the composer works on."""

        def __init__(self, problem: str) -> None:
            super().__init__()
            self.problem = problem

    def __init__(
        self, *, cwd: str = "", data: Path | None = None, when: When = event_time, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._cwd = cwd
        self._data = data
        self._completion = Completion()
        self._lines = CommandLines(self._completion)
        self._search: HistorySearch | None = None
        self._search_lines = SearchLines()
        self._sign = Line("›", classes="composer--sign")
        self.area = ComposerArea(self, when=when)
        self.history = History()
        self._verb: EnterVerb = "send"
        self._history_file: HistoryFile | None = None
        self._autosave: Autosave | None = None
        self._slot: Slot | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._appending = asyncio.Lock()
        self._sent: tuple[str, Draft] = ("", Draft())
        self._loaded = asyncio.Event()
        self._moving = asyncio.Lock()
        self._session: str | None = None
        self._complained = False

    def compose(self) -> ComposeResult:
        yield self._lines
        yield self._search_lines
        with Horizontal():
            yield self._sign
            yield self.area

    def on_mount(self) -> None:
        self._say()
        self._spawn(self._open())

    async def on_unmount(self) -> None:
        # The watching tasks end here; the writing ones are waited for.
        if self._autosave is not None:
            self._autosave.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._autosave is not None:
            await self._autosave.flush()
        if self._slot is not None:
            self._slot.release()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Gives the focus to the text area."""
        self.area.focus(scroll_visible)
        return self

    # --- what is written ---

    @property
    def text(self) -> str:
        """What would be sent: pastes in the place of their markers."""
        return self.area.draft.expanded

    @property
    def draft(self) -> Draft:
        """The draft, with its pastes."""
        return self.area.draft

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written."""
        return not self.area.draft

    def set_draft(self, draft: Draft | str) -> None:
        """Put a draft in the place of what is written."""
        self.history.rest()
        self.area.set_draft(Draft(draft) if isinstance(draft, str) else draft)

    def take_draft(self) -> Draft:
        """What is written; the composer is empty afterwards."""
        draft = self.area.draft
        self.area.set_draft(Draft())
        return draft

    def clear_draft(self) -> bool:
        """Empty the composer and keep what was written in the history, so that Up brings it back.

        False when there was nothing.
        """
        if self.searching:
            self.stop_searching()
            return True
        draft = self.take_draft()
        self._remember(draft)
        return bool(draft)

    def restore(self, text: str | Draft) -> None:
        """Put back what could not be sent, before what was written since then."""
        if isinstance(text, str):
            sent, draft = self._sent
            text = draft if text == sent and draft else Draft(text)
        self.history.rest()
        self.area.put_before(text)

    def keep(self) -> None:
        """Save the draft in this thread, now: for an end that does not wait."""
        if self._autosave is not None:
            self._autosave.changed(self.area.draft)
            self._autosave.flush_now()

    async def loaded(self) -> None:
        """Returns when history and draft of earlier runs are here."""
        await self._loaded.wait()

    def belong_to(self, session: str, stored: Iterable[tuple[str, int]] = ()) -> None:
        """The draft is of `session` from now on: what is written goes there, after what is kept there.

        `stored`: the session's newest messages, each (text, milliseconds since the epoch). A kept draft that
        was sent and stored is dropped: a kill came before its file was removed.
        """
        self._spawn(self._move_to(session, list(stored)))

    # --- what the app says ---

    @property
    def enter_verb(self) -> EnterVerb:
        """What Enter does with a message; the app sets it, the hint rule shows it."""
        return self._verb

    @enter_verb.setter
    def enter_verb(self, verb: EnterVerb) -> None:
        self._verb = verb

    def set_commands(self, commands: Iterable[tuple[str, str]]) -> None:
        """The commands that `/` lists: (name, what it does)."""
        self._completion.set_commands(commands)
        self._lines.show()

    def _say(self) -> None:
        shell = self.area.text.startswith("!")
        self.set_class(shell, "-shell")
        self._sign.show("$" if shell else "›")
        self.area.show_placeholder(PLACEHOLDER)

    # --- what the text area says (Writer) ---

    def send(self) -> None:
        """Enter."""
        draft = self.area.draft
        if not draft.text.strip():
            self.post_message(self.EmptyEnter())
            return
        if draft.text.startswith("!"):
            self._send_shell(draft)
            return
        if not self._fits(draft):
            return
        self._leave(draft)
        self.post_message(self.Submitted(draft.expanded, self._verb, draft))

    def follow_up(self) -> None:
        """The key for a follow-up."""
        draft = self.area.draft
        if draft.text.startswith("!"):
            self._send_shell(draft)
        elif draft.text.strip() and self._fits(draft):
            self._leave(draft)
            self.post_message(self.FollowUp(draft.expanded, draft))

    def _send_shell(self, draft: Draft) -> None:
        text = draft.expanded
        if (command := text[1:].strip()) and self._fits(draft):
            self._leave(draft)
            self.post_message(self.ShellSubmitted(command, text, draft))

    def _fits(self, draft: Draft) -> bool:
        """Whether a message may be so long; it stays in the composer where it is longer."""
        text = draft.expanded
        if len(text) <= _SURELY_FITS:
            return True
        from felan_core.protocol.base import LIMITS

        size = len(text.encode("utf-8", "replace"))
        if size <= LIMITS.text_bytes:
            return True
        most = LIMITS.text_bytes // 1024
        sizes = f"the message has {size / 1024:,.0f} KB, the limit is {most} KB"
        problem = f"Not sent: {sizes}. Shorten it, or save it as a file."
        self.post_message(self.NotTaken(problem))
        return False

    def _leave(self, draft: Draft) -> None:
        self._sent = (draft.expanded, draft)
        self._remember(draft)
        self.area.set_draft(Draft())

    def recall(self, step: Literal[-1, 1]) -> bool:
        """Up at the first row, Down at the last: the history. False when there is nothing there."""
        entry = self.history.older(self.area.draft) if step < 0 else self.history.newer()
        if entry is None:
            return False
        self.area.set_draft(entry)
        return True

    @property
    def choosing(self) -> bool:
        """Whether the list of commands is open."""
        return self._completion.open

    def choose(self, step: Literal[-1, 0, 1]) -> None:
        """Mark another command, or (0) take the marked one."""
        if step:
            self._completion.move(step)
        elif (command := self._completion.choice) is not None:
            self.area.set_draft(Draft(f"/{command.name} "))
            self._completion.close()
        self._lines.show()

    def stop_choosing(self) -> None:
        """Close the list."""
        self._completion.close()
        self._lines.show()

    @property
    def searching(self) -> bool:
        """Whether the keys go to the search in the history."""
        return self._search is not None

    def search(self) -> None:
        """Open the search in the history; what is written stays as it is."""
        self.stop_choosing()
        self._search = HistorySearch(self.history.entries)
        self._search_lines.show(self._search)

    def stop_searching(self) -> None:
        """Close the search."""
        self._search = None
        self._search_lines.show(None)

    def search_key(self, event: events.Key) -> None:
        """A key while the search is open."""
        search = self._search
        if search is None:
            return
        match event.key:
            case "enter" | "tab" | "right":
                choice = search.choice
                self.stop_searching()
                if choice is not None:
                    self.set_draft(choice)
                return
            case "escape" | "ctrl+g" | "ctrl+c":
                self.stop_searching()
                return
            case "ctrl+r" | "up" | "ctrl+p":
                search.move(1)
            case "ctrl+s" | "down" | "ctrl+n":
                search.move(-1)
            case "backspace" | "ctrl+h":
                search.delete()
            case _ if event.is_printable and event.character:
                search.type(event.character)
            case _:
                return
        self._search_lines.show(search)

    def edit(self) -> None:
        """Open what is written in the person's own editor."""
        self._spawn(self._edit())

    async def _edit(self) -> None:
        from felan_tui.composer.editor import EditorError, edit

        try:
            edited = await edit(self.app, self.area.draft.expanded)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] untyped in Textual
        except EditorError as error:
            self.post_message(self.NotTaken(str(error)))
        else:
            self.set_draft(edited)

    @on(ComposerArea.Changed)
    def _changed(self, event: ComposerArea.Changed) -> None:
        event.stop()
        text = self.area.text
        was_open = self._completion.open
        self._completion.type(text)
        if was_open or self._completion.open:
            self._lines.show()
        if text.startswith("!") != self.has_class("-shell"):
            self._say()
        if self._autosave is not None and self._loaded.is_set():
            self._autosave.changed(self.area.folds.draft(text))
        self.post_message(self.DraftChanged())

    # --- files ---

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self) -> None:
        try:
            if self._data is not None:
                await self._take_up(self._data)
        finally:
            self._loaded.set()

    async def _take_up(self, data: Path) -> None:
        """What earlier runs kept. Who types meanwhile loses nothing: the old draft comes first."""
        key = await asyncio.to_thread(project_key, self._cwd)
        self._history_file = HistoryFile(data / "history" / key)
        # What was written before there was a session; an earlier version kept every draft so.
        self._slot = await asyncio.to_thread(claim_slot, data / "drafts", draft_key(self._cwd, None))
        draft_file = DraftFile(self._slot.path)
        with self._complaining():
            self.history.load(await asyncio.to_thread(self._history_file.load))
        kept = Draft()
        with self._complaining():
            kept = await asyncio.to_thread(draft_file.load)
        self._autosave = Autosave(draft_file, self._complain)
        if kept:
            self.area.put_before(kept)
        self._autosave.changed(self.area.draft)
        self._spawn(self._autosave.run())

    async def _move_to(self, session: str, stored: list[tuple[str, int]]) -> None:
        await self._loaded.wait()
        async with self._moving:
            data, autosave = self._data, self._autosave
            if data is None or autosave is None or session == self._session:
                return
            first, self._session = self._session is None, session
            folder = data / "drafts"
            slot = await asyncio.to_thread(claim_slot, folder, draft_key(self._cwd, session))
            kept, saved_at = Draft(), 0
            with self._complaining():
                kept, saved_at = await asyncio.to_thread(DraftFile(slot.path).load_with_time)
            if kept and not any(text == kept.expanded and at >= saved_at for text, at in stored):
                self.area.put_before(kept)
            autosave.changed(self.area.draft)
            await autosave.move(DraftFile(slot.path))
            old, self._slot = self._slot, slot
            if old is not None:
                await asyncio.to_thread(old.release)
            if first:
                await self._recall_left(folder, slot.path)

    async def _recall_left(self, folder: Path, own: Path) -> None:
        """A session that is not open has its draft in its file; the history has it, too."""
        with self._complaining():
            paths = await asyncio.to_thread(left_drafts, folder, self._cwd, own)
            drafts = [await asyncio.to_thread(DraftFile(path).load) for path in paths]
            if count := sum(self.history.add(draft) for draft in drafts):
                self.post_message(self.LeftDrafts(count))

    def _remember(self, draft: Draft) -> None:
        if self.history.add(draft) and self._data is not None:
            self._spawn(self._append(draft))

    async def _append(self, draft: Draft) -> None:
        await self._loaded.wait()
        async with self._appending:
            if self._history_file is not None:
                with self._complaining():
                    await asyncio.to_thread(self._history_file.append, draft)

    @contextlib.contextmanager
    def _complaining(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            self.post_message(self.KeepFailed(unwritable(Path(error.filename or self._data or ""), error)))


__all__ = ["PLACEHOLDER", "Composer", "EnterVerb"]
