"""The transcript on the whole screen: order, the reader's place, history, fresh snapshots, long sessions."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from felan_core.agents.backend import ToolPatch, Turn, TurnOutcome, Withdrawn
from felan_core.protocol import operations as op
from felan_core.protocol.entries import ToolText
from felan_tui.session.start import Start
from felan_tui.transcript.blocks import MarkdownBlock
from felan_tui.transcript.look import Look
from felan_tui.transcript.rows import Row
from tests.core.host.rig import Puppet, Stagehand, open_rig, until
from tests.tui.screens.stage import SIZES, Stage, approval, confirm, forever, now_ms, says, stage, work


def read(on: Stage) -> list[str]:
    """What a reader has in sight, without the scroll bar."""
    return [row[:60].strip() for row in on.lines[1:10] if row[:60].strip()]


async def rich_turn(puppet: Puppet, turn: Turn) -> TurnOutcome:
    session = puppet.session
    await session.text("thinking", "hm")
    await session.text("assistant", "First words.")
    await session.tool(ToolPatch("k", name="bash", category="execute", title="make it", state="running"))
    try:
        await session.ask(approval("make it"), tool="k")
    except Withdrawn:
        return "cancelled"
    await session.tool(ToolPatch("k", state="completed", content=[ToolText(text="made")]))
    await session.text("assistant", "Second words.")
    await session.ask(confirm("Enough?"))
    await session.notice("warning", "Careful", "not all is well")
    await session.text("thinking", "and then")
    await session.text("assistant", "Third words.")
    return "completed"


async def test_what_came_live_stands_in_the_same_order_after_attaching_again(tmp_path: Path) -> None:
    hand = Stagehand(scripts=[rich_turn, says("The end.")])
    async with stage(tmp_path, hand, size=(160, 48)) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("1 Allow once")
        await on.pilot.press("f2")
        await on.settle_card()
        await on.pilot.press("1")
        await on.sees("Enough?")
        await on.pilot.press("f2")
        await on.settle_card()
        await on.pilot.press("1")
        await on.sees("Third words.")
        await on.idle()
        await on.say("more")
        await on.sees("The end.")
        await on.idle()
        live = [(block.key, type(block).__name__, block.plain_text()) for block in on.view.blocks]
        text = [words for _, _, words in live]
        order = ["begin", "First words", "make it", "Second words", "Enough?", "Careful", "Third", "more"]
        places = [next(i for i, words in enumerate(text) if part in words) for part in order]
        assert places == sorted(places)
    async with stage(tmp_path, start=Start(kind="continue", cwd=work(tmp_path)), size=(160, 48)) as on:
        await on.sees("The end.")
        again = [(block.key, type(block).__name__, block.plain_text()) for block in on.view.blocks]
        assert again == live


async def test_a_reader_keeps_the_place_while_text_streams_in_and_f7_goes_to_the_end(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def script(puppet: Puppet, turn: Turn) -> TurnOutcome:
        await puppet.session.text("assistant", "\n\n".join(f"line {number}" for number in range(60)))
        await gate.wait()
        for number in range(60, 90):
            await puppet.session.text("assistant", f"\n\nline {number}")
        return "completed"

    async with stage(tmp_path, Stagehand(scripts=[script])) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("line 59")
        await on.pilot.press("pageup", "pageup")
        await on.sees("↓", "F7 ↓")
        before = read(on)
        gate.set()
        await on.idle()
        await on.sees("new")
        assert read(on) == before
        await on.write("still typing")
        assert on.composer.text == "still typing"
        await on.pilot.press("f7")
        await on.sees("line 89")
        await on.sees_no("F7 ↓")
        await on.pilot.press("f6", "home")
        await on.sees("F7 ↓")
        await on.pilot.press("end")
        await on.sees("line 89")


async def fill(folder: Path, count: int) -> None:
    """A session with so many messages, made by real turns of a host without a screen."""
    data, here = folder / "data", folder / "work"
    data.mkdir()
    here.mkdir()
    hand = Stagehand(scripts=[says(f"answer {number}") for number in range(count // 2)])
    rig = await open_rig(data, hand, now_ms)
    client = await rig.client()
    created = await client.sessions_create(op.CreateParams(cwd=str(here)))
    replica = await client.attach(created.session)
    for number in range(count // 2):
        await client.prompt(created.session, f"question {number}")
        await until(lambda: replica.state.run is None)
    await rig.close()


async def test_history_comes_in_page_by_page_above_what_is_read(tmp_path: Path) -> None:
    await fill(tmp_path, 200)
    async with stage(tmp_path, start=Start(kind="continue", cwd=work(tmp_path))) as on:
        await on.sees("answer 99")
        assert len(on.view.blocks) <= 64
        assert "Write what is to be done" not in on.text
        await on.pilot.press("f6")
        for _ in range(100):
            await on.pilot.press("pageup")
            if "question 0" in on.text:
                break
            await on.pilot.pause(0.02)
        await on.sees("question 0", "F7 ↓")
        texts = [block.plain_text() for block in on.view.blocks]
        expected = [text for n in range(100) for text in (f"question {n}", f"answer {n}")]
        assert [words.strip() for words in texts] == expected
        await on.pilot.press("end")
        await on.sees("answer 99")


async def test_a_fresh_snapshot_shows_all_anew_and_keeps_the_readers_place(tmp_path: Path) -> None:
    text = "\n\n".join(f"line {number}" for number in range(60))
    async with stage(tmp_path, Stagehand(scripts=[says(text), forever])) as on:
        await on.attached()
        await on.say("begin")
        await on.idle()
        await on.say("again")
        await on.sees("I am at it.")
        await on.pilot.press("pageup", "pageup")
        await on.sees("F7 ↓")
        before = read(on)
        calls: list[int] = []
        honest = on.session._view.all
        on.session._view.all = lambda: (calls.append(1), honest())
        on.link.client._client._resync(on.link.id)
        await on.until(lambda: calls)
        await on.pilot.pause(0.1)
        assert read(on) == before
        await on.pilot.press("f7")
        await on.sees("I am at it.", "running")
        await on.puppet.session.text("assistant", " And on.")
        await on.sees("I am at it. And on.")


STATES = ["idle", "running", "asking", "panel", "reading"]


@pytest.mark.parametrize("state", STATES)
async def test_resizing_keeps_everything_in_every_state(tmp_path: Path, state: str) -> None:
    text = "\n\n".join(f"line {number}" for number in range(60))

    async def asking(puppet: Puppet, turn: Turn) -> TurnOutcome:
        try:
            await puppet.session.ask(approval())
        except Withdrawn:
            return "cancelled"
        return "completed"

    script = {"running": forever, "asking": asking}.get(state)
    hand = Stagehand(scripts=[says(text), *([script] if script else [])])
    seen = {
        "idle": "line 59",
        "running": "● running",
        "asking": "1 Allow once",
        "panel": "from-42",
        "reading": "F7 ↓",
    }[state]
    async with stage(tmp_path, hand, size=(160, 48)) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("line 59")
        await on.idle()
        if script:
            await on.say("next")
        if state == "panel":
            await on.say("! echo from-$((40 + 2)); exec sleep 60")
        if state == "reading":
            await on.pilot.press("pageup", "pageup")
        await on.sees(seen)
        await on.write("my draft")
        for size in [(60, 16), (160, 48), (80, 24), (60, 16)]:
            await on.pilot.resize_terminal(*size)
            await on.sees(seen, "my draft")
            await on.until(lambda size=size: len(on.lines) == size[1])
            assert on.composer.area.has_focus


@pytest.mark.parametrize("size", SIZES[:1])
async def test_a_session_with_all_of_its_history_draws_what_is_looked_at(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(tmp_path, 300)
    start = Start(kind="continue", cwd=work(tmp_path))
    async with stage(tmp_path, Stagehand(scripts=[forever]), start=start, size=size) as on:
        await on.sees("answer 149")
        while on.link.replica.cursor:
            await on.session._view.older()
        assert len(on.view.blocks) == 300
        drawn: list[int] = []
        rows = MarkdownBlock.rows

        def counted(self: MarkdownBlock, width: int, look: Look, *, expanded: bool) -> list[Row]:
            drawn.append(1)
            return rows(self, width, look, expanded=expanded)

        monkeypatch.setattr(MarkdownBlock, "rows", counted)
        await on.pilot.press("pageup", "pageup", "pagedown", "f7", "x")
        assert on.composer.text == "x"
        assert len(drawn) < 100, "two pages back are no reason to draw all of 150 answers"


async def test_letters_in_the_transcript_are_typed_into_the_composer_in_their_order(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[says("First words.")])) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("First words.")
        await on.idle()
        await on.pilot.press("f6")
        await on.sees("Enter open", "y copy", "Esc back")
        assert on.view.cursor is not None  # where the focus is can be seen
        await on.pilot.press("y")
        await on.sees("Copied by OSC 52")
        assert on.view.has_focus and on.app.clipboard == "First words."
        for key in ("T", "y", "p", "e", "d"):  # no wait between them: each is where it belongs at once
            on.app.post_message(events.Key(key, key))
        await on.until(lambda: on.composer.text == "Typed")
        assert on.composer.area.has_focus and on.view.cursor is None
        await on.pilot.press("f6", "space")
        assert on.composer.text == "Typed " and on.composer.area.has_focus


async def test_the_focus_shows_itself_and_moves_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, Stagehand(scripts=[says("First words.")])) as on:
        await on.attached()
        await on.say("begin")
        await on.sees("First words.")
        await on.idle()
        before = [row[2:] for row in on.lines[:-3]]
        await on.pilot.press("f6")
        await on.sees("Esc back")
        assert [row[2:] for row in on.lines[:-3]] == before
        assert any(row.startswith(on.view.look.glyphs.cursor) for row in on.lines)
        await on.pilot.press("escape")
        await on.sees_no("Esc back")
        assert not any(row.startswith(on.view.look.glyphs.cursor) for row in on.lines)
