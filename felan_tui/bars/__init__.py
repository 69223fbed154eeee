"""The lines around the session: header, queue, run and the pointer bar with the status at its right."""

from felan_tui.bars.header import HeaderLine
from felan_tui.bars.pointer import PointerBar
from felan_tui.bars.queue import QueueLines
from felan_tui.bars.run import RunLine

__all__ = ["HeaderLine", "PointerBar", "QueueLines", "RunLine"]
