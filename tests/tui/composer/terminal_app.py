"""A composer in a real terminal: shows what was sent, one line each."""

from textual.content import Content
from textual.driver import Driver
from textual.message import Message

from felan_tui.terminal.driver import TerminalDriver
from tests.tui.composer.support import Writing


class Telling(Writing):
    def get_driver_class(self) -> type[Driver]:
        return TerminalDriver

    def tell(self) -> None:
        lines = [f"{kind} {text!r}" for kind, text in self.heard()]
        self.query_one("#above").update(Content("\n".join(lines)))  # pyright: ignore[reportAttributeAccessIssue]

    def on_composer_submitted(self, event: Message) -> None:
        self.said.append(event)
        self.tell()

    def on_composer_follow_up(self, event: Message) -> None:
        self.said.append(event)
        self.tell()


if __name__ == "__main__":
    Telling().run()
