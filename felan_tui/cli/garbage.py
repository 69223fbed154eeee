"""The garbage collector, kept from stopping the screen.

A full collection looks at every object there is: with a host, Textual and a long transcript in one process
that took 0.15 s at a time, in the middle of what streams. What the program itself consists of never becomes
garbage, so it is set aside once, and full collections are made rarer.
"""

import gc
from typing import Final

THRESHOLDS: Final = (3_000, 10, 100)
"""Allocations before a young collection; young ones before a middle one; middle ones before a full one."""


def set_aside() -> None:
    """Call once, when all is loaded that the program consists of."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
