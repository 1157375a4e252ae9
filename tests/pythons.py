"""The Pythons of this machine that Fairway can run on.

In: the folders of the PATH, and pyenv's. Out: one interpreter for each minor version from the oldest that
`pyproject.toml` allows, oldest first. Each is asked for its version: pyenv leaves names on the PATH that start nothing.
Called by the noxfile; `python -m tests.pythons` prints them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["OLDEST", "Interpreter", "edges", "find_pythons", "python_folders"]

OLDEST: Final = (3, 11)
NAME: Final = re.compile(r"python3(\.\d+)?")
# A build without the global lock is another Python, and so is one that does not name itself CPython.
ASK: Final = (
    "import sys, sysconfig; v = sys.version_info;"
    "ok = sys.implementation.name == 'cpython' and v.releaselevel == 'final' and not sysconfig.get_config_var("
    "'Py_GIL_DISABLED'); print(ok and 1 or 0, *v[:3])"
)


class Interpreter(NamedTuple):
    """A released CPython."""

    version: tuple[int, int, int]
    path: Path

    @property
    def minor(self) -> str:
        """Such as 3.11."""
        return ".".join(map(str, self.version[:2]))

    def __str__(self) -> str:
        return f"Python {'.'.join(map(str, self.version))} ({self.path})"


def python_folders() -> Iterator[Path]:
    """Where to look: the PATH, then each version that pyenv has."""
    yield from map(Path, filter(None, os.environ.get("PATH", "").split(os.pathsep)))
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted((root / "versions").glob("*/bin"))


def find_pythons(folders: Iterable[Path], oldest: tuple[int, int] = OLDEST) -> list[Interpreter]:
    """The newest of each minor version, oldest minor first; of equals, the one that is found first."""
    found: dict[tuple[int, int], Interpreter] = {}
    for folder in folders:
        for file in sorted(folder.glob("python3*")) if folder.is_dir() else ():
            version = _version(file) if NAME.fullmatch(file.name) else None
            if version is None or version[:2] < oldest:
                continue
            known = found.get(version[:2])
            if known is None or known.version < version:
                found[version[:2]] = Interpreter(version, file)
    return [found[minor] for minor in sorted(found)]


def edges(pythons: list[Interpreter], but: tuple[int, int]) -> list[Interpreter]:
    """The oldest and the newest, without that minor version: the tests ran on it already."""
    ends = pythons[:1] + pythons[-1:] if len(pythons) > 1 else pythons
    return [python for python in ends if python.version[:2] != but]


def _version(file: Path) -> tuple[int, int, int] | None:
    """What it says it is; None if it does not start, or is no released CPython with a global lock."""
    try:
        done = subprocess.run([file, "-I", "-c", ASK], capture_output=True, text=True, timeout=60, check=True)
        is_released, *numbers = map(int, done.stdout.split())
        major, minor, micro = numbers
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return (major, minor, micro) if is_released else None


if __name__ == "__main__":
    for each in find_pythons(python_folders()):
        sys.stdout.write(f"{each}\n")
