"""How fast a progress element gets on and how long it will still take: pure, the clock (seconds) passed in.

Values come in steps and may be coalesced, so that the rate is that of a sliding window of the last samples
and not of the last step. Nothing is estimated before there is enough to go by: no time is better than a wrong
one.
"""

from collections import deque
from collections.abc import Callable

WINDOW = 30.0
"""Seconds of samples in the rate."""

ENOUGH = 1.0
"""Seconds that the samples must span before a rate is named."""

STALE = 10.0
"""Seconds without a step after which the time left is no longer named."""

SAMPLES = 120


class Pace:
    """The samples of one progress element."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def sample(self, value: float) -> None:
        """The element has `value` now. A smaller value starts a new count."""
        now = self._clock()
        if self._samples and value < self._samples[-1][1]:
            self._samples.clear()
        if not self._samples or value != self._samples[-1][1]:
            self._samples.append((now, value))
        while len(self._samples) > 2 and now - self._samples[0][0] > WINDOW:
            self._samples.popleft()

    @property
    def rate(self) -> float | None:
        """Units a second, or None while there is too little to say."""
        if len(self._samples) < 2:
            return None
        (start, first), (_, last) = self._samples[0], self._samples[-1]
        elapsed = self._clock() - start
        if elapsed < ENOUGH or last <= first:
            return None
        return (last - first) / elapsed

    def left(self, total: float) -> float | None:
        """Seconds until `total` at this rate, or None while there is too little to say."""
        rate = self.rate
        if rate is None or not self._samples:
            return None
        at, value = self._samples[-1]
        if self._clock() - at > STALE:
            return None
        return max(0.0, total - value) / rate
