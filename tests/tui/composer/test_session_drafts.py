"""A draft belongs to a session: not to the folder, and not to the terminal."""

import asyncio
import os
from pathlib import Path

from felan_tui.composer import Composer, Draft
from felan_tui.composer.autosave import DraftFile
from felan_tui.composer.files import claim_slot, draft_key
from tests.tui.composer.support import Writing, write

CWD = "/x/api"


def kept(data: Path, session: str | None) -> str:
    return DraftFile(data / "drafts" / f"{draft_key(CWD, session)}.json").load().text


async def until_kept(data: Path, session: str | None, text: str) -> None:
    async with asyncio.timeout(10):
        while kept(data, session) != text:
            await asyncio.sleep(0.01)


async def test_a_second_terminals_send_leaves_the_draft_of_another_session(tmp_path: Path) -> None:
    one, two = Writing(data=tmp_path, cwd=CWD), Writing(data=tmp_path, cwd=CWD)
    async with one.run_test() as first, two.run_test() as second:
        one.composer.belong_to("a")
        two.composer.belong_to("b")
        await write(first, "the long draft of terminal one")
        await until_kept(tmp_path, "a", "the long draft of terminal one")
        await write(second, "b")
        await until_kept(tmp_path, "b", "b")
        await second.press("enter")
        await until_kept(tmp_path, "b", "")
        assert kept(tmp_path, "a") == "the long draft of terminal one"
        assert not one.said or two.said


async def test_a_draft_comes_back_in_its_session_and_in_the_history_of_another(tmp_path: Path) -> None:
    app = Writing(data=tmp_path, cwd=CWD)
    async with app.run_test() as pilot:
        app.composer.belong_to("a")
        await write(pilot, "unfinished")
    for session, there in (("b", ""), ("a", "unfinished")):
        app = Writing(data=tmp_path, cwd=CWD)
        async with app.run_test() as pilot:
            await app.composer.loaded()
            app.composer.belong_to(session)
            if there:
                async with asyncio.timeout(10):
                    while app.composer.text != there:
                        await pilot.pause()
            else:
                async with asyncio.timeout(10):
                    while not app.composer.history.entries:
                        await pilot.pause()
                assert app.composer.is_empty
                await pilot.press("up")
                assert app.composer.text == "unfinished"
                app.composer.take_draft()
    assert kept(tmp_path, "a") == "unfinished"


async def test_what_an_earlier_version_kept_for_the_folder_goes_to_the_session_that_is_opened(
    tmp_path: Path,
) -> None:
    slot = claim_slot(tmp_path / "drafts", draft_key(CWD, None))
    DraftFile(slot.path).save(Draft("of the version before"))
    slot.release()
    app = Writing(data=tmp_path, cwd=CWD)
    async with app.run_test() as pilot:
        await app.composer.loaded()
        app.composer.belong_to("a")
        await until_kept(tmp_path, "a", "of the version before")
        await until_kept(tmp_path, None, "")
        assert app.composer.text == "of the version before"
        # Another session in its place: what is written goes along.
        await write(pilot, "!")
        app.composer.belong_to("b")
        await until_kept(tmp_path, "b", app.composer.text)
        await until_kept(tmp_path, "a", "")
        app.composer.take_draft()
    assert list((tmp_path / "drafts").iterdir()) == [], "a session without a draft leaves nothing"


async def test_a_draft_that_another_terminal_has_open_is_not_recalled(tmp_path: Path) -> None:
    slot = claim_slot(tmp_path / "drafts", draft_key(CWD, "a"))
    DraftFile(slot.path).save(Draft("being written"))
    app = Writing(data=tmp_path, cwd=CWD)
    async with app.run_test() as pilot:
        app.composer.belong_to("b")
        await write(pilot, "x")
        await until_kept(tmp_path, "b", "x")
        assert not app.composer.history.entries
    slot.release()
    assert not [one for one in app.said if isinstance(one, Composer.LeftDrafts)]


async def test_a_kept_draft_that_was_stored_is_dropped_and_one_that_was_typed_after_it_stays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "drafts" / f"{draft_key(CWD, 'a')}.json"
    for stored_at, stays in ((2_000, False), (500, True)):
        DraftFile(path).save(Draft("sent, then killed"))
        os.utime(path, (1, 1))  # written one second after the epoch
        app = Writing(data=tmp_path, cwd=CWD)
        async with app.run_test() as pilot:
            await app.composer.loaded()
            app.composer.belong_to("a", [("another", 9_000), ("sent, then killed", stored_at)])
            await write(pilot, "new")
            async with asyncio.timeout(10):
                while "new" not in kept(tmp_path, "a"):
                    await pilot.pause()
            assert ("sent, then killed" in kept(tmp_path, "a")) is stays
            app.composer.take_draft()
