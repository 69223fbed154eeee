"""The session's column: the text, the cards right under it, and what follows them.

Free rows go to the card before anything of it is cut. Where text and card do not both fit, the text keeps two
fifths of the rows and scrolls; then the card gives what it can give.
"""

from textual.geometry import Size
from textual.widget import Widget

from felan_tui.cards.squeeze import Squeeze, Wish
from felan_tui.cards.stack import CardStack


class SessionColumn(Squeeze):
    """Lays out the column. The text is what has a fraction as its height: it ends where its lines end while a
    card is shown, and takes all free rows otherwise.
    """

    name = "session-column"

    def wishes(self, children: list[Widget], size: Size, viewport: Size) -> list[Wish]:
        wishes = super().wishes(children, size, viewport)
        asked = any(isinstance(child, CardStack) for child in children)
        free = size.height - sum(wish.rows for wish in wishes)
        for index, (child, wish) in enumerate(zip(children, wishes, strict=True)):
            if _is_text(child):
                rows = wish.rows if asked else max(wish.rows, wish.rows + free)
                wishes[index] = Wish(rows, ((6, min(rows, max(3, size.height * 2 // 5))), (1, 1)))
        return wishes


def _is_text(widget: Widget) -> bool:
    height = widget.styles.height
    return height is not None and height.is_fraction
