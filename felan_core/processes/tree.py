"""The processes that one child started: who is still there, and the one place that signals anybody."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from felan_core.processes import kernel
from felan_core.processes.errors import InvalidSignal
from felan_core.processes.kernel import Member
from felan_core.processes.records import StopSignal

SIGNALS: Mapping[str, int] = {"int": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}
POLL_SECONDS = (0.005, 0.01, 0.02, 0.04)
LOOKS = 3
# How long a process may take to die of SIGKILL: longer only in an uninterruptible call of a driver or file
# system.
KILL_SECONDS = 3.0


class ProcessTree:
    """A child that leads its session, and all that came of it: job-control groups, and who left by `setsid`.

    A pid may be a stranger's by the time of a look. So nobody is signalled but who is proved ours: it carries
    our marker in its environment, or it is a process that an earlier look proved (`kin`, by pid and start),
    or it descends from one of these, or it is in the session of our child. That session counts while our
    child is not reaped (`held`) or one of its members is proved by the rules before: while a session has a
    member, the kernel gives its number to nobody else.
    """

    def __init__(
        self,
        leader: int,
        marker: str,
        kin: Iterable[tuple[int, str]] = (),
        before: Collection[int] = (),
    ) -> None:
        """`marker` is `NAME=value`; `before`: the sessions that were there when the child was started."""
        self._leader = leader
        self._marker = marker
        self._kin = frozenset(kin)
        self._before = before
        self.held = False
        """Set by the owner, as long as the leader is an own child that is not reaped."""

    async def survey(self) -> list[Member]:
        """The living processes of the tree. They are known from then on."""
        return await asyncio.to_thread(self._survey)

    async def left(self) -> list[Member]:
        """Those that are not in the leader's session."""
        return [one for one in await self.survey() if one.session != self._leader]

    async def strike(self, number: int) -> list[Member]:
        """Send a signal to all of them, and say whom it was meant for.

        The leader's group gets it whatever the look finds: a chain of forks shows nobody alive to any look,
        and one signal to the group ends it.
        """
        return await asyncio.to_thread(self._strike, number)

    async def stop(self, name: StopSignal, grace: float) -> bool:
        """End the tree; True when nobody is left.

        `term` gives all of them `grace` seconds and kills the rest; `kill` does not wait; `int` only
        interrupts, and waits up to `grace` seconds for what comes of it. Raises InvalidSignal.
        """
        try:
            number = SIGNALS[name]
        except KeyError:
            raise InvalidSignal(f"A process is stopped with int, term or kill, not with {name!r}.") from None
        # Who has cleared its environment is known by its parent, which may end by this signal.
        await self.survey()
        gone = not await self.strike(number)
        if not gone and name != "kill":
            gone = await self._gone_within(grace)
        if name == "int":
            return gone
        # Also when nobody was seen: what a look missed gets this signal.
        return await self._gone_within(KILL_SECONDS, again=signal.SIGKILL)

    async def end_left(self, grace: float) -> bool:
        """End those that are not in the leader's session, TERM first, and leave the leader alone."""
        return await self._end_part(lambda one: one.session != self._leader, grace)

    async def end_session(self, grace: float) -> bool:
        """End those that are in the leader's session, TERM first, and leave alone who is in another."""
        self.signal_leader(signal.SIGTERM)
        gone = await self._end_part(lambda one: one.session == self._leader, grace)
        self.signal_leader(signal.SIGKILL)
        return gone

    def signal_leader(self, number: int) -> None:
        """Signal the group of a leader that is not reaped."""
        if self.held:
            self._send(self._leader, number)

    async def _end_part(self, part: Callable[[Member], bool], grace: float) -> bool:
        loop = asyncio.get_running_loop()
        number, until = signal.SIGTERM, loop.time() + grace
        while some := [one for one in await self.survey() if part(one)]:
            await asyncio.to_thread(self._send_all, some, number)
            now = loop.time()
            if now >= until:
                if number == signal.SIGKILL:
                    return False
                number, until = signal.SIGKILL, now + KILL_SECONDS
            await asyncio.sleep(min(POLL_SECONDS[-1], grace or POLL_SECONDS[0]))
        return True

    async def _gone_within(self, seconds: float, again: int | None = None) -> bool:
        """Wait until nobody is left; False when somebody is after that time. `again` is sent at each look."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        turn = 0
        while True:
            left = await (self.survey() if again is None else self.strike(again))
            if not left:
                return True
            now = loop.time()
            if now >= until:
                return False
            await asyncio.sleep(min(POLL_SECONDS[min(turn, len(POLL_SECONDS) - 1)], until - now))
            turn += 1

    def _survey(self) -> list[Member]:
        found: list[Member] = []
        for look in range(LOOKS):
            if look:
                # In the middle of an exec a process has no environment to be seen, for some microseconds.
                time.sleep(POLL_SECONDS[0])
            found = kernel.relatives(self._leader, self._marker, self._kin, self._before)
            if not found or self._proved(found):
                break
        else:
            found = self._without_strangers(found)
        self._kin |= {(member.pid, member.started) for member in found}
        return found

    def _proved(self, found: list[Member]) -> bool:
        """Whether the leader's session is ours."""
        inside = [one for one in found if one.session == self._leader]
        return self.held or not inside or any(map(self._is_ours, inside))

    def _is_ours(self, one: Member) -> bool:
        return (one.pid, one.started) in self._kin or kernel.carries(one.pid, self._marker)

    def _without_strangers(self, found: list[Member]) -> list[Member]:
        return [one for one in found if one.session != self._leader and self._is_ours(one)]

    def _strike(self, number: int) -> list[Member]:
        self.signal_leader(number)
        found = self._survey()
        # Once each: many programs take a second signal for more than the first.
        self._send_all([one for one in found if not self.held or one.group != self._leader], number)
        return found

    def _send_all(self, found: list[Member], number: int) -> None:
        for group in {member.group for member in found}:
            self._send(group, number)

    @staticmethod
    def _send(group: int, number: int) -> None:
        if group <= 1 or group == os.getpgrp():
            return
        # Gone meanwhile, or another user's (setuid): whoever is left is seen at the next look.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            if number in (signal.SIGTERM, signal.SIGINT):
                # A stopped process would take notice only when somebody continues it.
                os.killpg(group, signal.SIGCONT)
