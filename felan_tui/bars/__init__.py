"""The lines around the transcript: header, queue, hint rule and task pointer. The screen calls each."""

from felan_tui.bars.header import HeaderLine
from felan_tui.bars.hint_rule import HintRule
from felan_tui.bars.pointer_bar import PointerBar
from felan_tui.bars.queue import QueueLines

__all__ = ["HeaderLine", "HintRule", "PointerBar", "QueueLines"]
