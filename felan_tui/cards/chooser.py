"""What a list of choices does, without a widget: filter, cursor, marks and digits.

No choice has the cursor at first (`cursor` is None), so that Enter chooses nothing until one moved there.
With more than `DIGITS` choices the list filters as one types, and digits are typed like letters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DIGITS = 9
"""Choices that a digit can choose; a longer list is filtered instead."""


@dataclass(frozen=True)
class Choice:
    """One choice: its protocol id, and its label and detail as untrusted text."""

    id: str
    label: str
    detail: str = ""
    tone: str = ""
    """The kind of the choice for the one who draws it, such as an approval's effect; empty for none."""


class Chooser:
    """The state of one list of choices. `several` makes it a list of marks that is submitted as a whole."""

    def __init__(
        self, choices: Iterable[Choice], *, several: bool = False, marked: Sequence[str] = ()
    ) -> None:
        self.choices: tuple[Choice, ...] = tuple(choices)
        self.several = several
        self.filters = len(self.choices) > DIGITS
        self.query = ""
        self.cursor: int | None = None
        """Index into `shown`, not into `choices`."""
        known = {choice.id for choice in self.choices}
        self._marked = [one for one in marked if one in known]
        self._shown = self.choices

    @property
    def shown(self) -> tuple[Choice, ...]:
        """The choices that pass the filter, in the order given."""
        return self._shown

    @property
    def marked(self) -> list[str]:
        """The ids that are marked, in the order given."""
        return [choice.id for choice in self.choices if choice.id in self._marked]

    @property
    def current(self) -> Choice | None:
        """The choice under the cursor, if somebody moved there."""
        return None if self.cursor is None else self._shown[self.cursor]

    def move(self, step: int) -> None:
        """Move the cursor by `step`, stopping at the ends; the first move goes to an end."""
        if not self._shown:
            return
        last = len(self._shown) - 1
        if self.cursor is None:
            self.cursor = 0 if step > 0 else last
        else:
            self.cursor = min(last, max(0, self.cursor + step))

    def move_to(self, index: int) -> None:
        """Put the cursor on the shown choice `index`; a negative one counts from the end."""
        if self._shown:
            self.cursor = min(len(self._shown) - 1, index) if index >= 0 else len(self._shown) + index

    def digit(self, digit: int) -> Choice | None:
        """The choice that the digit 1 to 9 names in the order shown; none in a list that filters."""
        if self.filters or not 1 <= digit <= min(DIGITS, len(self._shown)):
            return None
        return self._shown[digit - 1]

    def mark(self, choice: Choice) -> None:
        """Mark the choice, or take its mark away; with one choice only, the mark moves."""
        if not self.several:
            self._marked = [choice.id]
        elif choice.id in self._marked:
            self._marked.remove(choice.id)
        else:
            self._marked.append(choice.id)

    def clear(self) -> None:
        """Take all marks away."""
        self._marked = []

    def is_marked(self, choice: Choice) -> bool:
        return choice.id in self._marked

    def type(self, text: str) -> bool:
        """Add to the filter. False, and nothing happens, in a list that does not filter."""
        if not self.filters:
            return False
        self._filter(self.query + text)
        return True

    def erase(self) -> bool:
        """Take the last character of the filter away. False when there is none."""
        if not self.query:
            return False
        self._filter(self.query[:-1])
        return True

    def _filter(self, query: str) -> None:
        self.query = query
        self.cursor = None
        words = query.casefold().split()
        self._shown = tuple(
            choice
            for choice in self.choices
            if all(word in f"{choice.label} {choice.id} {choice.detail}".casefold() for word in words)
        )

    def window(self, rows: int) -> range:
        """The indexes of `shown` that fit into `rows` rows, with the cursor among them."""
        total = len(self._shown)
        if total <= rows:
            return range(total)
        start = min(max(0, (self.cursor or 0) - rows // 2), total - rows)
        return range(start, start + rows)
