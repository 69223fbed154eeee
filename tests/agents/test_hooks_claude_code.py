import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.agents.fetch import program
from tests.harness.hooks.lab import TEXTS, Context, Lab, claude_environment
from tests.harness.hooks.model import Call, HookModel

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

TASK = "8d3f0c1e-2b4a-4c5d-9e6f-0123456789ab"
LONG = "Goal: one\nNext: three\n" + "éééé\n" * 900  # with its prefixes more than a context holds
ASKING = ("-p", "--permission-mode", "default")  # in -p what would be asked is refused
Events = list[tuple[str, str]]


@dataclass
class Story:
    """What happened, step by step, in one go: a start of the agent is the dear part of these tests."""

    lab: Lab
    session: str = ""
    events: dict[str, Events] = field(default_factory=dict[str, Events])
    contexts: dict[str, list[Context]] = field(default_factory=dict[str, list[Context]])
    at: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    published: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    sessions: dict[str, str] = field(default_factory=dict[str, str])
    last: list[Context] = field(default_factory=list[Context])
    unasked: dict[str, str | None] = field(default_factory=dict[str, str | None])
    not_allowed: str | None = ""
    asking: dict[str, Any] = field(default_factory=dict[str, Any])

    def step(self, name: str, *arguments: str) -> None:
        done = self.lab.run("-p", "--output-format", "json", *arguments)
        self.sessions[name] = json.loads(done.stdout)["session_id"]
        self.events[name] = self.lab.events()
        self.contexts[name] = self.lab.contexts()
        session = self.session or self.sessions[name]
        self.at[name] = self.lab.at(session)

    def newest(self, name: str) -> Context:
        mine = [one for one in self.contexts[name] if one["session_id"] == self.session]
        return mine[-1]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    found = program("claude-code")
    if found is None:
        pytest.skip("claude-code was not fetched: `make test-agents` does that")
    with HookModel() as model:
        lab = Lab("claude-code", found, tmp_path_factory.mktemp("claude it's"), model)
        claude_environment(lab)
        told = Story(lab)
        told.step("startup", "first prompt")
        told.session = told.sessions["startup"]
        told.published["first"] = lab.publish(told.newest("startup"), TASK, "Goal: one\nNext: two")
        told.step("resume", "--resume", told.session, "second prompt")
        told.published["second"] = lab.publish(told.newest("resume"), TASK, LONG)
        told.step("compact", "--resume", told.session, "/compact keep the colour")
        told.step("after compact", "--resume", told.session, "third prompt")
        model.call = lab.publishing("Goal: the fork's")
        told.step("fork", "--resume", told.session, "--fork-session", "fourth prompt")
        told.step("clear", "--resume", told.session, "/clear")
        told.step("after clear", "--resume", told.sessions["clear"], "fifth prompt")
        auto = ("--autocompact", "100000", "--resume", told.session)
        model.usage = 160_000
        told.step("fill one", *auto, "sixth prompt")
        told.step("fill two", *auto, "seventh prompt")
        model.usage = 100
        told.step("auto compact", *auto, "eighth prompt")
        note = lab.project / "note.txt"
        note.write_text("a file to be read\n")
        told.step("fill three", *auto, "ninth prompt")
        model.call = Call("Read", {"file_path": str(note)}, usage=160_000)
        told.step("compact in a turn", *auto, "tenth prompt")
        told.last = lab.last_asked()
        for name, text in TEXTS.items():
            told.unasked[name] = lab.published_by_the_agent(*ASKING, text=text)[1]
        lab.felan("uninstall", "--agent", "claude-code", "--apply")
        lab.install()
        told.not_allowed = lab.published_by_the_agent(*ASKING, text="x")[1]
        told.asking = lab.doctor()
        lab.install("--allow")
        yield told


def test_each_event_and_source_is_delivered(story: Story) -> None:
    prompt = ("UserPromptSubmit", "")
    assert story.events["startup"] == [("SessionStart", "startup"), prompt]
    assert story.events["resume"] == [("SessionStart", "resume"), prompt]
    assert story.events["compact"] == [
        ("SessionStart", "resume"),
        ("PreCompact", "manual"),
        ("SessionStart", "compact"),
    ]
    assert story.events["fork"] == [("SessionStart", "fork"), prompt]
    assert ("SessionStart", "clear") in story.events["clear"]
    assert story.events["compact in a turn"] == [
        ("SessionStart", "resume"),
        prompt,
        ("PreCompact", "auto"),
        ("SessionStart", "compact"),
    ]
    assert [one for one in story.events["auto compact"] if one != prompt] == [
        ("SessionStart", "resume"),
        ("PreCompact", "auto"),
        ("SessionStart", "compact"),
    ]


def test_the_first_four_steps_of_the_typical_run(story: Story) -> None:
    first, second = story.published["first"], story.published["second"]
    assert story.at["startup"] == ("CLEARED", 1)
    assert (first["ok"], first["status"], first["revision"]) == (True, "CLEAN", 2)
    assert story.at["resume"] == ("DIRTY", 3)
    assert (second["ok"], second["status"], second["revision"]) == (True, "CLEAN", 4)
    assert first["generation"] == second["generation"] == story.newest("startup")["generation"]


def test_the_context_reaches_the_model(story: Story) -> None:
    assert all(one.bootstrap for one in story.contexts["startup"])
    assert story.newest("startup").at() == (story.session, "CLEARED", 1)
    seen = [one.at() for one in story.contexts["resume"]]
    assert (story.session, "CLEAN", 2) in seen, "the pointer of SessionStart"
    assert (story.session, "DIRTY", 3) in seen, "the pointer of the prompt"
    dirty = story.newest("resume")
    assert dirty["recovery_mode"] == "MERGE_FIRST"
    assert "| Goal: one\n| Next: two" in dirty.text


@pytest.mark.parametrize("after", ["after compact", "auto compact"])
def test_the_pointer_is_there_again_after_a_compaction(story: Story, after: str) -> None:
    assert "| Next: three" in story.newest(after).text


def test_after_a_compaction_in_a_turn_the_pointer_alone_is_before_the_model(story: Story) -> None:
    (left,) = story.last
    assert left.at() == (story.session, *story.at["compact in a turn"])
    assert "| Next: three" in left.text


def test_a_compaction_changes_nothing_and_leaves_no_trace_in_the_summarys_prompt(story: Story) -> None:
    assert story.at["compact"] == ("CLEAN", 4)
    asked = [text for request in story.lab.model.requests for text in request.texts()]
    assert any("keep the colour" in text for text in asked)
    assert not any("PreCompact" in text and "hookSpecificOutput" in text for text in asked)


def test_the_longest_context_arrives_whole(story: Story) -> None:
    text = story.newest("after compact").text.partition("\n\n")[0]
    assert 9900 < len(text.encode()) <= 10_000
    assert text.splitlines()[-2] == "| éééé"
    assert "pointer_text: cut, " in text


@pytest.mark.parametrize("name", TEXTS)
def test_a_publish_by_the_line_of_the_context_succeeds_unasked(story: Story, name: str) -> None:
    assert story.unasked[name] == TEXTS[name]


def test_without_the_rule_it_is_asked_and_the_doctor_says_so(story: Story) -> None:
    assert story.not_allowed is None
    assert not story.asking["publishes"] and "--allow" in " ".join(story.asking["problems"])


def test_a_session_that_starts_beside_a_task_is_told_of_it(story: Story) -> None:
    told = [one.text for one in story.contexts["fork"] if one["session_id"] == story.sessions["fork"]]
    assert f"other_session: {story.session} of claude-code has a task" in told[0]


def test_a_fork_begins_without_a_task_and_leaves_the_old_one(story: Story) -> None:
    fork = story.sessions["fork"]
    assert fork != story.session
    assert story.lab.at(fork) == ("CLEAN", 2), "it publishes by the newest context, its own"
    assert story.lab.state(fork)["pointer_text"] == "Goal: the fork's"
    assert story.at["fork"] == story.at["after compact"] == ("DIRTY", 5)


def test_the_agents_own_clear_opens_a_new_session_and_leaves_the_old_state(story: Story) -> None:
    new = story.sessions["clear"]
    assert new != story.session
    assert story.at["clear"] == ("DIRTY", 5)
    assert story.lab.at(new) == ("CLEARED", 2), (
        "revision 1 at the clear, and one more for the prompt after it"
    )
    assert {one.at()[2] for one in story.contexts["after clear"] if one["session_id"] == new} >= {1, 2}


def test_the_fifth_step_by_the_installed_hook(story: Story) -> None:
    before = story.lab.state(story.session)
    done = story.lab.hook({"session_id": story.session, "hook_event_name": "SessionStart", "source": "clear"})
    after = story.lab.state(story.session)
    assert (done.returncode, done.stderr) == (0, "")
    assert (after["status"], after["revision"]) == ("CLEARED", before["revision"] + 1)
    assert after["generation"] != before["generation"]


def test_the_doctor_has_seen_it(story: Story) -> None:
    found = story.lab.doctor()
    assert found["healthy"], found
    assert found["last_seen"] is not None


def test_a_prompt_is_held_back_while_the_state_cannot_be_read(story: Story) -> None:
    lab = story.lab
    with lab.broken(story.session):
        lab.run("-p", "--resume", story.session, "the prompt of a broken state")
        assert not lab.asked("the prompt of a broken state")
    lab.run("-p", "--resume", story.session, "the prompt of a mended state")
    assert lab.asked("the prompt of a mended state")


def test_a_script_that_is_gone_is_harmless(story: Story) -> None:
    lab = story.lab
    before = lab.state(story.session)
    with lab.without_script():
        lab.run("-p", "--resume", story.session, "the prompt without a script")
        assert lab.asked("the prompt without a script")
        assert lab.state(story.session) == before
        assert "gone" in " ".join(lab.doctor()["problems"])
