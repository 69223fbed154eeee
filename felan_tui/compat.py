"""The private names of Textual 8.2.8 and rich that Felan uses: each piece is here, with a test of each.

``tests/tui/test_compat.py`` fails when another version of Textual does these things in another way.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from rich.style import Style
from textual import constants, events
from textual._compositor import Compositor, ReflowResult
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

Result = TypeVar("Result")

BURST: Final = 4
"""Repaints that may follow each other at once: a key, the echo of its message, and what they lay out anew."""


class Allowance:
    """How many repaints may happen at once: at most ``BURST``, and ``MAX_FPS`` a second in the long run.

    ``clock``: seconds of one monotonic clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = float(BURST)
        self._at = clock()

    def take(self) -> bool:
        """Use one, if there is one."""
        self._refill()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def spend(self) -> None:
        """Count a repaint that happened anyway."""
        self._refill()
        self._left = max(0.0, self._left) - 1

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * constants.MAX_FPS)
        self._at = now


class RowsCompositor(Compositor):
    """Renders the rows alone that an update changes.

    Textual renders every row of every visible widget for each update, also for one row that changes once a
    second (8.2.8). And it forgets to show a widget whose place was asked for before its layout.
    """

    def __init__(self) -> None:
        super().__init__()
        self._placed: set[Widget] = set()

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        result = super().reflow(parent, size)
        # Textual compares with a map that may have been made anew by a look at it since the last layout.
        known, self._placed = self._placed, set(self.widgets)
        return result._replace(shown=result.shown | (self._placed - known))

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if crop is None:
            yield from super()._get_renders(crop)
            return
        rows = Region(0, crop.y, self.size.width, crop.height)
        for widget, (region, clip) in self.visible_widgets.items():
            shown = clip.intersection(rows)
            part = region.intersection(shown)
            if part.area and crop.overlaps(part):
                yield region, shown, widget.render_lines(part.translate(-region.offset))


class PromptScreen(Screen[Result]):
    """A screen that repaints as soon as it has nothing else to do, and no more than what has changed.

    Textual waits for the next tick of a timer, which takes up to 1/60 s off the echo of every key. A stream
    uses the allowance up, and is then painted at the ticks as before.
    """

    def __init__(self) -> None:
        super().__init__()
        self._compositor = RowsCompositor()
        self._allowance = Allowance()

    async def _on_idle(self, event: events.Idle) -> None:
        # Textual calls the base class's handler next: it finds nothing to repaint, or starts its timer.
        if self._needs_repaint() and self._allowance.take():
            super()._on_timer_update()

    def _needs_repaint(self) -> bool:
        needed = self._layout_required or self._scroll_required or self._repaint_required
        return bool(needed or self._dirty_widgets) and self.is_current and not self.app._batch_count  # pyright: ignore[reportUnknownMemberType, reportPrivateUsage] untyped in Textual

    def _on_timer_update(self) -> None:
        self._allowance.spend()
        super()._on_timer_update()


class KeepingStylesheet(Stylesheet):
    """Parses each source once for one set of variables.

    Textual reads all of them again into a new stylesheet when a source is added. ``parse`` keeps the rules of
    each source until ``set_variables`` drops them.
    """

    def reparse(self) -> None:
        """Read the sources again, those alone that were not read with these variables."""
        self.parse()


def forwarded_key(event: events.Key) -> events.Key:
    """The key again, for another widget: the app has handled it as input already."""
    key = events.Key(event.key, event.character)
    key._set_forwarded()  # pyright: ignore[reportPrivateUsage]
    return key


def has_meta(style: Style) -> bool:
    """Whether a style carries meta data; rich's ``meta`` unpickles it at each call."""
    return bool(style._meta)  # pyright: ignore[reportPrivateUsage]


def cell_widths() -> Sequence[tuple[int, int, int]]:
    """Ranges of characters with their width in cells: (first, last, width)."""
    from rich._unicode_data import load  # pyright: ignore[reportPrivateImportUsage]

    return load("auto").widths


def keep_rules(app: App[Any]) -> None:
    """Give the app a stylesheet that parses each source once. Call it before the app runs."""
    app.stylesheet = KeepingStylesheet(variables=app.theme_variables)
