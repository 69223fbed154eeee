import subprocess
import sys

import pytest

from tests.tui.cards.looking import text, until
from tests.tui.gallery import SAMPLES, Gallery, main


def test_the_list_names_every_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.split() == SAMPLES


def test_a_name_that_is_none_is_told_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert "usage" in capsys.readouterr().err


async def test_every_sample_shows_something_at_the_smallest_size() -> None:
    app = Gallery("approval")
    async with app.run_test(size=(60, 16)) as pilot:
        await pilot.pause()
        for name in SAMPLES:
            app.sample = name
            await app.show_sample()
            await until(pilot, lambda: any(line.strip() for line in text(app).splitlines()[:-1]))
            app.stack.show([])


def test_the_gallery_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.tui.gallery", "--list"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "approval" in done.stdout.split()
