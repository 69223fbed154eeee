"""The branch of a folder, read from its `.git` as files: no program runs, so that no setting of an unknown
repository does.
"""

from pathlib import Path

LONGEST = 4096
"""Bytes of a file of `.git` that are read."""


def branch_of(folder: str) -> str:
    """The branch that is checked out in the folder or the closest one above it; the first 8 digits of the
    commit where no branch is; "" outside a repository. The text is git's and may hold anything.
    """
    try:
        place = Path(folder).resolve()
        for one in (place, *place.parents):
            if (head := _head(one / ".git")) is not None:
                return head
    except (OSError, ValueError):
        pass
    return ""


def _head(git: Path) -> str | None:
    """The branch of one `.git`; None where there is none."""
    try:
        if git.is_file():  # a worktree or a submodule: it names the folder
            _, _, named = _read(git).partition("gitdir: ")
            git = git.parent / named
        head = _read(git / "HEAD")
    except (FileNotFoundError, NotADirectoryError):
        return None
    kind, _, ref = head.partition("ref: ")
    return head[:8] if kind else ref.removeprefix("refs/heads/")


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LONGEST).decode("utf-8", "replace").strip()


__all__ = ["branch_of"]
