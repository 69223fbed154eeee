"""The sample data of the gallery: each card and each element in the states that a person meets."""

import time
from typing import Any

import msgspec

from felan_core.protocol.elements import Element
from felan_core.protocol.interactions import Interaction

HOSTILE = (
    "[red]x[/red] [/x] [@click=app.quit]q[/] \x1b]52;c;aGk=\x07\x1b[2J\x00\x07\u202etxt.exe\u2069 \u200b日本"
)
"""What may stand in any text member: markup, sequences that a terminal would run, bidirectional controls."""


def interaction(id: str, request: dict[str, Any], **members: Any) -> Interaction:
    """A waiting interaction that came 7 seconds ago, unless `members` (wire names) say otherwise."""
    plain = {
        "id": id,
        "scope": {"session": "s-1", "root": "s-1"},
        "request": request,
        "createdAt": time.time_ns() // 1_000_000 - 7_000,
        "deferrable": True,
        "state": "waiting",
        **members,
    }
    return msgspec.convert(plain, Interaction)


def element(**members: Any) -> Element:
    """An element of revision 5, unless `members` (wire names) say otherwise."""
    return msgspec.convert({"revision": 5, **members}, Element)


def approval(title: str, subject: dict[str, Any]) -> dict[str, Any]:
    """A request of an approval with one option for each effect."""
    options = [
        {"id": "once", "label": "allow once", "effect": "allow_once"},
        {"id": "always", "label": "always in this session", "effect": "allow_always"},
        {"id": "no", "label": "reject", "effect": "reject_once"},
        {"id": "never", "label": "never", "effect": "reject_always"},
    ]
    return {"kind": "approval", "title": title, "subject": subject, "options": options}


def options(count: int) -> list[dict[str, Any]]:
    """Numbered options, each with a description."""
    return [
        {"id": f"o{n}", "label": f"option {n}", "description": f"number {n} of {count}"}
        for n in range(1, count + 1)
    ]


BASH = {
    "category": "execute",
    "name": "bash",
    "command": "git push --force origin fix/login",
    "cwd": "/home/me/api-server",
}
OLD = "import time\n\n\ndef wait():\n    time.sleep(3)\n    return True\n"
NEW = "import time\n\n\ndef wait(clock):\n    clock.advance(3)\n    return True\n"
FORM: dict[str, Any] = {
    "title": "Release",
    "description": "What is released is tagged and pushed.",
    "fields": [
        {
            "type": "string",
            "id": "version",
            "label": "Version",
            "required": True,
            "minLength": 5,
            "description": "as 1.2.3",
        },
        {"type": "string", "id": "notes", "label": "Notes", "multiline": True},
        {"type": "boolean", "id": "sign", "label": "Sign the tag", "default": True},
        {"type": "enum", "id": "channel", "label": "Channel", "required": True, "options": options(3)},
    ],
    "submit": {"id": "send", "label": "Release it"},
    "cancel": {"id": "stop", "label": "Not now"},
}
NUMBERS = {
    **FORM,
    "fields": [
        {
            "type": "number",
            "id": "count",
            "label": "How many",
            "integer": True,
            "min": 1,
            "max": 9,
            "default": 3,
        },
        {"type": "number", "id": "ratio", "label": "Ratio"},
        {
            "type": "multi_select",
            "id": "hosts",
            "label": "Hosts",
            "required": True,
            "max": 2,
            "options": options(3),
        },
    ],
}
RESPONDER = {"responder": {"id": "me", "client": "phone"}, "resolvedAt": 1}

INTERACTIONS: dict[str, list[Interaction]] = {
    "approval": [interaction("a-1", approval("Push the branch", BASH), authority="owner")],
    "approval-diff": [
        interaction(
            "a-2",
            approval(
                "Edit a file",
                {
                    "category": "edit",
                    "name": "edit",
                    "diff": [{"path": "tests/test_login.py", "old": OLD, "new": NEW}],
                },
            ),
        )
    ],
    "approval-long": [
        interaction(
            "a-3", approval("Run", {**BASH, "command": "\n".join(f"echo line {n}" for n in range(1, 60))})
        )
    ],
    "approval-hostile": [
        interaction(
            "a-4",
            {
                "kind": "approval",
                "title": HOSTILE,
                "subject": {
                    "category": HOSTILE,
                    "name": HOSTILE,
                    "command": f"rm -rf /{HOSTILE}",
                    "cwd": HOSTILE,
                },
                "options": [{"id": "o", "label": HOSTILE, "effect": "allow_once"}],
            },
        )
    ],
    "confirm": [
        interaction("c-1", {"kind": "confirm", "title": "Delete the branch?", "message": "It is not merged."})
    ],
    "select": [interaction("s-1", {"kind": "select", "title": "Which model?", "options": options(4)})],
    "select-many": [
        interaction(
            "s-2", {"kind": "select", "title": "Which hosts?", "options": options(5), "min": 1, "max": 3}
        )
    ],
    "select-long": [
        interaction("s-3", {"kind": "select", "title": "Which one of many?", "options": options(200)})
    ],
    "input": [interaction("i-1", {"kind": "input", "title": "Name of the branch?", "placeholder": "fix/…"})],
    "input-lines": [
        interaction(
            "i-2", {"kind": "input", "title": "Commit message?", "multiline": True, "default": "Fix the test"}
        )
    ],
    "form": [interaction("f-1", {"kind": "form", "form": FORM})],
    "form-numbers": [interaction("f-2", {"kind": "form", "form": NUMBERS})],
    "deferred": [
        interaction(
            "d-1",
            approval("Push the branch", BASH),
            state="deferred",
            expiresAt=time.time_ns() // 1_000_000 + 900_000,
        )
    ],
    "gone": [
        interaction(
            "g-1", approval("Push the branch", BASH), state="cancelled", reason="the agent that asked is gone"
        )
    ],
    "stack": [
        interaction("k-1", approval("Push the branch", BASH)),
        interaction("k-2", {"kind": "form", "form": FORM}),
        interaction("k-3", {"kind": "confirm", "title": "Delete the branch?"}),
    ],
}

ACTIONS: list[dict[str, Any]] = [
    {"id": "refresh", "label": "Refresh", "scope": "element", "style": "primary"},
    {"id": "clear", "label": "Clear", "scope": "element", "style": "danger", "confirm": "all rows go away"},
    {
        "id": "add",
        "label": "Add",
        "scope": "element",
        "fields": [{"type": "string", "id": "name", "label": "Name", "required": True}],
    },
]
ROW_ACTIONS: list[dict[str, Any]] = [
    {"id": "open", "label": "Open", "scope": "item"},
    {"id": "drop", "label": "Drop", "scope": "item", "style": "danger", "confirm": "the row goes away"},
    {
        "id": "rename",
        "label": "Rename",
        "scope": "item",
        "fields": [{"type": "string", "id": "name", "label": "Name", "required": True}],
    },
    {"id": "reload", "label": "Reload", "scope": "element"},
]
COLUMNS = [
    {"id": "name", "label": "Name", "type": "string"},
    {"id": "size", "label": "Size", "type": "number"},
    {"id": "ok", "label": "OK", "type": "boolean"},
    {"id": "at", "label": "Changed", "type": "time"},
]
ROWS = [
    ("a.py", 1200, True),
    ("日本語のファイル.py", 7, False),
    ("👍🏽 emoji.md", 1_234_567, True),
    ("cafe\u0301.txt", 3.5, True),
]


def _view(layout: str, **members: Any) -> Element:
    items: list[dict[str, Any]] = [
        {"id": f"r{n}", "fields": {"name": name, "size": size, "ok": ok, "at": 1_700_000_000_000 + n}}
        for n, (name, size, ok) in enumerate(ROWS)
    ]
    # The second row has one of the actions, the third none; where nothing is said a row has all of them.
    items[1]["actions"] = ["open"] if layout == "list" else []
    items[2]["actions"] = []
    page = {"index": 0, "size": 4, "total": 120, "hasMore": True}
    return element(
        kind="view",
        id="files",
        title="Files",
        layout=layout,
        columns=COLUMNS,
        items=items,
        page=page,
        **members,
    )


ELEMENTS: dict[str, list[Element]] = {
    "status": [
        element(kind="status", id="s1", text="3 tests fail", tone="error"),
        element(kind="status", id="s2", text="build is green", tone="success", title="CI"),
        element(kind="status", id="s3", text=HOSTILE, tone="muted"),
        element(kind="status", id="felan.git", text="the host's own", tone="info"),
    ],
    "progress": [
        element(
            kind="progress",
            id="p1",
            label="Download",
            value=3_000_000,
            total=12_000_000,
            unit="bytes",
            state="running",
        ),
        element(kind="progress", id="p2", label="Index", value=1_234, unit="files", state="running"),
        element(kind="progress", id="p3", label="Tests", value=80, total=80, state="done"),
        element(kind="progress", id="p4", label="Upload", value=1, total=3, state="failed"),
    ],
    "document": [
        element(kind="document", id="d1", title="Plan", markdown="# Plan\n\n* first\n* second\n" * 12)
    ],
    "view": [_view("table", actions=ACTIONS)],
    "view-list": [_view("list", actions=ROW_ACTIONS)],
}
