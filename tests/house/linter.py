"""The rules of the house that a machine can check: each takes a file and tells what is wrong at which line.

A rule that is wrong for one place is switched off there, with the reason: `# house: <reason>` at the end of a
line of the statement (`/* house: … */` in .tcss, `<!-- house: … -->` in Markdown). `test_house.py` runs each
rule over the tree, and over snippets that it has to catch.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.house.tree import SourceFile

PRODUCT = ("felan_core", "felan_tui")
CODE = (*PRODUCT, "tests", "benchmarks", "screenshots")
SAFE_TEXT = "felan_tui/text"

MAX_LINES = 500
# Modules that may be longer, and why.
LONG_MODULES: dict[str, str] = {}

ESCAPE = re.compile(r"(?:#|/\*|<!--)\s*house:\s*\S.{6,}")

# What a rule yields: the first and the last line that the finding is about, and what is wrong.
Finding = tuple[int, int, str]
Rule = Callable[[SourceFile], Iterator[Finding]]


@dataclass(frozen=True)
class Violation:
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def violations(rule: Rule, file: SourceFile) -> list[Violation]:
    """What the rule finds in the file and no reason excuses."""
    found: list[Violation] = []
    for first, last, message in rule(file):
        if not any(ESCAPE.search(line) for line in file.lines[first - 1 : last]):
            found.append(Violation(file.path, first, message))
    return found


def at(node: ast.AST, message: str) -> Finding:
    line: int = getattr(node, "lineno", 1)
    return line, getattr(node, "end_lineno", None) or line, message


def called(node: ast.Call) -> str:
    """The last name of what is called: `a.b.c(…)` is `c`."""
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def calls(file: SourceFile) -> Iterator[ast.Call]:
    return (node for node in ast.walk(file.syntax) if isinstance(node, ast.Call))


def is_screen(file: SourceFile) -> bool:
    """Code that draws and is not the module that makes text safe."""
    return file.is_python and file.under("felan_tui") and not file.under(SAFE_TEXT)


# --- modules ---


def module_is_short(file: SourceFile) -> Iterator[Finding]:
    if file.is_python and file.under(*CODE) and len(file.lines) > MAX_LINES and file.path not in LONG_MODULES:
        yield 1, 1, f"{len(file.lines)} lines: split it, or name the reason in LONG_MODULES"


def module_says_its_job(file: SourceFile) -> Iterator[Finding]:
    if file.is_python and file.under(*PRODUCT):
        said = (ast.get_docstring(file.syntax) or "").partition("\n")[0].strip()
        if len(said) < 10:
            yield 1, 1, "the first line of the module's docstring says its one job"


def wire_types_are_evaluated(file: SourceFile) -> Iterator[Finding]:
    if not (file.is_python and file.under(*PRODUCT)) or "msgspec" not in file.text:
        return
    for node in ast.walk(file.syntax):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield at(node, "msgspec reads annotations as types: no postponed annotations beside it")


# Built from halves, so that this file does not name what it looks for.
_MARKS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")


def nothing_is_marked_unfinished(file: SourceFile) -> Iterator[Finding]:
    for number, line in enumerate(file.lines, 1):
        shown = line.partition("#")[2] if file.is_python else line
        if mark := _MARKS.search(shown):
            yield number, number, f"{mark[0]}: unfinished work is an issue, not a mark"
    if not (file.is_python and file.under(*PRODUCT)):
        return
    for node in ast.walk(file.syntax):
        if isinstance(node, ast.Name) and node.id == "NotImplementedError":
            yield at(node, "NotImplementedError: build it, or leave it out of the interface")


def product_does_not_know_it_is_tested(file: SourceFile) -> Iterator[Finding]:
    if not (file.is_python and file.under(*PRODUCT)):
        return
    for node in ast.walk(file.syntax):
        match node:
            case ast.Constant(value=str(text)) if re.match(r"(?i)pytest(_|$)", text):
                yield at(
                    node, "time and faults come in through a parameter, never from knowing that a test runs"
                )
            case _:
                pass


def core_does_not_print(file: SourceFile) -> Iterator[Finding]:
    if file.is_python and file.under("felan_core"):
        yield from (at(c, "the core never prints") for c in calls(file) if ast.unparse(c.func) == "print")


# --- the terminal gets safe text alone ---

_STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def terminal_gets_safe_text(file: SourceFile) -> Iterator[Finding]:
    """Names, errors and caught exceptions reach the terminal through `print_out` and `print_error` alone."""
    if not file.is_python or not file.under(*PRODUCT) or file.under(SAFE_TEXT):
        return
    advice = f"writes to the terminal: use {SAFE_TEXT}/output.py"
    for call in calls(file):
        match call.func:
            case ast.Name(id="print") | ast.Attribute(attr="echo" | "secho" | "echo_via_pager"):
                raw = call.args
            case ast.Attribute(attr="write" | "writelines", value=stream) if _is_terminal(stream):
                raw = call.args
            case ast.Attribute(attr="write", value=ast.Name(id="os")):
                raw = call.args[1:] if _may_be_terminal(call.args[0]) else []
            case ast.Attribute(attr="exit", value=ast.Name(id="sys")) | ast.Name(id="SystemExit" | "exit"):
                raw = [one for one in call.args if is_string(one)]
            case ast.Attribute(attr="print_exc" | "print_exception" | "print_stack" | "print_tb"):
                yield at(call, f"{called(call)}() {advice}")
                continue
            case _:
                continue
        if any(not _is_literal(one) for one in raw):
            yield at(call, f"{ast.unparse(call.func)}() of text that is not a literal {advice}")


def _is_terminal(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in _STREAMS or (name == "buffer" and _is_terminal(getattr(node, "value", node)))
        case _:
            return False


def _may_be_terminal(node: ast.expr) -> bool:
    """A descriptor that is 1 or 2, as far as the syntax tells."""
    return any(isinstance(one, ast.Constant) and one.value in (1, 2) for one in ast.walk(node))


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_literal(left) and _is_literal(right)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_literal(body) and _is_literal(orelse)
        case _:
            return False


# --- untrusted text is never markup ---

# Widgets of Textual that draw no text of ours or draw it literally. Everything else takes strings as markup,
# and has a safe counterpart in felan_tui/text.
PLAIN_WIDGETS = {"ContentSwitcher", "Footer", "LoadingIndicator", "ProgressBar", "Rule"}
TEXT_AREA_HOMES = ("felan_tui/composer", "felan_tui/composer.py", SAFE_TEXT)


def widgets_are_the_safe_ones(file: SourceFile) -> Iterator[Finding]:
    if not is_screen(file):
        return
    may_edit = file.under(*TEXT_AREA_HOMES) or "/composer" in file.path
    for node in ast.walk(file.syntax):
        names: list[str] = []
        match node:
            case ast.ImportFrom(module=str(module)) if re.match(r"textual\.widgets(\.|$)", module):
                names = [alias.name for alias in node.names]
                if module.startswith("textual.widgets.") and all(name[0].islower() for name in names):
                    names = [f"the internals {module}"]
            case ast.ImportFrom(module="textual") if any(alias.name == "widgets" for alias in node.names):
                names = ["the whole module"]
            case ast.Import() if any(re.match(r"textual\.widgets(\.|$)", alias.name) for alias in node.names):
                names = ["the whole module"]
            case _:
                continue
        for name in names:
            if name not in PLAIN_WIDGETS and not (name == "TextArea" and may_edit):
                yield at(node, f"textual.widgets: {name} outside {SAFE_TEXT}: use the safe one")


def notices_are_not_markup(file: SourceFile) -> Iterator[Finding]:
    if not is_screen(file):
        return
    for call in calls(file):
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        if called(call) != "notify" or not (call.args or "message" in keywords):
            continue  # a Condition's notify() says nothing
        match keywords.get("markup"):
            case ast.Constant(value=False):
                pass
            case _:
                yield at(call, "notify() parses markup unless it is called with markup=False")


def markup_is_never_parsed(file: SourceFile) -> Iterator[Finding]:
    if not is_screen(file):
        return
    for call in calls(file):
        if called(call) in ("from_markup", "render_markup", "from_ansi"):
            yield at(call, f"{called(call)}() outside {SAFE_TEXT}")
        for keyword in call.keywords:
            if keyword.arg == "markup" and not (
                isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            ):
                yield at(call, f"markup= that is not False, outside {SAFE_TEXT}")


def is_string(node: ast.expr) -> bool:
    """As far as the syntax tells: an expression that is a str."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod() | ast.Mult(), right=right):
            return is_string(left) or (isinstance(node.op, ast.Add) and is_string(right))
        case ast.IfExp(body=body, orelse=orelse):
            return is_string(body) or is_string(orelse)
        case ast.Call(func=ast.Name(id="str" | "repr")):
            return True
        case ast.Call(func=ast.Attribute(value=value, attr="join" | "format")):
            return is_string(value)
        case _:
            return False


def could_be_markup(node: ast.expr) -> bool:
    """A string that is more than words of our own: a constant without a bracket is harmless."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and "[" in node.value
    return is_string(node)


# Set as attributes, and some of them as arguments, all of them markup.
_MARKED_UP = {"border_title", "border_subtitle", "placeholder", "tooltip"}


def widgets_are_not_fed_strings(file: SourceFile) -> Iterator[Finding]:
    if not is_screen(file):
        return
    for node in ast.walk(file.syntax):
        match node:
            case ast.Call(args=[first, *_]) if called(node) == "update" and is_string(first):
                yield at(node, f"update() of a plain string: make it safe in {SAFE_TEXT} first")
            case ast.Call():
                for keyword in node.keywords:
                    if keyword.arg in _MARKED_UP and could_be_markup(keyword.value):
                        yield at(node, f"{keyword.arg}= is parsed as markup: give it safe text")
            case ast.Assign(targets=[ast.Attribute(attr=name), *_], value=value) if name in _MARKED_UP:
                if could_be_markup(value):
                    yield at(node, f"{name} is parsed as markup: give it safe text")
            case _:
                pass


# --- width and colour ---


def text_is_measured_in_cells(file: SourceFile) -> Iterator[Finding]:
    """`len` and `ljust` count code points; 日本 takes four cells, and a combining mark takes none."""
    if not is_screen(file):
        return
    advice = f"counts characters, not cells: pad with {SAFE_TEXT}"
    for node in ast.walk(file.syntax):
        match node:
            case ast.Call(func=ast.Attribute(value=padded, attr="ljust" | "rjust" | "center")):
                number = isinstance(padded, ast.Call) and called(padded) in ("str", "format_number")
                if not number or any(_has_len(argument) for argument in node.args):
                    yield at(node, f"{called(node)}() {advice}")
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mult(), right=count) if _has_len(count):
                yield at(node, f"len() in padding {advice}")
            case ast.BinOp(left=count, op=ast.Mult(), right=ast.Constant(value=str())) if _has_len(count):
                yield at(node, f"len() in padding {advice}")
            case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=str(spec)), *_])):
                if re.match(r".?[<^]", spec):
                    yield at(node, f"the format {spec!r} {advice}")
            case _:
                pass


def _has_len(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Call) and called(inner) == "len" for inner in ast.walk(node))


_NAMED = "black|white|red|green|blue|yellow|cyan|magenta|gr[ae]y|orange|purple|pink|brown|ansi_\\w+"
_COLOUR = re.compile(
    rf":[^;{{}}]*?(#[0-9a-fA-F]{{3,8}}\b|\b(?:rgb|hsl)a?\(|(?<![\w$-])(?:{_NAMED})(?![\w-]))", re.IGNORECASE
)


def _colours(text: str) -> Iterator[tuple[int, str]]:
    """Declarations with a colour written out, by line; pseudo-classes (`:hover`) end at their brace."""
    for number, line in enumerate(text.splitlines()):
        bare = re.sub(r"/\*.*?\*/", "", line)
        for declaration in re.findall(r"[\w-]+\s*:[^:;{}]*(?:;|$)", bare):
            if hit := _COLOUR.search(declaration):
                yield number, hit[1]


def colours_come_from_the_theme(file: SourceFile) -> Iterator[Finding]:
    if file.path.endswith(".tcss"):
        for number, colour in _colours(file.text):
            yield number + 1, number + 1, f"{colour}: colours come from theme variables alone"
    elif file.is_python and file.under("felan_tui"):
        for node in ast.walk(file.syntax):
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                named = any(isinstance(t, ast.Name) and t.id in ("CSS", "DEFAULT_CSS") for t in targets)
                if named and isinstance(node.value.value, str):
                    for _, colour in _colours(node.value.value):
                        yield at(node, f"{colour}: colours come from theme variables alone")


# --- tests ---


def test_files_assert(file: SourceFile) -> Iterator[Finding]:
    if not (file.is_python and file.is_test):
        return
    for node in ast.walk(file.syntax):
        if isinstance(node, ast.Assert):
            return
        if isinstance(node, ast.Call) and called(node) in ("raises", "fail", "snap_compare"):
            return
    yield 1, 1, "a test file that asserts nothing cannot fail"


_ALWAYS_TRUE = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr, ast.Lambda, ast.GeneratorExp)


def _cannot_fail(test: ast.expr) -> str:
    """Why an assert of this expression holds whatever the code does; empty if it can fail."""
    match test:
        case ast.BoolOp(values=operands):
            return next(filter(None, map(_cannot_fail, operands)), "")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _cannot_fail(operand)
        case ast.IfExp():
            return (
                "assert of a conditional expression: a branch may assert nothing; use an if with two asserts"
            )
        case ast.Constant(value=value) if value:
            return "assert of a constant always holds"
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len")), ops=[ast.GtE()], comparators=[ast.Constant(value=0)]
        ):
            return "a length is never negative: the assert always holds"
        case _ if isinstance(test, _ALWAYS_TRUE):
            return "assert of a display, a generator or a lambda always holds: compare it, or use all()"
        case (
            ast.ListComp(generators=made_of)
            | ast.SetComp(generators=made_of)
            | ast.DictComp(generators=made_of)
        ):
            filtered = any(one.ifs for one in made_of)
            return "" if filtered else "assert of a comprehension looks at none of its items: use all()"
        case _:
            return ""


def asserts_can_fail(file: SourceFile) -> Iterator[Finding]:
    if file.is_python and file.under("tests"):
        for node in ast.walk(file.syntax):
            if isinstance(node, ast.Assert) and (reason := _cannot_fail(node.test)):
                yield at(node, reason)


def tests_do_not_sleep(file: SourceFile) -> Iterator[Finding]:
    if not (file.is_python and file.under("tests")):
        return
    for node in ast.walk(file.syntax):
        match node:
            case ast.Call() if ast.unparse(node.func) == "time.sleep":
                yield at(node, "time.sleep() in a test: wait for the condition, with a timeout")
            case ast.ImportFrom(module="time") if any(alias.name == "sleep" for alias in node.names):
                yield at(node, "sleep in a test: wait for the condition, with a timeout")
            case _:
                pass


# --- what may not be written down ---

# Written in halves, as the marks above.
_PLACES = re.compile(
    "|".join(
        [
            r"\bpypi\." + "org",
            r"\bpythonhosted\." + "org",
            r"\bnpmjs\." + "(org|com)",
            r"\byarnpkg\." + "com",
            r"(?<![\w.$}-])/" + "work/",
            r"(?<![\w-])" + "shared" + "/",
            "--(extra-)?index" + "-url",
            "--find" + "-links",
        ]
    )
)


def no_place_is_named(file: SourceFile) -> Iterator[Finding]:
    """A registry's host or a path of one machine would be wrong everywhere else."""
    for number, line in enumerate(file.lines, 1):
        if hit := _PLACES.search(line):
            yield number, number, f"{hit[0]!r}: no registry and no path of one machine"


RULES: tuple[Rule, ...] = (
    module_is_short,
    module_says_its_job,
    wire_types_are_evaluated,
    nothing_is_marked_unfinished,
    product_does_not_know_it_is_tested,
    core_does_not_print,
    terminal_gets_safe_text,
    widgets_are_the_safe_ones,
    notices_are_not_markup,
    markup_is_never_parsed,
    widgets_are_not_fed_strings,
    text_is_measured_in_cells,
    colours_come_from_the_theme,
    test_files_assert,
    asserts_can_fail,
    tests_do_not_sleep,
    no_place_is_named,
)
