"""Draws blocks for the tests: a look with colours that are easy to tell, and rows as text."""

from felan_tui.transcript.blocks import Block
from felan_tui.transcript.look import Look, look_from_theme
from felan_tui.transcript.rows import Row, row_cells, row_text

COLOURS = {
    "background": "#101010",
    "foreground": "#e0e0e0",
    "surface": "#202020",
    "text-accent": "#ffc473",
    "text-primary": "#57a5e2",
    "text-success": "#8ad4a1",
    "text-warning": "#ffd000",
    "text-error": "#d17e92",
}
LOOK: Look = look_from_theme(COLOURS)


def draw(block: Block, width: int, *, expanded: bool = False, look: Look = LOOK) -> list[Row]:
    return block.rows(width, look, expanded=expanded)


def text_of(rows: list[Row]) -> list[str]:
    return [row_text(row).rstrip() for row in rows]


def shown(block: Block, width: int, *, expanded: bool = False) -> str:
    rows = draw(block, width, expanded=expanded)
    assert all(row_cells(row) <= width for row in rows), "a row is wider than the screen"
    return "\n".join(text_of(rows))
