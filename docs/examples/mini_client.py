"""A whole client: it makes a session, says one thing, and prints what comes back until the turn ends.

python mini_client.py SOCKET FOLDER TEXT
"""

import socket
import sys

from felan_core.protocol import JsonLineDecoder, encode_frame, new_uuid7, parse_server_envelope
from felan_core.protocol.envelopes import Accepted, EventFrame, Refused, ServerEnvelope, TextFrame
from felan_core.protocol.events import InteractionUpdated, RunEnded

path, folder, text = sys.argv[1:4]
wire = socket.socket(socket.AF_UNIX)
wire.connect(path)
decoder, asked = JsonLineDecoder(), dict[str, str]()


def ask(op: str, params: object, **session: str) -> None:
    asked[identity := new_uuid7()] = op  # a reply repeats the id of its request, and not its operation
    wire.sendall(encode_frame({"v": 1, "id": identity, "op": op, "params": params} | session))


def handle(frame: ServerEnvelope, op: str | None) -> None:
    match frame:
        case Refused():
            sys.exit(f"{op}: {frame.error.code}: {frame.error.message}")
        case Accepted() if op == "hello":
            ask("sessions.create", {"cwd": folder})
        case Accepted() if op == "sessions.create":
            ask("attach", {}, session=frame.result.session)
        case Accepted() if op == "attach":  # its snapshot is revision R; what comes next is R + 1
            ask("prompt", {"text": text}, session=frame.result.snapshot.session)
        case TextFrame():
            print(frame.text, end="", flush=True)
        case EventFrame(event=InteractionUpdated(interaction=asking)) if asking.state == "waiting":
            print(f"\nIt asks ({asking.request.__class__.__name__}); this client can only cancel.")
            ask("cancel", {}, session=frame.session)
        case EventFrame(event=RunEnded(outcome=outcome)):
            print(f"\n[{outcome}]")
            sys.exit(outcome != "completed")
        case _:
            pass  # what this client does not show


ask("hello", {"protocolVersions": [1], "client": {"kind": "headless", "name": "mini", "version": "1"}})
while data := wire.recv(65536):
    for raw in decoder.push(data):
        op = asked.pop(str(raw.get("re")), None)
        handle(parse_server_envelope(raw, op), op)
