"""The one place that makes untrusted text safe to show, and the only one that builds Textual's text widgets.

Pure functions are here; the widgets are in `felan_tui.text.widgets` (line, button), `.fields` (input, text
area, checkbox) and `.lists` (option list, table), so that a start pays only for what it shows.
"""

from felan_tui.text.cells import cell_len, cut, fold, pad, wrap
from felan_tui.text.safe import SafeStream, safe, safe_line, visible

__all__ = ["SafeStream", "cell_len", "cut", "fold", "pad", "safe", "safe_line", "visible", "wrap"]
