"""A client's end of a connection that checks what is on the wire as it passes (session protocol §7).

The accepted reply to ``attach`` precedes every frame of its session; revisions follow one another from the
snapshot's on; text joins exactly what the snapshot held. What was told is kept in ``Told`` for later.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from felan_core.client.transport import MemoryTransport
from felan_core.protocol import JsonLineDecoder


@dataclass
class Told:
    """What any client was told of each session: the last revision, and every message that was completed."""

    revisions: dict[str, int] = field(default_factory=dict)
    completed: dict[str, dict[str, Any]] = field(default_factory=dict)
    winners: dict[str, int] = field(default_factory=dict)

    def revision(self, session: str, revision: int) -> None:
        self.revisions[session] = max(self.revisions.get(session, 0), revision)


class Tap:
    """``send``, ``receive`` and ``close`` of the end that it stands before."""

    def __init__(self, end: MemoryTransport, told: Told) -> None:
        self._end = end
        self._told = told
        self._out = JsonLineDecoder()
        self._in = JsonLineDecoder()
        self._requests: dict[str, dict[str, Any]] = {}
        self._at: dict[str, int] = {}
        self._texts: dict[tuple[str, str, str], int] = {}
        self._resynced: set[str] = set()
        self.failure: AssertionError | None = None

    async def send(self, data: bytes) -> None:
        for frame in self._out.push(data):
            self._requests[frame["id"]] = frame
        await self._end.send(data)

    async def receive(self) -> bytes:
        data = await self._end.receive()
        try:
            for frame in self._in.push(data):
                self._check(frame)
        except AssertionError as error:
            self.failure = self.failure or error
        return data

    async def close(self) -> None:
        await self._end.close()

    def _check(self, frame: dict[str, Any]) -> None:
        if "outcome" in frame:
            self._reply(frame)
        elif "event" in frame:
            self._event(frame)
        elif "stream" in frame:
            self._text(frame)
        else:
            session = frame["notice"].get("session", "")
            assert session in self._at, f"told to resync what is not attached: {frame}"
            del self._at[session]

    def _reply(self, frame: dict[str, Any]) -> None:
        request = self._requests.pop(frame["re"], None)
        assert request is not None, f"a reply to nothing: {frame}"
        session = request.get("session", "")
        if frame["outcome"] != "accepted":
            return
        if request["op"] == "attach":
            snapshot = frame["result"]["snapshot"]
            self._at[session] = snapshot["revision"]
            self._told.revision(session, snapshot["revision"])
            for key in [key for key in self._texts if key[0] == session]:
                del self._texts[key]
            for one in snapshot["streams"]:
                self._texts[session, one["message"], one["id"]] = len(one["prefix"])
        elif request["op"] == "detach":
            self._at.pop(session, None)
        elif request["op"] == "interaction.answer":
            interaction = request["params"]["interaction"]
            self._told.winners[interaction] = self._told.winners.get(interaction, 0) + 1
            assert self._told.winners[interaction] == 1, f"two winners of {interaction}"
        elif "revision" in frame["result"] and session:
            self._told.revision(session, frame["result"]["revision"])

    def _event(self, frame: dict[str, Any]) -> None:
        session, revision, event = frame["session"], frame["revision"], frame["event"]
        assert session in self._at, f"an event of what is not attached: {json.dumps(frame)[:300]}"
        assert revision == self._at[session] + 1, f"{revision} after {self._at[session]}"
        self._at[session] = revision
        self._told.revision(session, revision)
        if event["type"] == "message.completed":
            entry = event["entry"]
            self._told.completed[entry["id"]] = {"session": session, **entry}
            for part in entry.get("parts", []):
                said = self._texts.pop((session, entry["id"], part["id"]), 0)
                assert said <= len(part["text"]), "text was sent that the message does not have"

    def _text(self, frame: dict[str, Any]) -> None:
        where = frame["stream"]
        key = frame["session"], where["message"], where["id"]
        assert frame["session"] in self._at, f"text of what is not attached: {frame}"
        assert where["offset"] == self._texts.get(key, 0), f"{where} does not join {self._texts.get(key, 0)}"
        assert frame["text"]
        self._texts[key] = where["offset"] + len(frame["text"])
