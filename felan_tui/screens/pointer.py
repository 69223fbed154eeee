"""The task pointer whole: its state, its text, its history since attaching; edited, published and cleared.

It is open beside a turn that runs. It follows what changes, but never under the hands of who writes.
"""

import time
from collections.abc import Callable
from typing import ClassVar, Literal

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from felan_tui.pointer.conflict import PointerConflict
from felan_tui.pointer.controller import Draft, Outcome, PointerController
from felan_tui.pointer.editor import PointerArea, PointerEditor
from felan_tui.pointer.facts import MAX_BYTES, Pointer, age, merged, remedy, text_problem
from felan_tui.pointer.look import PointerLook
from felan_tui.text.fields import SafeTextArea
from felan_tui.text.safe import safe, safe_line
from felan_tui.text.widgets import Line, Piece, SafeButton, set_titles, toast

Mode = Literal["look", "edit", "conflict"]
TICK = 5.0
"""Seconds between two looks at the age."""
KEYS: dict[Mode, str] = {
    "look": "e edit · x clear · y copy · Tab history · Esc back",
    "edit": "F9 publish · Esc back, the draft stays",
    "conflict": "1 2 3 choose · Tab the other text · Esc back to the editor",
}
_ONLY: dict[str, tuple[Mode, ...]] = {
    "edit": ("look",),
    "clear": ("look",),
    "copy": ("look",),
    "drop": ("look",),
    "publish": ("edit",),
    "choose": ("conflict",),
}


class ClearPointerScreen(ModalScreen[bool]):
    """Dismissed with True to clear the pointer."""

    DEFAULT_CSS = """
    ClearPointerScreen { align: center middle; }
    ClearPointerScreen > Vertical {
        width: 60; max-width: 95%; height: auto; padding: 1 2; background: $surface; border: round $warning;
    }
    ClearPointerScreen Line { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1,escape,n", "keep", "Keep it"),
        Binding("2,y", "go", "Clear it"),
    ]

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Line(
                (f"Clear the task pointer ({self._name})?\n\n", "bold"),
                "The agent then starts without a task. The text stays in the history of this screen.\n\n",
                ("[1] keep it   [2] clear it", "bold $text-accent"),
            )

    def action_keep(self) -> None:
        self.dismiss(False)

    def action_go(self) -> None:
        self.dismiss(True)


class PointerScreen(ModalScreen[None]):
    """One session's pointer, by its ``desk``. ``clock``: monotonic seconds."""

    DEFAULT_CSS = """
    PointerScreen { align: center middle; }
    PointerScreen > #box {
        width: 96%; max-width: 140; height: 94%; padding: 0 1; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-subtitle-color: $text-muted;
    }
    PointerScreen #facts { width: 1fr; }
    PointerScreen #note { width: 1fr; max-height: 3; display: none; }
    PointerScreen.-wide #both { layout: horizontal; }
    PointerScreen.-wide #panes { layout: horizontal; }
    PointerScreen.-wide #text { width: 3fr; height: 1fr; }
    PointerScreen.-wide #seen { width: 2fr; height: 1fr; border-left: solid $panel; }
    PointerScreen.-wide #theirs-pane { border-left: solid $panel; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    AUTO_FOCUS = "#text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("f8,q", "leave", "Back"),
        Binding("e", "edit", "Edit"),
        Binding("x", "clear", "Clear"),
        Binding("y", "copy", "Copy"),
        Binding("d", "drop", "Set the draft aside"),
        Binding("f9", "publish", "Publish"),
        Binding("1", "choose('mine')", "Keep mine"),
        Binding("2", "choose('theirs')", "Take theirs"),
        Binding("3", "choose('merge')", "Merge"),
    ]

    def __init__(self, desk: PointerController, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._desk = desk
        self._clock = clock
        self._mode: Mode = "look"
        self._base: Pointer | None = None
        """What the text in the editor was begun from."""
        self._said: Piece = ""

    @property
    def home(self) -> App[object]:
        """The app."""
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] untyped in Textual

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Line(id="facts")
            yield Line(id="note")
            yield PointerLook(self._desk.history, id="look")
            yield PointerEditor(id="edit")
            yield PointerConflict(clock=self._clock, id="conflict")

    def on_mount(self) -> None:
        set_titles(self.query_one("#box"), "Task pointer")
        self._desk.changed = self._changed
        self.set_interval(TICK, self._draw_facts)
        self._show("look")

    def on_unmount(self) -> None:
        self._desk.changed = None

    def _changed(self) -> None:
        self.call_later(self._draw)

    @property
    def _look(self) -> PointerLook:
        return self.query_one(PointerLook)

    @property
    def _editor(self) -> PointerEditor:
        return self.query_one(PointerEditor)

    # --- what is shown ---

    def _show(self, mode: Mode, said: Piece = "") -> None:
        """Another of the three faces. ``said`` is what there is to say about it."""
        self._mode = mode
        self._said = said
        for one in KEYS:
            self.query_one(f"#{one}").display = one == mode
        set_titles(self.query_one("#box"), subtitle=KEYS[mode])
        match mode:
            case "look":
                self._look.pane.focus()
            case "edit":
                self._editor.area.focus()
            case "conflict":
                self.query_one("#theirs-pane").focus()
        self._draw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        self._draw_facts()
        self._draw_note()
        if self._mode == "look":
            self._look.draw()
        elif self._mode == "conflict":
            conflict, latest = self.query_one(PointerConflict), self._desk.latest
            if (
                latest is not None
                and self._desk.draft is not None
                and not self._desk.busy
                and (conflict.theirs is None or latest.expected != conflict.theirs.expected)
            ):
                conflict.show(self._desk.draft, latest, self._desk.now())

    def _draw_facts(self) -> None:
        pointer, line = self._desk.latest, self.query_one("#facts", Line)
        if pointer is None:
            line.show(("· no task pointer yet", "$text-muted"), layout=True)
            return
        sign, style = pointer.sign
        pieces: list[Piece] = [(f"{sign} {pointer.name}", f"bold {style}")]
        if pointer.generation:
            pieces.append((f"  generation {pointer.generation[:10]}", "$text-muted"))
        if old := age(pointer.updated_at, self._desk.now()):
            pieces.append((f"  updated {old}", "$text-muted"))
        if pointer.task and self._mode == "look":
            apart = "  " if self.has_class("-wide") else "\n"
            pieces.append((f"{apart}task {safe_line(pointer.task)}", "$text-muted"))
        line.show(*pieces, layout=True)

    def _draw_note(self) -> None:
        note, pieces = self.query_one("#note", Line), self._note()
        note.display = bool(pieces)
        note.show(*pieces, layout=True)

    def _note(self) -> list[Piece]:
        latest, draft = self._desk.latest, self._desk.draft
        pieces: list[Piece] = []
        if self._mode == "edit":
            if self._desk.busy:
                return [("Publishing …", "$text-muted")]
            if latest is not None and self._base is not None and latest.expected != self._base.expected:
                pieces.append(
                    (f"Changed meanwhile: {latest.name}. F9 then shows both texts. ", "$text-warning")
                )
        elif latest is not None and not latest.readable:
            pieces.append((f"It cannot be read: {latest.code or latest.status}: ", "bold $text-error"))
            pieces.append(f"{remedy(latest.code)}. ")
        if self._said:
            pieces.append(self._said)
        if self._mode == "look" and draft is not None and not self._desk.busy:
            pieces.append(
                (f" Your draft, begun from {draft.base.name}, is kept: e goes on, d sets it aside.", "")
            )
        return pieces

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    # --- keys ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._mode in _ONLY.get(action, (self._mode,))

    def on_button_pressed(self, event: SafeButton.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "edit-button":
                self.action_edit()
            case "clear-button":
                self.action_clear()
            case "publish":
                self.action_publish()
            case "leave-edit":
                self.action_back()
            case _:
                self.action_leave()

    def action_back(self) -> None:
        """Esc: from the two texts to the editor, from there to the look, from there to the session."""
        if self._mode == "conflict" and self._desk.draft is not None:
            if not self._desk.busy:
                self._edit(self._desk.draft)
        elif self._mode == "edit":
            self._show("look")
        else:
            self.dismiss(None)

    def action_leave(self) -> None:
        """Back to the session at once; what was written is kept."""
        self.dismiss(None)

    def interrupted(self) -> bool:
        """Ctrl+C: copy what is selected here. False where nothing is."""
        selected = self.get_selected_text() or (
            self._editor.area.selected_text if self._mode == "edit" else ""
        )
        if selected:
            self._copy(selected)
            self.clear_selection()
        return bool(selected)

    def action_copy(self) -> None:
        """Copy the text that is shown."""
        if (row := self._look.shown) is not None and row.text:
            self._copy(safe(row.text))

    def _copy(self, text: str) -> None:
        self.home.copy_to_clipboard(text)
        toast(self.home, "Sent to the terminal's clipboard (OSC 52).")

    # --- editing ---

    def action_edit(self) -> None:
        """Write: the draft that is kept, an own text that was set aside, or the pointer as it stands."""
        latest, row = self._desk.latest, self._look.shown
        if latest is None:
            self._say("The host has not shown the task pointer yet.")
        elif self._desk.draft is None and row is not None and row.pointer is None:
            self._desk.draft = Draft(latest, row.text)
            self._edit(self._desk.draft, f"The text that was set aside; F9 publishes it over {latest.name}.")
        else:
            self._edit(self._desk.draft or Draft(latest, latest.text))

    def _edit(self, draft: Draft, said: str = "") -> None:
        self._base = draft.base
        left_out = self._editor.begin(draft.text)
        if left_out:
            count = f"{left_out} hidden {'character is' if left_out == 1 else 'characters are'}"
            said = f"{said} {count} left out here.".strip()
        self._show("edit", said)

    def on_text_area_changed(self, event: SafeTextArea.Changed) -> None:
        """Keep each change as a draft at once, so that nothing is lost."""
        event.stop()
        if self._mode != "edit" or self._base is None:
            return
        text = self._editor.text
        unchanged = text == safe(self._base.text) and not self._desk.busy
        self._desk.draft = None if unchanged else Draft(self._base, text)

    def on_pointer_area_too_large(self, event: PointerArea.TooLarge) -> None:
        self._editor.tell(f"Not pasted: {event.size:,} bytes, and a pointer holds {MAX_BYTES:,}.")

    def action_drop(self) -> None:
        """The draft is not wanted any more."""
        if self._desk.draft is not None and not self._desk.busy:
            self._desk.drop_draft()
            self._show("look", "Your draft is set aside: it is in the history.")

    def action_publish(self) -> None:
        """Publish what is written over what it was begun from."""
        if self._base is None or self._desk.busy:
            return
        text = self._editor.text
        if problem := text_problem(text):
            self._editor.tell(problem)
            return
        self._publish(Draft(self._base, text))

    def _publish(self, draft: Draft) -> None:
        self._desk.draft = draft
        self._editor.hold(True)

        async def run() -> None:
            outcome = await self._desk.publish(draft.text, draft.base)
            self._after_publish(outcome, draft)

        # The app's, since an answer that comes after this screen was left is still to be told.
        self.home.run_worker(run())
        self.call_later(self._draw_note)

    def _after_publish(self, outcome: Outcome, draft: Draft) -> None:
        if not self.is_attached:
            if outcome.kind != "done":
                toast(
                    self.home, f"The task pointer was not published: {outcome.words}. F8 shows it.", "error"
                )
            return
        self._editor.hold(False)
        if outcome.kind == "done":
            self._base = None
            self._look.follow()
            name = outcome.pointer.name if outcome.pointer is not None else ""
            self._show("look", (f"Published: {name}.", "$text-success"))
        elif outcome.kind == "stale" and outcome.pointer is not None:
            self._conflict(draft, outcome.pointer, outcome.words)
        else:
            self._edit(draft)
            self._editor.tell(f"Not published: {outcome.words}.")

    # --- too late ---

    def _conflict(self, draft: Draft, theirs: Pointer, why: str) -> None:
        self._desk.draft = draft
        self.query_one(PointerConflict).show(draft, theirs, self._desk.now())
        self._show("conflict", (f"Not published: {why}. Nothing is overwritten.", "$text-warning"))

    def action_choose(self, choice: Literal["mine", "theirs", "merge"]) -> None:
        self.query_one(PointerConflict).choose(choice)

    def on_pointer_conflict_chosen(self, event: PointerConflict.Chosen) -> None:
        event.stop()
        theirs, draft = self.query_one(PointerConflict).theirs, self._desk.draft
        if theirs is None or draft is None or self._desk.busy or self._mode != "conflict":
            return
        match event.choice:
            case "mine":
                self._publish(Draft(theirs, draft.text))
            case "theirs":
                self._desk.drop_draft()
                self._base = None
                self._look.follow()
                self._show("look", "Theirs is kept. Your text is set aside: it is in the history.")
            case "merge":
                both = Draft(theirs, merged(draft.text, theirs))
                self._desk.draft = both
                self._edit(both, f"Both texts: edit them into one, then F9 publishes it over {theirs.name}.")

    # --- clearing ---

    def action_clear(self) -> None:
        """Clear the pointer, once asked for twice."""
        latest = self._desk.latest
        if latest is None or self._desk.busy:
            return
        if latest.readable and latest.status in ("CLEARED", "ABSENT"):
            self._say("There is no task to clear.")
            return

        def sure(yes: bool | None) -> None:
            if yes:
                self.home.run_worker(run())

        async def run() -> None:
            outcome = await self._desk.clear(latest)
            said = f"Not cleared: {outcome.words}."
            if not self.is_attached:
                if outcome.kind != "done":
                    toast(self.home, said, "error")
            elif outcome.kind == "done":
                self._say(("Cleared. Its text stays in the history.", "$text-success"))
            else:
                self._say((said, "$text-error"))

        self.home.push_screen(ClearPointerScreen(latest.name), sure)

    def _say(self, said: Piece) -> None:
        self._said = said
        self._draw()
