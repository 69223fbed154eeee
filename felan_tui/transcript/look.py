"""How a transcript looks: the theme's colours as rich styles, and the glyphs, as one frozen value.

Colour means state and never alone: each state has a glyph too. `look_from_theme` makes a `Look` from
`App.theme_variables`; a block rendered with one look is drawn anew when the look changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rich.style import Style
from textual.color import Color, ColorParseError

State = Literal["running", "completed", "failed", "interrupted", "waiting", "cancelled", "info"]


@dataclass(frozen=True, eq=False, repr=False)
class Glyphs:
    """The signs of the transcript; each is one cell wide on every terminal."""

    running: str = "●"
    completed: str = "✓"
    failed: str = "✗"
    interrupted: str = "⊘"
    waiting: str = "◷"
    cancelled: str = "⊘"
    info: str = "•"
    folded: str = "▸"
    unfolded: str = "▾"
    bullets: tuple[str, ...] = ("•", "◦", "▪")
    bar: str = "│"
    cursor: str = "▌"
    rule: str = "─"
    cross: str = "┼"
    ellipsis: str = "…"
    minus: str = "−"
    dash: str = "—"
    ticked: str = "☑"
    unticked: str = "☐"


UNICODE = Glyphs()
ASCII = Glyphs(
    running="*",
    completed="+",
    failed="x",
    interrupted="!",
    waiting="?",
    cancelled="!",
    info="-",
    folded=">",
    unfolded="v",
    bullets=("*", "-", "+"),
    bar="|",
    cursor="|",
    rule="-",
    cross="+",
    ellipsis="~",
    minus="-",
    dash="-",
    ticked="[x]",
    unticked="[ ]",
)


@dataclass(frozen=True, eq=False, repr=False)
class Look:
    """Styles by meaning. A decoration (`bar`, `pad`, `label`, `user`) is known by its identity, so that a
    copy leaves it out.
    """

    text: Style
    muted: Style
    accent: Style
    user: Style
    heading: Style
    code: Style
    block: Style
    link: Style
    info: Style
    ok: Style
    warn: Style
    error: Style
    running: Style
    added: Style
    removed: Style
    bar: Style
    pad: Style
    label: Style
    cursor: Style
    syntax: Mapping[str, Style]
    glyphs: Glyphs

    def of(self, state: State) -> tuple[str, Style]:
        """The glyph and the style of a state."""
        style = {
            "running": self.running,
            "completed": self.ok,
            "failed": self.error,
            "interrupted": self.warn,
            "waiting": self.warn,
            "cancelled": self.warn,
            "info": self.info,
        }[state]
        return getattr(self.glyphs, state), style

    def is_decoration(self, style: Style | None) -> bool:
        """Whether what is drawn in this style is no part of the text."""
        return any(style is one for one in (self.bar, self.pad, self.label, self.user))


def look_from_theme(variables: Mapping[str, str], *, unicode: bool = True) -> Look:
    """The look of a theme, from its variables (`App.theme_variables`); what one lacks falls back to the
    foreground.

    `unicode=False` draws with ASCII alone.
    """

    def color(*names: str) -> Color | None:
        for name in names:
            value = variables.get(name, "")
            if not value or value.startswith("auto") or value in ("initial", "transparent"):
                continue
            try:
                return Color.parse(value)
            except ColorParseError:
                continue
        return None

    background = color("background")
    foreground = color("foreground", "text")

    def ink(
        *names: str,
        on: Color | None = None,
        bold: bool | None = None,
        dim: bool | None = None,
        underline: bool | None = None,
    ) -> Style:
        """A style in the first of the named colours that the theme has, mixed with what is behind it."""
        found = color(*names) or foreground
        attributes = Style(bold=bold, dim=dim, underline=underline)
        if found is None:
            return attributes
        behind = on or background
        if found.a < 1 and found.ansi is None and behind is not None and behind.ansi is None:
            found = behind + found
        return Style.from_color(found.rich_color, on.rich_color if on else None) + attributes

    def mixed(name: str, amount: float) -> Style:
        """The foreground moved towards the background; a palette of 16 colours cannot mix and is dimmed."""
        if (
            foreground is None
            or background is None
            or foreground.ansi is not None
            or background.ansi is not None
        ):
            return ink(name, dim=True)
        named = color(name)
        if named is not None:
            return ink(name)
        return Style.from_color(background.blend(foreground, amount, 1).rich_color)

    panel = color("surface-lighten-1", "surface", "panel")
    if panel is not None and panel.ansi is not None:
        panel = None
    muted = mixed("foreground-muted", 0.65)
    block = ink("foreground", on=panel)
    return Look(
        text=ink("foreground"),
        muted=muted,
        accent=ink("text-accent", "accent"),
        user=ink("text-primary", "primary", bold=True),
        heading=ink("text-primary", "primary", bold=True),
        code=ink("text-accent", "accent"),
        block=block,
        link=ink("text-primary", "primary", underline=True),
        info=ink("text-primary", "primary"),
        ok=ink("text-success", "success"),
        warn=ink("text-warning", "warning"),
        error=ink("text-error", "error"),
        running=ink("text-accent", "accent"),
        added=ink("text-success", "success"),
        removed=ink("text-error", "error"),
        bar=mixed("foreground-disabled", 0.4),
        pad=Style.from_color(None, panel.rich_color if panel else None),
        label=muted + Style.from_color(None, panel.rich_color if panel else None) + Style(italic=True),
        cursor=ink("text-accent", "accent", bold=True),
        syntax={
            "keyword": ink("text-primary", "primary", on=panel),
            "string": ink("text-success", "success", on=panel),
            "number": ink("text-warning", "warning", on=panel),
            "comment": mixed("foreground-muted", 0.65)
            + Style.from_color(None, panel.rich_color if panel else None),
            "name": ink("text-accent", "accent", on=panel),
            "added": ink("text-success", "success", on=panel),
            "removed": ink("text-error", "error", on=panel),
        },
        glyphs=UNICODE if unicode else ASCII,
    )
