"""``/clear``: a new session takes the place of the one that is shown, which is then closed and kept.

The new one comes first, so that nothing has ended where it does not come.
"""

from typing import TYPE_CHECKING

from felan_tui.composer import Composer
from felan_tui.screens.quit import ClearScreen
from felan_tui.session.controller import Refusal, SessionController, begin_anew, words
from felan_tui.session.view import SessionView

if TYPE_CHECKING:
    from felan_tui.screens.session import SessionScreen


def ask_first(screen: "SessionScreen", view: SessionView) -> None:
    """Clear, and ask where something would end by it."""

    def go(sure: bool | None) -> None:
        if sure:
            screen.run_worker(_clear(screen))

    reasons = view.what_a_clear_ends()
    if not reasons:
        go(True)
    elif not isinstance(screen.home.screen, ClearScreen):
        screen.home.push_screen(ClearScreen(reasons), go)


async def _clear(screen: "SessionScreen") -> None:
    """While the new session comes, what is sent waits: for it, or for the old one where it does not come."""
    view = screen.lay_aside()
    if view is None:
        return  # another clear is under way
    old = view.link
    try:
        link = await begin_anew(old.client, old, screen.changed)
    except Refusal as error:
        screen.take_up(view)
        screen.say(f"Not cleared: {words(error)}", "error")
        return
    old.replica.on_change = None
    while screen.home.screen is not screen:
        await screen.home.pop_screen()  # what is in front shows the old session
    await view.take_away()
    await screen.attached(link)
    await _end(screen, old)


async def _end(screen: "SessionScreen", old: SessionController) -> None:
    try:
        if old.state.queue.items and (texts := await old.take_queue_back()):
            screen.query_one(Composer).restore("\n\n".join(texts))
        await old.end()
    except Refusal as error:
        screen.say(f"The session before is not closed: {words(error)}", "error")
    else:
        screen.say("A new session; the one before is kept.")
