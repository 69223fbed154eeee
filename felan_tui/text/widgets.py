"""Lines, buttons, titles and notices that show untrusted text as it is: never as markup, never as a sequence.

A piece of text is a string, or a pair of a string and a style of *ours* (`("bash", "bold $text-accent")`).
The string may come from anywhere; the style may not.
"""

from typing import Any, Literal

from textual.app import App
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from felan_tui.text.safe import safe, safe_line

Piece = str | tuple[str, str]
"""Untrusted text, alone or with a trusted Textual style."""


def content(*pieces: Piece) -> Content:
    """The pieces as one text over as many lines as they have."""
    return Content.assemble(
        *(safe(piece) if isinstance(piece, str) else (safe(piece[0]), piece[1]) for piece in pieces)
    )


def line_content(*pieces: Piece) -> Content:
    """The pieces as one line."""
    return Content.assemble(
        *(safe_line(piece) if isinstance(piece, str) else (safe_line(piece[0]), piece[1]) for piece in pieces)
    )


class Line(Static):
    """Text on the screen, of one line or of many; `show` replaces it.

    `one_line` draws line ends as spaces, for rows that must keep their height.
    """

    DEFAULT_CSS = """
    Line { width: auto; height: auto; }
    """

    def __init__(
        self,
        *pieces: Piece,
        one_line: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        self._assemble = line_content if one_line else content
        super().__init__(self._assemble(*pieces), markup=False, name=name, id=id, classes=classes)

    def show(self, *pieces: Piece, layout: bool = False) -> None:
        """Shows other text. Without `layout` the widget keeps its size, which costs a tenth of a new
        layout.
        """
        self.update(self._assemble(*pieces), layout=layout)


class SafeButton(Button):
    """A button with untrusted text as its label; it has no action of its own and posts `Button.Pressed`."""

    def __init__(
        self,
        label: str,
        variant: Literal["default", "primary", "success", "warning", "error"] = "default",
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
        compact: bool = False,
    ) -> None:
        super().__init__(
            line_content(label),
            variant,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
            compact=compact,
        )

    def show(self, label: str) -> None:
        """Another label."""
        self.label = line_content(label)


def set_titles(widget: Widget, title: str | None = None, subtitle: str | None = None) -> None:
    """Writes untrusted text into a widget's border; None leaves it unchanged, `""` clears it."""
    if title is not None:
        widget.border_title = line_content(title) if title else None
    if subtitle is not None:
        widget.border_subtitle = line_content(subtitle) if subtitle else None


def toast(
    app: App[Any],
    text: str,
    severity: Literal["information", "warning", "error"] = "information",
    *,
    title: str = "",
    seconds: float | None = None,
) -> None:
    """A notice that goes away by itself, after `seconds` or the app's default."""
    app.notify(safe(text), title=safe_line(title), severity=severity, timeout=seconds, markup=False)
