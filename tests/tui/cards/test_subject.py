import shlex
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from felan_core.agents.acp.questions import permission
from felan_core.agents.acp.tools import ToolBook
from felan_core.protocol.interactions import ApprovalRequest, ApprovalSubject, ConfirmRequest
from felan_tui.cards.excerpt import Excerpt
from felan_tui.cards.subject import folded, request_lines, subject_lines
from felan_tui.text.diff import compare
from felan_tui.text.safe import visible
from tests.harness.work import calls
from tests.tui.gallery_samples import INTERACTIONS
from tests.tui.text.hostile import ALL, FORBIDDEN


def subject(**members: Any) -> ApprovalSubject:
    return msgspec.convert({"category": "execute", **members}, ApprovalSubject)


def shown(one: ApprovalSubject, width: int = 40) -> list[str]:
    return [line.plain for line in folded(subject_lines(one), width)]


def test_the_command_comes_first_then_its_folder() -> None:
    assert shown(subject(command="ls -l", cwd="/a")) == ["$ ls -l", "in /a"]


def test_no_row_of_an_agents_text_can_pass_for_felans_words() -> None:
    command = "rm x\nin /safe\n# a comment" + " " * 30 + "in /safe"
    rows = shown(subject(command=command, cwd="/a b", text="in /safe\n… 3 lines unchanged"), 30)
    assert rows[0] == "$ rm x"
    assert [row for row in rows if row.startswith("in ")] == ["in '/a b'"]
    assert all(row[:2] in ("$ ", "│ ") for row in rows if not row.startswith("in "))


def test_a_line_end_in_a_path_makes_no_row_of_its_own() -> None:
    assert shown(subject(paths=["/a\nin /safe"], cwd="/b\nc")) == ["'/a␊in /safe'", "in '/b␊c'"]


def test_what_is_hidden_in_a_command_is_shown() -> None:
    assert shown(subject(command="rm \x1b[2J\u202egnp.exe\u200b\ta")) == [
        "$ rm ␛[2J‹U+202E›gnp.exe‹U+200B›␉a"
    ]


def test_a_command_is_folded_with_all_its_spaces() -> None:
    command = "echo '" + " " * 30 + "' && rm -rf /"
    assert "".join(row[2:] for row in shown(subject(command=command), width=10)) == command


@pytest.mark.parametrize("name", ALL)
def test_hostile_subjects_are_harmless(name: str) -> None:
    text = ALL[name][:50_000]
    one = subject(
        command=text, cwd=text, paths=[text], text=text, diff=[{"path": text, "new": text, "old": "x"}]
    )
    lines = [content.plain for _, content in Excerpt(subject_lines(one)).rows(30)]
    assert lines
    assert not FORBIDDEN & set("".join(lines))


def test_a_diff_shows_what_is_removed_and_added_with_a_little_around_it() -> None:
    old = "".join(f"line {n}\n" for n in range(20))
    new = old.replace("line 10\n", "line ten\n")
    one = subject(diff=[{"path": "a.txt", "old": old, "new": new}])
    assert shown(one) == ["a.txt  +1 −1", "- line 10", "+ line ten"]
    assert [line.lead + line.text for line in subject_lines(one, context=2)] == [
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


def test_what_is_between_two_changes_is_counted() -> None:
    old = "".join(f"line {n}\n" for n in range(20))
    new = old.replace("line 3\n", "").replace("line 16\n", "line x\n")
    one = subject(diff=[{"path": "a.txt", "old": old, "new": new}])
    assert shown(one) == ["a.txt  +1 −2", "- line 3", "… 12 lines unchanged", "- line 16", "+ line x"]


def test_a_new_file_says_so() -> None:
    assert shown(subject(diff=[{"path": "a.txt", "new": "x\n"}])) == ["a.txt  +1 −0  new file", "+ x"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("a\n", "a"), ("\tx\n", "    x\n"), ("a\n", "a\r\n"), ("a\n", "\ufeffa\n"), ("a\n", "a\u200b\n")],
)
def test_a_change_that_nobody_sees_is_counted_as_in_the_transcript_and_named(old: str, new: str) -> None:
    found = compare(old, new)
    head, *lines = shown(subject(diff=[{"path": "a.txt", "old": old, "new": new}]), 100)
    assert head == f"a.txt  +{found.added} −{found.removed}"
    assert found.added + found.removed > 0
    assert set(found.notes) <= set(lines)
    assert lines


def test_a_huge_change_is_shown_with_a_few_calls_a_line() -> None:
    old = "".join(f"{n % 7}\n" for n in range(100_000))
    new = "".join(f"{n % 5}\n" for n in range(100_000)) + "x" * 5_000_000
    huge = subject(diff=[{"path": "a", "old": old, "new": new}])
    assert calls(lambda: Excerpt(subject_lines(huge)).rows(80)) < 20 * 100_000


def test_a_title_is_quoted_where_it_says_more() -> None:
    request = INTERACTIONS["approval"][0].request
    assert "“Push the branch”" in [line.text for line in request_lines(request)]


NAMES = st.text(max_size=8)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=20))
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4)
)
MEMBERS = ["command", "cmd", "args", "cwd", "path", "content", "old_string", "env", "description"]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from strings(item)


@given(st.dictionaries(st.sampled_from(MEMBERS), TREES, max_size=6), st.sampled_from(["execute", "edit"]))
def test_each_text_of_the_raw_input_is_in_the_whole_view(raw: dict[str, Any], kind: str) -> None:
    call = ToolBook("1.").upsert(
        {"toolCallId": "t", "kind": kind, "title": "T", "rawInput": raw}, announced=True
    )
    assert call is not None
    request = permission(call, [{"optionId": "y", "kind": "allow_once", "name": "Yes"}]).request
    assert isinstance(request, ApprovalRequest)
    lines = list(request_lines(request))
    everything = "\n".join(line.text for line in lines)
    for text in strings(raw):
        if text in MEMBERS:
            continue
        whole = [visible(line.removesuffix("\r")) for line in text.split("\n")]
        # As it is, as JSON has it (a name), or as a shell needs it (an argument, a path).
        quoted = [visible(line) for line in shlex.quote(text).split("\n")]
        one_line = visible(shlex.quote(text)).replace("\n", "␊")
        json = visible(msgspec.json.encode(text).decode().strip('"'))
        assert (
            all(line in everything for line in whole)
            or all(line.strip() in everything for line in quoted)
            or json in everything
            or one_line in everything
        )


def test_prose_is_wrapped_at_words_and_a_command_is_folded_as_it_is() -> None:
    words = "Leave the version empty to see what a form answers."
    lines = list(request_lines(ConfirmRequest(title="?", message=words)))
    assert [lead + piece for line in lines for lead, piece in line.rows(24)] == [
        "│ Leave the version",
        "│ empty to see what a",
        "│ form answers.",
    ]
    command = list(subject_lines(ApprovalSubject(category="execute", command="echo  a  " + "b" * 20)))
    assert [lead + piece for line in command for lead, piece in line.rows(24)] == [
        "$ echo  a  " + "b" * 13,
        "│ " + "b" * 7,
    ]
