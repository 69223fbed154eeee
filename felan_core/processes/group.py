"""The processes of one child's session: who is still there, and the one place that signals anybody."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterable

from felan_core.processes import kernel
from felan_core.processes.kernel import Member

POLL_SECONDS = (0.005, 0.01, 0.02, 0.04)
LOOKS = 3


class ProcessGroup:
    """All processes of the session that `leader` leads or led, job-control groups of a shell included.

    A pid may have gone to a stranger by the time we look. So nobody is signalled unless the session is proved
    ours: its leader is our child whose status is not taken yet (`held`), or one of its members is a process
    that we knew as ours before (`kin`), or one carries our marker in its environment. While a session has a
    member, the kernel gives its number to nobody else.
    """

    def __init__(self, leader: int, marker: str, kin: Iterable[tuple[int, str]] = ()) -> None:
        self._leader = leader
        self._marker = marker
        self._kin = frozenset(kin)
        self.held = False
        """Set by the owner, as long as the leader is an own child that is not reaped."""

    async def survey(self) -> list[Member]:
        """The living members, if they are proved ours. They are known from then on."""
        return await asyncio.to_thread(self._survey)

    async def strike(self, number: int) -> list[Member]:
        """Send a signal to all of them, and say whom it was meant for. Looks and sends in one go."""
        return await asyncio.to_thread(self._strike, number)

    async def gone_within(self, seconds: float, again: int | None = None) -> bool:
        """Wait until nobody is left; False when somebody is after that time.

        `again` is sent at every look.
        """
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
        found = kernel.members(self._leader)
        for _ in range(LOOKS):
            if not found or self._proved(found):
                self._kin |= {(member.pid, member.started) for member in found}
                return found
            # In the middle of an exec a process has no environment to be seen, for some microseconds.
            time.sleep(POLL_SECONDS[0])
            found = kernel.members(self._leader)
        return []

    def _proved(self, found: list[Member]) -> bool:
        return self.held or any(
            (member.pid, member.started) in self._kin or kernel.carries(member.pid, self._marker)
            for member in found
        )

    def _strike(self, number: int) -> list[Member]:
        found = self._survey()
        for group in {member.group for member in found}:
            self._send(group, number)
            if number in (signal.SIGTERM, signal.SIGINT):
                # A stopped process would take notice only when somebody continues it.
                self._send(group, signal.SIGCONT)
        return found

    @staticmethod
    def _send(group: int, number: int) -> None:
        if group <= 1:
            return
        # Gone meanwhile, or another user's (setuid): whoever is left is seen at the next look.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
