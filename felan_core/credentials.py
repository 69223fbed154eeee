"""Secrets in the command line of an agent: found by name and by shape, so that none is ever stored.

A session keeps its agent's command, in the database and in the preferences, and the command is shown. A
secret belongs in an environment variable, which Felan keeps nowhere (session protocol §4, "Environment and
credentials").
"""

import re
from itertools import pairwise
from typing import Final

ADVICE: Final = (
    "Put it into an environment variable that the agent reads, and leave it out of the command: "
    "Felan stores commands and shows them."
)

_NAME: Final = (
    r"(?:(?:x[-_])?api[-_]?key|apikey|access[-_]?key(?:[-_]?id)?|secret[-_]?(?:access[-_]?)?key|account[-_]?key"
    r"|(?:access|auth|bearer|refresh|session|id|api|github|gitlab|bot)?[-_]?token"
    r"|pass(?:word|wd|phrase)|(?:client[-_]?)?secret)"
)
# A reference to a secret that is kept elsewhere, or a word that switches something.
_HARMLESS: Final = (
    r"(?:[$%<]|env(?:[:./]|$)|(?:true|false|yes|no|on|off|none|null|auto|env|stdin|keyring|file)$)"
)
_OPTION: Final = re.compile(rf"(--?(?:[a-z0-9]+[-_.])*{_NAME})", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    rf"(?<![a-z0-9])(?P<name>(?:[a-z0-9]+[-_.])*{_NAME})[\"']?\s*[=:](?!//)\s*[\"']?(?P<value>[^\s\"'&,;}}]+)",
    re.IGNORECASE,
)
_HEADER: Final = re.compile(r"\b((?:proxy-)?authorization)[\"']?\s*[:=]\s*[\"']?(?!\s|\$)\S", re.IGNORECASE)
_BEARER: Final = re.compile(r"\b(bearer)\s+(?![$%<])[\w.~+/=-]{8,}", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:(?![$%<])[^/\s@]+@", re.IGNORECASE)
_SHAPES: Final = tuple(
    (kind, re.compile(rf"(?<![A-Za-z0-9]){shape}"))
    for kind, shape in (
        ("an API key that begins with sk-", r"sk-(?=[\w-]*\d)[\w-]{8,}"),
        ("a token of GitHub", r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
        ("a token of GitLab", r"glpat-[\w-]{16,}"),
        ("a token of Slack", r"xox[abeprs]-[\w-]{10,}"),
        ("an access key of AWS", r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])"),
        ("an API key of Google", r"AIza[\w-]{30,}"),
        ("a token of Hugging Face", r"hf_[A-Za-z0-9]{20,}"),
        ("a token of npm", r"npm_[A-Za-z0-9]{30,}"),
        ("a JSON web token", r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
        ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY"),
    )
)


def secret_in(command: str) -> str:
    """What kind of secret ``command`` holds, in words without its value; "" where none is seen."""
    for kind, shape in _SHAPES:
        if shape.search(command):
            return kind
    if found := _HEADER.search(command) or _BEARER.search(command):
        return f"the value of {found[1]}"
    if _ADDRESS.search(command):
        return "a password in an address"
    for found in _ASSIGNED.finditer(command):
        if not _is_harmless(found["value"]):
            return f"the value of {found['name'].lstrip('-_')[:64]}"
    words = _words(command)
    for word, following in pairwise(words):
        named = _OPTION.fullmatch(word)
        if named and following and not following.startswith("-") and not _is_harmless(following):
            return f"the value of {named[1].lstrip('-')[:64]}"
    return ""


def _is_harmless(value: str) -> bool:
    return re.match(_HARMLESS, value, re.IGNORECASE) is not None


def _words(command: str) -> list[str]:
    import shlex

    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def refusal(command: str) -> str:
    """Why ``command`` is not accepted, with advice and without the secret; "" where it is."""
    kind = secret_in(command)
    return f"The agent's command holds a secret ({kind}). {ADVICE}" if kind else ""
