"""The house linter over the tree, and each of its rules over what it has to catch and to let pass."""

import re
import tomllib

import pytest

from tests.house import linter
from tests.house.linter import LONG_MODULES, MAX_LINES, RULES, Rule, violations
from tests.house.tree import ROOT, SourceFile, tree_files

DOC = '"""Says what this module is for."""\n'
SLASH = "/"  # keeps the names that may not be written down out of this file


def name_of(rule: object) -> str:
    return getattr(rule, "__name__", str(rule))


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_the_tree_keeps_the_rule(rule: Rule) -> None:
    found = [str(violation) for file in tree_files() for violation in violations(rule, file)]
    assert not found, "\n" + "\n".join(found)


CAUGHT: list[tuple[Rule, str, str]] = [
    (linter.module_is_short, "felan_core/x.py", "a = 1\n" * (MAX_LINES + 1)),
    (linter.module_is_short, "tests/core/test_x.py", "a = 1\n" * (MAX_LINES + 1)),
    (linter.module_says_its_job, "felan_core/x.py", "a = 1"),
    (linter.module_says_its_job, "felan_tui/x/__init__.py", '""""""'),
    (
        linter.wire_types_are_evaluated,
        "felan_core/x.py",
        "from __future__ import annotations\nimport msgspec",
    ),
    (linter.nothing_is_marked_unfinished, "felan_core/x.py", "a = 1  # TO" + "DO later"),
    (linter.nothing_is_marked_unfinished, "docs/x.md", "FIX" + "ME: say more"),
    (linter.nothing_is_marked_unfinished, "felan_core/x.py", "def a():\n    raise NotImplementedError"),
    (linter.product_does_not_know_it_is_tested, "felan_core/x.py", "if 'PYTEST_CURRENT_TEST' in env: pass"),
    (linter.product_does_not_know_it_is_tested, "felan_tui/x.py", "testing = 'pytest' in sys.modules"),
    (linter.core_does_not_print, "felan_core/host/x.py", "print('here')"),
    (linter.terminal_gets_safe_text, "felan_tui/x.py", "print(name)"),
    (linter.terminal_gets_safe_text, "felan_tui/x.py", "print(f'no session of {folder}', file=sys.stderr)"),
    (linter.terminal_gets_safe_text, "felan_tui/cli/x.py", "click.echo(str(error), err=True)"),
    (linter.terminal_gets_safe_text, "felan_tui/cli/x.py", "click.secho(line(one))"),
    (linter.terminal_gets_safe_text, "felan_tui/cli/x.py", "sys.stderr.write(message)"),
    (linter.terminal_gets_safe_text, "felan_tui/cli/x.py", "sys.stdout.buffer.write(data)"),
    (linter.terminal_gets_safe_text, "felan_tui/cli/x.py", "stderr.write('said ' + message)"),
    (linter.terminal_gets_safe_text, "felan_core/pointer/x.py", "os.write(2, said.encode())"),
    (linter.terminal_gets_safe_text, "felan_tui/x.py", "os.write(1 if tty else 2, data)"),
    (linter.terminal_gets_safe_text, "felan_tui/x.py", "raise SystemExit(f'no {name}')"),
    (linter.terminal_gets_safe_text, "felan_tui/x.py", "sys.exit('no ' + name)"),
    (linter.terminal_gets_safe_text, "felan_tui/x.py", "traceback.print_exc()"),
    (linter.widgets_are_the_safe_ones, "felan_tui/x.py", "from textual.widgets import Static"),
    (linter.widgets_are_the_safe_ones, "felan_tui/x.py", "from textual.widgets import Footer, Label as L"),
    (linter.widgets_are_the_safe_ones, "felan_tui/x.py", "from textual.widgets._static import Static"),
    (linter.widgets_are_the_safe_ones, "felan_tui/x.py", "from textual.widgets.option_list import Option"),
    (linter.widgets_are_the_safe_ones, "felan_tui/x.py", "from textual import widgets"),
    (linter.widgets_are_the_safe_ones, "felan_tui/x.py", "import textual.widgets as w"),
    (linter.widgets_are_the_safe_ones, "felan_tui/panel/x.py", "from textual.widgets import TextArea"),
    (linter.notices_are_not_markup, "felan_tui/x.py", "app.notify(f'saved {name}')"),
    (linter.notices_are_not_markup, "felan_tui/x.py", "app.notify('saved', markup=True)"),
    (linter.notices_are_not_markup, "felan_tui/x.py", "self.notify(message=name, title='t')"),
    (linter.markup_is_never_parsed, "felan_tui/x.py", "Content.from_markup('[b]$x[/b]', x=name)"),
    (linter.markup_is_never_parsed, "felan_tui/x.py", "Text.from_ansi(output)"),
    (linter.markup_is_never_parsed, "felan_tui/x.py", "SafeLabel(name, markup=True)"),
    (linter.widgets_are_not_fed_strings, "felan_tui/x.py", "self.label.update(f'{name} is here')"),
    (linter.widgets_are_not_fed_strings, "felan_tui/x.py", "self.label.update('name: ' + name)"),
    (linter.widgets_are_not_fed_strings, "felan_tui/x.py", "self.label.update(', '.join(names))"),
    (linter.widgets_are_not_fed_strings, "felan_tui/x.py", "self.label.update(str(error))"),
    (linter.widgets_are_not_fed_strings, "felan_tui/x.py", "card.border_title = f'approve {tool}'"),
    (linter.widgets_are_not_fed_strings, "felan_tui/x.py", "Editor(placeholder='[/x]')"),
    (linter.text_is_measured_in_cells, "felan_tui/x.py", "row = name.ljust(20)"),
    (linter.text_is_measured_in_cells, "felan_tui/x.py", "row = name + ' ' * (width - len(name))"),
    (linter.text_is_measured_in_cells, "felan_tui/x.py", "row = (width - len(name)) * '─'"),
    (linter.text_is_measured_in_cells, "felan_tui/x.py", "row = f'{name:<20}'"),
    (linter.text_is_measured_in_cells, "felan_tui/x.py", "row = f'{name:·^20}'"),
    (linter.text_is_measured_in_cells, "felan_tui/x.py", "row = str(n).rjust(len(title))"),
    (linter.colours_come_from_the_theme, "felan_tui/x.tcss", "Card {\n    background: #1e1e2e;\n}"),
    (linter.colours_come_from_the_theme, "felan_tui/x.tcss", "Card { border: round #fff 50%; }"),
    (linter.colours_come_from_the_theme, "felan_tui/x.tcss", "Card:hover { color: red; }"),
    (linter.colours_come_from_the_theme, "felan_tui/x.tcss", "Card { color: rgb(1, 2, 3); }"),
    (
        linter.colours_come_from_the_theme,
        "felan_tui/x.py",
        "class C:\n    DEFAULT_CSS = 'C { color: #ff0000; }'",
    ),
    (linter.test_files_assert, "tests/core/test_x.py", "def test_it():\n    run()"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert [len(row) <= 80 for row in rows]"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert (found, 'nothing was found')"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert found == 'yes' if found else False"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert (row in rows for row in wanted)"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert ready or [1]"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert ready and 'the text'"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert not {1, 2}"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert f'{found}'"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert lambda: found"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert len(rows) >= 0"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert {row for row in rows}"),
    (linter.tests_do_not_sleep, "tests/core/test_x.py", "import time\ntime.sleep(1)"),
    (linter.tests_do_not_sleep, "tests/core/helper.py", "from time import sleep"),
    (linter.no_place_is_named, "constraints.txt", "--index" + "-url https:" + SLASH * 2 + "example.invalid"),
    (linter.no_place_is_named, "package.json", '"resolved": "registry.npm' + 'js.org"'),
    (linter.no_place_is_named, "docs/x.md", "see " + SLASH + "work" + SLASH + "main"),
    (linter.no_place_is_named, "docs/x.md", "see ../shared" + SLASH + "spec"),
]

PASSED: list[tuple[Rule, str, str]] = [
    (linter.module_is_short, "felan_core/x.py", "a = 1\n" * MAX_LINES),
    (linter.module_is_short, "docs/x.md", "word\n" * (MAX_LINES + 1)),
    (linter.module_says_its_job, "felan_core/x.py", DOC),
    (linter.wire_types_are_evaluated, "felan_tui/x.py", "from __future__ import annotations\nimport textual"),
    (linter.nothing_is_marked_unfinished, "felan_core/x.py", "a = 'TO" + "DO.md'\nreturn NotImplemented"),
    (linter.product_does_not_know_it_is_tested, "tests/core/x.py", "'PYTEST_CURRENT_TEST' in env"),
    (linter.core_does_not_print, "felan_tui/cli/x.py", "print('1.0')"),
    (linter.terminal_gets_safe_text, "felan_tui/cli/x.py", "print_error(f'no session of {folder}')"),
    (linter.terminal_gets_safe_text, "felan_tui/cli/x.py", "print('usage: NAME', file=sys.stderr)"),
    (linter.terminal_gets_safe_text, "felan_tui/text/output.py", "sys.stderr.write(safe(text))"),
    (linter.terminal_gets_safe_text, "felan_core/x.py", "os.write(descriptor, data)\nfile.write(data)"),
    (linter.terminal_gets_safe_text, "felan_tui/x.py", "sys.exit(exits.CRASH)\nraise SystemExit(main())"),
    (linter.terminal_gets_safe_text, "tests/x.py", "print(name)"),
    (linter.widgets_are_the_safe_ones, "felan_tui/x.py", "from textual.widgets import Footer, Rule"),
    (linter.widgets_are_the_safe_ones, "felan_tui/text/x.py", "from textual.widgets import Static"),
    (linter.widgets_are_the_safe_ones, "felan_tui/composer/x.py", "from textual.widgets import TextArea"),
    (linter.widgets_are_the_safe_ones, "tests/tui/x.py", "from textual.widgets import Static"),
    (linter.notices_are_not_markup, "felan_tui/x.py", "app.notify(text, markup=False)\ncondition.notify()"),
    (linter.markup_is_never_parsed, "felan_tui/text/x.py", "Content.from_markup('[b]$x[/b]', x=name)"),
    (linter.markup_is_never_parsed, "felan_tui/x.py", "Thing(markup=False)"),
    (
        linter.widgets_are_not_fed_strings,
        "felan_tui/x.py",
        "label.update(safe(name))\nseen.update({name: 1})",
    ),
    (
        linter.widgets_are_not_fed_strings,
        "felan_tui/x.py",
        "card.border_title = 'approve'\ncard.tooltip = None",
    ),
    (
        linter.text_is_measured_in_cells,
        "felan_tui/x.py",
        "f'{count:>5} {share:.1f}'\nstr(n).rjust(5)\nlen(a) * 2",
    ),
    (linter.text_is_measured_in_cells, "felan_core/x.py", "name.ljust(20)"),
    (
        linter.colours_come_from_the_theme,
        "felan_tui/x.tcss",
        "#add Card:hover {\n    color: $text-red 50%;\n}",
    ),
    (linter.colours_come_from_the_theme, "themes/x.toml", 'primary = "#1e1e2e"'),
    (linter.test_files_assert, "tests/core/test_x.py", "def test_it():\n    assert run() == 1"),
    (
        linter.test_files_assert,
        "tests/core/test_x.py",
        "def test_it():\n    with pytest.raises(E):\n        run()",
    ),
    (linter.tests_do_not_sleep, "tests/core/test_x.py", "await asyncio.sleep(0)"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert all(len(row) <= 80 for row in rows)"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert [len(row) for row in rows] == [80]"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert (a, b) == (1, 2), 'a message'"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert found == ('yes' if sent else 'no')"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert not found and rows"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert not [row for row in rows if row.wrong]"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert len(rows) >= 1"),
    (linter.asserts_can_fail, "tests/core/test_x.py", "assert False, 'never reached'"),
    (linter.no_place_is_named, "docs/x.md", "a/work/b, https:" + SLASH * 2 + "example.invalid, is shared"),
]


def case_name(case: object) -> str | None:
    return name_of(case) if callable(case) else None


@pytest.mark.parametrize(("rule", "path", "source"), CAUGHT, ids=case_name)
def test_the_rule_catches(rule: Rule, path: str, source: str) -> None:
    assert violations(rule, SourceFile(path, source))


@pytest.mark.parametrize(("rule", "path", "source"), PASSED, ids=case_name)
def test_the_rule_lets_pass(rule: Rule, path: str, source: str) -> None:
    assert violations(rule, SourceFile(path, source)) == []


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_every_rule_is_tried_both_ways(rule: Rule) -> None:
    assert [case for case in CAUGHT if case[0] is rule]
    assert [case for case in PASSED if case[0] is rule]


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_a_reason_on_the_line_excuses_it_and_an_empty_one_does_not(rule: Rule) -> None:
    _, path, source = next(case for case in CAUGHT if case[0] is rule)
    lines = source.splitlines() or [""]
    opening, closing = ("/*", " */") if path.endswith(".tcss") else ("#", "")
    before = len(violations(rule, SourceFile(path, source)))
    for violation in violations(rule, SourceFile(path, source)):
        lines[violation.line - 1] += f"  {opening} house:{closing}"
    assert len(violations(rule, SourceFile(path, "\n".join(lines)))) == before
    lines = [line.replace(" house:", " house: the reason is given here") for line in lines]
    assert violations(rule, SourceFile(path, "\n".join(lines))) == []


def test_only_modules_that_are_long_have_a_reason_to_be() -> None:
    lengths = {file.path: len(file.lines) for file in tree_files()}
    assert [path for path in LONG_MODULES if lengths.get(path, 0) <= MAX_LINES] == []


def test_constraints_are_exact_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert len(pins) > 20
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", pin)] == []


def test_every_dependency_is_pinned() -> None:

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pins = (ROOT / "constraints.txt").read_text().lower()
    names = [re.split(r"[<>=!~\[ ]", dependency)[0] for dependency in wanted]
    assert len(names) > 12
    assert [name for name in names if f"\n{name}==" not in pins] == []


_LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")


@pytest.mark.parametrize(
    "page", [file for file in tree_files() if file.path.endswith(".md")], ids=lambda f: f.path
)
def test_a_page_links_to_what_is_there(page: SourceFile) -> None:
    folder = (ROOT / page.path).parent
    assert [link for link in _LINK.findall(page.text) if not (folder / link).exists()] == []
