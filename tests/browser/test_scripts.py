"""Scripts of the pages, checked: TypeScript reads their types as strictly as it can, and emits nothing."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.browser.script_types import FILE, script_types
from tests.kube.build import cache_directory

VERSION: Final = "5.9.3"
PROJECT: Final = Path(__file__).parent / "tsconfig.json"


def compiler() -> list[str]:
    """The command; TypeScript is installed into the cache the first time. Without Node the test is skipped."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        assert not os.environ.get("CI"), "CI checks the types of scripts: make node installs Node"
        pytest.skip("no Node on this machine, so nobody checks the types of scripts; make node installs it (Debian)")
    folder = cache_directory() / f"typescript-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "node_modules" / "typescript" / "bin" / "tsc"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not script.exists():
            command = [npm, "install", "--silent", "--no-save", "--prefix", str(folder), f"typescript@{VERSION}"]
            subprocess.run(command, check=True)
    return [node, str(script)]


def test_types_of_scripts_hold() -> None:
    checked = subprocess.run(
        [*compiler(), "--project", str(PROJECT)], capture_output=True, text=True, check=False, cwd=PROJECT.parent
    )
    assert (checked.returncode, checked.stdout) == (0, "")


def test_types_of_answers_are_those_of_the_server() -> None:
    assert FILE.read_text() == script_types(), "make page-types writes it anew"
