"""`kubectl fairway`: the same program as a plugin of kubectl, and what it proposes while somebody types."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from fairway.cli.kubectl_completion import main

SCRIPTS: Final = {
    "kubectl-fairway": "fairway.cli.main",
    "kubectl_complete-fairway": "fairway.cli.kubectl_completion",
}


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has both, as an installed wheel has them."""
    for name, module in SCRIPTS.items():
        file = tmp_path / name
        file.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import main\nsys.exit(main())\n")
        file.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


CASES: Final = {
    "commands": (("jo",), ("jobs\tWho waits for what, who runs, who starts when?",), ":4"),
    "orders": (("re",), ("record\t", "release\t", "requeue\t"), ":4"),
    "options": (("extend", "--name"), ("--namespace\t",), ":4"),
    "values": (("hold", "train", "-o", "js"), ("json",), ":4"),
    "names of files": (("try", "-f", ""), (), ":0"),
    "files of an option": (("extend", "--kubeconfig", ""), (), ":0"),
}


@pytest.mark.parametrize(("words", "proposed", "directive"), CASES.values(), ids=CASES)
def test_what_may_come_next(
    words: tuple[str, ...], proposed: tuple[str, ...], directive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == directive
    assert len(lines) == len(proposed)
    assert all(line.startswith(start) for line, start in zip(lines, proposed, strict=True))


def test_kubectl_finds_it_and_completes(path: dict[str, str]) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl on this machine: what it makes of the plugin is not seen")
    said = subprocess.run([kubectl, "fairway", "hold"], env=path, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "usage: kubectl fairway hold [OPTIONS] JOB" in said.stderr
    asked = subprocess.run(
        [kubectl, "__complete", "fairway", "exte"], env=path, capture_output=True, text=True, check=False
    )
    assert asked.stdout.splitlines() == ["extend\tMay a job run for longer?", ":4"], asked.stderr


def test_each_script_answers_by_itself(path: dict[str, str]) -> None:
    version = subprocess.run(["kubectl-fairway", "--version"], env=path, capture_output=True, text=True, check=True)
    assert version.stdout.startswith("fairway ")
    asked = subprocess.run(["kubectl_complete-fairway", "cance"], env=path, capture_output=True, text=True, check=True)
    assert asked.stdout == "cancel\tEnd a job for good.\n:4\n"
