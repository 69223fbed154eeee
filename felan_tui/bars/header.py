"""The header: whose session this is on the left, which agent answers on the right."""

from typing import TYPE_CHECKING

from felan_tui.bars.line import FittedLine
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Piece

if TYPE_CHECKING:  # the header is painted before anything of the contract is loaded
    from felan_core.protocol.session import AgentInfo, AgentMode, SessionHeader

_LEFT_LEAST = 16
_MODE_MOST = 20


def session_title(header: "SessionHeader") -> str:
    """The session's name, or else the last part of its folder."""
    from felan_core.protocol.base import or_default

    return safe_line(or_default(header.name, "")).strip() or folder_name(header.cwd)


def folder_name(path: str) -> str:
    """The last part of a path; the path itself where it has none."""
    return safe_line(path.rstrip("/").rpartition("/")[2] or path).strip()


def agent_words(agent: "AgentInfo | None", model: str = "", thinking: str = "") -> list[tuple[str, str]]:
    """The right side, most important first, as (safe words, style)."""
    if agent is None or agent.state == "none":
        return [("no agent", "$text-muted")]
    name = safe_line(agent.name).strip() or safe_line(agent.kind).strip() or "agent"
    if agent.state == "gone":
        return [(f"✗ {name} gone", "$text-error")]
    if agent.state == "starting":
        return [(name, "$text"), ("starting…", "$text-muted")]
    words = [(name, "$text"), *_mode_words(agent.mode or None)]
    if not agent.memory:
        words.append(("no memory of earlier turns", "$text-warning"))
    if model := safe_line(model).strip():
        words.append((model, "$text-muted"))
    if thinking:
        words.append((f"think:{thinking}", "$text-muted"))
    return words


def _mode_words(mode: "AgentMode | None") -> list[tuple[str, str]]:
    """Whether the agent asks before it acts. One that does not is named in the tone of a warning."""
    if mode is None:
        return []
    name = safe_line(mode.name).strip() or safe_line(mode.id).strip()
    if mode.asks is False:
        return [(f"{cut(name, _MODE_MOST)} acts by itself" if name else "acts by itself", "$text-warning")]
    return [("asks first" if mode.asks is True else name, "$text-muted")] if mode.asks or name else []


def header_pieces(title: str, right: list[tuple[str, str]], cells: int) -> list[Piece]:
    """The line in `cells` cells: the right side loses its last words first, then both are cut."""
    title = safe_line(title).strip()
    head = "felan · " + title if title else "felan"
    kept = list(right)
    least = min(cell_len(head), _LEFT_LEAST)
    while len(kept) > 1 and least + 2 + _size(kept) > cells:
        kept.pop()
    if kept and least + 2 + _size(kept) > cells:
        words, style = kept[0]
        words = cut(words, max(0, cells - least - 2))
        kept = [(words, style)] if words else []
    size = _size(kept)
    head = cut(head, max(0, cells - size - (2 if size else 0)))
    pieces: list[Piece] = []
    if head.startswith("felan"):
        pieces += [("felan", "bold $text-accent"), (head[5:], "$text")]
    else:
        pieces.append((head, "$text"))
    pieces.append(" " * max(0, cells - size - cell_len(head)))
    for number, (words, style) in enumerate(kept):
        if number:
            pieces.append((" · ", "$text-muted"))
        pieces.append((words, style))
    return pieces


def _size(words: list[tuple[str, str]]) -> int:
    return sum(cell_len(text) for text, _ in words) + 3 * max(0, len(words) - 1)


class HeaderLine(FittedLine):
    """`felan · title` and `agent · model · thinking`; before there is a session, folder and "starting…"."""

    DEFAULT_CSS = """
    HeaderLine { background: $surface; }
    """

    def __init__(self, *, folder: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = folder_name(folder) if folder else ""
        self._right: list[tuple[str, str]] = [("starting…", "$text-muted")]

    def show(self, header: "SessionHeader") -> None:
        """The session's header as it is now."""
        from felan_core.protocol.base import or_default

        self._words = session_title(header)
        self._right = agent_words(header.agent, or_default(header.model, ""), or_default(header.thinking, ""))
        if header.state == "closed":
            self._right.insert(0, ("closed", "$text-warning"))
        self.refresh()

    def say(self, words: str) -> None:
        """Words of the app on the right, in place of the agent ("choose an agent", "reconnecting…")."""
        self._right = [(safe_line(words), "$text-muted")] if words else []
        self.refresh()

    def pieces(self, cells: int) -> list[Piece]:
        return header_pieces(self._words, self._right, cells)


__all__ = ["HeaderLine", "agent_words", "folder_name", "header_pieces", "session_title"]
