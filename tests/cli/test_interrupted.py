"""Ctrl-C while runs are kept: each is closed as far as it came, and says so; nothing else is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairway.record import Run

LONG = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: long}
spec:
  seed: 4
  cluster:
    nodes: [{name: "n-{}", count: 6, cpu: 8, memory: 32Gi}]
  workload:
    synthetic:
      name: load
      arrivals: {pattern: poisson, count: 10000000, over: 2000d}
      classes: [{name: small, cpu: 1, memory: 2Gi, duration: 10m}]
  record: {scores: 6}
  policies: {other: {}}
"""
"""With scores, so that there soon are as many rows as are written out together."""


def wait_for_rows(*runs: Path) -> None:
    """Until some rows of each are written out."""
    deadline = time.monotonic() + 120  # noqa: TID251 - other processes take real time
    while time.monotonic() < deadline:  # noqa: TID251
        files = [path for run in runs for path in (Path(f"{run}.partial"), Path(f"{run}.partial.wal"))]
        sizes = [path.stat().st_size for path in files if path.exists()]
        if len(sizes) >= len(runs) and sum(sizes) > len(runs) * 500_000:
            return
        time.sleep(0.05)  # noqa: TID251 - between two looks
    raise AssertionError("nothing is written")


@pytest.mark.parametrize("to_all", [True, False], ids=["from the keyboard", "to the command alone"])
@pytest.mark.parametrize("command", ["sim", "compare"])
def test_runs_that_are_kept_say_how_far_they_came(tmp_path: Path, command: str, to_all: bool) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    runs = [tmp_path / "kept-default.duckdb", tmp_path / "kept-other.duckdb"]
    words = ["long.yaml", "--policy", "default", "--policy", "other", "--save", "kept.duckdb", "--jobs", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "fairway", command, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_for_rows(*runs)
        if to_all:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in error
    assert error.strip() == (
        "interrupted: 0 of 2 runs are complete; what is recorded of the others says how far it came: "
        "kept-default.duckdb, kept-other.duckdb"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept-default.duckdb", "kept-other.duckdb", "long.yaml"]
    for path in runs:
        with Run.open(path) as run:
            assert not run.is_complete
            assert "KeyboardInterrupt" in run.meta["interruption"]
            assert len(run.pods) > 100


def test_a_run_that_was_not_begun_leaves_the_earlier_one_alone(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    done = subprocess.run(
        [sys.executable, "-m", "fairway", "sim", "long.yaml", "--until", "1m", "--save", "kept-other.duckdb"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert done.returncode == 0
    before = (tmp_path / "kept-other.duckdb").read_bytes()
    words = ["--policy", "default", "--policy", "other", "--save", "kept.duckdb", "--jobs", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "fairway", "compare", "long.yaml", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for_rows(tmp_path / "kept-default.duckdb")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "0 of 2 runs are complete; 1 not begun; what is recorded of the others" in error
    assert (tmp_path / "kept-other.duckdb").read_bytes() == before
