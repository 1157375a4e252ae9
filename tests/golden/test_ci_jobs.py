"""The jobs for GitHub Actions and GitLab that the README shows: their form, their commands, their exit codes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from fairway import exit_codes
from fairway.cli.try_ import HELP, try_command
from fairway.explain.manifest_files import DUMPED

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
SECTION = README.partition("## In CI\n")[2].partition("\n## ")[0]
JOBS = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)]


def scripts(tree: Any) -> list[str]:
    """Every line that a runner executes."""
    if isinstance(tree, dict):
        own = [tree["run"]] if "run" in tree else tree.get("script", [])
        return [*own, *(line for key, value in tree.items() if key != "script" for line in scripts(value))]
    return [line for one in tree for line in scripts(one)] if isinstance(tree, list) else []


COMMANDS = [line for job in JOBS for text in scripts(job) for line in text.splitlines() if line.startswith("fairway ")]


def test_both_are_there() -> None:
    github, gitlab = JOBS
    assert github[True] == "pull_request"  # YAML reads the key `on` so, and GitHub knows
    assert gitlab["fits"]["allow_failure"] == {"exit_codes": [exit_codes.NOT_COUNTED]}
    assert len(COMMANDS) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_their_commands_are_understood(command: str) -> None:
    words = shlex.split(command.partition(" > ")[0])
    assert words[:2] == ["fairway", "try"]
    try_command.make_context("try", words[2:])  # a word that it does not know is an error


def test_the_exit_codes_are_those_of_the_command() -> None:
    shown = {int(code) for code in re.findall(r"^\| (\d) \|", SECTION, re.MULTILINE)}
    names = ("FAILED", "USAGE", "NO", "UNREACHABLE", "NOT_COUNTED")
    assert shown == {0, *(getattr(exit_codes, name) for name in names)}
    assert {
        int(code) for code in re.findall(r"(\d) (?:all|some|a|usage|the)", HELP.partition("Exit codes:")[2])
    } == shown


def test_the_dump_is_the_same_everywhere() -> None:
    assert f"kubectl get {DUMPED} -A -o yaml > cluster.yaml" in README
    assert DUMPED in HELP.replace("\\\n", "")
    assert isinstance(try_command, click.Command)
