"""A secret in the settings of a new session is refused, and no byte of it reaches the data folder."""

from pathlib import Path

import pytest

from felan_core.protocol import ProtocolError
from felan_core.protocol import operations as op
from tests.core.host.rig import Rig

SECRET = "hunter2A9xq"


@pytest.mark.parametrize(
    "settings",
    [
        {"agent.command": f"agent --api-key {SECRET}"},
        {"agent.command": f"env TOKEN={SECRET} agent"},
        {"agent.token": SECRET},
        {"model.apiKey": SECRET},
    ],
)
async def test_a_secret_in_the_settings_is_refused_and_stored_nowhere(
    host: Rig, work: Path, settings: dict[str, str]
) -> None:
    client = await host.client()
    with pytest.raises(ProtocolError, match="environment variable") as refused:
        await client.sessions_create(op.CreateParams(cwd=str(work), extensions=dict(settings)))
    assert refused.value.code == "invalid_request" and SECRET not in refused.value.message
    assert (await client.sessions_list()).items == []
    assert await host.store.request_counts(None) == (0, 0)
    files = [path for path in host.folder.rglob("*") if path.is_file()]
    assert files and not [path for path in files if SECRET.encode() in path.read_bytes()]


async def test_ordinary_settings_are_stored(host: Rig, work: Path) -> None:
    client = await host.client()
    settings = {"agent.command": "agent --max-tokens 4000 --api-key-env KEY"}
    created = await client.sessions_create(op.CreateParams(cwd=str(work), extensions=dict(settings)))
    record = await host.store.session_record(created.session)
    assert record is not None and record.settings["agent.command"] == settings["agent.command"]
