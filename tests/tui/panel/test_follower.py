import asyncio
from collections.abc import Callable

from felan_tui.panel import follower as module
from felan_tui.panel.follower import BEHIND, CATCH_UP, TAIL, WAIT_MS, Follower
from felan_tui.panel.log import Note, OutputLog
from felan_tui.text.ansi import plain_text
from tests.tui.panel.looking import READ, Source


class Sleeps:
    """Sleeps that take no time, and are written down."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


class Reading:
    """A follower at work on process `p`."""

    def __init__(self, source: Source, *, shown: bool = True, **bounds: int) -> None:
        self.source = source
        self.log = OutputLog(**bounds)
        self.sleeps = Sleeps()
        self.changes = 0
        self.follower = Follower(source, "p", self.log, changed=self._changed, sleep=self.sleeps)
        self.follower.show(shown)
        self.task = asyncio.create_task(self.follower.run())

    def _changed(self) -> None:
        self.changes += 1

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                if self.task.done():
                    self.task.result()
                    assert condition()
                await asyncio.sleep(0.001)

    async def done(self) -> None:
        async with asyncio.timeout(20):
            await self.task


def numbered(size: int) -> bytes:
    return b"".join(b"%09d\n" % number for number in range(size // 10))


async def test_output_is_read_as_it_comes_to_its_end() -> None:
    source = Source()
    source.write("p", b"one\n")
    reading = Reading(source)
    await reading.until(lambda: reading.log.end == 1)
    source.write("p", b"two\nthree")
    await reading.until(lambda: plain_text([reading.log.open_line]) == "three")
    source.end("p")
    await reading.done()
    assert plain_text(reading.log.lines(0, 9)) == "one\ntwo\nthree"
    assert reading.follower.ended
    assert [wait for _, _, wait in source.reads] == [0, WAIT_MS, WAIT_MS]


async def test_a_long_output_is_shown_from_a_mebibyte_before_its_end() -> None:
    source = Source()
    data = numbered(5_000_000)
    source.write("p", data)
    source.end("p")
    reading = Reading(source, max_lines=10**9, max_bytes=10**9)
    await reading.done()
    log = reading.log
    assert len(data) - TAIL <= log.begins_at <= len(data) - TAIL + 10
    assert plain_text(log.lines(log.first, log.end)).encode() + b"\n" == data[log.begins_at :]


async def test_output_that_comes_faster_than_it_is_shown_is_taken_up_near_its_end() -> None:
    source = Source()
    source.write("p", numbered(1000))
    reading = Reading(source, max_lines=10**9, max_bytes=10**9)
    await reading.until(lambda: reading.log.end == 100)
    source.write("p", numbered(BEHIND + 1_000_000))
    source.end("p")
    # The source ends with it all, and still what is far behind is left out.
    await reading.done()
    log = reading.log
    notes = [line for line in log.lines(log.first, log.end) if isinstance(line, Note)]
    assert len(notes) == 1
    assert "not shown, bytes" in plain_text(notes)
    assert log.next_offset == len(source.outputs["p"])
    after = next(number for number in range(log.first, log.end) if isinstance(log.line(number), Note))
    assert log.end - after > CATCH_UP // 10 - 3


async def test_what_the_host_dropped_is_said() -> None:
    source = Source()
    source.write("p", numbered(10_000))
    source.starts["p"] = 5_000
    source.end("p")
    reading = Reading(source)
    await reading.done()
    assert reading.log.begins_at == 5_010


async def test_nothing_is_read_while_nobody_looks() -> None:
    source = Source()
    source.write("p", b"one\n")
    reading = Reading(source, shown=False)
    for _ in range(20):
        await asyncio.sleep(0)
    assert source.reads == []
    reading.follower.show(True)
    await reading.until(lambda: len(source.reads) == 2)
    reading.follower.show(False)
    source.write("p", b"two\n")
    await reading.until(lambda: reading.log.end == 2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(source.reads) == 2
    source.end("p")
    reading.follower.show(True)
    await reading.done()


async def test_a_failed_read_is_said_and_tried_again_later_and_later() -> None:
    source = Source()
    source.faults = [OSError("the host is gone:\x1b[2J [red]"), RuntimeError(), ValueError("again")]
    source.write("p", b"one\n")
    troubles: list[str] = []
    reading = Reading(source)
    reading.follower._changed = lambda: troubles.append(reading.follower.trouble)
    await reading.until(lambda: reading.log.end == 1)
    assert troubles[:4] == ["the host is gone: [red]", "RuntimeError", "again", ""]
    assert reading.sleeps.slept[:3] == [0.5, 1.0, 2.0]
    source.end("p")
    await reading.done()


async def test_a_source_that_does_not_wait_is_not_asked_without_a_pause() -> None:
    class Hasty(Source):
        async def read(self, process_id: str, offset: int, wait_ms: int):
            return await super().read(process_id, offset, 0)

    source = Hasty()
    reading = Reading(source)
    await reading.until(lambda: len(source.reads) > 5)
    assert set(reading.sleeps.slept) == {module.EMPTY_SECONDS}
    source.end("p")
    await reading.done()


async def test_reading_waits_while_the_log_is_full_of_what_is_being_read() -> None:
    source = Source()
    source.write("p", b"x\n" * 50_000)
    reading = Reading(source, max_lines=5000)
    reading.log.hold = 0
    await reading.until(lambda: reading.log.next_offset == READ)
    assert reading.follower.waits_for_room
    reads = len(source.reads)
    kept = reading.log.end
    for _ in range(20):
        await asyncio.sleep(0)
    assert (len(source.reads), reading.log.first, reading.log.end) == (reads, 0, kept)
    reading.log.hold = None
    reading.follower.go_on()
    source.end("p")
    await reading.done()
    assert reading.log.next_offset == 100_000


async def test_no_more_is_taken_in_a_frame_than_its_share() -> None:
    source = Source()
    source.write("p", numbered(3 * module.FRAME_BYTES))
    source.end("p")
    reading = Reading(source)
    await reading.done()
    pauses = [seconds for seconds in reading.sleeps.slept if seconds > 0]
    assert len(pauses) >= 2


async def test_a_follower_that_was_stopped_adds_nothing_even_if_its_piece_still_comes() -> None:
    source = Source()
    source.write("p", b"one\n")
    reading = Reading(source)
    await reading.until(lambda: len(source.reads) == 2)
    reading.follower.stop()
    source.write("p", b"two\n")
    await reading.done()
    assert (reading.log.end, reading.log.next_offset, reading.follower.ended) == (1, 4, False)
