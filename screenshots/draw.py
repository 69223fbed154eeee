"""A terminal's screen as a PNG: the cells that pyte read, drawn with a monospace font.

The font is DejaVu Sans Mono (Debian's package fonts-dejavu-core), with DejaVu Sans for the signs that it
lacks.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont

FOLDERS: Final = (
    Path("/usr/share/fonts/truetype/dejavu"),
    Path("/usr/share/fonts/TTF"),
    Path("/usr/share/fonts/dejavu"),
    Path("/Library/Fonts"),
)
SIZE: Final = 15
CELL: Final = (9, 19)
MARGIN: Final = 10
BACKGROUND: Final = "121212"
FOREGROUND: Final = "e0e0e0"
_NAMED: Final = {
    "black": "000000",
    "red": "cd3131",
    "green": "0dbc79",
    "brown": "e5e510",
    "blue": "2472c8",
    "magenta": "bc3fbc",
    "cyan": "11a8cd",
    "white": "e5e5e5",
}


class FontMissing(Exception):
    """DejaVu is not on this machine."""


@cache
def font(bold: bool, fallback: bool = False) -> ImageFont.FreeTypeFont:
    """The font's file at our size. Raises ``FontMissing``."""
    name = f"DejaVuSans{'' if fallback else 'Mono'}{'-Bold' if bold else ''}.ttf"
    for folder in FOLDERS:
        if (folder / name).is_file():
            return ImageFont.truetype(str(folder / name), SIZE)
    raise FontMissing(f"{name} is not here; on Debian: apt-get install fonts-dejavu-core")


@cache
def _has(char: str, bold: bool) -> bool:
    """Whether the monospace font has the sign: a missing one looks like every other missing one."""
    return _ink(char, bold) != _ink("\U0010fffd", bold) or char == " "


def _ink(char: str, bold: bool) -> bytes:
    image = Image.new("L", (2 * SIZE, 2 * SIZE))
    ImageDraw.Draw(image).text((0, 0), char, fill=255, font=font(bold))
    return image.tobytes()


def _colour(name: str, default: str) -> str:
    colour = default if name == "default" else _NAMED.get(name.removeprefix("bright"), name)
    return f"#{colour}"


def draw(screen: Any, path: Path) -> None:
    """Write the screen of a ``pyte.Screen`` to ``path``."""
    width, height = CELL[0] * screen.columns + 2 * MARGIN, CELL[1] * screen.lines + 2 * MARGIN
    image = Image.new("RGB", (width, height), f"#{BACKGROUND}")
    pen = ImageDraw.Draw(image)
    for row in range(screen.lines):
        for column in range(screen.columns):
            cell = screen.buffer[row][column]
            ink, paper = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
            if cell.reverse:
                ink, paper = paper, ink
            x, y = MARGIN + column * CELL[0], MARGIN + row * CELL[1]
            wide = 2 if column + 1 < screen.columns and screen.buffer[row][column + 1].data == "" else 1
            if cell.data == "":
                continue
            pen.rectangle((x, y, x + CELL[0] * wide - 1, y + CELL[1] - 1), fill=paper)
            if cell.data != " ":
                face = font(cell.bold, fallback=not _has(cell.data[0], cell.bold))
                pen.text((x, y + 1), cell.data, fill=ink, font=face)
            if cell.underscore:
                pen.line((x, y + CELL[1] - 2, x + CELL[0] * wide - 1, y + CELL[1] - 2), fill=ink)
    image.save(path)
