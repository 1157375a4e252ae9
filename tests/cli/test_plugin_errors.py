"""Plugins that raise: every command says in which file and line, and none calls it a success."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.cli.scenario_files import SCENARIO
from tests.cli.trial_files import Folder
from tests.explain.run_files import busy_run

PLUGIN = """\
import numpy as np

from fairway.plugin import Plugin


class Breaks(Plugin):
    def filter(self, pod, nodes, state):
        return self.judge(nodes)

    def judge(self, nodes):
        return np.ones(len(nodes), bool)[10_000_000]
"""
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins: {filter: {enabled: [{name: "%s"}]}}
"""
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"
MODULES = (f"breaking_plugin_{number}" for number in itertools.count())  # Python imports each name once
COMMANDS = {
    "try": "try -f pod.yaml --cluster node.yaml --config breaking.yaml",
    "why": "why p -f pod.yaml --cluster node.yaml --config breaking.yaml",
    "try, copies": "try -f pod.yaml --cluster node.yaml --config breaking.yaml --copies max",
    "try on a run": "try -f pod.yaml --run busy.duckdb --config breaking.yaml",
    "sim": "sim scenario.yaml --until 10m --policy breaking.yaml",
    "sim of two": "sim scenario.yaml --until 10m --policy default --policy breaking.yaml --jobs 1",
    "compare": "compare scenario.yaml --until 10m --policy default --policy breaking.yaml --jobs 1",
    "compare, in JSON": "compare scenario.yaml --until 10m --policy default --policy breaking.yaml --jobs 1 -o json",
    "why in a run": "why load-small-0 --run broken.duckdb --attempt 1",
}


@pytest.fixture
def place(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(folder.path)
    module = next(MODULES)
    folder.write(f"{module}.py", PLUGIN)
    folder.write("breaking.yaml", CONFIG % f"{module}:Breaks")
    folder.write("node.yaml", NODE)
    folder.write("pod.yaml", POD)
    folder.write("scenario.yaml", SCENARIO)
    return folder


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_file_and_line_are_named_and_the_exit_code_says_so(place: Folder, command: str) -> None:
    if "busy" in command:
        busy_run(place.path)
    if "broken" in command:
        place.run("sim", "scenario.yaml", "--until", "10m", "--policy", "breaking.yaml", "--save", "broken.duckdb")
    printed = place.run(*command.split())
    assert "raised IndexError: " in printed.out + printed.err
    assert re.search(r"\(breaking_plugin_\d+\.py:11\)", printed.out + printed.err)
    assert printed.code == 1


IMPORTS = {
    "a failure": ("import numpy\n\nnumpy.no_such_thing\n", "({module}.py:3)"),
    "a mistake in the syntax": ("a = 1\nb = = 2\n", "SyntaxError: invalid syntax ({module}.py:2)"),
    "a failure further down": ("def f():\n    return 1 / 0\n\n\nf()\n", "division by zero ({module}.py:2)"),
}


@pytest.mark.parametrize(("text", "words"), IMPORTS.values(), ids=IMPORTS)
@pytest.mark.parametrize("command", ["try -f pod.yaml --cluster node.yaml --config", "sim scenario.yaml --policy"])
def test_a_plugin_that_can_not_be_imported_is_named_by_file_and_line(
    place: Folder, command: str, text: str, words: str
) -> None:
    module = next(MODULES)
    place.write(f"{module}.py", text)
    place.write("broken.yaml", CONFIG % f"{module}:Broken")
    printed = place.run(*command.split(), "broken.yaml")
    assert printed.code == 1
    assert words.format(module=module) in printed.err


def test_what_went_well_is_still_zero(place: Folder) -> None:
    assert place.run("sim", "scenario.yaml", "--until", "10m").code == 0
    assert place.run("sim", "scenario.yaml", "--until", "10m", "-o", "json").document["errors"] == 0


@pytest.mark.parametrize("command", ["sim", "compare"])
def test_the_help_has_the_exit_codes(folder: Folder, command: str) -> None:
    text = " ".join(folder.run(command, "--help").out.split())
    assert "Exit codes: 0 " in text
    assert "an error, as when a plugin raises; 2 usage; 3 " in text
