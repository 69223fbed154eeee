"""The closed list of the configuration, and what is refused."""

from typing import Any

import pytest

from felan_core.protocol import ProtocolError
from felan_core.protocol.configuration import (
    CONFIG_OPTIONS,
    FlagSetting,
    WholeSetting,
    check_config_keys,
    check_config_values,
)

GROUPS = {
    "models and thinking": 7,
    "model extras": 2,
    "interaction": 6,
    "tools": 3,
    "sessions": 8,
    "terminal": 22,
    "network": 11,
    "shell": 3,
    "resources": 6,
    "updates": 4,
}
DECLARED = {"extensionConfig.notes.folder": FlagSetting(), "extensionConfig.notes.size": WholeSetting(1, 9)}


def refused(values: Any, **options: Any) -> str:
    with pytest.raises(ProtocolError) as refusal:
        check_config_values(values, **options)
    assert refusal.value.code == "invalid_request"
    return refusal.value.message


def test_the_list_is_the_seven_and_the_sixty_five() -> None:
    counted = dict.fromkeys(GROUPS, 0)
    for option in CONFIG_OPTIONS.values():
        counted[option.group] += 1
    assert counted == GROUPS


def test_no_name_is_of_a_credential() -> None:
    words = ("password", "secret", "apikey", "credential", "accesstoken")
    assert not [name for name in CONFIG_OPTIONS if any(word in name.lower() for word in words)]


@pytest.mark.parametrize("name", list(CONFIG_OPTIONS))
def test_every_default_is_a_value_that_can_be_set(name: str) -> None:
    default = CONFIG_OPTIONS[name].default
    if default is not None:
        assert check_config_values({name: default}) == {name: default}
    assert check_config_values({name: None}) == {name: None}


@pytest.mark.parametrize(
    ("name", "taken", "not_taken"),
    [
        ("editorPaddingX", [0, 3], [4, -1, "1", True, 0.5]),
        ("outputPad", [0, 1], [2, True]),
        ("autocompleteMaxVisible", [3, 20], [2, 21]),
        ("httpIdleTimeoutMs", [0, 300000, "disabled"], ["enabled", -1, True]),
        ("fullscreenWheelScrollLines", ["auto", 3], ["fast", 1.5]),
        ("quietStartup", [True, False, "header"], ["footer", 0]),
        ("terminal.images", ["kitty", False], [True, 0, "sixel"]),
        ("thinkingBudgets", [{}, {"low": 1, "high": 9}], [{"max": 1}, {"low": -1}, []]),
        ("modelThinkingLevels", [{"any-model": "high"}], [{"any-model": "loud"}, "high"]),
        ("enabledModels", [[], ["a", "b"]], ["a", [1], [None]]),
        ("packages", [["a", {"source": "b"}]], [[1], {}]),
        ("defaultThinkingLevel", ["off", "max"], ["", "Max"]),
        ("steeringMode", ["all", "one-at-a-time"], ["some"]),
    ],
)
def test_each_type_takes_its_values_and_no_others(name: str, taken: list[Any], not_taken: list[Any]) -> None:
    for value in taken:
        assert check_config_values({name: value}) == {name: value}
    for value in not_taken:
        assert name in refused({name: value})


def test_an_integral_number_is_that_integer() -> None:
    values: dict[str, Any] = {"retry.maxRetries": 4.0}
    checked = check_config_values(values)
    assert type(checked["retry.maxRetries"]) is int
    assert type(values["retry.maxRetries"]) is float, "the input is left as it was"


@pytest.mark.parametrize(
    "proxy", ["http://user:pass@proxy:8080", "user@proxy:8080", "http://u%40x@proxy", "//a:b@proxy/"]
)
def test_a_proxy_with_credentials_is_refused_and_not_repeated(proxy: str) -> None:
    message = refused({"httpProxy": proxy})
    assert "secret" in message and proxy not in message


def test_a_proxy_without_credentials_is_taken() -> None:
    assert check_config_values({"httpProxy": "http://proxy.example:8080"})


@pytest.mark.parametrize(("name", "near"), [("thme", "theme"), ("retry.maxRetry", "retry.maxRetries")])
def test_an_unknown_name_is_refused_with_the_nearest_one(name: str, near: str) -> None:
    assert refused({name: 1}).endswith(f"the nearest is {near}")
    with pytest.raises(ProtocolError, match=f"nearest is {near}"):
        check_config_keys(["theme", name])


def test_a_very_long_unknown_name_is_not_echoed() -> None:
    assert len(refused({"x" * 100_000: 1})) < 300


def test_a_session_takes_extension_settings_alone() -> None:
    assert check_config_values({"extensionConfig.notes.size": 3}, in_session=True, extensions=DECLARED)
    assert "extensionConfig" in refused({"theme": "dark"}, in_session=True)


def test_an_extension_setting_is_typed_as_it_is_declared() -> None:
    assert check_config_keys(DECLARED, DECLARED) == tuple(DECLARED)
    assert "size" in refused({"extensionConfig.notes.size": 10}, extensions=DECLARED)
    message = refused({"extensionConfig.notes.sise": 1}, extensions=DECLARED)
    assert message.endswith("the nearest is extensionConfig.notes.size")
    assert refused({"extensionConfig.notes.size": 1}, extensions={})


@pytest.mark.parametrize("name", ["extensionConfig.", "extensionConfig.notes", "extensionConfig..size"])
def test_half_an_extension_name_is_unknown(name: str) -> None:
    assert "no option" in refused({name: 1})


def test_a_value_is_one_piece_of_structured_data() -> None:
    assert "bytes" in refused({"extensionConfig.notes.text": "x" * 65_535})
    assert check_config_values({"extensionConfig.notes.text": "x" * 65_534})
    assert "entries" in refused({"skills": [""] * 1025})


def test_every_type_says_its_json_schema() -> None:
    for option in CONFIG_OPTIONS.values():
        assert isinstance(option.type.schema(), dict)
