"""The transcript on the screen: blocks by key and in order, a block cursor, folding, following the end,
copying.

What is drawn and where it stands is in `viewport.py`, when the view follows its end in `following.py`, how
often a coming message is drawn in `pacing.py`.
"""

import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from textual import events
from textual.binding import Binding
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import var
from textual.selection import Selection

from felan_tui.transcript.blocks import Block
from felan_tui.transcript.following import Following
from felan_tui.transcript.live import LiveBlock, LiveKind
from felan_tui.transcript.pacing import Pacing
from felan_tui.transcript.rows import Row
from felan_tui.transcript.selecting import whole_line, word_at
from felan_tui.transcript.stack import Order
from felan_tui.transcript.viewport import Viewport


class Stretch(NamedTuple):
    """Adjacent blocks with their orders, and the block below the last."""

    blocks: list[tuple[Block, Order]]
    below: Block | None


class TranscriptView(Viewport, can_focus=True):
    """Blocks by key, in the order given with them (`put`), with the text of live ones coming in pieces.

    Posts `FollowChanged`, `CursorMoved` and `Toggled`. `following`, `new_lines` and `cursor` are reactive
    and tell the same; they are not to be set from outside.
    """

    BINDINGS = [
        Binding("end", "follow", "Follow the end", show=False),
        Binding("home", "scroll_home", "To the beginning", show=False),
    ]

    following: var[bool] = var(True)
    new_lines: var[int] = var(0)

    class FollowChanged(Message):
        """The view began or ceased to follow its end, or other text came below it."""

        def __init__(self, view: "TranscriptView", following: bool, new_lines: int, mark: str) -> None:
            super().__init__()
            self.view = view
            self.following = following
            self.new_lines = new_lines
            self.mark = mark
            """`↓ 12 new`, or nothing."""

        @property
        def control(self) -> "TranscriptView":
            return self.view

    class CursorMoved(Message):
        """The block cursor stands on another block, or on none."""

        def __init__(self, view: "TranscriptView", block: Block | None) -> None:
            super().__init__()
            self.view = view
            self.block = block

        @property
        def control(self) -> "TranscriptView":
            return self.view

    class Toggled(Message):
        """A person expanded or folded a block."""

        def __init__(self, view: "TranscriptView", block: Block, expanded: bool) -> None:
            super().__init__()
            self.view = view
            self.block = block
            self.expanded = expanded

        @property
        def control(self) -> "TranscriptView":
            return self.view

    def __init__(
        self,
        *,
        unicode: bool = True,
        pacing: Pacing | None = None,
        clock: Callable[[], float] = time.monotonic,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(unicode=unicode, name=name, id=id, classes=classes)
        self._pacing = pacing or Pacing()
        self._clock = clock
        self._waiting = False
        self.unfolded: Callable[[Block, bool], None] = lambda block, expanded: None
        """Called when a person expanded or folded a block, before it is drawn."""

    # --- what is shown ---

    def put(self, block: Block, order: Order) -> None:
        """Inserts a block at its order, or replaces the one with its key, which a person's folding
        survives.
        """
        known = self._stack.get(block.key)
        entry = self._stack.put(block, order)
        self._has_changed(entry, known.count if known else 0)
        self._ask()

    def append_text(self, key: str, kind: LiveKind, text: str, order: Order | None = None) -> None:
        """Adds a piece to the live block `key`; the first piece makes it, at `order` or else at the end.

        The pieces are drawn at the rate of `pacing`. A `put` with the same key replaces it by what is
        finished.
        """
        entry = known = self._stack.get(key)
        if entry is None or not isinstance(entry.block, LiveBlock):
            place = order if order is not None else entry.sort[0] if entry else self._stack.last_order()
            entry = self._stack.put(LiveBlock(key, kind), place)
        assert isinstance(entry.block, LiveBlock)
        entry.block.append(text)
        entry.changed()
        self._has_changed(entry, known.count if known else 0)
        wait = self._pacing.wait(self._clock())
        if not wait:
            self._ask()
        elif not self._waiting:
            self._waiting = True
            self.set_timer(wait, self._ask)

    def remove_block(self, key: str) -> None:
        """Takes a block away; one that is not there is no error."""
        entry = self._stack.get(key)
        if entry is None:
            return
        if self._anchor and self._anchor[0] is entry:
            index = self._stack.index(entry)
            entries = self._stack.entries
            near = entries[index + 1 : index + 2] or entries[max(0, index - 1) : index]
            self._anchor = (near[0], 0) if near else None
        self._stack.remove(key)
        self._changed.pop(entry, None)
        if self.cursor == key:
            self.cursor = None
        self._ask()

    def clear(self) -> None:
        """Takes all blocks away and follows again."""
        self.set_blocks(())

    def set_blocks(self, blocks: Iterable[tuple[Block, Order]]) -> None:
        """Shows these blocks, each with its order, in place of all others, from the end."""
        self._stack.set(blocks)
        self._changed.clear()
        self._anchor = None
        self._policy = Following()
        if self.cursor is not None and self._stack.get(self.cursor) is None:
            self.cursor = None
        self._ask()

    def unfold(self, blocks: Iterable[tuple[Block, Order]]) -> None:
        """Inserts blocks that were folded into another one: they are nothing new below a reader."""
        for block, order in blocks:
            self._stack.put(block, order)
        self._ask()

    def fold_into(self, block: Block, order: Order, keys: Collection[str]) -> None:
        """Shows one block in the place of those with ``keys``; the reader's place and the cursor go to it."""
        entry = self._stack.put(block, order)
        if self._anchor is not None and self._anchor[0].block.key in keys:
            self._anchor = entry, entry.gap
        if self.cursor in keys:
            self.cursor = block.key
        for key in keys:
            if (folded := self._stack.remove(key)) is not None:
                self._changed.pop(folded, None)
        self._ask()

    def stretch(self, key: str, holds: Callable[[Block], bool]) -> Stretch:
        """The adjacent folded blocks around the one of ``key`` for which ``holds`` is true. Where it is false
        for that one, those that end right above it.
        """
        entry = self._stack.get(key)
        if entry is None:
            return Stretch([], None)
        entries, index = self._stack.entries, self._stack.index(entry)

        def held(at: int) -> bool:
            return 0 <= at < len(entries) and not entries[at].expanded and holds(entries[at].block)

        first = after = index
        while held(first - 1):
            first -= 1
        while held(after):
            after += 1
        below = entries[after].block if after < len(entries) else None
        return Stretch([(one.block, one.sort[0]) for one in entries[first:after]], below)

    @property
    def last_key(self) -> str | None:
        """The key of the last block."""
        return self._stack.entries[-1].block.key if self._stack.entries else None

    def block(self, key: str) -> Block | None:
        """The block of a key."""
        entry = self._stack.get(key)
        return entry.block if entry else None

    @property
    def blocks(self) -> list[Block]:
        """All blocks, in order."""
        return [entry.block for entry in self._stack.entries]

    # --- the reader's actions ---

    def action_follow(self) -> None:
        """Goes to the end and follows it."""
        self._policy = self._policy.to_end()
        self._anchor = None
        self._settle()

    def action_cursor_up(self) -> None:
        """The block cursor to the block above."""
        self.move_cursor(-1)

    def action_cursor_down(self) -> None:
        """The block cursor to the block below."""
        self.move_cursor(1)

    def action_toggle_block(self) -> None:
        """Expands or folds the block at the cursor."""
        if self.cursor is not None:
            self.toggle(self.cursor)

    def move_cursor(self, by: int) -> None:
        """Moves the block cursor; without one it begins at the last visible block (or, moving down,
        the first).
        """
        entries = self._stack.entries
        if not entries:
            return
        entry = self._stack.get(self.cursor) if self.cursor is not None else None
        if entry is not None:
            index = min(max(0, self._stack.index(entry) + by), len(entries) - 1)
        else:
            top = self.scroll_offset.y
            line = top if by > 0 else min(top + self.page, self._stack.heights.total) - 1
            index, _ = self._stack.heights.at(line)
        self.select_block(entries[index].block.key)

    def select_block(self, key: str | None) -> None:
        """Puts the block cursor on a block and brings it into view."""
        entry = self._stack.get(key) if key is not None else None
        self.cursor = entry.block.key if entry else None
        if entry is not None:
            self._reveal(entry)

    def selected_block(self) -> Block | None:
        """The block at the cursor."""
        return self.block(self.cursor) if self.cursor is not None else None

    def toggle(self, key: str, expanded: bool | None = None) -> None:
        """Expands or folds a block; its first row stays where it is on the screen."""
        entry = self._stack.get(key)
        if entry is None or not entry.block.folds or entry.expanded == expanded:
            return
        stack = self._stack
        row_before = stack.heights.top(stack.index(entry)) + entry.gap - self.scroll_offset.y
        entry.toggle()
        self.unfolded(entry.block, entry.expanded)
        self._draw(stack.index(entry))
        stack.estimate(stack.index(entry))
        first = stack.heights.top(stack.index(entry)) + entry.gap
        grows = entry.block.heavy(entry.expanded)
        if self._policy.on and (grows or first < stack.heights.total - self.page):
            # Following would push the beginning of what was expanded out of sight.
            self._policy = self._policy.released()
        if not self._policy.on and 0 <= row_before < self.page:
            self._anchor = self._entry_at(max(0, first - row_before))
        self._settle()
        self.post_message(self.Toggled(self, entry.block, entry.expanded))

    def copy_text(self, key: str) -> str:
        """The plain text of a block; nothing for one that is not there."""
        block = self.block(key)
        return block.plain_text() if block else ""

    # --- events ---

    def _ask(self) -> None:
        self._waiting = False
        super()._ask()

    def settled(self) -> None:
        self._pacing.drew(self._clock())
        policy = self._policy
        if (self.following, self.new_lines) == (policy.on, policy.new_lines):
            return
        self.following, self.new_lines = policy.on, policy.new_lines
        self.post_message(self.FollowChanged(self, policy.on, policy.new_lines, policy.mark))

    def action_scroll_end(self) -> None:
        self.action_follow()

    def watch_cursor(self, _old: str | None, _new: str | None) -> None:
        self.post_message(self.CursorMoved(self, self.selected_block()))
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click puts the block cursor there; on a line that folds something it expands or folds it. The
        second click selects the word, the third the line.
        """
        if event.chain > 1:
            # Textual would select all of the transcript.
            event.prevent_default()
            self._select_at(event)
            return
        place = event.get_content_offset(self)
        if place is None or self.text_selection is not None:
            return
        found = self._stack.row(self.scroll_offset.y + place.y)
        if found is None or found[1] < 0:
            return
        entry, number, row = found
        self.cursor = entry.block.key
        glyphs = self._styled().glyphs
        text = "".join(segment.text for segment in row or []).lstrip(f"{glyphs.bar}{glyphs.cursor} ")
        if (number == 0 and entry.block.compact(False)) or text.startswith((glyphs.folded, glyphs.unfolded)):
            self.toggle(entry.block.key)

    def _select_at(self, event: events.Click) -> None:
        widget, offset = self.screen.get_widget_and_offset_at(event.screen_x, event.screen_y)
        if widget is not self or offset is None:
            return

        def row_at(number: int) -> Row | None:
            found = self._stack.row(number + self._shift)
            return found[2] if found else None

        if event.chain == 2:
            chosen = word_at(row_at, offset.y, offset.x, self._styled())
        else:
            chosen = whole_line(row_at, offset.y)
        if chosen is not None:
            (first, start), (last, end) = chosen
            self.screen.selections = {self: Selection(Offset(start, first), Offset(end, last))}
