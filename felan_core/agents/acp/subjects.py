"""What an approval is about: the whole of a tool call's input, in the members that a person reads best.

Each member of the raw input is shown once: as the command, the folder, a path, a side of a diff, or by its
name in the text. Nothing that would run is left out; what is too large for the wire is counted.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

import msgspec

from felan_core.agents.acp import schema
from felan_core.agents.acp.clip import BODY_BYTES, body, clip, label
from felan_core.agents.acp.commands import Command, command_of, without_code_marks
from felan_core.agents.acp.tools import MAX_PATHS, PATH_BYTES, ToolCall
from felan_core.protocol.base import UNSET, Json, JsonObject
from felan_core.protocol.entries import ToolDiff, ToolText
from felan_core.protocol.interactions import ApprovalSubject, DiffSubject

MAX_BYTES: Final = 10 * 1024 * 1024
"""Of the encoded subject; the whole interaction has 12 MiB on the wire."""

_FOLDER: Final = ("cwd", "workdir")
_PATHS: Final = ("file_path", "filePath", "filepath", "path", "abs_path")
_PATCHES: Final = ("diff", "patch")
_ABOUT: Final = frozenset({*_FOLDER, "description"})
"""Members beside a command that do not say what would run."""

_PLAIN_NAME: Final = re.compile(r"[^\x00-\x1f\x7f:\"]{1,200}")


def subject_of(call: ToolCall, notes: Iterable[str] = ()) -> ApprovalSubject:
    """The subject of an approval for ``call``. ``notes`` stand at the end of its text."""
    given = schema.an_object(call.raw_input)
    command = command_of(call.raw_input) or _titled_command(call)
    folder = next((text for member in _FOLDER if (text := schema.a_string(given.get(member)))), "")
    changes = call.changes
    diffs = [
        DiffSubject(path=one.path, new=one.new, old=one.old) for one in changes if isinstance(one, ToolDiff)
    ]
    paths = list(_paths(call, given))
    shown = {clip(path, PATH_BYTES) for path in paths[:MAX_PATHS]}
    shown |= {text for one in diffs for text in (one.path, one.new, one.old) if isinstance(text, str)}
    shown.add(clip(folder, PATH_BYTES))
    texts = [
        *(part.text for part in changes if isinstance(part, ToolText)),
        *(one.text for one in call.texts),
    ]
    if not command and not diffs:
        # An edit may come as a patch in the input alone.
        texts += [text for member in _PATCHES if (text := schema.a_string(given.get(member)))]
    rest = _rest(call.raw_input, command, shown | set(texts))
    text = "\n\n".join(dict.fromkeys([*texts, *([rest] if rest else []), *notes]))
    subject = ApprovalSubject(
        category=call.kind,
        name=label(call.name) if call.name else UNSET,
        command=body(command.line) if command else UNSET,
        cwd=clip(folder, PATH_BYTES) if folder else UNSET,
        paths=[clip(path, PATH_BYTES) for path in paths[:MAX_PATHS]] or UNSET,
        diff=diffs or UNSET,
        text=body(text) if text else UNSET,
    )
    return subject if len(msgspec.json.encode(subject)) <= MAX_BYTES else _smaller(subject)


def _titled_command(call: ToolCall) -> Command | None:
    """The title of a call that runs something and says nowhere else what: it is the command itself."""
    given = call.raw_input
    known = given in (None, {}, [], "") or (isinstance(given, dict) and not set(given) - _ABOUT)  # pyright: ignore[reportUnknownArgumentType] - JSON
    if call.kind != "execute" or not known or not call.title.strip():
        return None
    return Command(without_code_marks(call.title), frozenset())


def _paths(call: ToolCall, given: JsonObject) -> Iterator[str]:
    changed = [one.path for one in call.changes if isinstance(one, ToolDiff)]
    named = [schema.a_string(given.get(member)) for member in _PATHS]
    yield from dict.fromkeys(path for path in [*call.locations, *changed, *named] if path)


def _rest(value: Json, command: Command | None, shown: set[str]) -> str:
    """What of the raw input is in no other member of the subject, to read."""
    used = command.members if command else frozenset[str]()
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        value = {
            name: item
            for name, item in members
            if name not in used and not (isinstance(item, str) and item in shown)
        }
    if value in (None, {}, [], "") or (isinstance(value, str) and value in shown):
        return ""
    return value if isinstance(value, str) else "\n".join(_readable(value))


def _readable(value: Any) -> Iterator[str]:
    """Plain JSON as lines: `name: value`, what is inside of something indented by two spaces.

    A text of several lines is indented under its name, so that none of its lines can pass for a member.
    """
    if isinstance(value, dict) and value:
        for name, item in cast("dict[str, Any]", value).items():
            plain = name if _PLAIN_NAME.fullmatch(name) else msgspec.json.encode(name).decode()
            yield from _member(f"{plain}:", item)
    elif isinstance(value, list) and value:
        for item in cast("list[Any]", value):
            yield from _member("-", item)
    elif isinstance(value, str) and value:
        yield from value.split("\n")
    else:
        yield msgspec.json.encode(value).decode()


def _member(name: str, item: Any) -> Iterator[str]:
    inside = list(_readable(item))
    if len(inside) == 1 and not (isinstance(item, dict | list) and item):
        yield f"{name} {inside[0]}"
    else:
        yield name
        yield from (f"  {line}" for line in inside)


def _smaller(subject: ApprovalSubject) -> ApprovalSubject:
    """Diffs of control characters are six times as large on the wire: they are named instead."""
    named = [f"{one.path}: a change that is too large to show" for one in subject.diff or []]
    text = "\n".join([*named, *([subject.text] if subject.text else [])])
    return msgspec.structs.replace(
        subject, diff=UNSET, text=clip(text, BODY_BYTES // 2), command=subject.command
    )
