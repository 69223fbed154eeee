"""Run the benchmarks, or those that are named, and keep what they print in benchmarks/results/."""

import sys
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def _first_paint() -> str:
    from benchmarks.first_paint import measure

    return measure()


def _key() -> str:
    from benchmarks.key import measure

    return measure()


def _idle() -> str:
    from benchmarks.idle import measure

    return measure()


def _stream() -> str:
    from benchmarks.stream import measure

    return measure()


def _pointer() -> str:
    from benchmarks.pointer import measure

    return measure()


def _protocol() -> str:
    from benchmarks.protocol import measure

    return measure()


def _terminal() -> str:
    from benchmarks.terminal import measure

    return measure()


def _soak() -> str:
    from benchmarks.soak import measure

    return measure()


BENCHMARKS: dict[str, Callable[[], str]] = {
    "first_paint": _first_paint,
    "key": _key,
    "idle": _idle,
    "stream": _stream,
    "pointer": _pointer,
    "protocol": _protocol,
    "terminal": _terminal,
    "soak": _soak,
}


def main(names: list[str]) -> int:
    """Run them in turn; an unknown name is an error."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.stderr.write(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    RESULTS.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        report = BENCHMARKS[name]()
        (RESULTS / f"{name}.txt").write_text(report)
        sys.stdout.write(report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
