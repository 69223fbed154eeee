from pathlib import Path

import pytest

from felan_tui.start.command import unstartable


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nosuchprogram --acp", "nosuchprogram: not found on PATH"),
        ('sh "unclosed', "cannot be read"),
        ("  ", "is empty"),
        ("./none", "none: not found."),
        ("./plain --x", "plain: not found."),
        (".", "not found on PATH"),
        ("./", "not found."),
        ("./agent --x", ""),
        ("sh -c 'exit 1'", ""),
        ("sh --api-key hunter2", "environment variable"),
    ],
)
def test_what_cannot_be_started_is_said(tmp_path: Path, command: str, said: str) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "agent").touch(mode=0o700)
    told = unstartable(command, str(tmp_path))
    assert said in told and bool(told) == bool(said)
