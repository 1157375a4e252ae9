"""Files that people pass around name plugins, and plugins are code: whose runs, and when?

Each command runs in a process of its own, in one folder, with the files in another: that is where it matters.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """
from pathlib import Path
from fairway.plugin import Plugin

with Path({mark!r}).open("a") as file:
    file.write("run\\n")

class Idle(Plugin):
    def score(self, pod, nodes, state):
        return nodes.allocatable("cpu") * 0
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {score: {enabled: [{name: "some_policy:Idle"}]}}}]
"""
SCENARIO = """
apiVersion: fairway.dev/v1alpha1
kind: Scenario
spec:
  cluster: {files: [objects.yaml]}
  policies: {mine: {config: config.yaml}}
"""
OBJECTS = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {fairway.dev/duration: 60s}},
 spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
"""
TRY = ("try", "-f", "DIR/objects.yaml", "--config", "DIR/config.yaml")
SIM = ("sim", "DIR/scenario.yaml", "--policy", "mine")
COMPARE = ("compare", "DIR/scenario.yaml", "--policy", "mine", "--policy", "default", "--jobs", "2")
COMMANDS = pytest.mark.parametrize("command", [TRY, SIM, COMPARE], ids=["try", "sim", "compare"])


class Place:
    """Two folders, and whether the plugin in one of them has run."""

    def __init__(self, root: Path) -> None:
        self.here, self.there, self.mark = root / "here", root / "there", root / "mark"
        self.here.mkdir()
        self.there.mkdir()
        (self.there / "some_policy.py").write_text(PLUGIN.format(mark=str(self.mark)))
        (self.there / "config.yaml").write_text(CONFIG)
        (self.there / "scenario.yaml").write_text(SCENARIO)
        (self.there / "objects.yaml").write_text(OBJECTS)

    @property
    def has_run(self) -> bool:
        return self.mark.exists()

    def fairway(self, *args: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in `here`, or another folder; DIR is the folder of the files, as seen from there."""
        folder = folder or self.here
        directory = os.path.relpath(self.there, folder)
        words = [word.replace("DIR", directory) for word in args]
        return subprocess.run(
            [sys.executable, "-m", "fairway", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@COMMANDS
def test_a_plugin_of_another_folder_does_not_run(place: Place, command: tuple[str, ...]) -> None:
    done = place.fairway(*command)
    assert done.returncode == 1
    assert "some_policy.py" in done.stderr
    assert "--allow-plugins" in done.stderr
    assert "Traceback" not in done.stderr
    assert not place.has_run


@COMMANDS
def test_it_runs_when_it_is_allowed(place: Place, command: tuple[str, ...]) -> None:
    done = place.fairway(*command, "--allow-plugins")
    assert done.returncode == 0, done.stderr
    assert place.has_run


@COMMANDS
def test_it_runs_in_its_own_folder(place: Place, command: tuple[str, ...]) -> None:
    done = place.fairway(*command, folder=place.there)
    assert done.returncode == 0, done.stderr
    assert place.has_run


def test_printing_a_scenario_runs_nothing_even_where_it_could(place: Place) -> None:
    done = place.fairway("sim", "DIR/scenario.yaml", "--policy", "mine", "--print-scenario", folder=place.there)
    assert done.returncode == 0, done.stderr
    assert "some_policy:Idle" in done.stdout
    assert not place.has_run


def test_nor_where_the_configuration_is_written_in_place(place: Place) -> None:
    inline = SCENARIO.replace("config.yaml", CONFIG.strip().splitlines()[-1].join("{}"))
    (place.there / "scenario.yaml").write_text(inline)
    done = place.fairway("sim", "DIR/scenario.yaml", "--policy", "mine", "--print-scenario", folder=place.there)
    assert done.returncode == 0, done.stderr
    assert "some_policy:Idle" in done.stdout
    assert not place.has_run


def test_a_run_of_another_folder_does_not_bring_code_along(place: Place) -> None:
    saved = place.fairway(*SIM, "--save", "run.duckdb", folder=place.there)
    assert saved.returncode == 0, saved.stderr
    place.mark.unlink()
    refused = place.fairway("why", "p", "--run", "DIR/run.duckdb")
    assert refused.returncode == 1
    assert "--allow-plugins" in refused.stderr
    assert not place.has_run
    allowed = place.fairway("why", "p", "--run", "DIR/run.duckdb", "--allow-plugins")
    assert allowed.returncode == 0, allowed.stderr
    assert place.has_run


@pytest.mark.parametrize("command", [TRY, SIM], ids=["try", "sim"])
def test_nothing_in_the_current_folder_stands_in_for_an_installed_module(
    place: Place, command: tuple[str, ...]
) -> None:
    stolen = place.there / "stolen"
    for name in ("rich", "numpy", "duckdb", "msgspec", "yaml"):
        (place.there / f"{name}.py").write_text(f"open({str(stolen)!r}, 'w').close()\n")
    done = place.fairway(*command, "--allow-plugins", folder=place.there)
    assert done.returncode == 0, done.stderr
    assert not stolen.exists()


RUN = ("run", "--config", "DIR/config.yaml", "--kubeconfig", "DIR/none", "--secure-port", "0")


def test_run_looks_for_plugins_where_the_others_do(place: Place) -> None:
    refused = place.fairway(*RUN)
    assert refused.returncode == 1
    assert "--allow-plugins" in refused.stderr
    assert not place.has_run
    assert place.fairway(*RUN, "--allow-plugins").returncode == 4  # there is no such kubeconfig
    assert place.has_run


@pytest.mark.parametrize("command", [TRY, SIM, RUN], ids=["try", "sim", "run"])
def test_nothing_beside_a_configuration_stands_in_for_the_standard_library(
    place: Place, command: tuple[str, ...]
) -> None:
    stolen = place.there / "stolen"
    for name in ("json", "queue", "statistics", "secrets", "colorsys"):
        (place.there / f"{name}.py").write_text(f"open({str(stolen)!r}, 'w').close()\n")
    plugin = place.there / "some_policy.py"
    plugin.write_text("import json, queue, statistics, secrets, colorsys\n" + plugin.read_text())
    for folder in (place.here, place.there):
        place.fairway(*command, "--allow-plugins", folder=folder)
        assert place.has_run
        assert not stolen.exists()


def test_hints_say_the_flag_again(place: Place) -> None:
    done = place.fairway(*SIM, "--allow-plugins")
    hints = [line for line in done.stderr.splitlines() if line.startswith("→ fairway sim")]
    assert hints
    assert all("--allow-plugins" in line for line in hints)
