"""The operations of a host as methods, over whatever sends one request."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import msgspec

from felan_core.client.replica import Change, SessionReplica
from felan_core.protocol import operations as op
from felan_core.protocol.base import UNSET, JsonObject

R = TypeVar("R")


class Operations(ABC):
    """One method an operation. Each raises ``RequestRefused`` or ``RequestIndeterminate`` with the host's
    code, or ``ConnectionLost``.
    """

    hello_result: op.HelloResult | None

    @abstractmethod
    async def request(
        self,
        name: str,
        params: msgspec.Struct,
        *,
        expect: type[R],
        session: str | None = None,
        request_id: str | None = None,
    ) -> R:
        """Send one request and return its result. ``request_id``: the id of an earlier try, so that the host
        does it once.
        """

    @abstractmethod
    async def attach(
        self, session: str, *, on_change: Callable[[Change], None] | None = None, history_limit: int = 64
    ) -> SessionReplica:
        """``attach``: the session's replica, live from now on. Attaching again starts the same replica
        anew.
        """

    @abstractmethod
    async def detach(self, session: str) -> None:
        """``detach``. It cancels, closes and stops nothing."""

    @abstractmethod
    def replica(self, session: str) -> SessionReplica | None:
        """The replica of a session that this client is attached to; None where it is not."""

    @abstractmethod
    async def close(self) -> None:
        """End the connection. It cancels, closes and stops nothing at the host."""

    # --- host and sessions ---

    async def host_status(self) -> op.HostStatusResult:
        """``host.status``."""
        return await self.request("host.status", op.Empty(), expect=op.HostStatusResult)

    async def sessions_list(self, params: op.SessionsListParams | None = None) -> op.SessionsPage:
        """``sessions.list``: one page, newest created first."""
        return await self.request("sessions.list", params or op.SessionsListParams(), expect=op.SessionsPage)

    async def sessions_create(
        self, params: op.CreateParams, request_id: str | None = None
    ) -> op.SessionResult:
        """``sessions.create``."""
        return await self.request("sessions.create", params, expect=op.SessionResult, request_id=request_id)

    async def close_session(self, session: str) -> int:
        """``close``: the revision of the session's row from then on."""
        return (await self.request("close", op.Empty(), expect=op.RevisionResult, session=session)).revision

    async def rename(self, session: str, name: str) -> int:
        """``session.rename``."""
        params = op.RenameParams(name=name)
        result = await self.request("session.rename", params, expect=op.RevisionResult, session=session)
        return result.revision

    async def history(self, session: str, params: op.HistoryParams) -> op.HistoryPage:
        """``session.history``: an older page, oldest first within it."""
        return await self.request("session.history", params, expect=op.HistoryPage, session=session)

    # --- the turn ---

    async def prompt(self, session: str, text: str, request_id: str | None = None) -> str:
        """``prompt``: the id of the run that was admitted."""
        params = op.PromptParams(text=text)
        result = await self.request(
            "prompt", params, expect=op.RunResult, session=session, request_id=request_id
        )
        return result.run_id

    async def steer(self, session: str, text: str, request_id: str | None = None) -> op.QueuedResult:
        """``steer``: put a message into the turn that runs."""
        params = op.PromptParams(text=text)
        return await self.request(
            "steer", params, expect=op.QueuedResult, session=session, request_id=request_id
        )

    async def follow_up(self, session: str, text: str, request_id: str | None = None) -> op.QueuedResult:
        """``follow_up``: queue a message for after the turn."""
        params = op.PromptParams(text=text)
        return await self.request(
            "follow_up", params, expect=op.QueuedResult, session=session, request_id=request_id
        )

    async def cancel(self, session: str, *, queue: bool = False) -> op.CancelResult:
        """``cancel``: end the turn; with ``queue`` drop what is queued and get its texts back."""
        params = op.CancelParams(queue=True if queue else UNSET)
        return await self.request("cancel", params, expect=op.CancelResult, session=session)

    async def answer(
        self, session: str, interaction: str, answer: JsonObject, request_id: str | None = None
    ) -> op.AnswerResult:
        """``interaction.answer``."""
        params = op.AnswerParams(interaction=interaction, answer=answer)
        return await self.request(
            "interaction.answer", params, expect=op.AnswerResult, session=session, request_id=request_id
        )

    async def ui_action(self, session: str, params: op.UiActionParams) -> None:
        """``ui.action``."""
        await self.request("ui.action", params, expect=op.Empty, session=session)

    # --- processes ---

    async def shell(self, session: str, params: op.ShellParams) -> str:
        """``shell.execute``: the id of the process."""
        return (await self.request("shell.execute", params, expect=op.ShellResult, session=session)).process

    async def processes_list(self, root: str, params: op.PageParams | None = None) -> op.ProcessesPage:
        """``processes.list``."""
        return await self.request(
            "processes.list", params or op.PageParams(), expect=op.ProcessesPage, session=root
        )

    async def processes_read(self, root: str, params: op.ProcessReadParams) -> op.ProcessReadResult:
        """``processes.read``: with ``wait_ms`` it waits for more, which is how a panel follows live."""
        return await self.request("processes.read", params, expect=op.ProcessReadResult, session=root)

    async def processes_stop(self, root: str, params: op.ProcessStopParams) -> op.ProcessStopResult:
        """``processes.stop``."""
        return await self.request("processes.stop", params, expect=op.ProcessStopResult, session=root)
