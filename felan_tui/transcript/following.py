"""Whether the transcript follows its end: a pure policy.

While it follows, what comes is shown as it comes. Any movement up by the reader stops that; moving down to
the very end, or End, starts it again. While it does not follow, the lines that came are counted, so that a
mark can say how many are below; those that the reader scrolled past no longer count.

Not here: where the view stands when the text above it changes (`view.py`), and how often it is drawn
(`pacing.py`).
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Following:
    """The policy's state; each event returns the next."""

    on: bool = True
    new_lines: int = 0

    def scrolled(self, before: int, after: int, end: int) -> "Following":
        """The reader moved the first visible line from `before` to `after`; at `end` the last line is
        visible.
        """
        if after >= end and after >= before:
            return Following()
        if after < before:
            return replace(self, on=False)
        return self

    def released(self) -> "Following":
        """The reader went to something above the end without scrolling to it (a block, a search hit)."""
        return replace(self, on=False)

    def to_end(self) -> "Following":
        """The reader asked for the end."""
        return Following()

    def grew(self, lines: int) -> "Following":
        """So many lines came at the end, or less than none when a block there became shorter."""
        return self if self.on else replace(self, new_lines=max(0, self.new_lines + lines))

    def below(self, lines: int) -> "Following":
        """So many lines are below what is visible: of what came, no more can be unseen."""
        return self if self.new_lines <= lines else replace(self, new_lines=max(0, lines))

    @property
    def mark(self) -> str:
        """`↓ 12 new`, or nothing."""
        return f"↓ {self.new_lines} new" if self.new_lines and not self.on else ""
