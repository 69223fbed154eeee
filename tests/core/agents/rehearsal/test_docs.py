import re

from felan_core.agents.rehearsal.check import BUILT_IN
from felan_core.agents.rehearsal.load import parse_scenario, shipped
from felan_core.agents.rehearsal.steps import STEPS
from felan_core.agents.settings import AGENT_SETTINGS
from tests.core.agents.rehearsal.vocabulary import PAGE, page_with


def test_the_page_lists_the_vocabulary_as_it_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page_with(text), "run: python -m tests.core.agents.rehearsal.vocabulary"


def test_the_page_names_every_setting_variable_and_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in (name for name in AGENT_SETTINGS if name.startswith("rehearsal.")):
        assert f"`{name}`" in text
    for name in BUILT_IN:
        assert f"`${{{name}}}`" in text
    for name in shipped():
        assert f"`/{name}`" in text


def test_the_example_of_the_page_is_a_scenario() -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(parse_scenario(example.encode(), "example.toml").steps) > 3


def test_every_step_is_played_by_a_shipped_scenario() -> None:
    played = {type(step) for scenario in shipped().values() for step in scenario.steps}
    assert {step.__name__ for step in STEPS} - {step.__name__ for step in played} <= {"Append"}
