"""The JSON Schemas of a state and of a request (draft 2020-12), which ship in the package (§6)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    SchemaName = Literal["state", "publish-request"]

SCHEMA_NAMES: tuple[SchemaName, ...] = ("state", "publish-request")


def schema_text(name: SchemaName) -> str:
    """The schema as it is printed. Raises KeyError for a name that is none of `SCHEMA_NAMES`."""
    if name not in SCHEMA_NAMES:
        raise KeyError(name)
    from importlib.resources import files

    resource = files("felan_core.pointer") / "schemas" / f"{name}-v3.schema.json"
    return resource.read_text(encoding="utf-8")


def load_schema(name: SchemaName) -> dict[str, object]:
    """The schema; each call parses a new copy."""
    import json

    return json.loads(schema_text(name))
