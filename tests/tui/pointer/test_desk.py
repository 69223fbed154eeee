"""What becomes of a publish or a clear, whatever comes before its answer."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from felan_core.client.host_client import ConnectionLost
from felan_core.host.pointer import pointer_element
from felan_core.pointer.rules import State
from felan_core.protocol import ProtocolError
from felan_core.protocol.operations import UiActionParams
from felan_tui.pointer.controller import Draft, PointerController
from felan_tui.pointer.facts import Pointer

GENERATION = "g-" + "a" * 32


class FakeHost:
    """Answers each action by what a test has put into ``answers``: elements that come, or a refusal."""

    def __init__(self) -> None:
        self.asked: list[UiActionParams] = []
        self.answers: list[Callable[[], None]] = []
        self.desk = PointerController(self.act, now=lambda: 0)
        self.revision = 0
        self.shows("goal", 1)

    async def act(self, params: UiActionParams) -> None:
        self.asked.append(params)
        await asyncio.sleep(0)
        if self.answers:
            self.answers.pop(0)()

    def shows(self, text: str, revision: int, *, status: str = "CLEAN", code: str | None = None) -> None:
        state = State("s", GENERATION, revision, status, "t", text, "2026-01-02T03:04:05Z")
        self.revision += 1
        self.desk.take(msgspec.structs.replace(pointer_element(state, code), revision=self.revision))

    def refuses(self, code: str = "stale_request") -> None:
        raise ProtocolError(code, "not so")

    @property
    def now(self) -> Pointer:
        latest = self.desk.latest
        assert latest is not None
        return latest


async def test_a_publish_names_what_the_edit_began_from() -> None:
    host = FakeHost()
    base = host.now
    host.answers = [lambda: host.shows("mine", 2)]
    host.desk.draft = Draft(base, "mine")
    outcome = await host.desk.publish("mine", base)
    assert outcome.kind == "done" and host.desk.draft is None and not host.desk.busy
    values: Any = host.asked[0].values
    assert values == {"expectedGeneration": GENERATION, "expectedRevision": 1, "text": "mine"}
    assert host.asked[0].revision == base.element


async def test_a_prompt_right_after_it_does_not_make_it_look_refused() -> None:
    host = FakeHost()

    def answer() -> None:
        host.shows("mine", 2)
        host.shows("mine", 3, status="DIRTY")
        host.shows("mine", 3, status="DIRTY", code="STALE_REVISION")  # somebody else's publish

    host.answers = [answer]
    assert (await host.desk.publish("mine", host.now)).kind == "done"


async def test_the_same_text_by_another_later_writer_is_not_taken_for_ours() -> None:
    host = FakeHost()
    base = host.now
    host.shows("theirs", 2)

    def answer() -> None:
        host.shows("mine", 3)
        host.shows("mine", 3, code="STALE_REVISION")

    host.answers = [answer]
    outcome = await host.desk.publish("mine", base)
    assert outcome.kind == "stale" and outcome.pointer is not None and outcome.pointer.revision == 3


async def test_an_element_that_changed_only_in_what_it_says_of_others_is_asked_again() -> None:
    host = FakeHost()
    base = host.now

    def crossed() -> None:
        host.shows("goal", 1, code="STALE_REVISION")
        host.refuses()

    host.answers = [crossed, lambda: host.shows("mine", 2)]
    assert (await host.desk.publish("mine", base)).kind == "done"
    assert [asked.revision for asked in host.asked] == [1, 2]


async def test_an_element_that_moved_meanwhile_is_stale_and_not_asked_again() -> None:
    host = FakeHost()
    base = host.now

    def crossed() -> None:
        host.shows("theirs", 2)
        host.refuses()

    host.answers = [crossed]
    host.desk.draft = Draft(base, "mine")
    outcome = await host.desk.publish("mine", base)
    assert outcome.kind == "stale" and outcome.pointer == host.now
    assert len(host.asked) == 1 and host.desk.draft == Draft(base, "mine")


async def test_an_element_that_always_changes_is_given_up() -> None:
    host = FakeHost()
    host.answers = [host.refuses] * 9
    outcome = await host.desk.publish("mine", host.now)
    assert outcome.kind == "failed" and len(host.asked) == 3


async def test_a_failure_of_the_store_is_said_by_code_and_keeps_the_draft() -> None:
    host = FakeHost()
    host.answers = [lambda: host.shows("goal", 1, code="LOCK_TIMEOUT")]
    host.desk.draft = Draft(host.now, "mine")
    outcome = await host.desk.publish("mine", host.now)
    assert outcome.kind == "failed" and "LOCK_TIMEOUT" in outcome.words and "Try again" in outcome.words
    assert host.desk.draft is not None


async def test_a_fresh_snapshot_in_place_of_the_answer_claims_nothing() -> None:
    host = FakeHost()
    base = host.now
    host.answers = [lambda: host.shows("something", 5)]
    assert (await host.desk.publish("mine", base)).kind == "stale"
    assert (await host.desk.publish("mine", host.now)).kind == "failed"


async def test_a_lost_connection_does_not_say_that_it_was_not_done() -> None:
    host = FakeHost()

    def lost() -> None:
        raise ConnectionLost("gone")

    host.answers = [lost]
    outcome = await host.desk.publish("mine", host.now)
    assert outcome.kind == "failed" and "not known" in outcome.words


async def test_one_change_at_a_time() -> None:
    host = FakeHost()
    base = host.now
    host.answers = [lambda: host.shows("one", 2)]
    one, two = await asyncio.gather(host.desk.publish("one", base), host.desk.publish("two", base))
    assert (one.kind, two.kind) == ("done", "failed") and len(host.asked) == 1


async def test_a_clear_is_not_sent_for_what_was_not_seen() -> None:
    host = FakeHost()
    seen = host.now
    host.shows("newer", 2)
    outcome = await host.desk.clear(seen)
    assert outcome.kind == "stale" and not host.asked
    host.answers = [lambda: host.shows("", 3, status="CLEARED")]
    assert (await host.desk.clear(host.now)).kind == "done"


def test_another_element_is_not_taken_for_the_pointer() -> None:
    host = FakeHost()
    before = host.now
    host.desk.take(msgspec.structs.replace(pointer_element(None), id="felan.policy"))
    host.desk.take(None)
    assert host.now == before
