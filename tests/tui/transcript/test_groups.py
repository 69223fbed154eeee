"""Groups of tool calls: what folds and when, what never does, and what a reader sees of it."""

from collections.abc import Sequence

import pytest
from textual.pilot import Pilot

from felan_tui.transcript.blocks import Block, MarkdownBlock, OutcomeBlock
from felan_tui.transcript.diff import FileDiff
from felan_tui.transcript.groups import GroupBlock, ToolGroups, counted
from felan_tui.transcript.look import State
from felan_tui.transcript.tools import ToolBlock
from tests.harness.work import calls
from tests.tui.transcript.drawing import LOOK, shown
from tests.tui.transcript.viewing import Transcript, fill, screen

Place = tuple[int, int]


def tool(number: int, category: str = "read", *, state: State = "completed", word: str = "") -> ToolBlock:
    diffs = (FileDiff("a.py", "one\n", "two\nthree\n"),) if category == "edit" else ()
    return ToolBlock(
        f"t{number}", f"file-{number}", category, category, state, output="out", diffs=diffs, word=word
    )


def at(*blocks: Block) -> list[tuple[Block, Place]]:
    return [(block, (number, 0)) for number, block in enumerate(blocks, 1)]


def texts(app: Transcript) -> list[str]:
    return [line.strip() for line in screen(app.view) if line.strip()]


async def grouped(
    pilot: Pilot[None], app: Transcript, placed: Sequence[tuple[Block, Place]], *, running: bool = False
) -> ToolGroups:
    groups = ToolGroups(app.view, lambda: running)
    groups.put(placed)
    await pilot.pause()
    return groups


SAID = MarkdownBlock("said", "I read them.")


def test_a_group_is_one_row_with_its_kinds_and_the_sum_of_its_changes() -> None:
    tools = (tool(1), tool(2), tool(3, "edit"), tool(4, "edit"), tool(5, "execute"), tool(6, "mine"))
    assert counted(tools) == "2 reads · 2 edits · 1 command · 1 other call"
    row = shown(GroupBlock("g", tools), 80)
    assert row.startswith("✓ 2 reads · 2 edits · 1 command") and row.endswith("+4 −2") and len(row) == 80
    assert "\n" not in row
    for width in (8, 20, 40):
        assert len(GroupBlock("g", tools).rows(width, LOOK, expanded=False)) == 1
        shown(GroupBlock("g", tools), width)


async def test_three_adjacent_calls_fold_when_something_follows_them() -> None:
    app = Transcript()
    async with app.run_test(size=(60, 16)) as pilot:
        groups = await grouped(pilot, app, at(tool(1), tool(2), tool(3)), running=True)
        assert texts(app) == ["✓ read  file-1", "✓ read  file-2", "✓ read  file-3"]
        groups.put([(SAID, (4, 0))])
        await pilot.pause()
        assert texts(app) == ["✓ 3 reads", "I read them."]


async def test_the_last_calls_of_a_turn_fold_at_its_end_and_two_never() -> None:
    app = Transcript()
    async with app.run_test(size=(60, 16)) as pilot:
        turn = [True]
        groups = ToolGroups(app.view, lambda: turn[0])
        groups.put(at(tool(1), tool(2), SAID, tool(3), tool(4), tool(5)))
        turn[0] = False
        groups.finish()
        await pilot.pause()
        assert texts(app) == ["✓ read  file-1", "✓ read  file-2", "I read them.", "✓ 3 reads"]


@pytest.mark.parametrize(
    "one",
    [
        tool(2, state="running"),
        tool(2, state="waiting", word="waiting"),
        tool(2, state="failed", word="failed"),
        tool(2, state="cancelled", word="rejected"),
        tool(2, state="interrupted", word="interrupted"),
        tool(2, word="exit 2"),
        OutcomeBlock("o", "completed", "approved once by you: git push"),
    ],
    ids=["running", "waiting", "failed", "rejected", "interrupted", "exit code", "an answer"],
)
async def test_what_a_person_should_see_is_in_no_group(one: Block) -> None:
    app = Transcript()
    async with app.run_test(size=(60, 16)) as pilot:
        around = [tool(number) for number in (10, 11, 12)], [tool(number) for number in (20, 21, 22)]
        await grouped(pilot, app, at(*around[0], one, *around[1], SAID))
        rows = texts(app)
        assert rows[-2:] == ["✓ 3 reads", "I read them."]
        assert app.view.block(one.key) is one
        # Calls above one that still runs are in sight with it.
        works = isinstance(one, ToolBlock) and one.state in ("running", "waiting")
        assert rows.count("✓ 3 reads") == (1 if works else 2)


async def test_a_reader_unfolds_a_group_and_folds_it_again() -> None:
    app = Transcript()
    async with app.run_test(size=(60, 16)) as pilot:
        groups = await grouped(pilot, app, at(tool(1), tool(2), tool(3), SAID))
        app.view.select_block("group/t1")
        app.view.action_toggle_block()
        await pilot.pause()
        unfolded = ["▾ 3 reads", "✓ read  file-1", "✓ read  file-2", "✓ read  file-3"]
        assert [line.lstrip("▌ ") for line in texts(app)] == [*unfolded, "I read them."]
        assert app.view.following and app.view.new_lines == 0
        app.view.toggle("t2")
        await pilot.pause()
        assert "│ out" in texts(app)
        groups.put([(tool(4), (9, 0))])  # what comes later leaves it as it is
        await pilot.pause()
        app.view.toggle("group/t1")
        await pilot.pause()
        assert [line.lstrip("▌ ") for line in texts(app)] == ["✓ 3 reads", "I read them.", "✓ read  file-4"]
        assert "file-1" in app.view.copy_text("group/t1") and "file-3" in app.view.copy_text("group/t1")
        await pilot.click(app.view, offset=(6, 0))
        await pilot.pause()
        assert "✓ read  file-2" in texts(app)


async def test_a_call_that_ends_late_joins_and_one_that_turns_bad_leaves() -> None:
    app = Transcript()
    async with app.run_test(size=(60, 16)) as pilot:
        late = tool(1, state="running")
        groups = await grouped(pilot, app, at(late, tool(2), tool(3), tool(4), SAID))
        assert texts(app)[-2:] == ["✓ 3 reads", "I read them."]
        groups.put([(tool(1), (1, 0))])
        await pilot.pause()
        assert texts(app) == ["✓ 4 reads", "I read them."]
        groups.put([(tool(3, state="failed", word="failed"), (3, 0))])
        await pilot.pause()
        assert [line.split()[0] for line in texts(app)] == ["✓", "✓", "✗", "✓", "I"]
        groups.remove("t3")
        await pilot.pause()
        assert not any("file-3" in line for line in texts(app))


async def test_a_call_that_a_person_reads_is_not_folded_away() -> None:
    app = Transcript()
    async with app.run_test(size=(60, 16)) as pilot:
        groups = await grouped(pilot, app, at(tool(1), tool(2), tool(3)), running=True)
        app.view.toggle("t3")
        groups.put([(SAID, (4, 0))])
        await pilot.pause()
        assert "│ out" in texts(app) and "✓ read  file-1" in texts(app)


async def test_all_anew_has_the_same_groups_as_one_by_one() -> None:
    placed = at(
        *(tool(number) for number in range(4)), SAID, *(tool(number, "edit") for number in range(5, 9))
    )
    app, other = Transcript(), Transcript()
    async with app.run_test(size=(60, 16)) as pilot:
        ToolGroups(app.view).set(placed)
        await pilot.pause()
        whole = texts(app)
    async with other.run_test(size=(60, 16)) as pilot:
        groups = ToolGroups(other.view)
        for one in reversed(placed):  # as older history comes in above
            groups.put([one])
        await pilot.pause()
        assert texts(other) == whole == ["✓ 4 reads", "I read them.", whole[2]]
        assert whole[2].startswith("✓ 4 edits")


async def test_a_group_in_a_long_transcript_costs_what_one_in_a_short_one_does() -> None:
    async def work(blocks: int) -> int:
        app = Transcript()
        async with app.run_test(size=(80, 24)) as pilot:
            fill(app.view, blocks)
            groups = ToolGroups(app.view)
            await pilot.pause()

            def put() -> None:
                for number in range(20):
                    groups.put([(tool(number), (5000 + number, 0))])
                groups.put([(SAID, (6000, 0))])
                app.view._settle()  # pyright: ignore[reportPrivateUsage] without the pilot, which waits for all

            return calls(put)

    assert await work(2000) < 1.5 * await work(200)
