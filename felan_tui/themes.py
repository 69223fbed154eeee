"""Reads themes from TOML files and makes Textual themes of them.

A theme file has `name`, `dark` (true when absent), `ansi` (false when absent), a table `[colors]` with
`primary` and the other colours of Textual's `Theme`, a table `[variables]` for single CSS variables, and a
table `[terminal]` with the sixteen colours of programs (all or none). What is not known is an error that
names the file and the key.
"""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from rich.terminal_theme import TerminalTheme
from textual.color import Color, ColorParseError
from textual.theme import Theme

DEFAULT_DARK = "felan-dark"
DEFAULT_LIGHT = "felan-light"

_COLORS = (
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
    "foreground",
    "background",
    "surface",
    "panel",
    "boost",
)
_ANSI = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_TERMINAL = (*_ANSI, *(f"bright-{name}" for name in _ANSI))
_TOP = ("name", "dark", "ansi", "colors", "variables", "terminal")
_MAX_BYTES = 64 * 1024
_NAME = re.compile("[a-z0-9][a-z0-9-]{0,63}")
# Variables that hold a text style or a keyword and not a colour.
_WORDS = re.compile(
    "(none|auto|initial|transparent|(not )?(bold|b|dim|italic|underline|reverse|strike))( [a-z0-9% ]+)?"
)


class ThemeError(Exception):
    """A theme file that cannot be used: `path`, `key` (None: the whole file) and what is wrong with it."""

    def __init__(self, path: Path, key: str | None, problem: str) -> None:
        super().__init__(f"{path}: {key}: {problem}" if key else f"{path}: {problem}")
        self.path = path
        self.key = key
        self.problem = problem


@dataclass
class FileTheme(Theme):
    """A theme with its sixteen colours of programs; without them those of a shipped theme are used."""

    terminal: TerminalTheme | None = None


@dataclass(frozen=True)
class LoadedThemes:
    """The themes of a folder by name, and one error for each file that is broken."""

    themes: list[FileTheme] = field(default_factory=list[FileTheme])
    errors: list[ThemeError] = field(default_factory=list[ThemeError])


def shipped_folder() -> Path:
    """Where the themes of this installation are: in the wheel beside this module, in the tree at its top."""
    here = Path(__file__).parent
    packed = here / "_themes"
    return packed if packed.is_dir() else here.parent / "themes"


def load_theme(path: Path) -> FileTheme:
    """The theme in one file. Raises `ThemeError`, also when the file cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ThemeError(path, None, error.strerror or str(error)) from error
    if len(data) > _MAX_BYTES:
        raise ThemeError(path, None, f"more than {_MAX_BYTES} bytes")
    try:
        tables = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ThemeError(path, None, f"not TOML: {error}") from error
    return _theme(path, tables)


def load_default() -> Theme | None:
    """The theme that the app starts with; None when its file is broken or gone."""
    try:
        return load_theme(shipped_folder() / f"{DEFAULT_DARK}.toml")
    except ThemeError:
        return None


def load_themes(folder: Path | None = None) -> LoadedThemes:
    """All `*.toml` of a folder, the shipped ones by default; the dark default first, then by name.

    A folder that is not there has no themes. A broken file is in `errors` and stands in nobody's way.
    """
    loaded = LoadedThemes()
    paths = (folder or shipped_folder()).glob("*.toml")
    for path in sorted(paths, key=lambda path: (path.stem != DEFAULT_DARK, path.name)):
        try:
            loaded.themes.append(load_theme(path))
        except ThemeError as error:
            loaded.errors.append(error)
    return loaded


def _theme(path: Path, tables: dict[str, Any]) -> FileTheme:
    for key in tables:
        if key not in _TOP:
            raise ThemeError(path, key, "not a key of a theme")
    name = tables.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ThemeError(path, "name", "small letters, digits and hyphens")
    colors = _strings(path, tables, "colors")
    for key, value in colors.items():
        if key not in _COLORS:
            raise ThemeError(path, f"colors.{key}", f"not one of {', '.join(_COLORS)}")
        _check_color(path, f"colors.{key}", value)
    if "primary" not in colors:
        raise ThemeError(path, "colors.primary", "missing")
    variables = _strings(path, tables, "variables")
    for key, value in variables.items():
        if not _WORDS.fullmatch(value):
            # "ansi_default 50%": a colour and how much of it.
            _check_color(path, f"variables.{key}", re.sub(r" \d{1,3}%$", "", value))
    theme = FileTheme(
        name=name,
        dark=_flag(path, tables, "dark", True),
        ansi=_flag(path, tables, "ansi", False),
        variables=variables,
        primary=colors["primary"],
        secondary=colors.get("secondary"),
        accent=colors.get("accent"),
        success=colors.get("success"),
        warning=colors.get("warning"),
        error=colors.get("error"),
        foreground=colors.get("foreground"),
        background=colors.get("background"),
        surface=colors.get("surface"),
        panel=colors.get("panel"),
        boost=colors.get("boost"),
        terminal=_terminal(path, tables, colors),
    )
    for key in variables:
        if key not in _known_variables():
            raise ThemeError(path, f"variables.{key}", "no variable of that name")
    return theme


def _terminal(path: Path, tables: dict[str, Any], colors: dict[str, str]) -> TerminalTheme | None:
    """The sixteen colours; "the default colour" of a program is the theme's."""
    named = _strings(path, tables, "terminal")
    if not named:
        return None
    for key, value in named.items():
        if key not in _TERMINAL:
            raise ThemeError(path, f"terminal.{key}", f"not one of {', '.join(_TERMINAL)}")
        _check_color(path, f"terminal.{key}", value)
    if missing := [key for key in _TERMINAL if key not in named]:
        raise ThemeError(path, f"terminal.{missing[0]}", "missing")
    sixteen = [Color.parse(named[key]).rgb for key in _TERMINAL]
    back, front = (Color.parse(colors.get(key) or "#000000").rgb for key in ("background", "foreground"))
    return TerminalTheme(back, front, sixteen[:8], sixteen[8:])


@cache
def _known_variables() -> frozenset[str]:
    """What a theme may set: all that Textual makes of a theme that sets nothing."""
    return frozenset(Theme("plain", "#000000").to_color_system().generate())


def _strings(path: Path, tables: dict[str, Any], table: str) -> dict[str, str]:
    found = tables.get(table, {})
    if not isinstance(found, dict):
        raise ThemeError(path, table, "not a table")
    strings: dict[str, str] = {}
    for key, value in found.items():  # pyright: ignore[reportUnknownVariableType]  # TOML of a file
        if not isinstance(value, str):
            raise ThemeError(path, f"{table}.{key}", "not a string")
        strings[str(key)] = value  # pyright: ignore[reportUnknownArgumentType]  # TOML keys are strings
    return strings


def _flag(path: Path, tables: dict[str, Any], key: str, default: bool) -> bool:
    value = tables.get(key, default)
    if not isinstance(value, bool):
        raise ThemeError(path, key, "not true or false")
    return value


def _check_color(path: Path, key: str, value: str) -> None:
    try:
        Color.parse(value)
    except ColorParseError as error:
        raise ThemeError(path, key, f"{value!r} is not a colour") from error


__all__ = [
    "DEFAULT_DARK",
    "DEFAULT_LIGHT",
    "FileTheme",
    "LoadedThemes",
    "ThemeError",
    "load_default",
    "load_theme",
    "load_themes",
    "shipped_folder",
]
