"""The text area of the composer: keys in the order in which they came, pastes, and markers as one piece.

Enter and the other keys of ours are acted on in the key handler: a binding's action runs after the key has
bubbled up to the app, when later keys may be in the text already. Which keys they are, the bindings say, so
that a keymap changes them.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import ClassVar, Literal, Protocol

from textual import events
from textual.binding import Binding, BindingType

from felan_tui.composer.draft import Draft, Folds
from felan_tui.composer.killed import Killed, Side
from felan_tui.composer.pastes import PasteGuard, clean_paste, is_large
from felan_tui.text.fields import SafeTextArea

When = Callable[[events.Event], float]
"""When an event came, in seconds of one monotonic clock."""


def event_time(event: events.Event) -> float:
    """The time at which the driver read the event, not that at which it is handled."""
    return event.time


class Writer(Protocol):
    """Who gets what is written."""

    def send(self) -> None: ...
    def follow_up(self) -> None: ...
    def recall(self, step: Literal[-1, 1]) -> bool: ...

    @property
    def choosing(self) -> bool: ...
    def choose(self, step: Literal[-1, 0, 1]) -> None: ...
    def stop_choosing(self) -> None: ...

    @property
    def searching(self) -> bool: ...
    def search(self) -> None: ...
    def search_key(self, event: events.Key) -> None: ...
    def edit(self) -> None: ...


_OURS = frozenset(("send", "follow_up", "newline"))


class ComposerArea(SafeTextArea):
    """`writer` is told of the keys that are not text."""

    DEFAULT_CSS = """
    ComposerArea {
        height: auto; min-height: 1; max-height: 33vh; width: 1fr;
        border: none; padding: 0; background: transparent; color: $text; scrollbar-size-vertical: 1;
        &:focus { border: none; }
        & .text-area--placeholder { color: $text-muted; }
    }
    """
    BINDING_GROUP_TITLE = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", id="felan.composer.send"),
        # Ctrl+T: every terminal sends it, and neither tmux, the text area nor flow control wants it.
        Binding("ctrl+t", "follow_up", "Queue a follow-up", id="felan.composer.follow_up"),
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", id="felan.composer.newline"),
        Binding("ctrl+underscore", "undo", "Undo", id="felan.composer.undo", show=False),
        Binding("ctrl+y", "redo_or_yank", "Redo or put back", id="felan.composer.yank", show=False),
        Binding("ctrl+r", "search", "Search the history", id="felan.composer.search", show=False),
        Binding("ctrl+g", "edit", "Edit in $EDITOR", id="felan.composer.edit", show=False),
        Binding("ctrl+l", "redraw", "Draw the screen anew", id="felan.composer.redraw", show=False),
        Binding("tab", "choose", "Complete", id="felan.composer.complete", show=False),
        Binding("escape", "stop_choosing", "Close the list", show=False),
    ]

    def __init__(self, writer: Writer, *, when: When = event_time, id: str | None = None) -> None:
        super().__init__(id=id, compact=True)
        self._writer = writer
        self._when = when
        self._guard = PasteGuard()
        self._killed = Killed()
        self.folds = Folds()

    # --- what stands here ---

    @property
    def draft(self) -> Draft:
        """The text and its pastes."""
        return self.folds.draft(self.text)

    def set_draft(self, draft: Draft) -> None:
        """Show a draft in place of what is there; the cursor goes to its end."""
        self.folds.clear()
        self._put(self.folds.adopt(draft))

    def put_before(self, draft: Draft) -> None:
        """Show a draft before what is there, on lines of its own."""
        present = self.text
        text = self.folds.adopt(draft)
        self._put(f"{text}\n{present}" if present else text)

    def _put(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def insert_paste(self, text: str) -> None:
        """Put text in the place of the selection, as a paste would."""
        text = clean_paste(text)
        if is_large(text):
            text = self.folds.fold(text)
        if text:
            self.replace(text, *self.selection, maintain_selection_offset=False)

    # --- keys and pastes ---

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._guard.pasted(self._when(event))
        self.insert_paste(event.text)

    async def _on_key(self, event: events.Key) -> None:
        if self._writer.searching:
            self._take(event)
            self._writer.search_key(event)
            return
        if not self._bound(event.key).startswith("delete_"):
            self._killed.end()
        if event.key == "enter" and self._guard.enter_is_newline(self._when(event)):
            self._take(event)
            self.newline()
            return
        if event.is_printable:
            return
        if (action := self._bound(event.key)) in _OURS:
            self._take(event)
            self._act(action)
        elif event.key == "enter":
            # Bound to something else or to nothing: it may not become a new line by itself.
            event.prevent_default()

    @staticmethod
    def _take(event: events.Event) -> None:
        event.stop()
        event.prevent_default()

    def _bound(self, key: str) -> str:
        """The action of ours that the key has, a keymap applied; or ""."""
        active = self.screen.active_bindings.get(key)
        return active.binding.action if active is not None and active.node is self else ""

    def _act(self, action: str) -> None:
        match action:
            case "send":
                self._writer.send()
            case "follow_up":
                self._writer.follow_up()
            case _:
                self.newline()

    def newline(self) -> None:
        """A line end in the place of the selection."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)
        self.scroll_cursor_visible()

    # --- actions ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Copy without a selection, Ctrl+D on nothing, Tab and Esc without a list are the app's keys."""
        match action:
            case "copy" | "cut":
                return not self.selection.is_empty
            case "delete_right":
                return bool(self.text)
            case "choose" | "stop_choosing":
                return self._writer.choosing
            case _:
                return True

    def action_send(self) -> None:
        """Send what is written."""
        self._writer.send()

    def action_follow_up(self) -> None:
        """Queue what is written behind the turn that runs."""
        self._writer.follow_up()

    def action_newline(self) -> None:
        """Begin a new line."""
        self.newline()

    def action_choose(self) -> None:
        """Take the marked command."""
        self._writer.choose(0)

    def action_stop_choosing(self) -> None:
        """Close the list of commands."""
        self._writer.stop_choosing()

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; in a list of commands and at the first row of the text the composer's."""
        if not select and self._writer.choosing:
            self._writer.choose(-1)
        elif select or self._row > 0 or not self._writer.recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; in a list of commands and at the last row of the text the composer's."""
        if not select and self._writer.choosing:
            self._writer.choose(1)
        elif select or self._row < self.wrapped_document.height - 1 or not self._writer.recall(1):
            super().action_cursor_down(select)

    @property
    def _row(self) -> int:
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def action_redo_or_yank(self) -> None:
        """Redo, right after an undo; else put back the text that was cut last."""
        if self.history.redo_stack:
            self.action_redo()
        elif self._killed.text:
            self.replace(self._killed.text, *self.selection, maintain_selection_offset=False)

    def action_search(self) -> None:
        """Search in the history."""
        self._writer.search()

    def action_edit(self) -> None:
        """Edit what is written in the person's own editor."""
        self._writer.edit()

    def action_redraw(self) -> None:
        """Draw the whole screen anew, over whatever another program has left on it."""
        self.screen.refresh(layout=True)

    def action_delete_word_left(self) -> None:
        """Cut the word before the cursor."""
        with self._killing("left"):
            super().action_delete_word_left()

    def action_delete_to_start_of_line(self) -> None:
        """Cut the line up to the cursor."""
        with self._killing("left"):
            super().action_delete_to_start_of_line()

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        """Cut the line from the cursor on."""
        with self._killing("right"):
            await super().action_delete_to_end_of_line_or_delete_line()

    @contextmanager
    def _killing(self, side: Side) -> Generator[None]:
        """Keep the text that is cut inside, for Ctrl+Y."""
        before, cursor = self.text, self._cursor_index
        yield
        start = self._cursor_index if side == "left" else cursor
        self._killed.cut(before[start : start + len(before) - len(self.text)], side)

    @property
    def _cursor_index(self) -> int:
        row, column = min(self.selection)
        return sum(len(self.document.get_line(line)) + 1 for line in range(row)) + column

    def action_delete_left(self) -> None:
        """Backspace; a marker goes as one piece."""
        if not self._delete_marker(before=True):
            super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete; a marker goes as one piece."""
        if not self._delete_marker(before=False):
            super().action_delete_right()

    def _delete_marker(self, *, before: bool) -> bool:
        if not self.selection.is_empty:
            return False
        row, column = self.cursor_location
        span = self.folds.marker_at(self.document.get_line(row), column, before=before)
        if span is None:
            return False
        self.delete((row, span[0]), (row, span[1]), maintain_selection_offset=False)
        return True
