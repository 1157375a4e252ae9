"""Every transcript, every example, the notebook and every command shown in the README print what they are said to."""

import contextlib
import io
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from fairway.testing import check_plugin
from tests.golden.transcript import FILES, ROOT, Step, run, steps

README = (ROOT / "README.md").read_text()
DEMO = "fairway sim examples/scenarios/day.yaml --profile default --profile packed"
SLOW = {f".venv/bin/{DEMO}"}  # two days of a thousand nodes
SHOWN = [
    pytest.param(step, id=step.command, marks=[pytest.mark.slow] if step.command in SLOW else [])
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for step in steps(block)
    if step.printed
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_transcript(file: Path) -> None:
    found = list(steps(file.read_text()))
    assert found
    assert {step.command: run(step.command) for step in found} == {step.command: step.printed for step in found}


@pytest.mark.parametrize("step", SHOWN)
def test_readme_shows_what_is_printed(step: Step) -> None:
    """A line of `...` stands for any number of lines."""
    printed = run(step.command)
    parts = re.split(r"^\.\.\.\n", step.printed, flags=re.MULTILINE)
    pattern = r"(?:.*\n)*".join(map(re.escape, parts))
    shown_exit = "" if "[exit" in step.printed else r"(?:\[exit 3\]\n)?"
    assert re.fullmatch(pattern + shown_exit, printed), printed


def test_readme_shows_the_example_plugin_and_its_configuration() -> None:
    for name in ("prefer_green.py", "prefer-green.yaml"):
        assert (ROOT / "examples" / "plugins" / name).read_text() in README


def test_the_example_plugin_keeps_its_word() -> None:
    found = runpy.run_path(str(ROOT / "examples" / "plugins" / "prefer_green.py"))
    check_plugin(found["PreferGreen"])


def test_the_demo_is_what_make_demo_runs() -> None:
    assert f"/{DEMO}" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize(
    "folder", sorted({file.parent for file in FILES if "examples" in file.parts}), ids=lambda folder: folder.name
)
def test_every_example_has_the_output_it_must_print(folder: Path) -> None:
    commands = " ".join(step.command for file in FILES for step in steps(file.read_text()))
    assert [file.name for file in folder.glob("*.yaml") if file.relative_to(ROOT).as_posix() not in commands] == []


def test_the_readme_shows_the_demo() -> None:
    assert any(f"$ .venv/bin/{DEMO}\n" in block for block in README.split("```"))


def test_the_notebook_prints_what_it_shows() -> None:
    notebook = json.loads((ROOT / "examples" / "simulate.ipynb").read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        printed = io.StringIO()
        with contextlib.chdir(ROOT / "examples"), contextlib.redirect_stdout(printed):
            exec("".join(cell["source"]), names)
        (shown,) = cell["outputs"]
        assert printed.getvalue() == "".join(shown["text"])
