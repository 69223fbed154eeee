"""What the composer keeps on disk: whole after a kill -9, private, and never a reason to stop."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from felan_tui.composer import Composer, Draft
from felan_tui.composer.autosave import Autosave, DraftFile
from felan_tui.composer.files import claim_slot, project_key, write_whole
from felan_tui.composer.history import MAX_ENTRIES, HistoryFile
from tests.tui.composer.support import Writing, paste, write

ROOT = Path(__file__).parents[3]
BIG = "a\n" * 50


def draft_path(data: Path, cwd: str = "/x/api") -> Path:
    return data / "drafts" / f"{project_key(cwd)}.json"


async def until_kept(data: Path, text: str) -> None:
    async with asyncio.timeout(10):
        while DraftFile(draft_path(data)).load().text != text:
            await asyncio.sleep(0.01)


async def test_a_draft_is_there_again_at_the_next_start_with_its_pastes(tmp_path: Path) -> None:
    app = Writing(data=tmp_path)
    async with app.run_test() as pilot:
        await app.composer.loaded()
        await write(pilot, "look: ")
        paste(app, BIG)
        await pilot.pause()
        await until_kept(tmp_path, "look: [pasted 50 lines #1]")
    again = Writing(data=tmp_path)
    async with again.run_test() as pilot:
        await again.composer.loaded()
        await pilot.pause()
        assert again.composer.area.text == "look: [pasted 50 lines #1]"
        assert again.composer.text == f"look: {BIG}"
    other = Writing(data=tmp_path, cwd="/y/api")
    async with other.run_test():
        await other.composer.loaded()
        assert other.composer.is_empty


async def test_an_orderly_end_keeps_the_last_key_too(tmp_path: Path) -> None:
    app = Writing(data=tmp_path)
    async with app.run_test() as pilot:
        await app.composer.loaded()
        await write(pilot, "unfinished")
    assert DraftFile(draft_path(tmp_path)).load() == Draft("unfinished")
    app = Writing(data=tmp_path)
    async with app.run_test() as pilot:
        await app.composer.loaded()
        await write(pilot, "!")
        app.composer.keep()
        assert DraftFile(draft_path(tmp_path)).load() == Draft("unfinished!")


async def test_what_was_sent_is_no_draft_any_more_but_history(tmp_path: Path) -> None:
    app = Writing(data=tmp_path)
    async with app.run_test() as pilot:
        await write(pilot, "one\rtwo\r")
        app.composer.set_draft("three")
        app.composer.clear_draft()
    assert not draft_path(tmp_path).exists()
    again = Writing(data=tmp_path)
    async with again.run_test() as pilot:
        await again.composer.loaded()
        seen = []
        for _ in range(3):
            await pilot.press("up")
            await pilot.pause()
            seen.append(again.composer.text)
        assert seen == ["three", "two", "one"]


async def test_keys_typed_before_the_old_draft_is_read_stay_behind_it(tmp_path: Path) -> None:
    DraftFile(draft_path(tmp_path)).save(Draft("old"))
    app = Writing(data=tmp_path)
    async with app.run_test() as pilot:
        app.composer.set_draft("new")
        await app.composer.loaded()
        await pilot.pause()
        assert app.composer.text in ("old\nnew", "new")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\x00", b'{"text": 3}'])
async def test_a_file_that_is_no_draft_is_no_draft(tmp_path: Path, content: bytes) -> None:
    write_whole(draft_path(tmp_path), content)
    app = Writing(data=tmp_path)
    async with app.run_test():
        await app.composer.loaded()
        assert app.composer.is_empty


async def test_a_folder_that_cannot_be_written_is_said_once_and_writing_goes_on(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    app = Writing(data=blocked)
    async with app.run_test() as pilot:
        await app.composer.loaded()
        await write(pilot, "one\rtwo\r")
        async with asyncio.timeout(10):
            while not [m for m in app.said if isinstance(m, Composer.KeepFailed)]:
                await pilot.pause(0.01)
    failures = [message for message in app.said if isinstance(message, Composer.KeepFailed)]
    assert len(failures) == 1
    assert str(blocked) in failures[0].problem
    assert [text for kind, text in app.heard() if kind == "Submitted"] == ["one", "two"]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_files_and_folders_are_private_under_any_umask(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        HistoryFile(tmp_path / "history" / "p").append(Draft("a"))
        slot = claim_slot(tmp_path / "drafts", "p")
        DraftFile(slot.path).save(Draft("a"))
    finally:
        os.umask(old)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")
    }
    assert modes == {
        "history": 0o700,
        "history/p": 0o700,
        "history/p/history.jsonl": 0o600,
        "drafts": 0o700,
        "drafts/p.json": 0o600,
        "drafts/p.lock": 0o600,
    }
    slot.release()


def test_a_data_folder_that_was_deleted_is_not_made_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with pytest.raises(FileNotFoundError):
        HistoryFile(data / "history" / "p").append(Draft("a"))
    with pytest.raises(FileNotFoundError):
        DraftFile(claim_slot(data / "drafts", "p").path).save(Draft("a"))
    assert not data.exists()


async def test_two_terminals_in_one_folder_have_a_draft_each(tmp_path: Path) -> None:
    one, two = Writing(data=tmp_path), Writing(data=tmp_path)
    async with one.run_test() as first, two.run_test() as second:
        await one.composer.loaded()
        await two.composer.loaded()
        await write(first, "the long draft of terminal one")
        await until_kept(tmp_path, "the long draft of terminal one")
        await write(second, "b\r")
    assert DraftFile(draft_path(tmp_path)).load() == Draft("the long draft of terminal one")
    again = Writing(data=tmp_path)
    async with again.run_test():
        await again.composer.loaded()
        assert again.composer.text == "the long draft of terminal one"


def test_a_draft_that_a_second_terminal_left_is_found_by_the_next(tmp_path: Path) -> None:
    one, two = claim_slot(tmp_path, "p"), claim_slot(tmp_path, "p")
    assert one.path != two.path
    DraftFile(two.path).save(Draft("left"))
    for slot in (one, two):
        slot.release()
    third, fourth = claim_slot(tmp_path, "p"), claim_slot(tmp_path, "p")
    assert (third.path, fourth.path) == (two.path, one.path)
    for slot in (third, fourth):
        slot.release()


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    history.append(Draft("one"))
    with history.path.open("ab") as file:
        file.write(b'{"text": "tor\n')
    history.append(Draft("two"))
    assert [entry.text for entry in history.load()] == ["one", "two"]


def test_a_long_history_is_written_anew_and_keeps_the_newest(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    rows = [json.dumps({"text": f"entry {number}"}) for number in range(3 * MAX_ENTRIES)]
    history.path.write_text("\n".join(rows) + "\n")
    assert len(history.load()) == MAX_ENTRIES
    assert history.path.read_bytes().count(b"\n") == MAX_ENTRIES
    assert history.load()[-1].text == f"entry {3 * MAX_ENTRIES - 1}"


def test_a_huge_entry_does_not_fill_the_history(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    history.append(Draft("x" * 1_000_000))
    history.append(Draft("small"))
    assert [entry.text for entry in history.load()] == ["small"]


class SlowFile(DraftFile):
    """Counts what is written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.saved: list[str] = []

    def save(self, draft: Draft) -> None:
        self.saved.append(draft.text)
        super().save(draft)


async def test_many_changes_are_few_writes_and_the_last_one_wins(tmp_path: Path) -> None:
    file = SlowFile(tmp_path / "draft.json")
    autosave = Autosave(file, lambda error: None, pause=0.05)
    task = asyncio.create_task(autosave.run())
    for number in range(200):
        autosave.changed(Draft("x" * number))
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        while file.load().text != "x" * 199:
            await asyncio.sleep(0.01)
    assert len(file.saved) <= 3
    autosave.stop()
    await task


def test_folders_of_the_same_name_are_told_apart() -> None:
    keys = {project_key(cwd) for cwd in ("/a/api", "/b/api", "/", "", "/한글/이름", "/x\udcff")}
    assert len(keys) == 6
    assert all(len(os.fsencode(key)) < 100 and "/" not in key for key in keys)


CHILD = """
import asyncio, os, sys
from pathlib import Path
from tests.tui.composer.support import Writing, type_at

async def main():
    app = Writing(data=Path(sys.argv[1]))
    async with app.run_test() as pilot:
        await app.composer.loaded()
        os.write(1, b"ready\\n")  # past the app, which keeps what is printed
        at = 0.0
        while True:
            at = type_at(app, "0123456789", at + 1, 0.05)
            await pilot.pause()

asyncio.run(main())
"""


@pytest.mark.parametrize("changes", [1, 3])
def test_after_a_kill_9_the_draft_is_whole(tmp_path: Path, changes: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    path = draft_path(tmp_path)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        seen: set[int] = set()
        while len(seen) < changes:
            assert child.poll() is None
            if path.exists():
                seen.add(path.stat().st_ino)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    text = DraftFile(path).load().text
    assert text
    assert text == ("0123456789" * (len(text) // 10 + 1))[: len(text)]
