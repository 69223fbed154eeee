"""Tells a guard when the terminal window gets the focus."""

from textual.widget import Widget

from felan_tui.cards.guard import Guard


def watch_terminal_focus(widget: Widget, guard: Guard) -> None:
    """Until the widget goes away, the guard is told of each time that the terminal gets the focus."""

    def changed(has_focus: bool) -> None:
        if has_focus:
            guard.terminal_focused()

    app = widget.app  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - App is generic in what it returns
    widget.watch(app, "app_focus", changed, init=False)  # pyright: ignore[reportUnknownArgumentType] - as above
