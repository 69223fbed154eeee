"""The extension settings of a new session: known names, values of their type, nothing stored otherwise."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from felan_core.host.services import SETTINGS
from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from felan_core.protocol.configuration import EXTENSION_PREFIX, TextSetting, check_config_values
from tests.core.host.rig import Rig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"agent.comand": "x"},
            "extensions: no setting is named 'agent.comand'; the nearest is agent.command",
        ),
        (
            {"agent.command": "x", "rehearsal.pase": 0},
            "extensions: no setting is named 'rehearsal.pase'; the nearest is rehearsal.pace",
        ),
        ({"rehearsal.pace": "fast"}, "extensions.rehearsal.pace: must be a number"),
        ({"rehearsal.pace": 101}, "extensions.rehearsal.pace: must be from 0 to 100"),
        ({"agent.command": ["x"]}, "extensions.agent.command: must be a string"),
        ({"felan.clears": 3}, "extensions.felan.clears: must be a string"),
        ({"agent.backend": "pupet"}, "extensions.agent.backend: must be puppet"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
async def test_a_setting_that_no_extension_has_is_refused_and_nothing_is_stored(
    host: Rig, work: Path, settings: dict[str, Any], message: str
) -> None:
    client = await host.client()
    with pytest.raises(ProtocolError) as refused:
        await client.sessions_create(op.CreateParams(cwd=str(work), extensions=settings))
    assert (refused.value.code, refused.value.message) == ("invalid_request", message)
    assert (await client.sessions_list()).items == []
    assert await host.store.request_counts(None) == (0, 0)


async def test_a_long_name_is_cut_and_its_escapes_are_printed(host: Rig, work: Path) -> None:
    client = await host.client()
    with pytest.raises(ProtocolError) as refused:
        params = op.CreateParams(cwd=str(work), extensions={"\x1b[2J" + "x" * 9000: 1})
        await client.sessions_create(params)
    assert refused.value.message.isprintable() and len(refused.value.message) < 200


async def test_a_backend_may_have_settings_of_its_own(host: Rig, work: Path) -> None:
    inner: Any = host.host
    inner._services = replace(inner._services, settings={**SETTINGS, "puppet.strings": TextSetting()})
    client = await host.client()
    created = await client.sessions_create(op.CreateParams(cwd=str(work), extensions={"puppet.strings": "4"}))
    record = await host.store.session_record(created.session)
    assert record is not None and record.settings["puppet.strings"] == "4"


def test_config_set_has_the_same_names() -> None:
    declared = {EXTENSION_PREFIX + name: setting for name, setting in SETTINGS.items()}
    values = {"extensionConfig.rehearsal.pace": 0.5}
    assert check_config_values(values, in_session=True, extensions=declared) == values
    with pytest.raises(ProtocolError, match="the nearest is extensionConfig") as refused:
        check_config_values({"extensionConfig.rehearsal.pase": 1}, in_session=True, extensions=declared)
    assert refused.value.code == "invalid_request"
