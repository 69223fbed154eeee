import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widget import Widget

from felan_tui.composer.area import ComposerArea
from felan_tui.text.fields import SafeInput, SafeTextArea
from tests.tui.composer.support import Writing


class Field(App[None]):
    def __init__(self, field: Widget) -> None:
        super().__init__()
        self.field = field

    def compose(self) -> ComposeResult:
        yield self.field

    def on_mount(self) -> None:
        self.field.focus()


TOGETHER = ["a", "b", "c", "backspace", "backspace", "x", "home", "y", "right", "delete", "end", "z"]


def press_together(app: App[None]) -> None:
    """All keys are there before the first of them is handled."""
    for key in TOGETHER:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize("field", [SafeInput, SafeTextArea])
async def test_keys_that_come_together_act_in_their_order(
    field: type[SafeInput] | type[SafeTextArea],
) -> None:
    app = Field(field())
    async with app.run_test() as pilot:
        press_together(app)
        await pilot.pause()
        shown = app.field.value if isinstance(app.field, SafeInput) else app.query_one(SafeTextArea).text
        assert shown == "yaz"


async def test_keys_that_come_together_act_in_their_order_in_the_composer_too() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        press_together(app)
        await pilot.pause()
        assert app.query_one(ComposerArea).text == "yaz"


async def test_a_line_that_takes_a_part_of_a_paste_says_so() -> None:
    app = Field(SafeInput())
    async with app.run_test() as pilot:
        app.post_message(events.Paste("x" * 2001))
        await pilot.pause()
        assert app.query_one(SafeInput).value == "x" * 2000
        assert [one.message for one in app._notifications] == [
            "Pasted the first 2,000 of 2,001 characters: a line holds no more."
        ]
