"""`fairway examples` and `fairway demo`: what travels with the package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.cli.examples.example_files import list_examples
from tests.cli.trial_files import Folder


def test_every_example_is_listed_with_what_it_is_about(folder: Folder) -> None:
    printed = folder.run("examples", "-o", "json")
    rows = {row["name"]: row["about"] for row in printed.document}
    assert rows["scenarios/day.yaml"].startswith("A cluster's day: 1,000 nodes")
    assert [name for name, about in rows.items() if not about] == []
    assert "→ fairway examples copy DIR" in folder.run("examples").err


def test_examples_are_copied_once_and_what_is_changed_stays(folder: Folder) -> None:
    target = folder.path / "new" / "mine"
    printed = folder.run("examples", "copy", str(target))
    assert printed.code == 0
    assert f"{len(list_examples())} files copied" in printed.err
    assert all((target / one.name).read_bytes() == one.path.read_bytes() for one in list_examples())
    (target / "workload.yaml").unlink()
    assert "1 files copied" not in (again := folder.run("examples", "copy", str(target)).err)
    assert "1 file copied" in again
    (target / "cluster.yaml").write_text("mine\n")
    (target / "workload.yaml").unlink()
    refused = folder.run("examples", "copy", str(target))
    assert refused.code == 1
    assert "cluster.yaml is there already, and not an example that Fairway wrote" in refused.err
    assert (target / "cluster.yaml").read_text() == "mine\n"
    assert not (target / "workload.yaml").exists()  # all or nothing
    file = folder.write("file", "text")
    assert "is a file" in folder.run("examples", "copy", file).err


def test_demo_is_sim_on_the_day(folder: Folder) -> None:
    printed = folder.run("demo", "--until", "5m", "--nodes", "30")
    assert printed.code == 0
    assert printed.err.startswith("$ fairway sim ")
    assert "--policy default --policy packed --until 5m --nodes 30\n" in printed.err
    assert printed.err.endswith("→ fairway demo --ui   # both beside each other, in a browser\n")
    assert "default" in printed.out
    assert folder.run("demo", "--nonsense").code == 2


@pytest.mark.parametrize("is_kept", [False, True])
def test_both_runs_of_the_demo_are_shown_side_by_side_until_a_signal(tmp_path: Path, is_kept: bool) -> None:
    kept = ["--save", str(tmp_path / "mine.duckdb")] if is_kept else []
    command = [sys.executable, "-m", "fairway", "demo", "--ui", "--until", "2m", "--nodes", "20", *kept]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "BROWSER": "true", "TMPDIR": str(tmp_path)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    stem = "mine" if is_kept else "demo"
    assert f"/fairway/ui/compare?run={stem}-default&run={stem}-packed#token=" in url
    assert process.returncode == 0
    assert f"showing {stem}-default, {stem}-packed; Ctrl-C ends it" in err
    assert ("--save demo.duckdb keeps them" in err) != is_kept
    assert sorted(file.name for file in tmp_path.glob("*.duckdb")) == (
        ["mine-default.duckdb", "mine-packed.duckdb"] if is_kept else []
    )
    assert list(tmp_path.glob("fairway-demo-*")) == []


def test_of_what_leaves_no_runs_nothing_is_shown(folder: Folder) -> None:
    printed = folder.run("demo", "--ui", "--print-scenario")
    assert printed.code == 0
    assert "kind: Scenario" in printed.out
    assert "http" not in printed.out
