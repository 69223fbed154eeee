"""A client of `codex app-server`, which does what Codex's own screen does for `/compact` and `/clear`."""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any, Self

Json = Any


class CodexServer:
    """JSON-RPC on the child's standard streams, from `with` to its end."""

    def __init__(self, argv: list[str], cwd: str, env: dict[str, str]) -> None:
        self._child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._queue: queue.Queue[Json] = queue.Queue()
        self._id = 0
        threading.Thread(target=self._pump, daemon=True).start()

    def __enter__(self) -> Self:
        self.call("initialize", {"clientInfo": {"name": "felan-tests", "version": "0"}})
        self._send({"method": "initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(20)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _pump(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            try:
                self._queue.put(json.loads(line))
            except ValueError:
                continue

    def _send(self, message: Json) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(message) + "\n")
        self._child.stdin.flush()

    def call(self, method: str, params: Json) -> Json:
        """The answer's result."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        answer = self._until(lambda one: one.get("id") == self._id and "method" not in one)
        assert "result" in answer, answer
        return answer["result"]

    def turn(self, method: str, params: Json) -> None:
        """A call that starts a turn, until the turn is over."""
        self.call(method, params)
        self._until(lambda one: one.get("method") == "turn/completed")

    def prompt(self, thread: str, text: str) -> None:
        self.turn("turn/start", {"threadId": thread, "input": [{"type": "text", "text": text}]})

    def _until(self, wanted: Callable[[Json], bool], limit: float = 90) -> Json:
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            try:
                one = self._queue.get(timeout=left)
            except queue.Empty:
                break
            if wanted(one):
                return one
        raise TimeoutError("codex app-server did not answer")
