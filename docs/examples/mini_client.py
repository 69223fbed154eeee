"""A whole client: it creates a session, sends one prompt, prints the answer and asks at the keyboard.

python mini_client.py SOCKET FOLDER TEXT
"""

import socket
import sys

from felan_core.protocol import (
    ApprovalRequest,
    ClientConnection,
    ClientInfo,
    EventFrame,
    Failed,
    Greeted,
    HelloParams,
    Interaction,
    InteractionUpdated,
    Published,
    Replied,
    RunEnded,
    TextFrame,
    Wire,
    new_uuid7,
)
from felan_core.protocol import operations as op

path, folder, text = sys.argv[1:4]
wire = socket.socket(socket.AF_UNIX)
wire.connect(path)
connection = ClientConnection()


def send(name: str, params: Wire, session: str | None = None) -> None:
    wire.sendall(connection.request(new_uuid7(), name, params, session))


def answer(session: str, interaction: Interaction) -> None:
    match interaction.request:
        case ApprovalRequest(title=title, options=options):
            print(f"\n{title}")
            print(*(f"{number} {option.label}" for number, option in enumerate(options)), sep="  ")
            reply = {"option": options[int(input())].id}
            send("interaction.answer", op.AnswerParams(interaction=interaction.id, answer=reply), session)
        case _:  # hello did not name this kind: another client answers it
            send("cancel", op.CancelParams(), session)


hello = HelloParams(
    protocol_versions=[1],
    client=ClientInfo(kind="headless", name="mini", version="1"),
    interactions=["approval"],
)
wire.sendall(connection.hello(new_uuid7(), hello))
while data := wire.recv(65536):
    for event in connection.receive(data):
        match event:
            case Greeted():
                send("sessions.create", op.CreateParams(cwd=folder))
            case Replied(op=name, error=error) if error is not None:
                sys.exit(f"{name}: {error.code}: {error.message}")
            case Replied(op="sessions.create", result=created):
                send("attach", op.AttachParams(), created.session)
            case Replied(op="attach", result=attached):  # events from the snapshot's revision + 1 follow
                send("prompt", op.PromptParams(text=text), attached.snapshot.session)
            case Published(frame=TextFrame(text=piece)):
                print(piece, end="", flush=True)
            case Published(frame=EventFrame(session=session, event=InteractionUpdated(interaction=asked))):
                if asked.state == "waiting":
                    answer(session, asked)
            case Published(frame=EventFrame(event=RunEnded(outcome=outcome))):
                print(f"\n[{outcome}]")
                sys.exit(outcome != "completed")
            case Failed(error=error):
                sys.exit(f"connection: {error.message}")
            case _:
                pass  # not shown here
