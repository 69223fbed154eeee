"""The composer widget: the text area, the list of commands above it, its history and its draft on disk."""

import asyncio
import contextlib
from collections.abc import Coroutine, Generator, Iterable
from pathlib import Path
from typing import Any, Literal, Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from felan_core.files.advice import unwritable
from felan_tui.composer.area import ComposerArea, When, event_time
from felan_tui.composer.autosave import Autosave, DraftFile
from felan_tui.composer.commands import Completion
from felan_tui.composer.draft import Draft
from felan_tui.composer.files import Slot, claim_slot, project_key
from felan_tui.composer.history import History, HistoryFile
from felan_tui.text.cells import cut, pad
from felan_tui.text.widgets import Line, line_content, set_titles

EnterVerb = Literal["send", "steer", "follow_up"]

_HINT = "/ commands · @ files · ! shell"
PLACEHOLDER = f"type a message · {_HINT}"
TITLES: dict[EnterVerb, str] = {
    "send": "",
    "steer": "Enter steers · Ctrl+T queues a follow-up",
    "follow_up": "Enter queues a follow-up",
}
SHELL_TITLE = "shell · Enter runs it as a process of this session"


class CommandLines(Widget):
    """The commands that fit what is typed; not there while none does."""

    DEFAULT_CSS = """
    CommandLines { height: auto; width: 1fr; display: none; padding: 0 1; background: $surface; }
    CommandLines.-open { display: block; }
    """

    def __init__(self, completion: Completion) -> None:
        super().__init__()
        self._completion = completion

    def show(self) -> None:
        """Draw the completion as it is now."""
        self.set_class(self._completion.open, "-open")
        self.refresh(layout=True)

    def render(self) -> Content:
        found, cells = self._completion.found, self.content_size.width or 80
        rows: list[Content] = []
        for index in self._completion.window():
            command, marked = found[index], index == self._completion.marked
            name = pad(f"{'›' if marked else ' '} /{command.name}", min(28, cells))
            about = cut(command.about, max(0, cells - 30))
            rows.append(
                line_content((name, "bold $text-accent" if marked else "$text"), "  ", (about, "$text-muted"))
            )
        return Content("\n").join(rows)


class Composer(Vertical):
    """Where a person writes. `cwd` and `data` say whose history and draft; without `data` none is kept.

    `when` tells the time of an event (`felan_tui.composer.pastes` says what for).
    """

    DEFAULT_CSS = """
    Composer {
        height: auto; width: 1fr;
        border-top: solid $border-blurred; border-title-color: $text-muted; border-title-align: right;
        &:focus-within { border-top: solid $accent; }
        &.-shell { border-top: solid $warning; border-title-color: $text-warning; }
        & > Horizontal { height: auto; padding: 0 1; }
        & .composer--sign { width: 2; color: $text-accent; }
        &.-shell .composer--sign { color: $text-warning; }
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
        self._complained = False

    def compose(self) -> ComposeResult:
        yield self._lines
        with Horizontal():
            yield self._sign
            yield self.area

    def on_mount(self) -> None:
        self._say()
        self._spawn(self._open())

    async def on_unmount(self) -> None:
        # What is to be remembered is waited for; what watches ends here.
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
        """What stands here, with its pastes."""
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

    # --- what the app says ---

    @property
    def enter_verb(self) -> EnterVerb:
        """What Enter does with a message; the app sets it, the composer says it."""
        return self._verb

    @enter_verb.setter
    def enter_verb(self, verb: EnterVerb) -> None:
        if verb != self._verb:
            self._verb = verb
            self._say()

    def set_commands(self, commands: Iterable[tuple[str, str]]) -> None:
        """The commands that `/` lists: (name, what it does)."""
        self._completion.set_commands(commands)
        self._lines.show()

    def _say(self) -> None:
        shell = self.area.text.startswith("!")
        self.set_class(shell, "-shell")
        self._sign.show("$" if shell else "›")
        set_titles(self, SHELL_TITLE if shell else TITLES[self._verb])
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
        self._leave(draft)
        self.post_message(self.Submitted(draft.expanded, self._verb, draft))

    def follow_up(self) -> None:
        """The key for a follow-up."""
        draft = self.area.draft
        if draft.text.startswith("!"):
            self._send_shell(draft)
        elif draft.text.strip():
            self._leave(draft)
            self.post_message(self.FollowUp(draft.expanded, draft))

    def _send_shell(self, draft: Draft) -> None:
        text = draft.expanded
        if command := text[1:].strip():
            self._leave(draft)
            self.post_message(self.ShellSubmitted(command, text, draft))

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
        self._slot = await asyncio.to_thread(claim_slot, data / "drafts", key)
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


__all__ = ["PLACEHOLDER", "TITLES", "Composer", "EnterVerb"]
