"""Reads the tables of tests/vectors/pointer, whose README says what stands in a line."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "vectors" / "pointer"


def decode(value: Any) -> bytes:
    """The bytes of an input."""
    if isinstance(value, str):
        return value.encode()
    if "$bytes" in value:
        return base64.b64decode(value["$bytes"], validate=True)
    if "$join" in value:
        return b"".join(decode(part) for part in value["$join"])
    unit, count = value["$repeat"]
    return decode(unit) * count


def rows(table: str) -> list[tuple[str, bytes, str]]:
    """(name, input, expected code) of each line of a table."""
    lines = [json.loads(line) for line in (FOLDER / f"{table}.jsonl").read_text().splitlines()]
    return [(line["name"], decode(line["input"]), line["expect"]) for line in lines]


def vectors(table: str, *, good: bool) -> list[Any]:
    """(input, expected code) of a table's rows, those that are taken or those that are refused."""
    chosen = [row for row in rows(table) if (row[2] == "OK") == good]
    return [pytest.param(data, code, id=name) for name, data, code in chosen]
