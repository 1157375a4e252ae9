"""`kubectl fairway`: the same program as a plugin of kubectl, and what it proposes while somebody types."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

from fairway.cli.kubectl_completion import main
from tests.cli.kubectl_scripts import scripts

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


def test_each_script_answers_by_itself(tmp_path: Path) -> None:
    path = scripts(tmp_path)
    version = subprocess.run(["kubectl-fairway", "--version"], env=path, capture_output=True, text=True, check=True)
    assert version.stdout.startswith("fairway ")
    asked = subprocess.run(["kubectl_complete-fairway", "cance"], env=path, capture_output=True, text=True, check=True)
    assert asked.stdout == "cancel\tEnd a job for good.\n:4\n"
