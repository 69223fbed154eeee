"""Documents of the side pane, drawn as the transcript draws its Markdown."""

from collections.abc import Callable

from textual.strip import Strip

from felan_tui.session.app_screen import AppScreen
from felan_tui.transcript.look import look_from_theme
from felan_tui.transcript.markdown import markdown_rows
from felan_tui.transcript.rows import strip_of

LARGEST = 200_000
"""Characters of a document that are drawn; the end of a longer one is left out, and that is said."""


def drawn_document(screen: AppScreen) -> Callable[[str, int], list[Strip]]:
    """A renderer for ``ElementArea``: Markdown and a width in cells to strips, in the theme of now."""

    def draw(text: str, width: int) -> list[Strip]:
        look = look_from_theme(screen.home.theme_variables)
        if len(text) > LARGEST:
            text = f"{text[:LARGEST]}\n\n… {len(text) - LARGEST} more characters are not shown."
        return [strip_of(row) for row in markdown_rows(text, width, look)]

    return draw
