"""`fairway completion`: scripts that shells take, and answers to what they ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.trial_files import Folder

FAIRWAY = Path(sys.executable).parent / "fairway"


@pytest.mark.parametrize(("shell", "sign"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete --no-")])
def test_a_script_for_each_shell(folder: Folder, shell: str, sign: str) -> None:
    printed = folder.run("completion", shell)
    assert printed.code == 0
    assert sign in printed.out
    assert "_FAIRWAY_COMPLETE" in printed.out


def test_other_shells_are_not_known(folder: Folder) -> None:
    printed = folder.run("completion", "tcsh")
    assert printed.code == 2
    assert "'bash', 'zsh', 'fish'" in printed.err


LINES = {
    "commands": ("fairway co", {"compare", "completion", "conformance"}),
    "options": ("fairway sim --po", {"--policy"}),
    "values": ("fairway try -o js", {"json"}),
    "names of files": ("fairway try -f po", {"pods.yaml"}),
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(("line", "words"), LINES.values(), ids=LINES)
def test_bash_completes(tmp_path: Path, line: str, words: set[str]) -> None:
    (tmp_path / "pods.yaml").touch()
    ask = (
        f"source <(fairway completion bash); COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        '_fairway_completion fairway "${COMP_WORDS[$COMP_CWORD]}"; compopt() { :; }; '
        'if [ ${#COMPREPLY[@]} -gt 0 ]; then printf "%s\\n" "${COMPREPLY[@]}"; else compgen -f "${COMP_WORDS[-1]}"; fi'
    )
    environment = os.environ | {"PATH": f"{FAIRWAY.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", ask], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert set(done.stdout.split()) == words, done.stderr


ASKED = {
    "zsh": ("fairway comple", "1", "plain\ncompletion\nA script that makes a shell complete"),
    "fish": ("fairway comple", "comple", "plain,completion\tA script that makes a shell complete"),
}


@pytest.mark.parametrize("shell", ASKED)
def test_other_shells_are_told_what_a_command_is_for(shell: str) -> None:
    line, place, answer = ASKED[shell]
    environment = os.environ | {
        "_FAIRWAY_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": place,
    }
    done = subprocess.run([FAIRWAY], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(answer), (done.stdout, done.stderr)
