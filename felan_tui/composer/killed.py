"""Killed text: the words and lines that Ctrl+W, Ctrl+U and Ctrl+K cut, for Ctrl+Y to put back. Pure."""

from typing import Literal

Side = Literal["left", "right"]


class Killed:
    """Kills in a row add up, as in readline: text cut to the left comes first, to the right last."""

    def __init__(self) -> None:
        self.text = ""
        self._in_a_row = False

    def cut(self, text: str, side: Side) -> None:
        """``text`` was cut on this side of the cursor."""
        if text:
            kept = self.text if self._in_a_row else ""
            self.text = text + kept if side == "left" else kept + text
            self._in_a_row = True

    def end(self) -> None:
        """Another key: the next kill begins anew."""
        self._in_a_row = False
