import os
import signal
from pathlib import Path

from felan_tui.cli import exits
from tests.e2e.felan import WAIT, Felan

ASKED = ((), ("demo",), ("-c",), ("--agent", "true"))


def _fingerprint(data: Path) -> dict[str, tuple[int, int, int]]:
    found = {path: path.stat() for path in data.iterdir() if path.name.startswith("felan.db")}
    return {path.name: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in found.items()}


def test_a_second_felan_says_who_has_the_data_and_opens_nothing(tmp_path: Path) -> None:
    with Felan(tmp_path) as first:
        first.see("later.")
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
            third.see("Rehearsal ← Enter")


def test_there_is_nothing_to_continue(tmp_path: Path) -> None:
    with Felan(tmp_path, "-c") as felan:
        assert felan.ended(WAIT) == exits.NOT_FOUND
        said = felan.said_at_last().replace("\n", "")
        assert str(felan.project) in said and "to continue" in said
        felan.assert_whole()
