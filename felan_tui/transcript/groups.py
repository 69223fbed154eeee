"""Groups of tool calls: adjacent calls that ended well fold to one row, `✓ 7 reads · 2 edits   +40 −12`.

What runs, waits, failed, was rejected or ended with an exit code is never in a group, nor is a call that a
person has expanded. Calls fold when what follows them is there: while an agent works its calls are in sight.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from rich.segment import Segment

from felan_tui.transcript.blocks import BaseBlock, Block
from felan_tui.transcript.diff import added_removed
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import CARD, Row, cut_row, row_cells
from felan_tui.transcript.tools import QUICK_DIFF, ToolBlock
from felan_tui.transcript.view import TranscriptView

LEAST: Final = 3
"""Calls that make a group: two are as quiet as they are."""

Place = tuple[int, int]

_NOUNS: Final = {
    "read": ("read", "reads"),
    "edit": ("edit", "edits"),
    "delete": ("deletion", "deletions"),
    "move": ("move", "moves"),
    "search": ("search", "searches"),
    "execute": ("command", "commands"),
    "think": ("thought", "thoughts"),
    "fetch": ("fetch", "fetches"),
}
_OTHER: Final = ("other call", "other calls")


def is_quiet(block: Block) -> bool:
    """Whether a block may be one of a group."""
    return isinstance(block, ToolBlock) and block.state == "completed" and not block.word


def counted(tools: Iterable[ToolBlock]) -> str:
    """`7 reads · 2 edits`, in the order in which the kinds first came."""
    kinds = Counter(one.category if one.category in _NOUNS else "" for one in tools)
    return " · ".join(f"{number} {_NOUNS.get(kind, _OTHER)[number > 1]}" for kind, number in kinds.items())


@dataclass(frozen=True, slots=True)
class GroupBlock(BaseBlock):
    """The row of a group. Expanded, its calls stand below it as blocks of their own."""

    key: str
    tools: tuple[ToolBlock, ...]

    @property
    def folds(self) -> bool:
        return True

    def compact(self, expanded: bool) -> bool:
        return True

    def rows(self, width: int, look: Look, *, expanded: bool) -> list[Row]:
        width = min(width, CARD)
        glyph, style = look.of("completed")
        sign = Segment(f"{look.glyphs.unfolded} ", look.muted) if expanded else Segment(f"{glyph} ", style)
        row: Row = [sign, Segment(counted(self.tools), look.muted if expanded else look.text)]
        if changes := self._changes(look):
            room = max(3, width - row_cells(row) - len(changes))
            row += [Segment(" " * room, look.bar), Segment(changes, look.muted)]
        return [cut_row(row, width, look.glyphs.ellipsis)]

    def _changes(self, look: Look) -> str:
        """`+40 −12` of all calls; nothing where one of them takes long to compare."""
        diffs = [diff for one in self.tools for diff in one.diffs]
        if not diffs or sum(diff.size for diff in diffs) > QUICK_DIFF:
            return ""
        return added_removed(diffs, look)

    def estimate(self, width: int, *, expanded: bool) -> int:
        return 1

    def plain_text(self) -> str:
        return "\n".join(one.plain_text() for one in self.tools)


@dataclass
class _Group:
    key: str
    members: dict[str, tuple[ToolBlock, Place]]
    open: bool = False

    @property
    def block(self) -> GroupBlock:
        return GroupBlock(self.key, tuple(block for block, _ in self.members.values()))

    @property
    def place(self) -> Place:
        """Before its first call."""
        seq, number = next(iter(self.members.values()))[1]
        return seq, number - 1

    @property
    def last(self) -> Place:
        return next(reversed(self.members.values()))[1]

    @property
    def placed(self) -> list[tuple[ToolBlock, Place]]:
        return list(self.members.values())


@dataclass
class ToolGroups:
    """Puts blocks into a view and folds its groups. ``running``: whether a turn runs, whose last calls stay
    in sight.
    """

    view: TranscriptView
    running: Callable[[], bool] = lambda: False
    _groups: dict[str, _Group] = field(default_factory=dict[str, _Group])
    _of: dict[str, _Group] = field(default_factory=dict[str, _Group])

    def __post_init__(self) -> None:
        self.view.unfolded = self._unfolded

    def set(self, placed: Iterable[tuple[Block, Place]]) -> None:
        """All blocks anew."""
        self._groups.clear()
        self._of.clear()
        known = list(placed)
        self.view.set_blocks(known)
        self._fold([block.key for block, _ in known])

    def put(self, placed: Iterable[tuple[Block, Place]]) -> None:
        """Insert or replace these blocks."""
        keys: list[str] = []
        for block, place in placed:
            group = self._of.get(block.key)
            if group is not None and self._replaced(group, block, place):
                continue
            if group is not None:
                self._dissolve(group)
            self.view.put(block, place)
            keys.append(block.key)
        self._fold(keys)

    def remove(self, key: str) -> None:
        """Remove a block; an unknown one is ignored."""
        if (group := self._of.get(key)) is not None:
            self._dissolve(group)
        self.view.remove_block(key)

    def follows(self, key: str) -> None:
        """A live block has come: the calls above it may fold."""
        self._fold([key])

    def finish(self) -> None:
        """The turn is over: its last calls may fold."""
        if (last := self.view.last_key) is not None:
            self._fold([last])

    # --- groups come and go ---

    def _replaced(self, group: _Group, block: Block, place: Place) -> bool:
        """Whether the block stays a member: it is as quiet as before, in the same place."""
        known, was = group.members[block.key]
        if not isinstance(block, ToolBlock) or not is_quiet(block) or place != was:
            return False
        if block != known:
            group.members[block.key] = block, place
            self.view.put(group.block, group.place)
            if group.open:
                self.view.put(block, place)
        return True

    def _fold(self, keys: Iterable[str]) -> None:
        for key in keys:
            if key not in self._of:
                self._fold_at(key)

    def _fold_at(self, key: str) -> None:
        """Make the group that the block is in, or that it closes."""
        around = self.view.stretch(key, self._joins)
        for group in [self._groups[block.key] for block, _ in around.blocks if block.key in self._groups]:
            if group.open:
                return  # a person reads in it
            self._dissolve(group)
            around = self.view.stretch(key, self._joins)
        if len(around.blocks) < LEAST or not self._is_closed(around.below):
            return
        members: dict[str, tuple[ToolBlock, Place]] = {}
        for block, order in around.blocks:
            assert isinstance(block, ToolBlock)
            assert isinstance(order, tuple)
            members[block.key] = block, (order[0], order[1])
        group = _Group(f"group/{next(iter(members))}", members)
        self._groups[group.key] = group
        self._of.update(dict.fromkeys(members, group))
        self.view.fold_into(group.block, group.place, members)

    def _joins(self, block: Block) -> bool:
        return block.key in self._groups or (block.key not in self._of and is_quiet(block))

    def _is_closed(self, below: Block | None) -> bool:
        if below is None:
            return not self.running()
        return not (isinstance(below, ToolBlock) and below.state in ("running", "waiting"))

    def _dissolve(self, group: _Group) -> None:
        if not group.open:
            self.view.unfold(group.placed)
        self.view.remove_block(group.key)
        del self._groups[group.key]
        for key in group.members:
            del self._of[key]

    def _unfolded(self, block: Block, expanded: bool) -> None:
        """A person expanded or folded a block."""
        group = self._groups.get(block.key)
        if group is None or group.open == expanded:
            return
        group.open = expanded
        if expanded:
            self.view.unfold(group.placed)
        else:
            self.view.fold_into(group.block, group.place, group.members)


__all__ = ["LEAST", "GroupBlock", "ToolGroups", "counted", "is_quiet"]
