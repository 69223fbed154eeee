"""What stands in the composer: a text, and the large pastes that its markers stand for. Pure."""

import re
from dataclasses import dataclass, field

from felan_tui.composer.pastes import clean_paste, is_large

_MARKER = re.compile(r"\[pasted [0-9]+ (?:lines?|KB) #([0-9]+)\]")


@dataclass(frozen=True)
class Draft:
    """`text` as it is shown; `pastes` by their markers in it."""

    text: str = ""
    pastes: dict[str, str] = field(default_factory=dict[str, str])

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def expanded(self) -> str:
        """The text with every paste in the place of its marker: what is sent."""
        return _MARKER.sub(lambda found: self.pastes.get(found[0], found[0]), self.text)


class Folds:
    """The folded pastes of the composer. A marker that was deleted is kept until the draft is taken: undo."""

    def __init__(self) -> None:
        self._contents: dict[str, str] = {}
        self._next = 1

    def fold(self, text: str) -> str:
        """A new marker that stands for the text."""
        lines = text.rstrip("\n").count("\n") + 1
        size = f"{lines} lines" if lines > 1 else f"{max(1, len(text) // 1024)} KB"
        marker = f"[pasted {size} #{self._next}]"
        self._next += 1
        self._contents[marker] = text
        return marker

    def draft(self, text: str) -> Draft:
        """The draft with this text, and those pastes whose markers are whole in it."""
        used = {
            found[0]: self._contents[found[0]]
            for found in _MARKER.finditer(text)
            if found[0] in self._contents
        }
        return Draft(text, used)

    def adopt(self, draft: Draft) -> str:
        """Take in a draft; returns its text, safe and with markers that are nobody else's."""
        names: dict[str, str] = {}
        for marker, content in draft.pastes.items():
            if self._contents.get(marker) != content:
                names[marker] = self.fold(clean_paste(content))
        text = _MARKER.sub(lambda found: names.get(found[0], found[0]), draft.text)
        text = clean_paste(text)
        return self.fold(text) if is_large(text) else text

    def clear(self) -> None:
        """Forget all; markers count from 1 again."""
        self._contents.clear()
        self._next = 1

    def marker_at(self, line: str, column: int, *, before: bool) -> tuple[int, int] | None:
        """Where the marker stands that ends (`before`) or begins at this column of the line."""
        for found in _MARKER.finditer(line):
            if found[0] in self._contents and column == (found.end() if before else found.start()):
                return found.span()
        return None
