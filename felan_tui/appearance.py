"""The theme of the screen: what a person chose, or what fits the terminal's background.

The theme `system` is the light or the dark default, after the background that the terminal reports. Until it
does, the background of the last time is assumed, else what `COLORFGBG` says, else a dark one.
"""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.color import ColorSystem
from rich.terminal_theme import TerminalTheme
from textual.color import Color, ColorParseError
from textual.theme import Theme

from felan_tui.preferences import PreferencesError, read_theme, write_theme
from felan_tui.terminal import first_frame
from felan_tui.terminal.background import guess_dark
from felan_tui.terminal.first_frame import kind_of_terminal
from felan_tui.themes import DEFAULT_DARK, DEFAULT_LIGHT, FileTheme, load_themes

SYSTEM: Final = "system"
BACKGROUND_FILE: Final = "background"
"""In the data folder, 0600: `dark` or `light`, the background that the terminal reported last."""

FRAME_COLORS: Final = {
    "ground": ("background", "", True),
    "text": ("text", "foreground", False),
    "muted": ("text-muted", "foreground", False),
    "accent": ("text-accent", "accent", False),
    "rule": ("accent", "", False),
    "surface": ("surface", "", True),
}
"""The colours of the first frame: a variable of the theme, another for one that holds no plain colour, and
whether it is a background.
"""


class Appearance:
    """The themes, which of them is chosen, and whether the terminal is dark.

    ``config``: the folder of `felan.toml`. ``data``: where the last background is kept. Files are read once,
    when it is made; what is wrong with them is in ``problems``.
    """

    def __init__(self, config: Path, data: Path, environ: Mapping[str, str]) -> None:
        self._config = config
        self._data = data
        loaded = load_themes()
        self._shipped = {theme.name: theme for theme in loaded.themes}
        self.problems = [str(error) for error in loaded.errors]
        self._reported = self._last()
        guess = self._reported if self._reported is not None else guess_dark(environ.get("COLORFGBG"))
        self.dark = guess is not False
        self.chosen = SYSTEM
        try:
            self.chosen = read_theme(config) or SYSTEM
        except PreferencesError as error:
            self.problems.append(str(error))

    @property
    def themes(self) -> list[FileTheme]:
        """The themes of the files, and `system` as it is for the background of now."""
        default = self._default()
        return [*self._shipped.values(), *([replace(default, name=SYSTEM)] if default else [])]

    def _default(self) -> FileTheme | None:
        return self._shipped.get(DEFAULT_DARK if self.dark else DEFAULT_LIGHT)

    def start(self, available: Mapping[str, Theme]) -> str | None:
        """The theme to start with, of those that there are; None where nothing fits, with a problem named."""
        if self.chosen not in available and self.chosen != SYSTEM:
            self.problems.append(f"There is no theme {self.chosen!r}. Felan follows the terminal.")
            self.chosen = SYSTEM
        return self.chosen if self.chosen in available else None

    def terminal(self, theme: Theme) -> TerminalTheme | None:
        """The sixteen colours of programs under a theme: its own, or those of the default like it."""
        own = theme.terminal if isinstance(theme, FileTheme) else None
        default = self._shipped.get(DEFAULT_DARK if theme.dark else DEFAULT_LIGHT)
        return own or (default.terminal if default else None)

    def choose(self, name: str) -> None:
        """Remember the theme. Raises `PreferencesError` where it cannot be stored; it is chosen anyway."""
        if name != self.chosen:
            self.chosen = name
            write_theme(self._config, name)

    def reported(self, dark: bool) -> bool:
        """The terminal reported its background: whether `system` looks different now."""
        if dark != self._reported:
            self._reported = dark
            self._keep("dark" if dark else "light")
        changed = dark != self.dark
        self.dark = dark
        return changed

    def keep_colors(self, variables: Mapping[str, str], color_system: str | None) -> None:
        """Keep the colours of the next start's first frame, as this terminal has them; none where the
        screen is without colours.
        """
        lines = [kind_of_terminal()]
        system = {"truecolor": ColorSystem.TRUECOLOR, "256": ColorSystem.EIGHT_BIT}.get(color_system or "")
        for name, (variable, otherwise, is_ground) in FRAME_COLORS.items():
            color = _parsed(variables.get(variable, "")) or _parsed(variables.get(otherwise, ""))
            if system is None or color is None or "NO_COLOR" in os.environ:
                return self._write(first_frame.FILE, "")
            codes = color.rich_color.downgrade(system).get_ansi_codes(foreground=not is_ground)
            lines.append(f"{name}={';'.join(codes)}")
        self._write(first_frame.FILE, "\n".join(lines))

    def _last(self) -> bool | None:
        try:
            with (self._data / BACKGROUND_FILE).open(encoding="ascii") as file:
                return {"dark": True, "light": False}.get(file.read(8).strip())
        except (OSError, UnicodeDecodeError):
            return None

    def _keep(self, background: str) -> None:
        self._write(BACKGROUND_FILE, background + "\n")

    def _write(self, name: str, text: str) -> None:
        # A guess for the next start: where it cannot be kept, nothing is lost.
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self._data / name, flags, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)


def _parsed(color: str) -> Color | None:
    try:
        return Color.parse(color)
    except ColorParseError:
        return None
