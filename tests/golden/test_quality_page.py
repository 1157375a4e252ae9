"""What docs/quality.md shows is what happens: its commands, and the skew that it measures."""

import runpy

import pytest

from tests.golden.transcript import ROOT, Step, is_shown, run, shown_steps

PAGE = (ROOT / "docs" / "quality.md").read_text()

pytest.importorskip("highspy", reason="the solver has no build for this Python")


@pytest.mark.slow
@pytest.mark.parametrize("step", list(shown_steps(PAGE)), ids=lambda step: step.command)
def test_the_commands_print_what_is_shown(step: Step) -> None:
    printed = run(step.command)
    assert is_shown(step.printed, printed), printed


@pytest.mark.slow
def test_the_skew_is_what_is_shown() -> None:
    benchmark = runpy.run_path(str(ROOT / "benchmarks" / "sampling_skew.py"))
    measured = benchmark["lines"](benchmark["measure"](1000, 8, 5000))
    assert "\n".join(measured) in PAGE


def test_the_readme_leads_here() -> None:
    assert "(docs/quality.md)" in (ROOT / "README.md").read_text()
