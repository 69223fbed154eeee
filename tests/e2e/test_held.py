import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from felan_tui.cli import exits
from tests.e2e.felan import WAIT, Felan

ASKED = ((), ("demo",), ("-c",), ("--agent", "true"))


def _fingerprint(data: Path) -> dict[str, tuple[int, int, int]]:
    found = {path: path.stat() for path in data.iterdir() if path.name.startswith("felan.db")}
    return {path.name: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in found.items()}


def test_a_second_felan_says_who_has_the_data_and_opens_nothing(tmp_path: Path) -> None:
    with Felan(tmp_path) as first:
        first.see("2  Another agent")
        first.until(lambda: list(first.data.glob("felan.db")), "the database")
        first.settle()
        app, before = first.app, _fingerprint(first.data)
        for args in ASKED:
            with Felan(tmp_path, *args) as second:
                assert second.ended(WAIT) == exits.HELD
                said = second.said_at_last().replace("\n", " ")
                assert f"process {app}" in said and "since 20" in said and "/dev/pts/" in said
                assert "--data-dir" in said
                assert b"\x1b[?1049h" not in second.output
                second.assert_whole()
        assert _fingerprint(first.data) == before
        os.kill(app, signal.SIGKILL)
        first.ended(WAIT)
        with Felan(tmp_path) as third:
            third.see("▌ 1  Rehearsal")


def test_there_is_nothing_to_continue(tmp_path: Path) -> None:
    with Felan(tmp_path, "-c") as felan:
        assert felan.ended(WAIT) == exits.NOT_FOUND
        said = felan.said_at_last().replace("\n", "")
        assert str(felan.project) in said and "to continue" in said and "Start a new one" in said
        felan.assert_whole()


def _spoil(data: Path, table: str, session: str) -> None:
    with closing(sqlite3.connect(data / "felan.db")) as database, database:
        key = "id" if table == "sessions" else "session"
        assert database.execute(f"UPDATE {table} SET body = x'00' WHERE {key} = ?", (session,)).rowcount


@pytest.mark.parametrize("table", ["sessions", "entries"])
def test_a_spoiled_session_is_named_and_the_one_before_it_goes_on(tmp_path: Path, table: str) -> None:
    for word in ("first words", "second words"):
        with Felan(tmp_path, "demo", "help", "--pace", "0", rows=70) as felan:
            felan.ready()
            felan.enter(word)
            felan.see(word)
            assert felan.quit() == 0
    sessions = felan.stored("SELECT id FROM sessions ORDER BY updated_at")
    older, newer = (str(row[0]) for row in sessions)
    _spoil(felan.data, table, newer)
    with Felan(tmp_path, "-c", columns=160, rows=70) as again:
        again.see("cannot be read")
        again.ready()
        again.see("first words")
        assert again.quit() == 0
    _spoil(felan.data, table, older)
    with Felan(tmp_path, "-c") as none:
        assert none.ended(WAIT) == exits.NOT_FOUND
        said = none.said_at_last().replace("\n", "")
        assert "cannot be read" in said and newer in said and older in said
    with Felan(tmp_path) as card:
        card.see("▌ 1  Rehearsal")
