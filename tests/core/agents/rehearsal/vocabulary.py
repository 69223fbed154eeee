"""The tables of ``docs/rehearsal.md``, made from the structs.

``python -m tests.core.agents.rehearsal.vocabulary`` writes them into the page; a test holds the page to them.
"""

import inspect
import re
from pathlib import Path

import msgspec

from felan_core.agents.rehearsal import steps

PAGE = Path(__file__).resolve().parents[4] / "docs" / "rehearsal.md"
PARTS = {
    "top of the file": steps.Header,
    "`[[steer]]`": steps.SteerRule,
    "`options` of `select`, `enum` and `multi_select`": steps.Choice,
    "`options` of `approval`": steps.ApprovalChoice,
    "`fields` of `form`, type `string`": steps.StringFormField,
    "`fields` of `form`, type `boolean`": steps.BooleanFormField,
    "`fields` of `form`, type `enum`": steps.EnumFormField,
    "`fields` of `form`, type `number`": steps.NumberFormField,
    "`fields` of `form`, type `multi_select`": steps.MultiSelectFormField,
    "`submit` and `cancel` of `form`": steps.Button,
    "`actions` of `document` and `view`": steps.ElementAction,
    "`columns` of `view`": steps.ViewColumn,
    "`items` of `view`": steps.ViewRow,
}


def tables() -> dict[str, str]:
    """Each table by the name of its place in the page."""
    return {
        "steps": _table("step", [(f"`{one.__struct_config__.tag}`", one) for one in steps.STEPS]),
        "parts": _table("where", list(PARTS.items())),
    }


def page_with(text: str) -> str:
    """The page's text with the tables put in their places."""
    for name, table in tables().items():
        place = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        assert place.search(text), name
        text = place.sub(lambda found, table=table: f"{found[1]}{table}{found[2]}", text)
    return text


def _table(first: str, rows: list[tuple[str, type[msgspec.Struct]]]) -> str:
    lines = [f"| {first} | members | what it is |", "| --- | --- | --- |"]
    return "\n".join(lines + [_row(name, shape) for name, shape in rows]) + "\n"


def _row(name: str, shape: type[msgspec.Struct]) -> str:
    members = [
        f"`{field.encode_name}`{'' if field.required else '?'}"
        for field in msgspec.structs.fields(shape)
        if not (field.name == "label" and issubclass(shape, steps.Step))
    ]
    said = " ".join((inspect.getdoc(shape) or "").split())
    return f"| {name} | {', '.join(members) or '–'} | {said.replace('``', '`')} |"


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
