"""Exit codes in words."""

from typing import Final

SHELL_CODES: Final = {126: "cannot be run", 127: "not found"}
"""By the convention of shells, of `env` and of many others (POSIX 2.8.2)."""


def exit_words(code: object) -> str:
    """`exit 2`, `not found (exit 127)`."""
    meaning = SHELL_CODES.get(code) if isinstance(code, int) else None
    return f"{meaning} (exit {code})" if meaning else f"exit {code}"


__all__ = ["SHELL_CODES", "exit_words"]
