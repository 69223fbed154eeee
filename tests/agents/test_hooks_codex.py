import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.agents.fetch import program
from tests.harness.hooks.codex_server import CodexServer
from tests.harness.hooks.lab import TEXTS, Context, Lab, codex_configuration
from tests.harness.hooks.model import Call, HookModel

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

TASK = "8d3f0c1e-2b4a-4c5d-9e6f-0123456789ab"
LONG = "Goal: one\nNext: three\n" + "éééé\n" * 900  # with its prefixes more than a context holds
PROMPT = ("UserPromptSubmit", "")
Events = list[tuple[str, str]]


@dataclass
class Story:
    """What happened, step by step, in one go."""

    lab: Lab
    session: str = ""
    thread: str = ""
    cleared: str = ""
    untrusted: dict[str, Any] = field(default_factory=dict[str, Any])
    trusted: dict[str, Any] = field(default_factory=dict[str, Any])
    events: dict[str, Events] = field(default_factory=dict[str, Events])
    contexts: dict[str, list[Context]] = field(default_factory=dict[str, list[Context]])
    at: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    sessions: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    published: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    said: dict[str, str] = field(default_factory=dict[str, str])
    last: list[Context] = field(default_factory=list[Context])
    unasked: dict[str, str | None] = field(default_factory=dict[str, str | None])
    not_allowed: str | None = ""
    shut: dict[str, Any] = field(default_factory=dict[str, Any])
    allowed_again: str | None = ""
    open: dict[str, Any] = field(default_factory=dict[str, Any])

    def step(self, name: str, *arguments: str) -> None:
        self.said[name] = self.lab.run("exec", *arguments).stderr
        self.note(name)

    def note(self, name: str) -> None:
        self.events[name] = self.lab.events()
        self.contexts[name] = self.lab.contexts()
        self.sessions[name] = self.lab.sessions()
        if self.session:
            self.at[name] = self.lab.at(self.session)

    def newest(self, name: str, session: str | None = None) -> Context:
        mine = [one for one in self.contexts[name] if one["session_id"] == (session or self.session)]
        return mine[-1]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    found = program("codex-cli")
    if found is None:
        pytest.skip("codex-cli was not fetched: `make test-agents` does that")
    with HookModel() as model:
        lab = Lab("codex", found, tmp_path_factory.mktemp("codex it's"), model)
        told = Story(lab)
        codex_configuration(lab, trusted=False)
        told.untrusted = lab.doctor()
        told.step("untrusted", "prompt zero")
        codex_configuration(lab, trusted=True)
        told.trusted = lab.doctor()
        told.step("startup", "first prompt")
        (told.session,) = told.sessions["startup"]
        told.published["first"] = lab.publish(told.newest("startup"), TASK, "Goal: one\nNext: two")
        told.step("resume", "resume", told.session, "second prompt")
        told.published["second"] = lab.publish(told.newest("resume"), TASK, LONG)
        model.call = lab.publishing("Goal: the fork's")
        told.step("fork", "fork", _rollout(lab, told.session), "third prompt")
        codex_configuration(lab, trusted=True, more="model_auto_compact_token_limit = 1000")
        model.usage = 5000
        told.step("fill", "resume", told.session, "fourth prompt")
        model.usage = 100
        told.step("auto compact", "resume", told.session, "fifth prompt")
        plan = {"plan": [{"step": "one", "status": "in_progress"}]}
        model.call = Call("update_plan", plan, usage=5000)
        told.step("compact in a turn", "resume", told.session, "a prompt and a plan")
        told.last = lab.last_asked()
        codex_configuration(lab, trusted=True)
        _screen(told)
        for name, text in TEXTS.items():
            told.unasked[name] = lab.published_by_the_agent("exec", text=text)[1]
        lab.felan("uninstall", "--agent", "codex", "--apply")
        lab.install()
        told.not_allowed = lab.published_by_the_agent("exec", text="x")[1]
        told.shut = lab.doctor()
        lab.install("--allow")
        told.allowed_again = lab.published_by_the_agent("exec", text=TEXTS["quotes"])[1]
        told.open = lab.doctor()
        yield told


def _rollout(lab: Lab, session: str) -> str:
    kept = glob.glob(f"{glob.escape(str(lab.configuration))}/sessions/**/*.jsonl", recursive=True)
    ids = re.findall(r"([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl", " ".join(kept))
    assert session in ids
    return session


def _screen(told: Story) -> None:
    """What only Codex's own screen does: compact and clear by hand."""
    lab = told.lab
    folder = str(lab.project)
    with CodexServer([lab.program, "app-server"], folder, lab.env) as server:
        told.thread = server.call("thread/start", {"cwd": folder})["thread"]["id"]
        server.prompt(told.thread, "sixth prompt")
        told.note("screen")
        lab.publish(told.newest("screen", told.thread), TASK, "Goal: four\nNext: five")
        server.turn("thread/compact/start", {"threadId": told.thread})
        told.note("compact")
        server.prompt(told.thread, "seventh prompt")
        told.note("after compact")
        started = server.call("thread/start", {"cwd": folder, "sessionStartSource": "clear"})
        told.cleared = started["thread"]["id"]
        server.prompt(told.cleared, "eighth prompt")
        told.note("clear")


def test_hooks_that_were_not_reviewed_do_not_run_and_the_doctor_says_so(story: Story) -> None:
    assert story.events["untrusted"] == []
    assert story.sessions["untrusted"] == set()
    assert set(story.untrusted["events"].values()) == {"untrusted"}
    assert not story.untrusted["healthy"]
    assert "/hooks" in " ".join(story.untrusted["problems"])


def test_reviewed_hooks_run_and_the_doctor_says_so(story: Story) -> None:
    assert set(story.trusted["events"].values()) == {"trusted"}
    assert story.trusted["healthy"], story.trusted
    assert story.lab.doctor()["last_seen"] is not None


def test_each_event_and_source_is_delivered(story: Story) -> None:
    assert story.events["startup"] == [("SessionStart", "startup"), PROMPT]
    assert story.events["resume"] == [("SessionStart", "resume"), PROMPT]
    assert story.events["fork"] == [("SessionStart", "fork"), PROMPT]
    assert sorted(story.events["auto compact"]) == sorted(
        [("PreCompact", "auto"), ("SessionStart", "resume"), ("SessionStart", "compact"), PROMPT]
    )
    assert story.events["compact in a turn"] == [
        ("SessionStart", "resume"),
        PROMPT,
        ("PreCompact", "auto"),
        ("SessionStart", "compact"),
    ]
    assert story.events["screen"] == [("SessionStart", "startup"), PROMPT]
    assert story.events["compact"] == [("PreCompact", "manual")]
    assert story.events["after compact"] == [("SessionStart", "compact"), PROMPT]
    assert story.events["clear"] == [("SessionStart", "clear"), PROMPT]


def test_no_hook_failed(story: Story) -> None:
    for name, said in story.said.items():
        assert "Failed" not in said and "Blocked" not in said, (name, said)


def test_the_first_four_steps_of_the_typical_run(story: Story) -> None:
    first, second = story.published["first"], story.published["second"]
    assert story.newest("startup").at() == (story.session, "CLEARED", 1)
    assert (first["ok"], first["status"], first["revision"]) == (True, "CLEAN", 2)
    assert story.at["resume"] == ("DIRTY", 3)
    assert (second["ok"], second["status"], second["revision"]) == (True, "CLEAN", 4)
    assert first["generation"] == second["generation"] == story.newest("startup")["generation"]


def test_the_context_reaches_the_model(story: Story) -> None:
    assert all(one.bootstrap for one in story.contexts["startup"])
    seen = [one.at() for one in story.contexts["resume"]]
    assert (story.session, "CLEAN", 2) in seen, "the pointer of SessionStart"
    assert (story.session, "DIRTY", 3) in seen, "the pointer of the prompt"
    assert story.newest("resume")["recovery_mode"] == "MERGE_FIRST"
    assert "| Goal: one\n| Next: two" in story.newest("resume").text


def test_the_pointer_is_there_again_after_a_compaction(story: Story) -> None:
    assert "| Next: three" in story.newest("auto compact").text
    assert "| Next: five" in story.newest("after compact", story.thread).text


def test_after_a_compaction_in_a_turn_the_pointer_alone_is_before_the_model(story: Story) -> None:
    (left,) = story.last
    assert left.at() == (story.session, *story.at["compact in a turn"])
    assert "| Next: three" in left.text


def test_the_longest_context_arrives_whole(story: Story) -> None:
    text = story.newest("auto compact").text.partition("\n\n")[0]
    assert 9900 < len(text.encode()) <= 10_000
    assert text.splitlines()[-2] == "| éééé"
    assert "pointer_text: cut, " in text


@pytest.mark.parametrize("name", TEXTS)
def test_a_publish_from_the_sandbox_by_the_line_of_the_context_succeeds_unasked(
    story: Story, name: str
) -> None:
    assert story.unasked[name] == TEXTS[name]


def test_without_the_writable_folder_it_is_refused_and_the_doctor_says_so(story: Story) -> None:
    assert story.not_allowed is None
    assert not story.shut["publishes"] and "--allow" in " ".join(story.shut["problems"])


def test_the_installers_option_is_all_that_it_takes(story: Story) -> None:
    assert story.allowed_again == TEXTS["quotes"]
    assert story.open["publishes"] and story.open["healthy"], story.open


def test_a_session_that_starts_beside_a_task_is_told_of_it(story: Story) -> None:
    (fork,) = story.sessions["fork"] - story.sessions["resume"]
    told = [one.text for one in story.contexts["fork"] if one["session_id"] == fork]
    assert f"other_session: {story.session} of codex has a task" in told[0]


def test_a_fork_begins_without_a_task_and_leaves_the_old_one(story: Story) -> None:
    (fork,) = story.sessions["fork"] - story.sessions["resume"]
    assert story.lab.at(fork) == ("CLEAN", 2), "it publishes by the newest context, its own"
    assert story.lab.state(fork)["pointer_text"] == "Goal: the fork's"
    assert story.at["fork"] == ("CLEAN", 4)


def test_the_agents_own_clear_opens_a_new_session_and_leaves_the_old_state(story: Story) -> None:
    assert story.cleared != story.thread
    assert story.lab.at(story.cleared) == ("CLEARED", 2), (
        "revision 1 at the clear, and one more for the prompt"
    )
    assert {one.at()[2] for one in story.contexts["clear"] if one["session_id"] == story.cleared} == {1, 2}
    assert story.lab.at(story.thread) == ("DIRTY", 3)


def test_the_fifth_step_by_the_installed_hook(story: Story) -> None:
    before = story.lab.state(story.session)
    done = story.lab.hook({"session_id": story.session, "hook_event_name": "SessionStart", "source": "clear"})
    after = story.lab.state(story.session)
    assert (done.returncode, done.stderr) == (0, "")
    assert (after["status"], after["revision"]) == ("CLEARED", before["revision"] + 1)
    assert after["generation"] != before["generation"]


def test_a_prompt_is_held_back_while_the_state_cannot_be_read(story: Story) -> None:
    lab = story.lab
    with lab.broken(story.session):
        lab.run("exec", "resume", story.session, "the prompt of a broken state")
        assert not lab.asked("the prompt of a broken state")
    lab.run("exec", "resume", story.session, "the prompt of a mended state")
    assert lab.asked("the prompt of a mended state")


def test_a_script_that_is_gone_is_harmless(story: Story) -> None:
    lab = story.lab
    before = lab.state(story.session)
    with lab.without_script():
        lab.run("exec", "resume", story.session, "the prompt without a script")
        assert lab.asked("the prompt without a script")
        assert lab.state(story.session) == before
        assert "gone" in " ".join(lab.doctor()["problems"])
