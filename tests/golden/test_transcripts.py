"""Every transcript, every example, the notebook and every command shown in the README print what they are said to."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from fairway.cluster import Event, Verb
from fairway.testing import Situation, check_plugin, node, pod
from tests.golden.notebook import NOTEBOOK, code_cells, execute
from tests.golden.transcript import FILES, ROOT, Step, is_shown, run, scratch, shown_steps, steps

README = (ROOT / "README.md").read_text()
DEMO = "fairway sim examples/scenarios/day.yaml --policy default --policy packed"
SLOW = {f".venv/bin/{DEMO}"}  # two days of a thousand nodes
SHOWN = [
    pytest.param(step, id=step.command, marks=[pytest.mark.slow] if step.command in SLOW else [])
    for step in shown_steps(README)
    if step.printed
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_transcript(file: Path) -> None:
    found = list(steps(file.read_text()))
    assert found
    with scratch() as folder:
        printed = {step.command: run(step.command, folder) for step in found}
    assert printed == {step.command: step.printed for step in found}


@pytest.mark.parametrize("step", SHOWN)
def test_readme_shows_what_is_printed(step: Step) -> None:
    printed = run(step.command)
    assert is_shown(step.printed, printed), printed


def test_readme_shows_the_example_plugin_and_its_configuration() -> None:
    for name in ("prefer_green.py", "prefer-green.yaml"):
        assert (ROOT / "examples" / "plugins" / name).read_text() in README


def test_the_example_plugin_keeps_its_word() -> None:
    found = runpy.run_path(str(ROOT / "examples" / "plugins" / "prefer_green.py"))
    check_plugin(found["PreferGreen"])


def test_the_example_with_arguments_keeps_its_word_too() -> None:
    found = runpy.run_path(str(ROOT / "examples" / "plugins" / "licences.py"))
    seated = [pod(name, annotations={"example.com/licences": seats}) for name, seats in (("a", "2"), ("b", "x"))]
    there = pod("there", node="n1", annotations={"example.com/licences": "3"})
    mine = Situation([node("n1", cpu=4), node("n2", cpu=4), there], seated, [Event(Verb.DELETED, there)])
    check_plugin(found["Licences"], args={"seatsPerNode": 4}, examples=[mine])
    check_plugin(found["Licences"], args={"seatsPerNode": 4}, examples=5)


def test_the_page_about_plugins_shows_what_the_example_prints() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text()
    (step,) = (step for step in shown_steps(page) if "licences.yaml" in step.command)
    printed = run(step.command)
    assert is_shown(step.printed, printed), printed


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


def test_the_notebook_shows_what_it_says() -> None:
    """Figures are drawn by whatever fonts there are, so that of them only the number is compared."""
    notebook = json.loads(NOTEBOOK.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    shown = [_comparable(cell["outputs"]) for cell in cells]
    assert shown == [_comparable(outputs) for outputs in execute(notebook)], "run: python -m tests.golden.notebook"
    assert sum(one == "image" for outputs in shown for one in outputs) == 1


def _comparable(outputs: list[dict[str, Any]]) -> list[Any]:
    return ["image" if "image/png" in one.get("data", {}) else one for one in outputs]
