"""Keys that arrive at once act one after the other."""

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget

from felan_tui.terminal.order import KeyDone, KeyOrder, is_ordered


class Moved(Message):
    pass


class Box(Widget, can_focus=True):
    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.keys: list[str] = []

    async def on_key(self, event: events.Key) -> None:
        self.keys.append(event.key)
        if event.key == "m":
            self.post_message(Moved())
        elif event.key == "r":
            await self.remove()


class Boxes(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.order = KeyOrder(self, self.handle)

    def compose(self) -> ComposeResult:
        yield Box("one")
        yield Box("two")

    def on_mount(self) -> None:
        self.query_one("#one").focus()

    def on_moved(self) -> None:
        self.query_one("#two").focus()

    async def on_event(self, event: events.Event) -> None:
        if not (is_ordered(event) and self.order.holds(event)):
            await self.handle(event)

    async def handle(self, event: events.Event) -> None:
        target = (
            (self.focused or self.screen)
            if isinstance(event, events.Key) and not event.is_forwarded
            else None
        )
        await super().on_event(event)
        if target is not None:
            self.order.sent(event, target)

    def on_key_done(self, event: KeyDone) -> None:
        self.order.done(event)


async def keys_of(*typed: str) -> tuple[list[str], list[str]]:
    app = Boxes()
    async with app.run_test() as pilot:
        await pilot.pause()
        one, two = app.query_one("#one", Box), app.query_one("#two", Box)
        for key in typed:
            app.post_message(events.Key(key, key))
        while len(one.keys) + len(two.keys) < len(typed):
            await pilot.pause(0.01)
        return one.keys, two.keys


async def test_a_key_goes_where_the_key_before_it_brought_the_focus() -> None:
    assert await keys_of("a", "m", "b", "c") == (["a", "m"], ["b", "c"])


async def test_a_widget_that_goes_takes_no_key_with_it() -> None:
    one, two = await keys_of("a", "r", "b", "c")
    assert one == ["a", "r"]
    assert two == ["b", "c"]


async def test_the_focus_of_the_terminal_is_lost_behind_the_keys() -> None:
    app = Boxes()
    async with app.run_test() as pilot:
        await pilot.pause()
        one = app.query_one("#one", Box)
        for event in (events.Key("a", "a"), events.Key("b", "b"), events.AppBlur()):
            app.post_message(event)
        while app.app_focus:
            await pilot.pause(0.01)
        assert one.keys == ["a", "b"]
