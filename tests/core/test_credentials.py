"""Commands with a secret in them, and ordinary ones that look a little like it."""

import pytest

from felan_core.credentials import refusal

VALUE = "hunter2A9xq"
LONG = "A1b2C3d4E5f6G7h8J9k0L1m2N3p4Q5r6S7t8"

# Written so that no whole secret stands here: VALUE and LONG are put in.
SECRET = [
    "agent --api-key VALUE",
    "agent --api-key=VALUE",
    "agent --api_key VALUE acp",
    "agent --apikey VALUE",
    "agent -api-key VALUE",
    "agent --openai-api-key 'VALUE'",
    "agent --token VALUE",
    "agent --auth-token=VALUE",
    "agent --access-token VALUE",
    "agent --password VALUE",
    "agent --client-secret VALUE",
    "agent --secret=VALUE",
    "agent token=VALUE",
    "agent TOKEN=VALUE",
    "env OPENAI_API_KEY=VALUE agent acp",
    "env AWS_SECRET_ACCESS_KEY=VALUE agent",
    "sh -c 'GITHUB_TOKEN=VALUE exec agent'",
    "agent -c providers.openai.api_key=VALUE",
    'agent --config \'{"apiKey": "VALUE"}\'',
    "agent --settings '{accessToken: VALUE}'",
    "agent --header 'Authorization: Bearer VALUE'",
    "agent -H 'authorization: Basic VALUE'",
    "agent -H 'X-Api-Key: VALUE'",
    "agent --with 'Bearer VALUE'",
    "agent --url https://me:VALUE@example.com/v1",
    "agent --proxy=http://:VALUE@proxy:3128",
    "agent --url 'https://example.com/?token=VALUE'",
    "agent sk-LONG",
    "agent --key sk-ant-api03-LONG",
    "agent ghp_LONG",
    "agent github_pat_LONG",
    "agent glpat-LONG",
    "agent --k=AIzaLONG",
    "agent hf_LONG",
    "agent eyJLONG.eyJLONG.LONG",
    "agent --api-key 'VALUE",
]

ORDINARY = [
    "",
    "opencode acp",
    "npx -y @zed-industries/claude-code-acp@latest",
    "npx @agentclientprotocol/codex-acp",
    "python3 -m agent --max-tokens 4000",
    "agent --max_tokens=4000",
    "agent --token-limit 5",
    "agent --tokenizer=bpe --tokens 3",
    "agent --api-key-env OPENAI_API_KEY",
    "agent --api-key-file /home/me/key",
    "agent --password-stdin",
    "agent --token-file=~/.token",
    "agent --api-key $OPENAI_API_KEY",
    "agent --api-key ${OPENAI_API_KEY}",
    "agent --token=env:TOKEN",
    "env API_KEY=$OTHER agent",
    "agent --token --verbose",
    "agent --token",
    "agent --secret-manager vault",
    "agent --no-token",
    "agent --auth oauth",
    "agent --token auto",
    "agent --use-token=true",
    "agent --header 'Authorization: $AUTH'",
    "agent --url https://example.com:8080/v1",
    "agent --url https://me@example.com/",
    "ssh git@example.com agent",
    "docker run -u 1000:1000 -v /a:/b image",
    "/home/me/task-runner-2024-with-a-long-name",
    "./disk-usage2-agent",
    "sk-tool",
    "agent --keymap vim --keyring system",
    "agent --tokenless",
    "bash -c 'echo passwordless; exec agent'",
    "agent --model author:secretary",
]


def put(command: str) -> str:
    return command.replace("LONG", LONG).replace("VALUE", VALUE)


@pytest.mark.parametrize("command", SECRET)
def test_a_secret_is_refused_with_advice_and_not_repeated(command: str) -> None:
    said = refusal(put(command))
    assert "environment variable" in said
    assert VALUE not in said and LONG not in said


@pytest.mark.parametrize("command", ORDINARY)
def test_an_ordinary_command_is_accepted(command: str) -> None:
    assert refusal(command) == ""
