"""``/clear`` and ``/agent``: a new session takes the place of the visible one, which is closed and kept.

The new one is created first, so that nothing has ended where that fails.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from felan_tui.composer import Composer
from felan_tui.screens.quit import AgentScreen, ClearScreen
from felan_tui.session.controller import Refusal, SessionController, begin_anew, words
from felan_tui.session.view import SessionView

if TYPE_CHECKING:
    from felan_tui.screens.session import SessionScreen

Settings = Mapping[str, str]


def ask_first(screen: "SessionScreen", view: SessionView, settings: Settings | None = None) -> None:
    """Replace the session, and ask first where something would end by it.

    ``settings``: the extension settings of another agent; None keeps the agent and clears the task pointer.
    """

    def go(sure: bool | None) -> None:
        if sure:
            screen.run_worker(_replace(screen, settings))

    if not view.what_a_clear_ends():
        go(True)
    elif not isinstance(screen.home.screen, ClearScreen):
        screen.home.push_screen(
            (ClearScreen if settings is None else AgentScreen)(view.what_a_clear_ends), go
        )


async def _replace(screen: "SessionScreen", settings: Settings | None) -> None:
    """While the new session comes, messages wait: for it, or for the old one where it does not come."""
    view = screen.lay_aside()
    if view is None:
        return  # another replacement is under way
    old = view.link
    try:
        link = await begin_anew(old.client, old, screen.changed, settings)
    except Refusal as error:
        screen.take_up(view)
        what = "Not cleared" if settings is None else "Agent not changed"
        screen.say(f"{what}: {words(error)}", "error")
        return
    old.replica.on_change = None
    while screen.home.screen is not screen:
        await screen.home.pop_screen()  # the screens in front show the old session
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
