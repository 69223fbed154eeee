"""Fuzz the readers for a bounded time: ``python -m tests.core.protocol.fuzz [SECONDS [SEED]]``.

Vectors are mutated, cut and joined as bytes. Every reader must take a line or refuse it in words, and all of
them alike; whatever else happens is a fault, and its line is printed.
"""

import random
import sys
import time

from felan_core.protocol import JsonLineDecoder, ProtocolError
from tests.core.protocol.test_mutations import CLIENT, HOST, check_host_frame, check_request, mutated


def fuzz(seconds: float, seed: int) -> int:
    """Fuzz for ``seconds``; the number of lines that were tried. Raises what a reader should not."""
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < until:
        host = chance.random() < 0.5
        frame, operation = chance.choice(HOST if host else CLIENT)
        line = _torn(mutated(frame, chance), chance)
        try:
            if host:
                check_host_frame(line, operation)
            else:
                check_request(line)
            _chunked(line, chance)
        except BaseException:
            sys.stderr.write(f"seed {seed}, line {tried}: {line!r}\n")
            raise
        tried += 1
    return tried


def _torn(line: bytes, chance: random.Random) -> bytes:
    """Sometimes with bytes changed, left out, doubled or put in."""
    if chance.random() < 0.5:
        return line
    torn = bytearray(line)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(torn) + 1)
        end = min(len(torn), start + chance.choice((0, 1, 1, 2, 8)))
        torn[start:end] = chance.choice(
            (b"", chance.randbytes(2), b"[" * 40, b"9" * 17, bytes(torn[start:end]) * 2, b"\\ud800", b'\\"')
        )
    return bytes(torn).replace(b"\n", b" ")


def _chunked(line: bytes, chance: random.Random) -> None:
    """The decoder makes the same of the line in one piece and in several."""
    at = chance.randrange(len(line) + 1)
    assert _decoded([line + b"\n"]) == _decoded([line[:at], line[at:], b"\n"])


def _decoded(chunks: list[bytes]) -> object:
    decoder = JsonLineDecoder()
    try:
        return [repr(frame) for chunk in chunks for frame in decoder.push(chunk)]
    except ProtocolError as error:
        return error.message


if __name__ == "__main__":
    span = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    start = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32
    sys.stdout.write(f"seed {start}\n")
    sys.stdout.write(f"{fuzz(span, start)} lines, no fault\n")
