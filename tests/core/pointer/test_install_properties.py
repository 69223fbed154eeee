"""Whatever stands in a configuration: an installation and its removal leave all of it, in its order."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from felan_core.pointer.install.agents import AGENTS, EVENTS, Agent, check_types
from felan_core.pointer.install.jsonfile import dump, parse
from felan_core.pointer.install.merge import found, put_in, take_out
from felan_core.pointer.install.scripts import hook_command

COMMAND = {name: hook_command("/felan", name, "/root") for name in AGENTS}

text = st.text(max_size=8)
scalar = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
anything = st.recursive(
    scalar, lambda below: st.lists(below, max_size=3) | st.dictionaries(text, below, max_size=3), max_leaves=6
)
foreign = st.fixed_dictionaries(
    {"type": st.just("command"), "command": text},
    optional={"timeout": st.integers(0, 999), "async": st.booleans(), "statusMessage": text, "x": anything},
)


def handlers(agent: Agent) -> st.SearchStrategy[Any]:
    own = st.just({"type": "command", "command": COMMAND[agent.name], "timeout": 10})
    return st.one_of(foreign, foreign, foreign, own)


def configs(agent: Agent, handler: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    group = st.fixed_dictionaries(
        {"hooks": st.lists(handler, max_size=3)}, optional={"matcher": text, "note": anything}
    )
    event = st.sampled_from([*EVENTS, "Stop", "PreToolUse"])
    hooks = st.dictionaries(event, st.lists(group, max_size=3), max_size=4)
    return st.fixed_dictionaries({}, optional={"a": anything, "hooks": hooks, "z": anything})


def in_order(value: Any) -> Any:
    """A value whose equality minds the order of members."""
    if isinstance(value, dict):
        return [(name, in_order(below)) for name, below in value.items()]
    return [in_order(below) for below in value] if isinstance(value, list) else value


def without_empty(config: Any) -> Any:
    """The same meaning: an event without groups and hooks without events say nothing."""
    plain = copy.deepcopy(config)
    hooks = {event: groups for event, groups in plain.pop("hooks", {}).items() if groups}
    return in_order(plain), in_order(hooks)


def load(value: Any) -> Any:
    return parse(json.dumps(value).encode(), "x")[0]


def plain(value: Any) -> Any:
    return json.loads(dump(value, parse(b"{}", "x")[1]))


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_install_and_uninstall_leave_the_meaning_and_order_of_all_else(data: st.DataObject) -> None:
    for agent in AGENTS.values():
        before = data.draw(configs(agent, foreign))
        config = load(before)
        check_types(config, agent, "x")
        put_in(config, agent, COMMAND[agent.name])
        check_types(config, agent, "x")
        assert sorted(event for event, _, _, _ in found(config, agent)) == sorted(EVENTS)
        once = plain(config)
        put_in(config, agent, COMMAND[agent.name])
        assert in_order(plain(config)) == in_order(once)
        take_out(config, agent)
        assert without_empty(plain(config)) == without_empty(before)


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_foreign_hooks_stay_in_order_and_where_position_counts_in_place(data: st.DataObject) -> None:
    for agent in AGENTS.values():
        before = data.draw(configs(agent, handlers(agent)))
        config = load(before)
        for act in (lambda c, a=agent: put_in(c, a, COMMAND[a.name]), lambda c, a=agent: take_out(c, a)):
            act(config)
            after = plain(config)
            for event, groups in before.get("hooks", {}).items():
                mine = [h for g in groups for h in g["hooks"] if h["command"] != COMMAND[agent.name]]
                now = after.get("hooks", {}).get(event, [])
                assert [h for g in now for h in g["hooks"] if h["command"] != COMMAND[agent.name]] == mine
                if agent.positional:
                    for index, group in enumerate(groups):
                        foreign_ones = [h for h in group["hooks"] if h["command"] != COMMAND[agent.name]]
                        if foreign_ones:
                            assert foreign_ones[0] in now[index]["hooks"]
        assert not list(found(config, agent))


@given(anything)
@settings(deadline=None)
def test_a_file_that_is_written_again_means_the_same(value: Any) -> None:
    raw = json.dumps({"x": value}).encode()
    config, layout = parse(raw, "x")
    again = dump(config, layout)
    assert in_order(json.loads(again)) == in_order(json.loads(raw))
    assert dump(*parse(again, "x")) == again
