"""The header: which session of which branch on the left; agent, model and mode on the right."""

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

from felan_tui.bars.line import FittedLine
from felan_tui.text.cells import cell_len, cut
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Piece

if TYPE_CHECKING:  # the header is painted before anything of the contract is loaded
    from felan_core.protocol.session import AgentInfo, AgentMode, SessionHeader

_LEFT_LEAST = 16
_BRANCH = "⎇"
_BRANCH_MOST = 40
_MODE_MOST = 20


def session_title(header: "SessionHeader") -> str:
    """The session's name, or else the last part of its folder."""
    from felan_core.protocol.base import or_default

    return safe_line(or_default(header.name, "")).strip() or folder_name(header.cwd)


def folder_name(path: str) -> str:
    """The last part of a path; the path itself where it has none."""
    return safe_line(path.rstrip("/").rpartition("/")[2] or path).strip()


class Word(NamedTuple):
    """A part of the right side: safe text. Where it is narrow the highest rank goes first."""

    text: str
    style: str
    rank: int = 0


def agent_words(agent: "AgentInfo | None", model: str = "", thinking: str = "") -> list[Word]:
    """The right side: agent, model, mode."""
    if agent is None or agent.state == "none":
        return [Word("no agent", "$text-muted")]
    name = safe_line(agent.name).strip() or safe_line(agent.kind).strip() or "agent"
    if agent.state == "gone":
        return [Word(f"✗ {name} gone", "$text-error")]
    if agent.state == "starting":
        return [Word(name, "$text"), Word("starting…", "$text-muted", 1)]
    words = [Word(name, "$text")]
    if model := safe_line(model).strip():
        words.append(Word(model, "$text-muted", 3))
    if thinking:
        words.append(Word(f"think:{thinking}", "$text-muted", 4))
    if not agent.memory:
        words.append(Word("no memory of earlier turns", "$text-warning", 2))
    return [*words, *_mode_words(agent.mode or None)]


def _mode_words(mode: "AgentMode | None") -> list[Word]:
    """Whether the agent asks before it acts. One that does not is named in the tone of a warning."""
    if mode is None:
        return []
    name = safe_line(mode.name).strip() or safe_line(mode.id).strip()
    if mode.asks is False:
        return [
            Word(f"{cut(name, _MODE_MOST)} acts by itself" if name else "acts by itself", "$text-warning", 1)
        ]
    return [Word("asks first" if mode.asks is True else name, "$text-muted", 1)] if mode.asks or name else []


def header_pieces(title: str, right: list[Word], cells: int, branch: str = "") -> list[Piece]:
    """The line in `cells` cells: the right side loses its highest ranks first, then the branch goes, then
    both sides are cut.
    """
    title, branch = safe_line(title).strip(), safe_line(branch).strip()
    head = f"felan  {title}" if title else "felan"
    kept = list(right)
    least = min(cell_len(head), _LEFT_LEAST)
    while len(kept) > 1 and least + 2 + _size(kept) > cells:
        kept.remove(max(kept, key=lambda one: one.rank))
    if kept and least + 2 + _size(kept) > cells:
        text = cut(kept[0].text, max(0, cells - least - 2))
        kept = [kept[0]._replace(text=text)] if text else []
    size = _size(kept)
    room = max(0, cells - size - (2 if size else 0))
    tail = f" {_BRANCH} {cut(branch, _BRANCH_MOST)}" if branch else ""
    if cell_len(head) + cell_len(tail) > room:
        tail = ""
    head = cut(head, room)
    pieces: list[Piece] = []
    if head.startswith("felan"):
        pieces += [("felan", "bold $text-accent"), (head[5:], "$text")]
    else:
        pieces.append((head, "$text"))
    if tail:
        pieces.append((tail, "$text-muted"))
    pieces.append(" " * max(0, cells - size - cell_len(head) - cell_len(tail)))
    for number, word in enumerate(kept):
        if number:
            pieces.append((" · ", "$text-muted"))
        pieces.append((word.text, word.style))
    return pieces


def _size(words: list[Word]) -> int:
    return sum(cell_len(one.text) for one in words) + 3 * max(0, len(words) - 1)


class HeaderLine(FittedLine):
    """`felan  title ⎇ branch` and `agent · model · mode`; the folder and "starting…" before there is
    a session.
    """

    DEFAULT_CSS = """
    HeaderLine { background: $surface; }
    """

    class BranchChanged(Message):
        """Another branch is checked out in the session's folder than was known; "" for none."""

        def __init__(self, branch: str) -> None:
            super().__init__()
            self.branch = branch

    def __init__(self, *, folder: str = "", words: str = "starting…", id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = folder_name(folder) if folder else ""
        self._right = [Word(words, "$text-muted")] if words else []
        self._folder = folder
        self._branch = ""

    def on_mount(self) -> None:
        self.look_up_branch()

    def look_up_branch(self) -> None:
        """Read the branch again, beside the screen: a turn or a command may have changed it."""
        if self._folder:
            self.run_worker(self._look_up_branch(self._folder), exclusive=True, group="branch")

    async def _look_up_branch(self, folder: str) -> None:
        from felan_tui.git_branch import branch_of

        branch = await asyncio.to_thread(branch_of, folder)
        if branch != self._branch:
            self._branch = branch
            self.post_message(self.BranchChanged(branch))
            self.refresh()

    def show(self, header: "SessionHeader") -> None:
        """The session's header as it is now."""
        from felan_core.protocol.base import or_default

        self._words = session_title(header)
        self._right = agent_words(header.agent, or_default(header.model, ""), or_default(header.thinking, ""))
        if header.state == "closed":
            self._right.insert(0, Word("closed", "$text-warning"))
        if header.cwd != self._folder:
            self._folder = header.cwd
            self.look_up_branch()
        self.refresh()

    def pieces(self, cells: int) -> list[Piece]:
        return header_pieces(self._words, self._right, cells, self._branch)


__all__ = ["HeaderLine", "Word", "agent_words", "folder_name", "header_pieces", "session_title"]
