from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_core.protocol.interactions import ApprovalSubject
from felan_tui.cards.diffs import diff_lines
from felan_tui.cards.subject import preview, subject_lines
from tests.harness.work import calls
from tests.tui.text.hostile import ALL, FORBIDDEN


def subject(**members: Any) -> ApprovalSubject:
    return msgspec.convert({"category": "execute", **members}, ApprovalSubject)


def shown(one: ApprovalSubject, width: int = 40, rows: int = 20) -> list[str]:
    return [line.plain for line in preview(subject_lines(one), width, rows).lines]


def test_the_command_comes_first_then_its_folder() -> None:
    assert shown(subject(command="ls -l\nrm x", cwd="/a")) == ["ls -l", "rm x", "in /a"]


def test_what_is_hidden_in_a_command_is_shown() -> None:
    assert shown(subject(command="rm \x1b[2J\u202egnp.exe\u200b\ta")) == ["rm ␛[2J‹U+202E›gnp.exe‹U+200B›␉a"]


def test_a_command_is_folded_with_all_its_spaces() -> None:
    command = "echo '" + " " * 30 + "' && rm -rf /"
    assert "".join(shown(subject(command=command), width=10)) == command


def test_what_does_not_fit_is_not_called_whole() -> None:
    lines = list(subject_lines(subject(command="\n".join("abcdef"))))
    assert preview(lines, 10, 6).whole
    assert not preview(lines, 10, 5).whole
    assert not preview(list(subject_lines(subject(command="x" * 51))), 10, 5).whole


@pytest.mark.parametrize("name", ALL)
def test_hostile_subjects_are_harmless(name: str) -> None:
    text = ALL[name][:200_000]
    one = subject(
        command=text, cwd=text, paths=[text], text=text, diff=[{"path": text, "new": text, "old": "x"}]
    )
    lines = shown(one, 30, 30)
    assert lines
    assert not FORBIDDEN & set("".join(lines))


def test_a_diff_shows_what_goes_and_what_comes_with_a_little_around_it() -> None:
    old = "".join(f"line {n}\n" for n in range(20))
    new = old.replace("line 10\n", "line ten\n")
    one = subject(diff=[{"path": "a.txt", "old": old, "new": new}])
    assert shown(one) == ["a.txt  +1 −1", "- line 10", "+ line ten"]
    assert [line.text for line in subject_lines(one, context=2)] == [
        "a.txt  +1 −1",
        "… 8 lines unchanged",
        "  line 8",
        "  line 9",
        "- line 10",
        "+ line ten",
        "  line 11",
        "  line 12",
        "… 7 lines unchanged",
    ]


def test_what_lies_between_two_changes_is_counted() -> None:
    old = "".join(f"line {n}\n" for n in range(20))
    new = old.replace("line 3\n", "").replace("line 16\n", "line x\n")
    one = subject(diff=[{"path": "a.txt", "old": old, "new": new}])
    assert shown(one) == ["a.txt  +1 −2", "- line 3", "… 12 lines unchanged", "- line 16", "+ line x"]


def test_a_new_file_says_so() -> None:
    assert shown(subject(diff=[{"path": "a.txt", "new": "x\n"}])) == ["a.txt  +1 −0 (new file)", "+ x"]


def test_a_change_of_the_last_line_end_alone_is_not_nothing() -> None:
    assert list(diff_lines("a\n", "a", context=0)) == [("…", "only the end of the last line changes")]


@given(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.lists(st.sampled_from("abc"), max_size=30),
    st.integers(0, 3),
)
def test_a_diff_tells_every_line_that_goes_and_that_comes(
    old: list[str], new: list[str], context: int
) -> None:
    before, after = ("".join(f"{one}\n" for one in lines) for lines in (old, new))
    lines = list(diff_lines(before, after, context=context))
    gone = sum(1 for mark, _ in lines if mark == "-")
    come = sum(1 for mark, _ in lines if mark == "+")
    assert len(new) - len(old) == come - gone
    assert bool(lines) == (old != new)
    whole = list(diff_lines(before, after, context=1000))
    assert [line for mark, line in whole if mark != "+"] == (old if old != new else [])
    assert [line for mark, line in whole if mark != "-"] == (new if old != new else [])


def test_a_huge_change_is_previewed_with_a_few_calls_a_line() -> None:
    old = "".join(f"{n % 7}\n" for n in range(100_000))
    new = "".join(f"{n % 5}\n" for n in range(100_000)) + "x" * 5_000_000
    huge = subject(diff=[{"path": "a", "old": old, "new": new}])
    assert calls(lambda: preview(subject_lines(huge), 80, 8)) < 6 * 100_000
    found = preview(subject_lines(huge), 80, 8)
    assert not found.whole
    assert "- 5" in [line.plain for line in found.lines]
