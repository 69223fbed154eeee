import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from felan_core.agents.backend import Turn
from felan_core.agents.rehearsal.backend import RehearsalBackend
from felan_core.agents.rehearsal.load import parse_scenario
from felan_core.protocol.base import UNSET
from felan_core.protocol.elements import DocumentElement
from felan_core.protocol.interactions import ApprovalRequest, InteractionRequest
from tests.core.agents.rehearsal.fakes import FakeSession, agree

HEAD = 'title = "T"\nsummary = "S"\n'


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[FakeSession]:
    session = FakeSession(tmp_path)
    yield session
    assert await session.close() == []


async def play(session: FakeSession, steps: str) -> str:
    scenario = parse_scenario((HEAD + steps).encode(), "mine.toml")
    help_ = parse_scenario((HEAD + '[[steps]]\ndo = "end"').encode(), "help.toml")
    backend = RehearsalBackend(
        session, {"rehearsal.pace": 0}, scenarios={"mine": scenario, "help": help_}, clock=lambda: 1234
    )
    await backend.start(None)
    return await backend.turn(Turn("r1", "/mine"))


def edit(path: str = "a.txt", find: str = "old", replace: str = "new") -> str:
    return f"""
[[steps]]
do = "edit"
path = {path!r}
find = {find!r}
replace = {replace!r}
as = "e"

[[steps]]
do = "say"
text = "(${{e}}: ${{e.reason}})"
"""


async def test_an_edit_is_on_disk_only_after_it_was_allowed(session: FakeSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("an old line\n")

    def answer(request: InteractionRequest) -> dict[str, Any]:
        assert (tmp_path / "a.txt").read_text() == "an old line\n"
        assert isinstance(request, ApprovalRequest)
        subject = request.subject
        assert subject.diff is not UNSET and isinstance(subject.diff, list)
        assert (subject.diff[0].old, subject.diff[0].new) == ("an old line\n", "an new line\n")
        return {"option": "allow"}

    session.answer = answer
    await play(session, edit())
    assert (tmp_path / "a.txt").read_text() == "an new line\n"
    assert "(done: )" in session.said


async def test_a_rejected_edit_changes_nothing_and_says_why(session: FakeSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    session.answer = lambda request: {"option": "reject", "note": "too early"}
    await play(session, edit())
    assert (tmp_path / "a.txt").read_text() == "old"
    assert "(rejected: too early)" in session.said
    [tool] = session.tools.values()
    assert (tool["state"], tool["details"].reason) == ("failed", "rejected")


async def test_an_edit_of_a_file_that_changed_while_the_question_waited_is_refused(
    session: FakeSession, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("old")

    def answer(request: InteractionRequest) -> dict[str, Any]:
        (tmp_path / "a.txt").write_text("old, and theirs")
        return {"option": "allow"}

    session.answer = answer
    await play(session, edit())
    assert (tmp_path / "a.txt").read_text() == "old, and theirs"
    assert "(changed: a.txt changed meanwhile)" in session.said
    [tool] = session.tools.values()
    assert tool["details"].message == "a.txt changed meanwhile. Nothing was written."


@pytest.mark.parametrize(
    ("path", "find", "why"),
    [
        ("../a.txt", "old", "outside the session's folder"),
        ("/etc/hosts", "old", "only relative paths"),
        ("link.txt", "old", "symbolic link"),
        ("none.txt", "old", "there is no such file"),
        ("a.txt", "missing", "does not hold what is to be replaced"),
        ("a.txt", "o", "holds it 2 times"),
    ],
)
async def test_an_edit_that_cannot_be_is_never_asked_for(
    session: FakeSession, tmp_path: Path, path: str, find: str, why: str
) -> None:
    (tmp_path.parent / "a.txt").write_text("old")
    (tmp_path / "a.txt").write_text("old to")
    (tmp_path / "link.txt").symlink_to("../a.txt")
    await play(session, edit(path, find))
    assert why in session.said
    assert session.asked == []
    assert (tmp_path.parent / "a.txt").read_text() == "old"
    [tool] = session.tools.values()
    assert tool["state"] == "failed"


async def test_an_answer_cannot_lead_out_of_the_folder(session: FakeSession, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.txt").write_text("secret")
    session.answer = lambda request: {"text": "../secret.txt"}
    backend = RehearsalBackend(session, {"rehearsal.pace": 0})
    await backend.start(None)
    await backend.turn(Turn("r1", "/read"))
    await backend.turn(Turn("r2", "/read ../secret.txt"))
    assert session.said.count("outside the session's folder") == 2
    assert "secret\n" not in str(session.tools)


async def test_allow_all_holds_for_that_kind_in_that_scenario_alone(
    session: FakeSession, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("old")
    session.answer = lambda request: {"option": "always"}
    steps = edit() + edit(find="new", replace="newer") + '[[steps]]\ndo = "delete"\npath = "a.txt"'
    await play(session, steps)
    assert [request.title for request in session.asked if isinstance(request, ApprovalRequest)] == [
        "Edit a.txt",
        "Delete a.txt",
    ]
    (tmp_path / "a.txt").write_text("old")
    await play(session, edit())
    assert len(session.asked) == 3


async def test_an_append_keeps_what_was_there(session: FakeSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    steps = '[[steps]]\ndo = "append"\npath = "a.txt"\ntext = "two\\n"\n'
    await play(session, steps)
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


async def test_a_write_over_a_file_shows_what_was_there(session: FakeSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    steps = '[[steps]]\ndo = "write"\npath = "a.txt"\ntext = "two"\n'
    await play(session, steps)
    [tool] = session.tools.values()
    assert tool["content"][0].old == "one"
    await play(session, steps)
    assert len(session.asked) == 1, "a file that reads so already asks for nothing"


RUN = """
[[steps]]
do = "run"
title = "a command"
command = '''{command}'''
beat = 0.5
as = "r"

[[steps]]
do = "say"
text = "(${{r}} ${{r.exit}} ${{r.last}})"
"""


@pytest.mark.parametrize(
    ("command", "said", "state"),
    [
        ("printf '\\033[1mhello\\033[0m\\n'", "(done 0 hello)", "completed"),
        ("echo out; echo err >&2; exit 3", "(failed 3 err)", "failed"),
        ("kill -TERM $$", "(stopped  )", "failed"),
        ("echo ${beat}${HOME:+x}", "(done 0 0x)", "completed"),
    ],
)
async def test_a_process_runs_and_its_end_is_told(
    session: FakeSession, command: str, said: str, state: str
) -> None:
    await play(session, RUN.format(command=command))
    assert said in session.said
    [tool] = session.tools.values()
    assert tool["state"] == state
    [request] = session.asked
    assert isinstance(request, ApprovalRequest) and request.subject.command in (
        command,
        command.replace("${beat}", "0"),
    )


async def test_nothing_runs_before_it_was_allowed(session: FakeSession, tmp_path: Path) -> None:
    def answer(request: InteractionRequest) -> dict[str, Any] | None:
        assert session.processes == {}
        return agree(request)

    session.answer = answer
    await play(session, RUN.format(command="touch ran"))
    assert (tmp_path / "ran").exists()
    session.answer = lambda request: {"option": "reject"}
    await play(session, RUN.format(command="touch ran-too"))
    assert not (tmp_path / "ran-too").exists()


async def test_a_circle_ends_as_an_error_and_can_be_cancelled(session: FakeSession) -> None:
    circle = '[[steps]]\ndo = "goto"\nlabel = "a"\nto = "a"\n'
    scenario = parse_scenario((HEAD + circle).encode(), "mine.toml")
    backend = RehearsalBackend(session, {"rehearsal.pace": 0}, scenarios={"mine": scenario, "help": scenario})
    await backend.start(None)
    with pytest.raises(Exception, match="goes in a circle"):
        await backend.turn(Turn("r1", "/mine"))
    turn = asyncio.ensure_future(backend.turn(Turn("r2", "/mine")))
    await asyncio.sleep(0)
    await backend.cancel()
    assert await turn == "cancelled"


async def test_what_a_person_typed_is_no_markup_in_a_document(session: FakeSession) -> None:
    typed = "<b>bold</b> [x](javascript:alert) *star*\n# head"
    session.answer = lambda request: {"text": typed}
    steps = """
[[steps]]
do = "input"
title = "?"
as = "typed"
[[steps]]
do = "document"
id = "d"
markdown = "You typed ${typed}."
"""
    await play(session, steps)  # the fake refuses raw HTML and such links
    [element] = session.shown
    assert isinstance(element, DocumentElement)
    html = MarkdownIt("commonmark").render(element.markdown)
    assert html == "<p>You typed &lt;b&gt;bold&lt;/b&gt; [x](javascript:alert) *star* # head.</p>\n"
