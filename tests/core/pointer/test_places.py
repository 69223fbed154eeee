"""Where things are kept, without the library that says so (§1)."""

import os
import sys
from pathlib import Path

import pytest
from platformdirs import PlatformDirs

from felan_core.pointer.places import data_folder, scripts_folder, state_root, v1_folder


def test_the_default_is_the_one_of_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, "", "/x/state"):
        if value is None:
            monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        else:
            monkeypatch.setenv("XDG_STATE_HOME", value)
        monkeypatch.delenv("FELAN_DATA_DIR", raising=False)
        assert Path(data_folder(os.environ)) == PlatformDirs("felan", appauthor=False).user_state_path


@pytest.mark.skipif(sys.platform == "darwin", reason="the other one is the real one there")
def test_the_default_on_macos() -> None:
    from platformdirs.macos import MacOS

    assert data_folder({}, "darwin") == MacOS("felan", appauthor=False).user_state_dir


def test_the_command_line_comes_before_the_variable_and_the_variable_before_the_default() -> None:
    env = {"FELAN_POINTER_ROOT": "/variable", "FELAN_DATA_DIR": "/data"}
    assert state_root("/named", None, env) == "/named"
    assert state_root(None, None, env) == "/variable"
    del env["FELAN_POINTER_ROOT"]
    assert state_root(None, None, env) == "/data/task-pointers/v3"
    assert state_root(None, "/given", env) == "/given/task-pointers/v3"
    assert state_root("", None, env) == "", "an empty one is refused later, never replaced"
    assert v1_folder(None, env) == "/data/task-pointers/v1"
    assert scripts_folder(None, env) == "/data/pointer"
