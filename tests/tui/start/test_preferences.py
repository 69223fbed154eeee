"""felan.toml: our keys are read and written, the person's stay, and a broken file is never touched."""

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_tui.preferences import FILE, AgentChoice, PreferencesError, read_agent, write_agent


def written(folder: Path, text: str) -> Path:
    path = folder / FILE
    path.write_text(text)
    return path


def test_without_a_file_nothing_was_chosen(tmp_path: Path) -> None:
    assert read_agent(tmp_path) is None
    assert read_agent(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "choice",
    [
        AgentChoice("rehearsal"),
        AgentChoice("acp", 'opencode acp --x "a b" \\ [/red] 한글\t\x1b'),
        AgentChoice("acp", "x"),
    ],
)
def test_a_choice_comes_back(tmp_path: Path, choice: AgentChoice) -> None:
    folder = tmp_path / "config" / "felan"
    write_agent(folder, choice.kind, choice.command)
    assert read_agent(folder) == choice
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [FILE]


def test_writing_leaves_everything_else_as_it_stands(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '# mine\ntheme = "felan-light"\n\n[agent] # the agent\nkind = "acp"\n'
        '# a note\nextra = 3\ncommand = "old"\n\n'
        "[keys]\nsend = 'f9' # kept\n",
    )
    write_agent(tmp_path, "acp", "new agent")
    assert path.read_text() == (
        '# mine\ntheme = "felan-light"\n\n[agent] # the agent\nkind = "acp"\n'
        '# a note\nextra = 3\ncommand = "new agent"\n\n'
        "[keys]\nsend = 'f9' # kept\n"
    )
    write_agent(tmp_path, "rehearsal")
    tables = tomllib.loads(path.read_text())
    assert tables["agent"] == {"kind": "rehearsal", "extra": 3}
    assert tables["keys"] == {"send": "f9"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb =\n", 2),
        ("a = 1\n\n[agent\n", 3),
        ('a = 1\n[agent]\nkind = "pi"\n', 3),
        ('[agent]\nkind = "acp"\n', 2),
        ('[agent]\nkind = "acp"\ncommand = 3\n', 3),
        ("agent = 3\n", 1),
        ('x = """', 1),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_never_overwritten(
    tmp_path: Path, text: str, line: int
) -> None:
    path = written(tmp_path, text)
    for attempt in (lambda: read_agent(tmp_path), lambda: write_agent(tmp_path, "rehearsal")):
        with pytest.raises(PreferencesError) as caught:
            attempt()
        assert caught.value.line == line
        assert str(caught.value).startswith(f"{path}:{line}: ")
    assert path.read_text() == text


def test_a_file_that_is_not_text_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(PreferencesError) as caught:
        write_agent(tmp_path, "rehearsal")
    assert caught.value.line == 2
    assert path.read_bytes() == b"a = 1\nb = '\xff'\n"


@pytest.mark.parametrize(
    "text",
    ['agent = { kind = "rehearsal" }\n', 'agent.kind = "rehearsal"\n', 'note = """\n[agent]\n"""\n'],
)
def test_what_cannot_be_edited_line_by_line_is_refused_or_right(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    before = tomllib.loads(text)
    try:
        write_agent(tmp_path, "acp", "x")
    except PreferencesError:
        assert path.read_text() == text
    else:
        assert tomllib.loads(path.read_text()) == {**before, "agent": {"kind": "acp", "command": "x"}}


def test_a_secret_is_not_remembered(tmp_path: Path) -> None:
    write_agent(tmp_path, "acp", "opencode acp")
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(PreferencesError, match="environment variable") as refused:
        write_agent(tmp_path, "acp", "agent --token hunter2A9xq")
    assert "hunter2A9xq" not in str(refused.value)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(PreferencesError) as caught:
        write_agent(blocked, "rehearsal")
    assert str(blocked) in str(caught.value)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("a = 1\n")
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / FILE).symlink_to(real)
    write_agent(folder, "rehearsal")
    assert (folder / FILE).is_symlink()
    assert tomllib.loads(real.read_text()) == {"a": 1, "agent": {"kind": "rehearsal"}}


@settings(max_examples=40, deadline=None)
@given(
    st.text(min_size=1).filter(lambda text: text.strip() and not any(0xD800 <= ord(c) < 0xE000 for c in text))
)
def test_any_command_comes_back(tmp_path_factory: pytest.TempPathFactory, command: str) -> None:
    folder = tmp_path_factory.mktemp("config")
    write_agent(folder, "acp", command)
    assert read_agent(folder) == AgentChoice("acp", command)
