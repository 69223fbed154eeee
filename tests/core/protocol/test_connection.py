"""The two connection objects, joined without any I/O: one assertion a step."""

import json
import pickle
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felan_core.protocol import LIMITS, ProtocolError, encode_frame
from felan_core.protocol import operations as op
from felan_core.protocol.connection import (
    HELLO_SECONDS,
    ClientConnection,
    ConnectionState,
    Ended,
    Failed,
    Greeted,
    Offer,
    Probe,
    Published,
    Replied,
    Requested,
    Resync,
    ServerConnection,
    Step,
    published_frame,
)
from felan_core.protocol.envelopes import TextFrame
from felan_core.protocol.errors import (
    LocalProtocolError,
    RemoteProtocolError,
    RequestIndeterminate,
    RequestRefused,
)
from felan_core.protocol.streams import StreamPosition

STATUS = op.HostStatusResult(
    lifecycle="running", sessions=0, attachments=0, runs=0, processes=0, storage_bytes=0, started_at=0
)
PARAMS = op.HelloParams(
    protocol_versions=[1],
    client=op.ClientInfo(kind="headless", name="t", version="0"),
    capabilities=["ui.status", "ui.moon"],
    interactions=["form", "seance"],
)
LOGS = op.LogsParams()


def hello(root: str = "/data") -> op.HelloResult:
    return op.HelloResult(
        protocol_version=1,
        host=op.HostInfo(namespace="n", instance="i", root=root, version="0", lifecycle="running"),
        operations=["hello", "host.status"],
        interactions=["approval", "form"],
        capabilities=op.Capabilities(ui=["ui.status", "ui.view"], features=["f"]),
        principal=op.Principal(id="p", kind="local"),
        limits=op.HelloLimits(
            frame_bytes=1,
            unsent_bytes=1,
            in_flight_requests=1,
            page_entries=1,
            page_bytes=1,
            process_read_bytes=1,
            process_write_bytes=1,
            heartbeat_ms=15_000,
        ),
    )


def server(**how: Any) -> ServerConnection:
    return ServerConnection(Offer(hello), **how)


def sent(server: ServerConnection) -> bytes:
    data = server.queue.take(1 << 30)
    server.queue.written(len(data))
    return data


def frames(server: ServerConnection) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sent(server).splitlines()]


def ready(**how: Any) -> tuple[ClientConnection, ServerConnection]:
    client, host = ClientConnection(), server(**how)
    host.receive(client.hello("h", PARAMS))
    client.receive(sent(host))
    return client, host


def line(**members: Any) -> bytes:
    return json.dumps({"v": 1, **members}).encode() + b"\n"


def status(re: str) -> bytes:
    return line(id=re, op="host.status", params={})


def code(frame: dict[str, Any]) -> str:
    return frame["error"]["code"]


def text(session: str, offset: int = 0, piece: str = "x") -> bytes:
    at = StreamPosition(message="m", id="s", kind="assistant", offset=offset)
    return encode_frame(TextFrame(session=session, stream=at, text=piece))


# --- the handshake ---


def test_hello_is_agreed_on_what_both_sides_know() -> None:
    client, host = ClientConnection(), server()
    [greeted] = host.receive(client.hello("h", PARAMS))
    assert greeted == Greeted(PARAMS)
    assert host.state is ConnectionState.READY
    assert host.client.name == "t"
    assert host.capabilities == {"ui.status"} and host.interactions == {"form"}
    [event] = client.receive(sent(host))
    assert isinstance(event, Greeted) and isinstance(event.hello, op.HelloResult)
    assert event.hello.capabilities.ui == ["ui.status"] and event.hello.interactions == ["form"]
    assert client.state is ConnectionState.READY


def test_requests_may_follow_hello_in_the_same_bytes() -> None:
    client, host = ClientConnection(), server()
    data = client.hello("h", PARAMS) + client.request("1", "host.status", op.Empty())
    greeted, requested = host.receive(data)
    assert isinstance(greeted, Greeted)
    assert isinstance(requested, Requested) and requested.request.op == "host.status"
    host.accept("1", STATUS)
    greeted, replied = client.receive(sent(host))
    assert isinstance(greeted, Greeted)
    assert replied == Replied("1", "host.status", STATUS, None)


def test_the_second_of_two_hellos_in_one_write_is_refused() -> None:
    host = server()
    data = ClientConnection().hello("1", PARAMS) + ClientConnection().hello("2", PARAMS)
    assert [type(event) for event in host.receive(data)] == [Greeted]
    first, second = frames(host)
    assert first["outcome"] == "accepted"
    assert (second["re"], code(second)) == ("2", "invalid_request")
    assert host.state is ConnectionState.READY


def test_a_request_before_hello_is_refused_and_hello_still_accepted() -> None:
    host = server()
    assert host.receive(status("1") + line(id="2", op="moon.fly", params={})) == []
    assert [(frame["re"], code(frame)) for frame in frames(host)] == [
        ("1", "invalid_request"),
        ("2", "invalid_request"),
    ]
    assert isinstance(host.receive(ClientConnection().hello("h", PARAMS))[0], Greeted)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"protocolVersions": [2]}, "protocol_mismatch"),
        ({"target": {"namespace": "n", "instance": "i", "root": "/elsewhere"}}, "target_mismatch"),
        ({"target": {"namespace": "m", "instance": "i", "root": "/data"}}, "target_mismatch"),
        ({"protocolVersions": []}, "invalid_request"),
    ],
)
def test_a_hello_that_does_not_fit_is_refused_and_another_may_follow(
    change: dict[str, Any], refused: str
) -> None:
    host = server()
    params = {"protocolVersions": [1], "client": {"kind": "x", "name": "x", "version": "0"}}
    assert host.receive(line(id="h", op="hello", params={**params, **change})) == []
    [frame] = frames(host)
    assert code(frame) == refused
    assert host.state is ConnectionState.NEW
    assert isinstance(host.receive(line(id="h", op="hello", params=params))[0], Greeted)


def test_the_target_is_compared_by_its_canonical_root() -> None:
    host = ServerConnection(Offer(hello, lambda root: root.replace("/link", "/data")))
    target = {"namespace": "n", "instance": "i", "root": "/link"}
    params = {"protocolVersions": [1], "client": {"kind": "x", "name": "x", "version": "0"}, "target": target}
    assert isinstance(host.receive(line(id="h", op="hello", params=params))[0], Greeted)


def test_a_peer_that_does_not_say_hello_is_disconnected() -> None:
    host = server(now=100.0)
    assert host.deadline == 100.0 + HELLO_SECONDS
    assert host.expire(109.9) == []
    [failed] = host.expire(110.0)
    assert isinstance(failed, Failed)
    assert frames(host)[0]["notice"]["type"] == "protocol_error"
    assert host.state is ConnectionState.CLOSING and host.deadline is None


def test_after_hello_there_is_no_deadline() -> None:
    _, host = ready()
    assert host.deadline is None and host.expire(1e9) == []


# --- requests ---


def test_a_repeat_of_a_running_request_shares_its_reply_and_counts() -> None:
    _, host = ready()
    [requested] = host.receive(status("1") * 3)
    assert isinstance(requested, Requested)
    assert host.in_flight == 3
    host.accept("1", STATUS)
    assert [frame["re"] for frame in frames(host)] == ["1", "1", "1"]
    assert host.in_flight == 0


def test_another_request_under_a_running_id_is_a_conflict() -> None:
    _, host = ready()
    host.receive(status("1"))
    assert host.receive(line(id="1", op="sessions.list", params={})) == []
    assert code(frames(host)[0]) == "request_conflict"
    assert host.in_flight == 1


def test_twenty_thousand_repeats_are_one_request_and_at_most_64_replies() -> None:
    _, host = ready()
    assert len(host.receive(status("1") * 20_000)) == 1
    assert host.in_flight == LIMITS.in_flight_requests
    assert {code(frame) for frame in frames(host)} == {"busy"}
    host.accept("1", STATUS)
    assert len(frames(host)) == LIMITS.in_flight_requests


def test_requests_past_the_limit_are_marked() -> None:
    _, host = ready(in_flight_requests=2)
    events = host.receive(b"".join(status(str(number)) for number in range(4)))
    assert [event.crowded for event in events if isinstance(event, Requested)] == [False, False, True, True]
    host.refuse("3", ProtocolError("busy", "x", retryable=True))
    assert code(frames(host)[0]) == "busy"
    assert host.in_flight == 3


def test_a_refusal_reaches_the_client_as_what_it_is() -> None:
    client, host = ready()
    host.receive(client.request("1", "host.status", op.Empty()))
    host.receive(client.request("2", "host.status", op.Empty()))
    host.refuse("1", ProtocolError("forbidden", "no", details={"a": 1}))
    host.refuse("2", ProtocolError("indeterminate", "perhaps"))
    first, second = client.receive(sent(host))
    assert isinstance(first, Replied) and isinstance(first.error, RequestRefused)
    assert (first.error.code, first.error.message, first.error.details) == ("forbidden", "no", {"a": 1})
    assert isinstance(second, Replied) and isinstance(second.error, RequestIndeterminate)
    assert not isinstance(second.error, RequestRefused)


def test_a_malformed_request_with_an_id_is_refused_and_without_one_ends_the_connection() -> None:
    _, host = ready()
    assert host.receive(line(id="1", op="host.logs", params={"limit": 0})) == []
    assert code(frames(host)[0]) == "invalid_request"
    failed, *more = host.receive(b'{"v":1}\n' + status("2"))
    assert isinstance(failed, Failed) and isinstance(failed.error, RemoteProtocolError)
    assert more == []
    assert host.state is ConnectionState.CLOSING
    assert host.receive(status("3")) == []


# --- our own faults ---


def test_a_reply_that_its_reader_would_refuse_is_not_sent() -> None:
    _, host = ready()
    host.receive(status("1"))
    for result in ({"lifecycle": "asleep"}, {}, op.Empty()):
        with pytest.raises(LocalProtocolError):
            host.accept("1", result)
    assert sent(host) == b"" and host.in_flight == 1
    host.accept("1", STATUS)
    with pytest.raises(LocalProtocolError):
        host.accept("1", STATUS)


def test_a_client_cannot_send_what_its_host_would_refuse() -> None:
    client = ClientConnection()
    with pytest.raises(LocalProtocolError):
        client.request("1", "host.status", op.Empty())
    client.hello("h", PARAMS)
    with pytest.raises(LocalProtocolError):
        client.hello("h2", PARAMS)
    for name, params, session in (
        ("host.status", op.Empty(), "s"),
        ("attach", op.AttachParams(), None),
        ("host.logs", op.LogsParams(limit=0), None),
        ("moon.fly", op.Empty(), None),
        ("prompt", op.PromptParams(text="x"), "s"),
    ):
        with pytest.raises(LocalProtocolError):
            client.request("not a uuid", name, params, session)
    assert client.in_flight == {"h"}


def test_the_65th_request_waits_for_its_caller() -> None:
    client, _ = ready()
    for number in range(LIMITS.in_flight_requests):
        client.request(str(number), "host.status", op.Empty())
    with pytest.raises(LocalProtocolError) as refused:
        client.request("one more", "host.status", op.Empty())
    assert refused.value.code == "busy" and refused.value.retryable


def test_illegal_steps_raise_and_change_nothing() -> None:
    _, host = ready()
    host.lose()
    assert host.state is ConnectionState.CLOSED
    for step in (Step.GREET, Step.FAIL, Step.END):
        with pytest.raises(LocalProtocolError):
            host._step(step)
        assert host.state is ConnectionState.CLOSED
    with pytest.raises(LocalProtocolError):
        ClientConnection().request("1", "host.status", op.Empty())


def test_an_event_that_its_readers_would_refuse_is_never_published() -> None:
    at = StreamPosition(message="m", id="a", kind="assistant", offset=0)
    assert published_frame(TextFrame(session="s", stream=at, text="x")).endswith(b"\n")
    behind = StreamPosition(message="m", id="a", kind="assistant", offset=-1)
    for bad in (
        TextFrame(session="s", stream=at, text=""),
        TextFrame(session="s", stream=behind, text="x"),
        TextFrame(session="s" * 129, stream=at, text="x"),
    ):
        with pytest.raises(LocalProtocolError):
            published_frame(bad)


@pytest.mark.parametrize("kind", [ProtocolError, LocalProtocolError, RemoteProtocolError, RequestRefused])
def test_errors_can_be_pickled(kind: type[ProtocolError]) -> None:
    error = pickle.loads(pickle.dumps(kind("busy", "x", retryable=True, details={"a": 1})))
    assert type(error) is kind
    assert (error.code, error.message, error.retryable, error.details) == ("busy", "x", True, {"a": 1})


# --- the end of the stream ---


def test_good_frames_before_a_bad_one_are_delivered() -> None:
    _, host = ready()
    requested, failed = host.receive(status("1") + b"nope\n" + status("2"))
    assert isinstance(requested, Requested) and isinstance(failed, Failed)
    client, host = ready()
    published, failed = client.receive(text("s") + b"nope\n")
    assert isinstance(published, Published) and isinstance(failed, Failed) and not failed.noticed


def test_the_end_of_the_stream_is_an_event_and_inside_a_frame_a_fault() -> None:
    client, host = ready()
    assert host.receive(b"") == [Ended()]
    assert host.state is ConnectionState.CLOSING
    client.receive(b'{"v":1,')
    [failed] = client.receive(b"")
    assert isinstance(failed, Failed) and "inside a frame" in failed.error.message


def test_a_notice_of_the_host_says_whose_finding_it_is() -> None:
    client, host = ready()
    host.receive(b"nope\n")
    [failed] = client.receive(sent(host))
    assert isinstance(failed, Failed) and failed.noticed


# --- what is sent ---


def test_a_client_that_falls_behind_loses_that_session_alone_and_no_reply() -> None:
    client, host = ready(unsent_bytes=1000)
    host.receive(client.request("1", "host.status", op.Empty()))
    assert host.publish(text("a", piece="x" * 300), "a")
    assert host.publish(text("b"), "b")
    host.accept("1", STATUS)
    assert not host.publish(text("a", 300, "y" * 600), "a")
    assert host.queue.behind
    events = client.receive(sent(host))
    assert [type(event) for event in events] == [Published, Replied, Resync]
    assert events[-1] == Resync("a", "this client fell behind")
    assert not host.queue.behind and host.queue.unsent == 0


def test_bytes_count_until_they_are_written() -> None:
    _, host = ready(unsent_bytes=100)
    host.queue.reply(b"x" * 80)
    data = host.queue.take(10)
    assert len(data) == 80 and host.queue.unsent == 80
    assert not host.queue.room(21) and host.queue.room(20)
    host.queue.written(80)
    assert host.queue.room(10_000)


def test_a_closed_connection_queues_nothing() -> None:
    _, host = ready()
    host.receive(status("1"))
    host.lose()
    host.accept("1", STATUS)
    assert host.publish(text("s"), "s")
    assert sent(host) == b"" and host.queue.unsent == 0


# --- silence ---


def test_a_silent_host_is_probed_and_then_given_up() -> None:
    client, host = ready()
    assert client.deadline == 15.0
    assert client.expire(14.9) == []
    [probe] = client.expire(15.0)
    assert isinstance(probe, Probe)
    [requested] = host.receive(probe.data)
    assert isinstance(requested, Requested) and requested.request.op == "host.status"
    host.accept(requested.request.id, STATUS)
    assert client.receive(sent(host), now=20.0) == []
    assert client.deadline == 35.0
    [probe] = client.expire(35.0)
    assert isinstance(probe, Probe)
    assert client.expire(49.0) == []
    [failed] = client.expire(50.0)
    assert isinstance(failed, Failed) and client.state is ConnectionState.CLOSING


# --- any bytes in any pieces ---


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(edges)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 10_000), max_size=12), st.randoms(use_true_random=False))
def test_the_pieces_of_a_stream_make_no_difference(cuts: list[int], chance: random.Random) -> None:
    stream = [ClientConnection().hello("h", PARAMS), status("1"), b"\n \r\n", status("1"), status("2")]
    stream.append(chance.choice([b"nope\n", b'{"v":1,"id":"x"}\n', b"", b"\xff\n", line(id="3", op="x")]))
    data = b"".join(stream) + status("4")
    whole, cut = server(), server()
    expected = whole.receive(data)
    found = [event for piece in pieces(data, cuts) for event in cut.receive(piece)]
    assert repr(found) == repr(expected)
    assert sent(cut) == sent(whole) and cut.state is whole.state


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=40), max_size=8), st.booleans())
def test_any_bytes_end_in_a_fault_or_in_nothing(chunks: list[bytes], greeted: bool) -> None:
    client, host = ready() if greeted else (ClientConnection(), server())
    for side in (client, host):
        for chunk in (*chunks, b"\n", b""):
            side.receive(chunk)
        assert side.state is ConnectionState.CLOSING
    assert all(frame["v"] == 1 for frame in frames(host))
