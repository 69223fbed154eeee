"""The lines around the transcript: header, queue, run and task pointer. Each is told what to show."""

from felan_tui.bars.header import HeaderLine
from felan_tui.bars.pointer_bar import PointerBar
from felan_tui.bars.queue import QueueLines
from felan_tui.bars.run import RunLine

__all__ = ["HeaderLine", "PointerBar", "QueueLines", "RunLine"]
