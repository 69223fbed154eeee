"""What the house tests read: the files of this tree, each read and parsed once."""

import ast
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class SourceFile:
    """A file of the tree: `path` from the root with forward slashes, and its text."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def syntax(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def is_python(self) -> bool:
        return self.path.endswith(".py")

    @property
    def is_test(self) -> bool:
        return self.path.startswith("tests/") and self.path.rsplit("/", 1)[-1].startswith("test_")

    def under(self, *folders: str) -> bool:
        return any(self.path == folder or self.path.startswith(f"{folder}/") for folder in folders)

    @property
    def module(self) -> str:
        """The dotted name; a package's is that of its folder."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def tree_files() -> tuple[SourceFile, ...]:
    """Every text file that is tracked or would be: new files count before they are committed."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    files: list[SourceFile] = []
    for name in sorted(set(filter(None, names))):
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        try:
            files.append(SourceFile(name, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # a picture
    return tuple(files)


def python_files(*folders: str) -> list[SourceFile]:
    return [file for file in tree_files() if file.is_python and file.under(*folders)]
