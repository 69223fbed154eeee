"""Real processes at one state: one winner a revision, nothing lost, nothing doubled."""

import json
import os
import signal
from collections.abc import Callable

from felan_core.pointer import PointerError, PointerStore
from tests.core.pointer.support import SESSION, TASK

PROCESSES = 16
ROUNDS = 4


def racing(count: int, act: Callable[[int], object]) -> list[object]:
    """What `act` gives in each of `count` processes that start it together."""
    start_read, start_write = os.pipe()
    children: list[tuple[int, int]] = []
    for number in range(count):
        answer_read, answer_write = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os.close(start_write)
            os.read(start_read, 1)  # until the parent closes its end
            try:
                answer = act(number)
            except BaseException as error:
                answer = repr(error)
            os.write(answer_write, json.dumps(answer).encode())
            os._exit(0)
        os.close(answer_write)
        children.append((child, answer_read))
    os.close(start_read)
    os.close(start_write)
    answers: list[object] = []
    for child, answer_read in children:
        with open(answer_read, "rb") as pipe:
            answers.append(json.loads(pipe.read()))
        assert os.waitpid(child, 0)[1] == 0
    return answers


def test_exactly_one_process_wins_each_revision(tmp_path: object) -> None:
    root = str(tmp_path)
    first = PointerStore(root).prompt(SESSION)

    def publish(number: int) -> object:
        store = PointerStore(root)
        revision, won = first.revision, list[int]()
        while revision < first.revision + ROUNDS:
            try:
                state = store.publish(SESSION, first.generation, revision, TASK, "CLEAN", f"of {number}")
            except PointerError as error:
                assert error.code == "STALE_REVISION"
                assert error.generation == first.generation
                assert error.revision is not None
                assert error.revision > revision
                revision = error.revision
            else:
                assert state.revision == revision + 1
                won.append(state.revision)
                revision = state.revision
        return won

    won: list[int] = []
    for answer in racing(PROCESSES, publish):
        assert isinstance(answer, list), answer
        won.extend(answer)

    assert sorted(won) == list(range(first.revision + 1, first.revision + ROUNDS + 1))
    final = PointerStore(root).read(SESSION)
    assert final is not None
    assert final.revision == first.revision + ROUNDS
    assert sorted(os.listdir(f"{root}/{SESSION}")) == [".lock", "state.json"]


def test_the_first_write_of_a_session_has_one_winner(tmp_path: object) -> None:
    root = f"{tmp_path}/made/on/the/way"

    def publish(number: int) -> object:
        try:
            PointerStore(root).publish(SESSION, "ABSENT", 0, TASK, "CLEAN", f"of {number}")
        except PointerError as error:
            return error.code
        return "won"

    answers = racing(PROCESSES, publish)

    assert sorted(map(str, answers)) == ["STALE_GENERATION"] * (PROCESSES - 1) + ["won"]


def test_a_clear_in_between_shuts_out_every_request_from_before(tmp_path: object) -> None:
    root = str(tmp_path)
    store = PointerStore(root)
    first = store.publish(SESSION, "ABSENT", 0, TASK, "CLEAN", "before")

    def act(number: int) -> object:
        mine = PointerStore(root)
        if number == 0:
            return ["cleared", mine.clear(SESSION).revision]
        try:
            revision = first.revision
            while True:
                revision = mine.publish(SESSION, first.generation, revision, TASK, "CLEAN", "raced").revision
        except PointerError as error:
            while error.code == "STALE_REVISION":
                try:
                    assert error.revision is not None
                    mine.publish(SESSION, first.generation, error.revision, TASK, "CLEAN", "raced")
                except PointerError as again:
                    error = again
            return [error.code, error.status]

    answers = racing(8, act)

    [[_, revision]] = [answer for answer in answers if isinstance(answer, list) and answer[0] == "cleared"]
    final = store.read(SESSION)
    assert final is not None
    assert (final.status, final.revision) == ("CLEARED", revision)
    assert final.generation != first.generation
    assert answers.count(["STALE_GENERATION", "CLEARED"]) == 7


def test_prompts_of_several_processes_are_all_counted(tmp_path: object) -> None:
    root = str(tmp_path)
    answers = racing(8, lambda number: PointerStore(root).prompt(SESSION).revision)
    assert sorted(map(str, answers)) == [str(n) for n in range(1, 9)]
