"""Replays of a loaded session, on a clock of the test's own."""

from felan_core.agents.acp.replay import MAX_SECONDS, QUIET_SECONDS, Replay


class Time:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def loaded(time: Time) -> Replay:
    replay = Replay(time.clock, time.sleep)
    replay.begin()
    assert replay.heard()
    replay.answered(replays=True)
    return replay


def test_history_is_a_replay_until_it_was_quiet() -> None:
    time = Time()
    replay = loaded(time)
    for _ in range(5):
        time.now += QUIET_SECONDS - 0.01
        assert replay.heard()
    time.now += QUIET_SECONDS
    assert not replay.heard()
    assert not replay.heard()


def test_an_agent_that_is_never_quiet_is_heard_at_last() -> None:
    time = Time()
    replay = loaded(time)
    heard = 0
    while replay.heard():
        heard += 1
        time.now += 0.125
    assert heard == MAX_SECONDS / 0.125


def test_what_follows_a_resume_or_a_refusal_is_no_replay() -> None:
    time = Time()
    replay = Replay(time.clock, time.sleep)
    assert not replay.heard()
    replay.begin()
    replay.answered(replays=False)
    assert not replay.heard()


async def test_a_prompt_waits_until_it_is_quiet_and_no_longer() -> None:
    time = Time()
    replay = loaded(time)
    time.now += 0.15
    await replay.over()
    await replay.over()
    assert [round(one, 3) for one in time.slept] == [0.1]
