"""A widget that shows a few lines of safe content, and nothing at all when there are none."""

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget


class Lines(Widget):
    """Some lines of `Content`, wrapped at the width. Whoever builds the content makes it safe."""

    DEFAULT_CSS = """
    Lines { height: auto; width: 1fr; }
    Lines.-one-row { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(
        self,
        lines: Iterable[Content] = (),
        *,
        id: str | None = None,
        one_row: bool = False,
        classes: str = "",
    ) -> None:
        super().__init__(id=id, classes=f"{classes} -one-row" if one_row else classes)
        self._content = Content("\n").join(list(lines))
        self.display = bool(self._content.plain)

    @property
    def plain(self) -> str:
        """The text that is shown."""
        return self._content.plain

    def show(self, lines: Iterable[Content], *, layout: bool = True) -> None:
        """Show these lines instead. `layout=False` when the number of rows cannot change."""
        content = Content("\n").join(list(lines))
        if content.plain == self._content.plain and content.spans == self._content.spans:
            return
        self._content = content
        self.display = bool(content.plain)
        self.refresh(layout=layout)

    def show_in(self, lines: Iterable[Content], *, one_row: bool) -> None:
        """Show these lines, cut to one row or wrapped."""
        self.set_class(one_row, "-one-row")
        self.show(lines)

    def render(self) -> Content:
        return self._content
