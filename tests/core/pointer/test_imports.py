"""What a hook pays for at every prompt: the modules that the pointer loads (§6)."""

import subprocess
import sys
from pathlib import Path

import felan_core

TREE = str(Path(felan_core.__file__).parent.parent)
# Beyond what an interpreter under -I -S has loaded before it reads a line of ours.
ALLOWED = {
    "__future__", "_collections_abc", "_json", "_stat", "errno", "fcntl", "genericpath", "os", "os.path",
    "posixpath", "stat",
}  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """The modules that `code` adds to a bare interpreter."""
    program = f"import sys; sys.path.insert(0, {TREE!r}); before = set(sys.modules)\n{code}\n"
    program += "print(*sorted(set(sys.modules) - before))"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    return set(run.stdout.split())


def test_the_package_alone_loads_nothing_else() -> None:
    assert loaded_by("import felan_core.pointer") <= {"__future__", "felan_core", "felan_core.pointer"}


def test_a_prompt_and_a_publish_load_no_heavy_module(tmp_path: Path) -> None:
    loaded = loaded_by(
        "from felan_core.pointer import publisher, lifecycle, context_text\n"
        f"state = lifecycle.prompt_submitted({str(tmp_path)!r}, 's')\n"
        "context_text.context(state, '/felan pointer publish', 's')\n"
        "request = context_text.request_template(state, 's').replace(':\"\"', ':\"text\"')\n"
        f"assert publisher.run({str(tmp_path)!r}, request.encode())[0] == 0\n"
        "from felan_core.pointer import handover, hooks\n"
        'event = b\'{"session_id":"t","hook_event_name":"SessionStart","source":"startup","cwd":"/"}\'\n'
        f"assert hooks.answer({str(tmp_path)!r}, event, '/publish').exit_code == 0\n"
        "event = event.replace(b'SessionStart', b'UserPromptSubmit')\n"
        f"assert hooks.answer({str(tmp_path)!r}, event, '/publish', agent='codex').wrote\n"
    )
    assert {name for name in loaded if not name.startswith("felan_core")} <= ALLOWED
    ours = {name for name in loaded if name.startswith("felan_core.")}
    assert all(name.startswith("felan_core.pointer") for name in ours)


def test_a_refusal_is_the_same_where_json_is_not_loaded(tmp_path: Path) -> None:
    for data in ("b''", "b'{'", "b'{\"a\":NaN}'", "b'[' * 9000", "b'nul'", 'b\'{"a":"\''):
        loaded_by(
            "from felan_core.pointer import publisher\n"
            f"code, line = publisher.run({str(tmp_path)!r}, {data})\n"
            "assert code == 2 and '\"REQUEST_NOT_JSON\"' in line, line\n"
        )


def test_the_public_names_come_from_their_modules() -> None:
    import felan_core.pointer as pointer

    for name in pointer.__all__:
        assert callable(getattr(pointer, name)), name
    assert not hasattr(pointer, "nothing_of_the_kind")
