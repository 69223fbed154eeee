import pytest

from felan_core.pointer import PointerError, State
from felan_core.pointer.rules import (
    CLEAR,
    PROMPT,
    PUBLISH_CLEAN,
    PUBLISH_CLEARED,
    STEP_NAMES,
    STEPS,
    advance,
    compare,
    read_state,
    state_bytes,
)
from felan_core.pointer.values import MAX_REVISION, new_generation
from tests.core.pointer.support import (
    NOW,
    NOW_TEXT,
    OTHER_TASK,
    SESSION,
    TASK,
    Generations,
    as_json,
    gen,
    make_state,
    make_store,
    state_members,
    v2_members,
)

NEW = gen(99)
V3 = gen(1)


def move(state: State | None, step: str, **task: str) -> State:
    return advance(state, step, SESSION, clock=lambda: NOW, new_generation=lambda: NEW, **task)


# The table of §2a, written out once more: (from, publish CLEAN, publish CLEARED, prompt, clear), a cell being
# (status, generation, revision).
ROWS = [
    (None, ("CLEAN", NEW, 1), ("CLEARED", NEW, 1), ("CLEARED", NEW, 1), ("CLEARED", NEW, 1)),
    *(
        (
            make_state(status, generation="LEGACY_V2", revision=7),
            ("CLEAN", NEW, 8),
            ("CLEARED", NEW, 8),
            ("DIRTY", NEW, 8),
            ("CLEARED", NEW, 8),
        )
        for status in ("CLEAN", "DIRTY")
    ),
    (
        make_state("CLEARED", generation="LEGACY_V2", revision=7),
        ("CLEAN", NEW, 8),
        ("CLEARED", NEW, 8),
        ("CLEARED", NEW, 8),
        ("CLEARED", NEW, 8),
    ),
    *(
        (
            make_state(status, generation=V3, revision=7),
            ("CLEAN", V3, 8),
            ("CLEARED", NEW, 8),
            ("DIRTY", V3, 8),
            ("CLEARED", NEW, 8),
        )
        for status in ("CLEAN", "DIRTY")
    ),
    (
        make_state("CLEARED", generation=V3, revision=7),
        ("CLEAN", V3, 8),
        ("CLEARED", NEW, 8),
        ("CLEARED", V3, 8),
        ("CLEARED", NEW, 8),
    ),
]
CELLS = [
    pytest.param(
        row[0],
        step,
        cell,
        id=f"{row[0].generation[:9] if row[0] else 'ABSENT'}-{row[0].status if row[0] else ''}-{step}",
    )
    for row in ROWS
    for step, cell in zip((PUBLISH_CLEAN, PUBLISH_CLEARED, PROMPT, CLEAR), row[1:], strict=True)
]


@pytest.mark.parametrize(("state", "step", "cell"), CELLS)
def test_each_cell_of_the_table(state: State | None, step: str, cell: tuple[str, str, int]) -> None:
    task = {"task_id": OTHER_TASK, "pointer_text": "new"} if step == PUBLISH_CLEAN else {}
    after = move(state, step, **task)

    assert (after.status, after.generation, after.revision) == cell
    assert (after.session_id, after.updated_at) == (SESSION, NOW_TEXT)
    if step == PUBLISH_CLEAN:
        assert (after.task_id, after.pointer_text) == (OTHER_TASK, "new")
    elif after.status == "DIRTY":
        assert (after.task_id, after.pointer_text) == (TASK, "text")
    else:
        assert (after.task_id, after.pointer_text) == (None, None)


def test_the_table_has_no_other_cells() -> None:
    assert len(STEPS) == 5
    assert all(tuple(row) == STEP_NAMES for row in STEPS.values())


def test_the_typical_run_number_for_number(tmp_path: object) -> None:
    store = make_store(tmp_path)
    assert store.read(SESSION) is None

    fence = store.prompt(SESSION)
    assert (fence.status, fence.generation, fence.revision) == ("CLEARED", gen(1), 1)
    first = store.publish(SESSION, gen(1), 1, TASK, "CLEAN", "Goal")
    assert (first.status, first.generation, first.revision) == ("CLEAN", gen(1), 2)
    dirty = store.prompt(SESSION)
    assert (dirty.status, dirty.generation, dirty.revision) == ("DIRTY", gen(1), 3)
    assert (dirty.task_id, dirty.pointer_text) == (TASK, "Goal")
    second = store.publish(SESSION, gen(1), 3, TASK, "CLEAN", "Goal, next")
    assert (second.status, second.generation, second.revision) == ("CLEAN", gen(1), 4)
    cleared = store.clear(SESSION)
    assert (cleared.status, cleared.generation, cleared.revision) == ("CLEARED", gen(2), 5)
    assert store.read(SESSION) == cleared


def test_a_request_from_before_a_clear_never_wins_after_it(tmp_path: object) -> None:
    store = make_store(tmp_path)
    first = store.publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "Goal")
    cleared = store.clear(SESSION)
    again = store.publish(SESSION, cleared.generation, 2, TASK, "CLEAN", "Goal")

    for revision in (first.revision, cleared.revision, again.revision):
        with pytest.raises(PointerError) as caught:
            store.publish(SESSION, first.generation, revision, OTHER_TASK, "CLEAN", "old")
        assert caught.value.code == "STALE_GENERATION"
    assert store.read(SESSION) == again


@pytest.mark.parametrize(
    ("state", "generation", "revision", "code", "current"),
    [
        (None, gen(1), 1, "STALE_GENERATION", ("ABSENT", 0, "ABSENT")),
        (None, "LEGACY_V2", 1, "STALE_GENERATION", ("ABSENT", 0, "ABSENT")),
        (make_state(), "ABSENT", 0, "STALE_GENERATION", (gen(1), 3, "CLEAN")),
        (make_state(), "LEGACY_V2", 3, "STALE_GENERATION", (gen(1), 3, "CLEAN")),
        (make_state(), gen(2), 3, "STALE_GENERATION", (gen(1), 3, "CLEAN")),
        (make_state(), gen(2), 4, "STALE_GENERATION", (gen(1), 3, "CLEAN")),
        (make_state("DIRTY"), gen(1), 2, "STALE_REVISION", (gen(1), 3, "DIRTY")),
        (make_state("CLEARED"), gen(1), 4, "STALE_REVISION", (gen(1), 3, "CLEARED")),
        (make_state(generation="LEGACY_V2"), gen(1), 3, "STALE_GENERATION", ("LEGACY_V2", 3, "CLEAN")),
        (make_state(generation="LEGACY_V2"), "LEGACY_V2", 4, "STALE_REVISION", ("LEGACY_V2", 3, "CLEAN")),
    ],
)
def test_the_generation_is_compared_before_the_revision(
    state: State | None, generation: str, revision: int, code: str, current: tuple[str, int, str]
) -> None:
    with pytest.raises(PointerError) as caught:
        compare(state, generation, revision)
    error = caught.value
    assert (error.code, (error.generation, error.revision, error.status)) == (code, current)


def test_what_is_equal_passes_the_comparison() -> None:
    compare(None, "ABSENT", 0)
    compare(make_state(), gen(1), 3)
    compare(make_state(generation="LEGACY_V2"), "LEGACY_V2", 3)


def test_the_last_revision_is_not_stepped_over() -> None:
    with pytest.raises(PointerError) as caught:
        move(make_state(revision=MAX_REVISION), PROMPT)
    assert caught.value.code == "STATE_INVALID"


def test_a_v2_state_reads_as_legacy_and_is_never_written() -> None:
    state = read_state(as_json(v2_members("DIRTY")), SESSION)
    assert (state.generation, state.revision, state.status) == ("LEGACY_V2", 7, "DIRTY")
    assert state.is_legacy
    with pytest.raises(ValueError, match="never written"):
        state_bytes(state)


def test_the_first_write_makes_v3_of_v2(tmp_path: object) -> None:
    from tests.core.pointer.support import place_state

    path = place_state(tmp_path, as_json(v2_members("CLEAN", 7)))
    store = make_store(tmp_path)
    after = store.publish(SESSION, "LEGACY_V2", 7, TASK, "CLEAN", "Goal")

    assert (after.generation, after.revision) == (gen(1), 8)
    with open(path, "rb") as file:
        assert b'"schema_version": 3' in file.read()


def test_a_drawn_generation_is_a_random_uuid_v4() -> None:
    drawn = [new_generation() for _ in range(200)]
    assert len(set(drawn)) == 200
    for generation in drawn:
        assert generation[:2] == "g-"
        assert len(generation) == 34
        assert generation[14] == "4"
        assert generation[18] in "89ab"


def test_generations_differ_between_clears(tmp_path: object) -> None:
    store = make_store(tmp_path, new_generation=Generations())
    assert [store.clear(SESSION).generation for _ in range(3)] == [gen(1), gen(2), gen(3)]


def test_a_state_cannot_be_changed() -> None:
    state = make_state()
    with pytest.raises(AttributeError):
        state.revision = 4
    with pytest.raises(AttributeError):
        del state.status
    assert state == make_state()
    assert hash(state) == hash(make_state())
    assert state != make_state("DIRTY")


def test_crlf_in_a_file_is_read_as_lf() -> None:
    state = read_state(as_json(state_members(pointer_text="a\r\nb\rc")), SESSION)
    assert state.pointer_text == "a\nb\nc"
