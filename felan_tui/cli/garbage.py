"""The garbage collector, kept from stopping the screen: off until the first paint, rare after that.

A full collection looks at every object there is: with a host, Textual and a long transcript in one process
that took 0.15 s at a time, in the middle of what streams. What the program itself consists of never becomes
garbage, so it is set aside once, and full collections are made rarer.
"""

import gc
from typing import Final

THRESHOLDS: Final = (3_000, 10, 100)
"""Allocations before a young collection; young ones before a middle one; middle ones before a full one."""


def pause() -> None:
    """Until ``set_aside``: what is loaded for the first paint stays, and no collection may hold it up."""
    gc.disable()


def resume() -> None:
    """End a ``pause``. Where there is none, nothing happens."""
    if not gc.isenabled():
        set_aside()


def set_aside() -> None:
    """Call when something is loaded that the program consists of. Collections are on from then on."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
