"""Lists to choose from: their rows are untrusted text, shown as it is."""

from collections.abc import Iterable

from textual.widgets import OptionList
from textual.widgets.option_list import Option

from felan_tui.text.widgets import Piece, line_content

__all__ = ["SafeOptionList", "option"]


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
