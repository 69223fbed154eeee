from pathlib import Path

import pytest

from felan_core.agents.rehearsal.load import SHIPPED, ScenarioError, parse_scenario, read_scenario, shipped
from felan_core.agents.rehearsal.steps import Goto, If

HEAD = 'title = "T"\nsummary = "S"\n'


def problem(text: str, file: str = "mine.toml") -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text.encode(), file)
    return str(caught.value)


def step(text: str) -> str:
    return f'{HEAD}[[steps]]\ndo = "end"\n[[steps]]\n{text}'


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_loads_and_each_target_resolves(path: Path) -> None:
    scenario = read_scenario(path)
    for index, one in enumerate(scenario.steps):
        targets = [one.to] if isinstance(one, Goto) else []
        targets += [one.goto, one.otherwise or "@end"] if isinstance(one, If) else []
        for target in targets:
            assert 0 <= scenario.target(target, index) <= len(scenario.steps)
    for rule in scenario.header.steer:
        assert scenario.target(rule.goto or "@end", 0) > 0


def test_the_scenarios_that_others_rely_on_are_there() -> None:
    assert {"tour", "help", "edit", "run", "form", "elements", "crash", "hostile", "long"} <= set(shipped())
    assert not shipped()["hostile"].header.offered


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = ", "mine.toml: not TOML: Invalid value (at end of document)"),
        (HEAD, "mine.toml: steps: there are none; each begins with [[steps]]"),
        ('title = "T"\n[[steps]]\ndo="end"', "mine.toml: summary: is missing"),
        (f'{HEAD}colour = "red"\n[[steps]]\ndo="end"', "mine.toml: colour: is no member here"),
        (step('do = "dance"'), "mine.toml: step 2 (dance): do: Invalid value 'dance'"),
        (step("x = 1"), "mine.toml: step 2 (?): do: is missing"),
        (step('do = "say"'), "mine.toml: step 2 (say): text: is missing"),
        (step('do = "say"\ntext = "a"\nspeeed = 3'), "mine.toml: step 2 (say): speeed: is no member here"),
        (step('do = "say"\ntext = 3'), "mine.toml: step 2 (say): text: Expected str, got int"),
        (step('do = "say"\ntext = "a"\nrepeat = 0'), "mine.toml: step 2 (say): repeat: Expected int >= 1"),
        (
            step('do = "select"\ntitle = "a"\noptions = [{id = "x"}]'),
            "mine.toml: step 2 (select): options[0].label: is missing",
        ),
        (
            step('do = "form"\ntitle = "a"\nfields = [{type = "secret", id = "x", label = "x"}]'),
            "mine.toml: step 2 (form): fields[0].type: Invalid value 'secret'",
        ),
        (
            step(
                'do = "form"\ntitle = "a"\n'
                'fields = [{type = "number", id = "x", label = "x", min = 3, max = 2}]'
            ),
            "mine.toml: step 2 (form): fields[0].max: is less than min",
        ),
        (
            step(
                'do = "form"\ntitle = "a"\nfields = [{type = "multi_select", id = "x", label = "x",'
                ' options = [{id = "o", label = "o"}], default = ["p"]}]'
            ),
            "mine.toml: step 2 (form): fields[0].default: is none of the options",
        ),
        (
            step(
                'do = "document"\nid = "rehearsal.d"\nmarkdown = "a"\n'
                'actions = [{id = "x", label = "x", scope = "item"}]'
            ),
            "mine.toml: step 2 (document): actions[0].scope: only a view has rows",
        ),
        (step('do = "goto"\nto = "nowhere"'), "mine.toml: step 2 (goto): to: there is no label 'nowhere'"),
        (
            step('do = "if"\nname = "prompt"\nis = "x"\ngoto = "@end"\nelse = "gone"'),
            "mine.toml: step 2 (if): else: there is no label 'gone'",
        ),
        (
            step('do = "if"\nname = "answer"\nis = "x"\ngoto = "@end"'),
            "mine.toml: step 2 (if): name: 'answer' is bound nowhere",
        ),
        (step('do = "say"\ntext = "${who}"'), "mine.toml: step 2 (say): text: ${who} is bound nowhere"),
        (
            step('do = "say"\ntext = "${Who}"'),
            "mine.toml: step 2 (say): text: '${Who}' is no variable (write $${ for a plain ${)",
        ),
        (
            step('do = "status"\nid = "felan.git"\ntext = "x"'),
            "mine.toml: step 2 (status): id: Expected str matching regex '^(?!felan\\\\.)'",
        ),
        (
            step('do = "select"\ntitle = "a"\nmax = 2\noptions = [{id = "x", label = "x"}]'),
            "mine.toml: step 2 (select): max: min, max and the number of options have to go up in that order",
        ),
        (
            step('do = "view"\nid = "v"\ncolumns = [{id = "n", label = "n", type = "number"}]\n'
                 'items = [{id = "1", fields = {n = true}}]'),
            "mine.toml: step 2 (view): items[0].fields.n: is no number",
        ),
        (
            step('do = "view"\nid = "v"\ncolumns = [{id = "t", label = "t", type = "time"}]\n'
                 'items = [{id = "1", fields = {t = 2026-01-01T00:00:00}}]'),
            "mine.toml: step 2 (view): items[0].fields.t: is no time",
        ),
        (
            step('do = "end"\nlabel = "a"\n[[steps]]\ndo = "part"\nname = "a"'),
            "mine.toml: step 3 (part): name: 'a' is step 2's",
        ),
        (
            f'{HEAD}[[steer]]\non = ["x"]\ngoto = "y"\n[[steps]]\ndo = "end"',
            "mine.toml: steer 1: goto: there is no label 'y'",
        ),
        (
            f'{HEAD}[[steer]]\non = []\n[[steps]]\ndo = "end"',
            "mine.toml: steer[0].on: Expected array of length >= 1",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_step_and_member(text: str, said: str) -> None:
    assert problem(text) == said


def test_a_file_that_cannot_be_read_or_named_says_so(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"gone\.toml: cannot be read: No such file"):
        read_scenario(tmp_path / "gone.toml")
    (tmp_path / "large.toml").write_text("#" * (1024 * 1024 + 1))
    with pytest.raises(ScenarioError, match=r"large\.toml: larger than 1024 KiB"):
        read_scenario(tmp_path / "large.toml")
    assert problem(HEAD, "My Tour.toml").startswith("My Tour.toml: the file's name names the scenario")
    with pytest.raises(ScenarioError, match=r"mine\.toml: not UTF-8, at byte 0"):
        parse_scenario(b"\xff", "mine.toml")


def test_a_command_keeps_the_variables_of_its_shell() -> None:
    text = step('do = "run"\ntitle = "t"\ncommand = "echo ${HOME} ${answer}"')
    assert parse_scenario(text.encode(), "mine.toml").steps[1]
