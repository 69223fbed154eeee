"""The process panel: the list of a session's processes and the live output of one of them.

`ProcessPanel` is what a screen holds; it reads output through an `OutputSource`.
"""

from felan_tui.panel.panel import ProcessPanel
from felan_tui.panel.source import OutputSource, Piece

__all__ = ["OutputSource", "Piece", "ProcessPanel"]
