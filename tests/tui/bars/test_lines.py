"""Header, queue and the state of the turn: their words, and what they let go where it gets narrow."""

from pathlib import Path

import pytest
from msgspec import structs
from textual.app import App, ComposeResult

from felan_core.protocol.entries import (
    AnyOrigin,
    AutomationOrigin,
    ChannelOrigin,
    LocalOrigin,
    WebOrigin,
)
from felan_core.protocol.session import AgentInfo, AgentMode, Queue, QueueItem, Run, SessionHeader
from felan_tui.bars.header import HeaderLine, agent_words, folder_name, header_pieces
from felan_tui.bars.queue import QueueLines, queue_lines, who
from felan_tui.bars.run import RunStatus
from felan_tui.git_branch import branch_of
from felan_tui.text.cells import cell_len
from felan_tui.text.spans import span
from felan_tui.text.widgets import Piece, line_content
from tests.tui.text import hostile

SIZES = [(80, 24), (160, 48), (60, 16)]
ME = LocalOrigin(client="felan")


def text(pieces: list[Piece]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)


def agent(state: str = "ready", *, memory: bool = True, name: str = "pi") -> AgentInfo:
    assert state in ("none", "starting", "ready", "gone")
    return AgentInfo(kind="acp", name=name, state=state, memory=memory)  # pyright: ignore[reportArgumentType]


def item(words: str, *, origin: AnyOrigin = ME, mode: str = "follow_up") -> QueueItem:
    assert mode in ("steer", "follow_up")
    return QueueItem(id="i", text=words, mode=mode, at=0, origin=origin)  # pyright: ignore[reportArgumentType]


def turn(started_at: int, id: str = "run") -> Run:
    return Run(id=id, started_at=started_at, origin=ME)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (12.9, "12 s"), (65, "1 min 05 s"), (3600, "1 h 00 min"), (93600, "1 d 02 h")],
)
def test_a_span_reads_as_one_says_it(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_the_header_names_session_and_agent() -> None:
    words = text(header_pieces("api-server", agent_words(agent(), "sonnet", "medium"), 80))
    assert words.startswith("felan  api-server ")
    assert words.endswith("pi · sonnet · think:medium")
    assert cell_len(words) == 80


def test_a_narrow_header_keeps_the_agent_and_cuts_the_rest() -> None:
    right = agent_words(agent(), "a-model-with-a-long-name", "medium")
    words = text(header_pieces("a-session-with-a-very-long-name-일이삼사오", right, 40))
    assert cell_len(words) == 40
    assert words.endswith("  pi")
    for width in range(1, 40):
        assert cell_len(text(header_pieces("이름", right, width))) == width


@pytest.mark.parametrize(
    ("info", "says"),
    [
        (None, "no agent"),
        (agent("none"), "no agent"),
        (agent("starting"), "starting…"),
        (agent("gone"), "✗ pi gone"),
        (agent(memory=False), "no memory of earlier turns"),
    ],
)
def test_the_header_tells_what_the_agent_is_at(info: AgentInfo | None, says: str) -> None:
    assert says in text(header_pieces("x", agent_words(info), 80))


@pytest.mark.parametrize(
    ("mode", "says", "style"),
    [
        (AgentMode(id="auto", name="Auto", asks=False), "Auto acts by itself", "$text-warning"),
        (AgentMode(id="", name="", asks=False), "acts by itself", "$text-warning"),
        (AgentMode(id="default", name="Always ask", asks=True), "asks first", "$text-muted"),
        (AgentMode(id="build", name="Build"), "Build", "$text-muted"),
        (AgentMode(id="x" * 90, name="", asks=False), "x" * 19 + "… acts by itself", "$text-warning"),
    ],
)
def test_the_header_says_whether_the_agent_asks_before_it_acts(
    mode: AgentMode, says: str, style: str
) -> None:
    info = structs.replace(agent(), mode=mode)
    assert (says, style) in [one[:2] for one in agent_words(info, "sonnet")]
    line = header_pieces("a-session-with-a-long-name", agent_words(info, "a-very-long-model", "high"), 60)
    assert ("acts by itself" in text(line)) == (mode.asks is False), "the model goes first"


def test_an_agent_without_a_mode_has_no_word_for_it() -> None:
    assert [one[:2] for one in agent_words(agent(), "sonnet")] == [("pi", "$text"), ("sonnet", "$text-muted")]


def test_the_branch_is_named_and_goes_before_the_title_is_cut() -> None:
    words = agent_words(structs.replace(agent(), mode=AgentMode(id="a", name="a", asks=True)), "sonnet")
    line = text(header_pieces("api-server", words, 80, "fix/login"))
    assert line.startswith("felan  api-server ⎇ fix/login  ") and line.endswith("pi · sonnet · asks first")
    for width in range(1, 80):
        narrow = text(header_pieces("api-server", words, width, "fix/login"))
        assert cell_len(narrow) == width
        assert "⎇" not in narrow or "api-server ⎇ fix/login" in narrow


def test_the_branch_is_read_from_files_of_a_repository_a_worktree_and_a_commit(tmp_path: Path) -> None:
    assert branch_of(str(tmp_path)) == ""
    git = tmp_path / "repo" / ".git"
    (tmp_path / "repo" / "src").mkdir(parents=True)
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/fix/login\n")
    assert branch_of(str(tmp_path / "repo")) == branch_of(str(tmp_path / "repo" / "src")) == "fix/login"
    (git / "HEAD").write_text("d0e8cd0f3a96f9a4313f65d6b1e81992cbba00aa\n")
    assert branch_of(str(tmp_path / "repo")) == "d0e8cd0f"
    (git / "worktrees" / "one").mkdir(parents=True)
    (git / "worktrees" / "one" / "HEAD").write_text("ref: refs/heads/one\n")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ".git").write_text(f"gitdir: {git / 'worktrees' / 'one'}\n")
    assert branch_of(str(tmp_path / "one")) == "one"
    (git / "HEAD").unlink()
    assert branch_of(str(tmp_path / "repo")) == ""


@pytest.mark.parametrize(("path", "name"), [("/home/a/api", "api"), ("/", "/"), ("", ""), ("/a/b/", "b")])
def test_a_session_without_a_name_is_called_by_its_folder(path: str, name: str) -> None:
    assert folder_name(path) == name


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (ME, "you"),
        (LocalOrigin(client="plain"), "plain"),
        (WebOrigin(user="ann", command="1"), "ann"),
        (AutomationOrigin(source="nightly"), "nightly"),
        (ChannelOrigin(provider="irc", command="1"), "irc"),
        (ChannelOrigin(provider="irc", command="1", user="bo"), "bo"),
    ],
)
def test_the_queue_says_who_sent_it(origin: AnyOrigin, words: str) -> None:
    assert who(origin, "felan") == words


def test_the_queue_is_in_order_with_its_modes_and_counts_what_does_not_fit() -> None:
    items = [item("one\ntwo", mode="steer"), *(item(f"number {n}") for n in range(2, 8))]
    lines = [text(line) for line in queue_lines(items, True, 60, "felan")]
    assert lines[0] == "‖ 7 held — Enter sends, Esc takes them back"
    assert lines[1] == "1 steer · you  one ⏎ two"
    assert lines[2] == "2 follow-up · you  number 2"
    assert lines[-1] == "… and 4 more"
    assert len(lines) == 5
    assert "held" not in text(queue_lines(items, False, 60, "felan")[0])
    assert queue_lines([], True, 60) == []


@pytest.mark.parametrize("words", [*hostile.SHORT.values(), hostile.LONG["1 MB of ideographs"]])
def test_hostile_words_are_harmless_and_fit(words: str) -> None:
    lines = queue_lines([item(words, origin=LocalOrigin(client=words[:1000]))], True, 60)
    lines.append(header_pieces(words[:1000], agent_words(agent(name=words[:1000]), words[:1000]), 60))
    for line in lines:
        drawn = line_content(*line).plain
        assert not hostile.harmful(drawn)
        assert cell_len(drawn) <= 60


class Lines(App[None]):
    def compose(self) -> ComposeResult:
        yield HeaderLine(folder="/x/api-server")
        yield QueueLines(me="felan")


@pytest.mark.parametrize("size", SIZES)
async def test_the_lines_on_a_screen(size: tuple[int, int]) -> None:
    app = Lines()
    async with app.run_test(size=size) as pilot:
        header, queue = app.query_one(HeaderLine), app.query_one(QueueLines)
        await pilot.pause()
        assert not queue.display
        assert header.render_line(0).text.split() == ["felan", "api-server", "starting…"]
        header.show(SessionHeader(state="idle", cwd="/x/api-server", agent=agent(), model="sonnet"))
        queue.show(Queue(items=[item("later 나중에"), item("last")], held=True))
        await pilot.pause()
        assert "felan  api-server" in header.render_line(0).text
        assert header.render_line(0).text.rstrip().endswith("pi · sonnet")
        rows = [queue.render_line(y).text for y in range(queue.size.height)]
        assert ["held" in rows[0], "later 나중에" in rows[1], "last" in rows[2]] == [True] * 3
        assert queue.held
        queue.show(Queue(items=[], held=True))
        await pilot.pause()
        assert not queue.display and not queue.held


def test_a_turn_says_how_long_it_runs_and_how_it_ended() -> None:
    status = RunStatus()
    assert status.words(0) == ("", "")
    status.show(turn(1_000))
    assert status.words(62_000)[0].startswith("● running 1 min")
    status.show(turn(1_000), waiting=True)
    assert status.words(62_000)[0] == ""  # the card says for how long
    status.show(turn(1_000))
    status.stop_sent()
    assert status.words(4_000)[0] == "● stopping 3 s"
    status.ended("failed", "no route [/x]")
    assert status.words(4_000)[0] == "✗ failed: no route [/x]" and not status.running
    status.show(None)
    assert status.words(4_000)[0] == "✗ failed: no route [/x]"
    status.show(turn(4_000, "another"))
    assert status.words(4_000)[0] == "● running 0 s"
    status.ended("cancelled")
    assert status.words(4_000)[0] == "– stopped"
    status.ended("completed")
    assert status.words(4_000) == ("", "")
