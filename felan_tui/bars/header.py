"""The header: which session this is, and which agent it has."""

from pathlib import PurePath

from textual.content import Content
from textual.widget import Widget

from felan_core.protocol.session import SessionHeader
from felan_tui.bars.line import Part, two_halves


class HeaderLine(Widget):
    """``felan · <session or folder>`` at the left, the agent and what it is doing at the right."""

    DEFAULT_CSS = """
    HeaderLine { height: 1; width: 1fr; padding: 0 1; background: $panel; color: $text; }
    """

    def __init__(self, *, folder: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self._folder = folder
        self._header: SessionHeader | None = None

    def show(self, header: SessionHeader) -> None:
        """The session's header as it is now."""
        self._header = header
        self.refresh()

    def render(self) -> Content:
        header = self._header
        name = PurePath(self._folder).name or self._folder
        left = [("felan", "bold $text-accent"), (" · ", "$text-muted")]
        if header is None:
            return two_halves([*left, (name, "")], [Part("starting …", "$text-muted")], self.size.width)
        left += [(f"{header.name} · ", "")] if header.name else []
        return two_halves(
            [*left, (name, "$text-muted" if header.name else "")], agent_parts(header), self.size.width
        )


def agent_parts(header: SessionHeader) -> list[Part]:
    """The agent, its model, and its state where that is not the usual one."""
    agent = header.agent
    parts = [Part(agent.name, "bold", 3)]
    if header.model:
        parts.append(Part(header.model, "", 1))
    if header.thinking:
        parts.append(Part(f"think:{header.thinking}", "$text-muted", 0))
    match agent.state:
        case "starting":
            parts.append(Part("starting …", "$text-muted", 2))
        case "gone":
            parts.append(Part("✗ ended", "$text-error", 4))
        case _ if not agent.memory:
            parts.append(Part("! without memory", "$text-warning", 2))
        case _:
            pass
    if header.state == "closed":
        parts.append(Part("closed", "$text-warning", 5))
    return parts
