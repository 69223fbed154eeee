"""The table of actions: every key of it is shown, does what is said, and takes none from a widget."""

from pathlib import Path

import pytest
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.widget import Widget

from felan_tui.actions import ACTIONS, FURTHER, Key
from felan_tui.app import FelanApp
from felan_tui.cards.approval import ApprovalCard
from felan_tui.cards.stack import CardStack
from felan_tui.composer.area import ComposerArea
from felan_tui.elements.document import DocumentView
from felan_tui.elements.view import ViewPanel
from felan_tui.panel import ProcessPanel
from felan_tui.panel.output import OutputView
from felan_tui.screens.help import help_pieces
from felan_tui.screens.session import SessionScreen
from felan_tui.session.transcript import SessionTranscript
from tests.tui.screens.stage import SIZES, stage

WIDGETS: dict[str, tuple[type[Widget], ...]] = {
    "Composer": (ComposerArea,),
    "Card": (ApprovalCard, CardStack),
    "Transcript": (SessionTranscript,),
    "Panel": (ProcessPanel, OutputView),
    "Side": (DocumentView,),
    "Table": (ViewPanel,),
}
SHARED = {
    "ctrl+c": "copies a selection itself before it clears or cancels",
    "ctrl+d": "is the composer's while there is text in it",
    "pageup": "is the pane's while a pane has the focus",
    "pagedown": "is the pane's while a pane has the focus",
}
"""Keys of the screen that a widget has too, and why that is no clash."""
OF_THE_TERMINAL = {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q"}


def keys_of(kind: type[DOMNode]) -> dict[str, str]:
    """The keys of a class, with what it inherits, to their actions."""
    return {
        key: binding.action
        for key, bindings in kind._merge_bindings().key_to_bindings.items()  # pyright: ignore[reportPrivateUsage]
        for binding in bindings
    }


def taken() -> list[tuple[str, str]]:
    return [(key, act.name) for act in ACTIONS if act.first for key in act.keys.split(",")]


@pytest.mark.parametrize("room", WIDGETS)
def test_no_key_of_the_screen_takes_one_of_a_widget(room: str) -> None:
    for kind in WIDGETS[room]:
        own = keys_of(kind)
        wrong = [
            (key, name, own[key])
            for key, name in taken()
            if key in own and key not in SHARED and own[key] not in NOT_OURS
        ]
        assert not wrong, f"{kind.__name__}: {wrong}"


NOT_OURS = {"select_line", "select_all", "undo", "cursor_document_end", "document_end"}
"""Actions of Textual's text area that we give up for keys of ours: none is in our help."""


def test_no_key_means_two_things_on_the_screen() -> None:
    keys = [key for act in ACTIONS for key in act.keys.split(",") if key]
    assert len(keys) == len(set(keys))
    assert not OF_THE_TERMINAL & set(keys_of(SessionScreen))
    assert not OF_THE_TERMINAL & set(keys_of(FelanApp))


def test_every_action_of_the_table_is_there() -> None:
    for act in ACTIONS:
        assert callable(getattr(SessionScreen, f"action_{act.name}", None)), act.name


@pytest.mark.parametrize("key", FURTHER, ids=lambda key: f"{key.group} {key.shown}")
def test_every_further_key_of_the_help_is_bound_where_it_says(key: Key) -> None:
    bound: dict[str, str] = {}
    for kind in WIDGETS.get(key.group, ()):
        bound |= keys_of(kind)
    if key.group == "Felan":
        bound = {FelanApp.COMMAND_PALETTE_BINDING: "command_palette"}
    for one in key.keys.split(",") if key.keys else []:
        assert one in bound, f"{one} is not bound in {key.group}"


def test_every_key_that_a_widget_names_is_in_the_help() -> None:
    said = {one for key in FURTHER for one in key.keys.split(",")}
    said |= {key for act in ACTIONS for key in act.keys.split(",")}
    for room, kinds in WIDGETS.items():
        for kind in kinds:
            for bindings in kind._merge_bindings().key_to_bindings.values():  # pyright: ignore[reportPrivateUsage]
                for binding in bindings:
                    if binding.id and binding.id.startswith("felan."):
                        assert binding.key in said, f"{binding.key} of {kind.__name__} ({room})"


@pytest.mark.parametrize("size", SIZES)
async def test_help_shows_every_key_at_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(tmp_path, size=size) as on:
        await on.attached()
        await on.pilot.press("f1")
        await on.sees("Keys", "Esc close")
        box = on.app.screen.query_one(VerticalScroll)
        seen = on.text
        while box.scroll_offset.y < box.max_scroll_y:
            await on.pilot.press("pagedown")
            await on.pilot.pause(0.05)
            seen += "\n" + on.text
        for shown in [act.shown for act in ACTIONS] + [key.shown for key in FURTHER]:
            assert shown in seen, f"{shown} is not in the help"
        assert all(len(row) <= size[0] for row in on.lines)
        await on.pilot.press("escape")
        await on.sees_no("Esc close")
        assert on.composer.area.has_focus


def test_no_line_of_the_help_is_wider_than_it_may_be() -> None:
    for width in (40, 48, 84):
        text = "".join(piece if isinstance(piece, str) else piece[0] for piece in help_pieces(width))
        assert max(len(row) for row in text.splitlines()) <= width


async def test_the_palette_offers_every_action_by_name_and_does_it(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(100, 60)) as on:
        await on.attached()
        titles = {command.title for command in on.app.get_system_commands(on.session)}
        assert titles == {act.title for act in ACTIONS} | {"Theme"}
        await on.pilot.press("ctrl+p")
        await on.until(lambda: on.app.screen is not on.session)
        await on.write("help")
        await on.sees("show all keys (F1)")
        await on.pilot.press("enter")
        await on.sees("Esc close")


@pytest.mark.parametrize("size", SIZES)
async def test_the_line_of_keys_leads_to_the_help_at_every_size(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with stage(tmp_path, size=size) as on:
        await on.attached()
        await on.sees("F1 keys", "Ctrl+P actions")
