"""Search in the history of a project: which entries contain the typed words, and which is marked. Pure."""

from collections.abc import Sequence

from felan_tui.composer.draft import Draft

MOST = 6
"""Rows that are shown."""


class HistorySearch:
    """Entries that contain every typed word, in any case, newest first."""

    def __init__(self, entries: Sequence[Draft]) -> None:
        self._entries = list(reversed(entries))
        self.query = ""
        self.found = self._entries
        self.marked = 0

    def type(self, text: str) -> None:
        """More of the query."""
        self._search(self.query + text)

    def delete(self) -> None:
        """One character less of the query."""
        self._search(self.query[:-1])

    def move(self, by: int) -> None:
        """Mark an older (1) or a newer (-1) entry."""
        if self.found:
            self.marked = min(max(0, self.marked + by), len(self.found) - 1)

    @property
    def choice(self) -> Draft | None:
        """The marked entry."""
        return self.found[self.marked] if self.found else None

    def window(self) -> range:
        """The entries of ``found`` that have a row."""
        first = max(0, self.marked - MOST + 1)
        return range(first, min(first + MOST, len(self.found)))

    def _search(self, query: str) -> None:
        self.query = query
        words = query.casefold().split()
        self.found = [
            entry for entry in self._entries if all(word in entry.text.casefold() for word in words)
        ]
        self.marked = 0
