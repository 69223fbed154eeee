"""Any order of prompts, clears and publishes, right and stale, against a model of a few lines."""

import os
import tempfile
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from felan_core.pointer import PointerError, State
from tests.core.pointer.support import (
    SESSION,
    TASK,
    Generations,
    as_json,
    gen,
    make_store,
    place_state,
    v2_members,
)


class Model(NamedTuple):
    generation: str = "ABSENT"
    revision: int = 0
    status: str = "ABSENT"
    text: str | None = None


class PointerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        self.draws = Generations()
        self.store = make_store(self.root, new_generation=self.draws)
        self.model = Model()
        self.seen: list[tuple[str, int]] = [("ABSENT", 0), ("LEGACY_V2", 1), (gen(999), 1)]

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(status=st.sampled_from(["", "CLEAN", "DIRTY", "CLEARED"]), revision=st.integers(1, 9))
    def begin_with_nothing_or_v2(self, status: str, revision: int) -> None:
        if status:
            members = v2_members(status, revision)
            text = members["pointer_text"]
            place_state(self.root, as_json(members))
            self.model = Model("LEGACY_V2", revision, status, text if isinstance(text, str) else None)

    def stepped(self, state: State, status: str, new: bool, text: str | None) -> None:
        generation = gen(self.draws.drawn) if new else self.model.generation
        self.model = Model(generation, self.model.revision + 1, status, text)
        assert (state.generation, state.revision, state.status, state.pointer_text) == self.model

    @rule()
    def prompt(self) -> None:
        before, drawn = self.model, self.draws.drawn
        state = self.store.prompt(SESSION)
        task = before.status in ("CLEAN", "DIRTY")
        new = not before.generation.startswith("g-")
        self.stepped(state, "DIRTY" if task else "CLEARED", new, before.text if task else None)
        assert self.draws.drawn == drawn + new

    @rule()
    def clear(self) -> None:
        self.stepped(self.store.clear(SESSION), "CLEARED", True, None)

    @rule(text=st.sampled_from(["one", "two"]), clears=st.booleans())
    def publish_what_is_current(self, text: str, clears: bool) -> None:
        before = self.model
        state = self.publish(before.generation, before.revision, None if clears else text)
        new = clears or not before.generation.startswith("g-")
        self.stepped(state, "CLEARED" if clears else "CLEAN", new, None if clears else text)

    @rule(pick=st.integers(0, 1000), off=st.integers(-1, 1), clears=st.booleans())
    def publish_what_was_seen_before(self, pick: int, off: int, clears: bool) -> None:
        generation, revision = self.seen[pick % len(self.seen)]
        revision += off
        if (generation == "ABSENT") != (revision == 0) or revision < 0:
            return
        if (generation, revision) == self.model[:2]:
            return
        try:
            self.publish(generation, revision, None if clears else "stale")
        except PointerError as error:
            same = generation == self.model.generation
            assert error.code == ("STALE_REVISION" if same else "STALE_GENERATION")
            assert (error.generation, error.revision, error.status) == self.model[:3]
        else:
            raise AssertionError("a stale publish won")

    def publish(self, generation: str, revision: int, text: str | None) -> State:
        status, task = ("CLEARED", None) if text is None else ("CLEAN", TASK)
        return self.store.publish(SESSION, generation, revision, task, status, text)

    @invariant()
    def the_file_holds_the_model(self) -> None:
        state = self.store.read(SESSION)
        if state is None:
            assert self.model == Model()
        else:
            assert (state.generation, state.revision, state.status, state.pointer_text) == self.model
            self.seen.append((state.generation, state.revision))
            assert set(os.listdir(f"{self.root}/{SESSION}")) <= {"state.json", ".lock"}


PointerMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
TestPointerMachine = PointerMachine.TestCase
