"""The sessions that a host has loaded: brought up at first use, unloaded when nobody uses them.

    absent ──use──▶ loading ──▶ loaded ──idle──▶ unloading ──▶ absent
                       │                             (a use waits for it, and loads the session anew)
                       └─ fails: absent

Idle: nobody is attached, nothing runs, waits or is queued. A closed session is unloaded at once, another one
``HostLimits.idle_seconds`` after its last use, one whose agent runs ``agent_idle_seconds`` after it. What is
not loaded costs neither a task nor CPU; the store finds it by its id.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from felan_core.host.services import Services
from felan_core.host.session import LiveSession
from felan_core.protocol import LIMITS, ProtocolError


class _Slot:
    """One session that is loading, loaded or unloading."""

    def __init__(self, loading: "asyncio.Task[LiveSession]") -> None:
        self.loading = loading
        self.unloading: asyncio.Task[None] | None = None
        self.uses = 0
        self.used_at = asyncio.get_running_loop().time()

    @property
    def live(self) -> LiveSession | None:
        """The session once it is loaded, until it is unloaded."""
        task = self.loading
        there = task.done() and not task.cancelled() and task.exception() is None
        return task.result() if there and self.unloading is None else None


class Registry:
    """Every access to a session goes through ``use``, which keeps it loaded meanwhile."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._slots: dict[str, _Slot] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._ending = False

    def __len__(self) -> int:
        return len(self._slots)

    def loaded(self) -> list[LiveSession]:
        """The sessions that are loaded."""
        return [live for slot in self._slots.values() if (live := slot.live) is not None]

    def get(self, session: str) -> LiveSession | None:
        """The session where it is loaded."""
        slot = self._slots.get(session)
        return slot.live if slot is not None else None

    @asynccontextmanager
    async def use(self, session: str) -> AsyncGenerator[LiveSession]:
        """The session, loaded for as long as the block runs. Raises ``not_found``, ``unavailable``."""
        slot = await self._slot(session)
        slot.uses += 1
        try:
            # Its creator may be cancelled; whoever else waits for it is not.
            yield await asyncio.shield(slot.loading)
        finally:
            slot.uses -= 1
            self.settle(session)

    async def _slot(self, session: str) -> _Slot:
        while (slot := self._slots.get(session)) is not None and slot.unloading is not None:
            await asyncio.wait([slot.unloading])
        if slot is None:
            if self._ending:
                raise ProtocolError("unavailable", "the host is ending", retryable=True)
            loading = asyncio.create_task(self._load(session), name="felan-session-load")
            slot = self._slots[session] = _Slot(loading)
            loading.add_done_callback(lambda _: self._loaded(session, slot))
        return slot

    def _loaded(self, session: str, slot: _Slot) -> None:
        if slot.live is None and self._slots.get(session) is slot:
            del self._slots[session]

    async def _load(self, session: str) -> LiveSession:
        loaded = await self._services.store.load_session(session, LIMITS.page_entries)
        if loaded is None:
            raise ProtocolError("not_found", "session: there is none with this id")
        live = LiveSession(self._services, loaded)
        try:
            await live.open()
        except BaseException:
            await live.actor.stop()
            raise
        return live

    # --- unloading ---

    def settle(self, session: str) -> None:
        """Note the end of a use: a request, an attachment. A closed session is unloaded with its last."""
        slot = self._slots.get(session)
        if slot is None:
            return
        slot.used_at = asyncio.get_running_loop().time()
        if slot.live is not None and slot.live.closed:
            self._unload(session, slot)
        self._watch()

    def _watch(self) -> None:
        """Look for idle sessions in a while, as long as any is loaded."""
        if self._sweep is None and self._slots and not self._ending:
            wait = self._services.limits.idle_seconds
            self._sweep = asyncio.get_running_loop().call_later(wait, self._look)

    def _look(self) -> None:
        self._sweep = None
        now, limits = asyncio.get_running_loop().time(), self._services.limits
        for session, slot in list(self._slots.items()):
            live = slot.live
            if live is None:
                continue
            if not live.idle:
                slot.used_at = now
            wait = limits.agent_idle_seconds if live.has_agent else limits.idle_seconds
            if now - slot.used_at >= wait:
                self._unload(session, slot)
        self._watch()

    def _unload(self, session: str, slot: _Slot) -> None:
        live = slot.live
        if live is None or slot.uses or not live.idle or self._ending:
            return

        async def unload() -> None:
            try:
                await live.shut_down()
            except Exception as error:
                self._services.report(error, f"unloading session {session}")

        slot.unloading = asyncio.create_task(unload(), name="felan-session-unload")
        # Also when the task is cancelled before it began.
        slot.unloading.add_done_callback(lambda _: self._slots.pop(session, None))

    async def close(self) -> None:
        """End every session, at once. Nothing is loaded any more. Never raises."""
        self._ending = True
        if self._sweep is not None:
            self._sweep.cancel()
        slots = list(self._slots.values())
        under_way: list[asyncio.Task[Any]] = [slot.unloading or slot.loading for slot in slots]
        if under_way:
            await asyncio.wait(under_way)
        ends = (live.shut_down() for live in self.loaded())
        for outcome in await asyncio.gather(*ends, return_exceptions=True):
            if isinstance(outcome, BaseException):
                self._services.report(outcome, "closing a session")
