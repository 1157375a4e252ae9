"""Which Pythons the tests are run on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.pythons import OLDEST, Interpreter, edges, find_pythons, python_folders

ROOT = Path(__file__).parent.parent


def interpreter(folder: Path, name: str, answer: str, status: int = 0) -> Path:
    """A program that answers like a Python of that version."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    file.chmod(0o755)
    return file


def test_the_newest_of_each_minor_version(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    interpreter(first, "python3.10", "1 3 10 13")
    interpreter(first, "python3.12", "pyenv: python3.12: command not found", 127)
    interpreter(first, "python3.13-config", "1 3 13 0")
    interpreter(first, "python3.15", "0 3 15 0")  # not released, or not CPython, or without a global lock
    old = interpreter(first, "python3", "1 3 11 7")
    interpreter(second, "python3.11", "1 3 11 7")
    interpreter(second, "python3.12", "1 3 12 1")
    newer = interpreter(tmp_path / "third", "python3.12", "1 3 12 9")
    interpreter(tmp_path / "fourth", "python3.12", "1 3 12 2")
    folders = [first, tmp_path / "nowhere", second, tmp_path / "third", tmp_path / "fourth"]
    assert find_pythons(folders) == [Interpreter((3, 11, 7), old), Interpreter((3, 12, 9), newer)]


def test_versions_are_numbers(tmp_path: Path) -> None:
    for minor in (9, 10, 11):
        interpreter(tmp_path, f"python3.{minor}", f"1 3 {minor} 0")
    assert [python.minor for python in find_pythons([tmp_path], oldest=(3, 9))] == ["3.9", "3.10", "3.11"]


@pytest.mark.parametrize(
    ("minors", "but", "expected"),
    [
        pytest.param([11, 12, 13], 11, [13], id="the oldest runs them"),
        pytest.param([11, 12, 13], 13, [11], id="the newest runs them"),
        pytest.param([11, 12, 13], 12, [11, 13], id="one between"),
        pytest.param([11], 11, [], id="there is just one"),
        pytest.param([], 11, [], id="none is found"),
    ],
)
def test_the_oldest_and_the_newest(minors: list[int], but: int, expected: list[int]) -> None:
    pythons = [Interpreter((3, minor, 0), Path("python")) for minor in minors]
    assert [python.version[1] for python in edges(pythons, but=(3, but))] == expected


def test_pyenv_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter(tmp_path / "versions" / "3.12.1" / "bin", "python3.12", "1 3 12 1")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert list(python_folders()) == [tmp_path / "bin", tmp_path / "versions" / "3.12.1" / "bin"]


def test_the_oldest_is_the_one_that_the_package_asks_for_and_the_classifiers_begin_with() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={OLDEST[0]}.{OLDEST[1]}"
    minors = [int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", "\n".join(project["classifiers"]))]
    assert minors == list(range(OLDEST[1], minors[-1] + 1))
