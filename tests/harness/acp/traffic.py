"""Everything that went over the wire, and the check of it against the protocol's own JSON schema."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

SCHEMA = Path(__file__).with_name("acp-v1-schema.json")


@dataclass
class Traffic:
    """A trace for a ``RpcConnection``: ("c2a" | "a2c" | "noise", the line's bytes)."""

    lines: list[tuple[str, bytes]] = field(default_factory=list)

    def __call__(self, way: str, line: bytes) -> None:
        self.lines.append((way, line))

    def ours(self) -> list[dict[str, Any]]:
        return [json.loads(line) for way, line in self.lines if way == "c2a"]

    def sent(self, method: str) -> list[dict[str, Any]]:
        return [message for message in self.ours() if message.get("method") == method]

    def violations(self, *ways: str) -> list[str]:
        """What in the messages of these ways the schema does not allow; answers by the request's method."""
        asked: dict[tuple[str, str], str] = {}
        found: list[str] = []
        for way, line in self.lines:
            if way == "noise":
                continue
            message = json.loads(line)
            number = json.dumps(message.get("id"))
            if "method" in message:
                if "id" in message:
                    asked[(way, number)] = message["method"]
                name = _shapes()[0].get(message["method"])
                problem = (
                    f"no method {message['method']}" if name is None else check(name, message.get("params"))
                )
            else:
                other = "a2c" if way == "c2a" else "c2a"
                method = asked.pop((other, number), None)
                if method is None:
                    problem = f"an answer to nothing: {number}"
                elif "error" in message:
                    problem = check("Error", message["error"])
                else:
                    name = _shapes()[1].get(method)
                    problem = None if name is None else check(name, message["result"])
            if message.get("jsonrpc") != "2.0":
                problem = "jsonrpc is missing"
            if problem is not None and way in ways:
                found.append(f"{way} {line[:120].decode('utf-8', 'replace')}: {problem}")
        return found


@cache
def _definitions() -> dict[str, Any]:
    return json.loads(SCHEMA.read_text())["$defs"]


@cache
def _shapes() -> tuple[dict[str, str], dict[str, str]]:
    """The names of the shapes of parameters and of results, by method."""
    params: dict[str, str] = {}
    results: dict[str, str] = {}
    for name, shape in _definitions().items():
        if "x-method" in shape:
            (results if name.endswith("Response") else params)[shape["x-method"]] = name
    return params, results


@cache
def _validator(name: str) -> Any:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": _definitions()})


def check(name: str, value: Any) -> str | None:
    """What is wrong with ``value`` as the shape ``name``, or None."""
    worst = best_match(_validator(name).iter_errors(value))
    return (
        None if worst is None else f"{name}: {'/'.join(map(str, worst.absolute_path))}: {worst.message[:200]}"
    )
