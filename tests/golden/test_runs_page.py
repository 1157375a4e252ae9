"""What docs/runs.md shows is what happens: its commands, its SQL and its Python."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from fairway.record import Run
from tests.golden.transcript import ROOT, is_shown, run, scratch, shown_steps

PAGE = (ROOT / "docs" / "runs.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with scratch() as made:
        run(next(shown_steps(PAGE)).command, made)
        yield made


def test_the_commands_print_what_is_shown() -> None:
    with scratch() as folder:
        for step in shown_steps(PAGE):
            printed = run(step.command, folder)
            assert is_shown(step.printed, printed), printed


@pytest.mark.parametrize("question", blocks("sql"), ids=lambda text: re.sub(r"\W+", " ", text)[:40])
def test_the_questions_have_answers(folder: Path, question: str) -> None:
    with Run.open(folder / "two.duckdb") as opened:
        assert list(opened.sql(question.strip().removesuffix(";")).rows())


def test_the_python_runs(folder: Path) -> None:
    mpl.use("Agg")
    (code,) = blocks("python")
    names: dict[str, object] = {}
    with contextlib.chdir(folder):
        exec(code, names)
    assert "waited 10m 3s" in str(names["answer"])
    plt.close("all")


def test_the_plugin_times_have_these_columns(folder: Path) -> None:
    run("fairway sim examples/scenarios/two-schedulers.yaml --plugin-times --save timed.duckdb", folder)
    printed = run("fairway status --run timed.duckdb --plugins", folder)
    (heading,) = (line.split() for line in printed.splitlines() if line.startswith("PLUGIN"))
    assert heading in [line.split() for line in PAGE.splitlines()]
