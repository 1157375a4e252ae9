"""`why`, `try`, `status` and `record` about a live cluster."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.cli.main import main
from fairway.record import Run
from tests.live.live_cluster import node, pod
from tests.live.served import served

REFUSED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu. preemption: 0/2 nodes can help.",
}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    waiting = pod("big", cpu="8")
    waiting["status"] = {"phase": "Pending", "conditions": [REFUSED]}
    objects = [
        ("nodes", node("n1")),
        ("nodes", node("n2", zone="z") | {"spec": {"unschedulable": True}}),
        ("pods", pod("small", cpu="3", nodeName="n1")),
        ("pods", waiting),
    ]
    with served(tmp_path, *objects) as path:
        yield str(path)


def test_status_says_what_is_free_and_who_waits(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--kubeconfig", kubeconfig, "--context", "lab"]) == 0
    shown = capsys.readouterr()
    assert "lab · 2 nodes · 1 cordoned · 1 pod on nodes · 1 waiting" in shown.out
    assert "Insufficient cpu" in shown.out
    assert f"→ fairway why default/big --kubeconfig {kubeconfig} --context lab" in shown.err


@pytest.mark.parametrize("output", ["table", "json"])
def test_status_is_shown_again_and_again(kubeconfig: str, output: str) -> None:
    words = ["status", "--kubeconfig", kubeconfig, "--context", "lab", "--watch", "0.1", "-o", output]
    opening = "lab · 2 nodes" if output == "table" else '  "context": "lab",'
    with subprocess.Popen(
        [sys.executable, "-m", "fairway", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        times = 0
        while times < 3:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            times += line.startswith(opening)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_a_run_is_not_watched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--run", "day.duckdb", "--watch"]) == 2
    assert "--watch is for a live cluster" in capsys.readouterr().err


def test_status_for_programs(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--kubeconfig", kubeconfig, "--nodes", "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(one["node"], one["cpu"], one["allocatable_cpu"]) for one in document["perNode"]] == [
        ("n1", 3000, 4000),
        ("n2", 0, 4000),
    ]
    assert document["waiting"][0]["pods"] == 1


def test_why_explains_a_pod_of_the_cluster(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "big", "--kubeconfig", kubeconfig]) == 3
    assert "needs 8, most free 1" in capsys.readouterr().out
    assert main(["why", "small", "--kubeconfig", kubeconfig]) == 0
    shown = capsys.readouterr()
    assert "goes to n1" in shown.out
    assert "it is on n1" in shown.err
    assert main(["why", "nobody", "--kubeconfig", kubeconfig]) == 2
    assert "no pod is called nobody" in capsys.readouterr().err


def test_why_explains_a_pod_of_another_scheduler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(tmp_path, ("nodes", node("n1")), ("pods", pod("other", schedulerName="fairway"))) as path:
        assert main(["why", "other", "--kubeconfig", str(path)]) == 0
    shown = capsys.readouterr()
    assert "default/other goes to n1" in shown.out
    assert "judged by kube-scheduler's default plugins; give --config if fairway has others" in shown.err


def test_try_places_pods_on_the_cluster(kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pod.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod"} | pod("new", cpu="1")))
    assert main(["try", "-f", str(file), "--kubeconfig", kubeconfig]) == 0
    assert "the only node that fits" in capsys.readouterr().out


def test_record_writes_a_run(kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.duckdb"
    assert main(["record", str(path), "--kubeconfig", kubeconfig, "--for", "100ms"]) == 0
    with Run.open(path) as run:
        assert run.meta["complete"]
        assert [row["pod"] for row in run.sql("SELECT pod FROM pods ORDER BY pod").rows()] == [
            "default/big",
            "default/small",
        ]
    assert main(["why", "big", "--run", str(path)]) == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["status", "--kubeconfig", "/nowhere"], 4, "no cluster to talk to"),
        (["status", "--kubeconfig", "{}", "--context", "moon"], 4, "it has these contexts: lab"),
        (["status", "--kubeconfig", "{}", "--run", "x.duckdb"], 2, "exclude each other"),
        (["try", "-f", "x.yaml", "--live", "--cluster", "c.yaml"], 2, "exclude each other"),
    ],
    ids=["no kubeconfig", "no such context", "a run as well", "files as well"],
)
def test_what_does_not_work_is_said(
    kubeconfig: str, words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(kubeconfig) for word in words]) == code
    assert said in capsys.readouterr().err
