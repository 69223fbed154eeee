"""The clock of the screen's tests: it jumps where nothing is at work, and nowhere else."""

import asyncio
import os
import threading
import time

from tests.harness.clock import JumpingLoop


def run(coroutine):
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(coroutine)


def test_a_sleep_takes_no_time_and_every_clock_has_moved_on():
    async def sleep() -> tuple[float, float, float]:
        monotonic, wall, nanoseconds = time.monotonic(), time.time(), time.time_ns()
        await asyncio.sleep(3600)
        return time.monotonic() - monotonic, time.time() - wall, (time.time_ns() - nanoseconds) / 1e9

    began = time.perf_counter()
    moved = run(sleep())
    assert all(3600 <= by < 3660 for by in moved), moved
    assert time.perf_counter() - began < 60


def test_timers_fire_in_their_order():
    async def race() -> list[int]:
        order: list[int] = []

        async def after(seconds: int) -> None:
            await asyncio.sleep(seconds)
            order.append(seconds)

        await asyncio.gather(*map(after, (30, 10, 20)))
        return order

    assert run(race()) == [10, 20, 30]


def test_no_timer_overtakes_a_thread_that_works():
    async def work() -> None:
        go = threading.Event()
        asyncio.get_running_loop().call_later(0.01, go.set)
        async with asyncio.timeout(60):
            assert await asyncio.to_thread(go.wait, 30)

    run(work())


def test_no_timer_overtakes_a_thread_of_our_own():
    async def work() -> None:
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        go = threading.Event()

        def answer() -> None:
            go.wait(30)
            loop.call_soon_threadsafe(done.set)

        threading.Thread(target=answer, name="a thread of a test").start()
        loop.call_later(0.01, go.set)
        async with asyncio.timeout(60):
            await done.wait()

    run(work())


def test_no_timer_overtakes_another_process():
    async def listen() -> bytes:
        async with asyncio.timeout(60):
            child = await asyncio.create_subprocess_exec(
                "sh", "-c", "echo here", stdout=asyncio.subprocess.PIPE
            )
            said, _ = await child.communicate()
        return said

    assert run(listen()) == b"here\n"


def test_the_wall_clock_is_the_real_one_again_after_the_loop(tmp_path):
    run(asyncio.sleep(7200))
    file = tmp_path / "now"
    file.touch()
    assert abs(time.time() - os.stat(file).st_mtime) < 60
