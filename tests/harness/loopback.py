"""A server on the loopback that a test asks real agents to talk to. It ends with its `with`."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Json = Any


class LoopbackHandler(BaseHTTPRequestHandler):
    """Reads and answers JSON. No header is kept, so no key is ever written down."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Json) -> None:
        pass

    def body(self) -> bytes:
        """The request's body, however it was sent."""
        if "chunked" not in (self.headers.get("transfer-encoding") or ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, value: Json, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class LoopbackServer:
    """Serves from ``with`` to its end; ``handler`` is a class made for this server."""

    def __init__(self, handler: type[LoopbackHandler]) -> None:
        self.released = threading.Event()
        """Set at the end: no stream goes on after it."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
