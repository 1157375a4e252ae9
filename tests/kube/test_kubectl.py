"""kubectl itself finds `kubectl fairway` and completes its words: upstream's own code, built like the servers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.kubectl_scripts import scripts
from tests.kube.build import build_kubectl


@pytest.fixture(scope="module")
def kubectl() -> Path:
    return build_kubectl()


def test_it_is_a_command_of_kubectl(kubectl: Path, tmp_path: Path) -> None:
    said = subprocess.run(
        [kubectl, "fairway", "hold"], env=scripts(tmp_path), capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert "usage: kubectl fairway hold [OPTIONS] JOB" in said.stderr


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        pytest.param(("exte",), "extend\tMay a job run for longer?", id="a command"),
        pytest.param(("hold", "train", "-o", "js"), "json", id="a value"),
    ],
)
def test_it_completes_words(kubectl: Path, tmp_path: Path, words: tuple[str, ...], proposed: str) -> None:
    asked = subprocess.run(
        [kubectl, "__complete", "fairway", *words], env=scripts(tmp_path), capture_output=True, text=True, check=False
    )
    assert asked.stdout.splitlines() == [proposed, ":4"], asked.stderr


def test_it_is_of_the_version_that_everything_is_compared_with(kubectl: Path) -> None:
    said = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("Client Version: v1.36.")
