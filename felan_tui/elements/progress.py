"""Shows a progress element as one line: bar, amounts, rate and time left."""

import time
from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from felan_core.protocol.base import or_default
from felan_core.protocol.elements import ProgressElement
from felan_tui.elements.bar import bar_text, is_indeterminate
from felan_tui.elements.pace import Pace

PULSE_SECONDS = 0.25
"""Between two steps of an indeterminate bar: 4 a second at most, none while it is hidden."""

FIGURES_SECONDS = 1.0


class ProgressLine(Widget):
    """One line. Its height never changes, so that a step never lays anything out again."""

    DEFAULT_CSS = """
    ProgressLine { height: 1; width: 1fr; padding: 0 1; }
    """

    def __init__(
        self,
        element: ProgressElement,
        *,
        clock: Callable[[], float] = time.monotonic,
        still: bool = False,
        id: str | None = None,
    ) -> None:
        """`still` stops the pulse, for a low-bandwidth screen."""
        super().__init__(id=id)
        self.element = element
        self._still = still
        self._clock = clock
        self._pace = Pace(clock)
        self._beat = 0
        self._timer: Timer | None = None
        self._sample()

    def _sample(self) -> None:
        value = or_default(self.element.value, None)
        if value is not None:
            self._pace.sample(value)

    def show(self, element: ProgressElement) -> None:
        """The element as it is now."""
        if element.id != self.element.id:
            self._pace = Pace(self._clock)
        self.element = element
        self._sample()
        self._set_timer()
        self.refresh()

    @property
    def moving(self) -> bool:
        """Whether a timer redraws it: only a running progress that is on the screen."""
        return self._timer is not None

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self.element.state != "running" or not self.is_on_screen:
            return
        if not is_indeterminate(self.element):
            self._timer = self.set_interval(FIGURES_SECONDS, self.refresh)
        elif not self._still:
            self._timer = self.set_interval(PULSE_SECONDS, self._pulse)

    def _pulse(self) -> None:
        self._beat += 1
        self.refresh()

    def on_show(self) -> None:
        self._set_timer()

    def on_hide(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def render(self) -> Content:
        element = self.element
        total = or_default(element.total, 0)
        shown = bar_text(
            element,
            self.content_size.width,
            rate=self._pace.rate,
            left=self._pace.left(total) if total else None,
            beat=self._beat,
        )
        tone = f"${shown.tone}"
        parts: list[str | tuple[str, str]] = [(f"{shown.glyph} ", f"bold {tone}"), shown.label]
        if shown.before or shown.filled or shown.rest:
            parts += [
                "  ",
                (shown.before, "$text-muted"),
                (shown.filled, f"bold {tone}"),
                (shown.rest, "$text-muted"),
            ]
        if shown.figures:
            parts.append((f"  {shown.figures}", "$text-muted"))
        return Content.assemble(*(part for part in parts if not isinstance(part, tuple) or part[0]))
