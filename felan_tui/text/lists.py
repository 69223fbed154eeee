"""Lists to choose from and tables: their rows are untrusted text, shown as it is."""

from collections.abc import Iterable, Sequence

from rich.text import Text
from textual.widgets import DataTable, OptionList
from textual.widgets.option_list import Option

from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Piece, line_content

__all__ = ["SafeOptionList", "SafeTable", "option"]


def option(*pieces: Piece, id: str | None = None, disabled: bool = False) -> Option:
    """A row of a `SafeOptionList`. `id` names it in messages and is never shown."""
    return Option(line_content(*pieces), id=id, disabled=disabled)


class SafeOptionList(OptionList):
    """A list of options, one line each; fill it with `set_rows`."""

    def __init__(
        self,
        *,
        compact: bool = True,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(compact=compact, markup=False, name=name, id=id, classes=classes, disabled=disabled)

    def set_rows(self, rows: Iterable[Option]) -> None:
        """Replaces all rows (made with `option`); the highlight stays on the same id when it is still
        there.
        """
        kept = self.highlighted_option.id if self.highlighted_option else None
        self.set_options(rows)
        if kept is not None:
            for index, row in enumerate(self.options):
                if row.id == kept:
                    self.highlighted = index
                    break


class SafeTable(DataTable[Text]):
    """A table of untrusted cells."""

    def add_text_columns(self, labels: Iterable[str]) -> None:
        """Columns, by their labels; a column's key is its label."""
        for label in labels:
            self.add_column(Text(safe_line(label)), key=label)

    def add_text_row(self, cells: Sequence[str], *, key: str | None = None) -> None:
        """A row at the end."""
        self.add_row(*(Text(safe_line(cell)) for cell in cells), key=key)
