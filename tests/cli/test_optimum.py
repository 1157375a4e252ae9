"""`--optimum`: a policy beside the best possible placement, in `try` and in `compare`."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from fairway.testing import node, pod
from tests.cli.scenario_files import small_scenario
from tests.cli.trial_files import Folder

pytest.importorskip("highspy", reason="the solver has no build for this Python")

NODES = [node(f"n{number}", cpu="4", memory="16Gi", zone="ab"[number % 2]) for number in range(4)]


def goals(judged: dict[str, Any]) -> dict[str, tuple[float, float, bool]]:
    return {goal["goal"]: (goal["value"], goal["best"], goal["proven"]) for goal in judged["goals"]}


def test_four_pods_on_four_nodes_would_fit_on_one(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod(f"p{number}", cpu="1") for number in range(4)], "--optimum")
    assert printed.code == 0
    table = [line.split() for line in printed.out.splitlines()]
    assert ["nodes", "used", "4", "1", "+3", "(+300%)"] in table
    assert ["cpu", "used", "of", "used", "nodes", "25.0%", "100.0%", "−75.0"] in table
    assert ["cpu", "difference", "between", "nodes", "0.0%", "0.0%", "="] in table


def test_pods_that_are_there_stay_and_daemons_do_not_count(folder: Folder) -> None:
    there = [
        pod("old", cpu="2", node="n3"),
        *(pod(f"d{number}", cpu="1", node=f"n{number}", owner="DaemonSet/d") for number in range(4)),
    ]
    wanted = [pod("p0", cpu="1"), pod("p1", cpu="1")]
    printed = folder.attempt([*NODES, *there], wanted, "--optimum", "-o", "json")
    (judged,) = printed.document["optimum"]
    assert (judged["pods"], judged["podsStaying"]) == (2, 5)
    assert goals(judged)["nodes_used"] == (3, 2, True)  # old's node has room for one of them
    assert goals(judged)["pods_placed"] == (2, 2, True)


def test_the_best_keeps_to_taints_and_node_affinity_and_says_what_it_does_not_know(folder: Folder) -> None:
    cluster = [node("a", cpu="4"), node("b", cpu="4", taints="dedicated"), node("c", cpu="1", labels={"disk": "ssd"})]
    wanted = [pod("p", cpu="1", node_selector={"disk": "ssd"}), pod("q", cpu="1"), pod("r", cpu="1", ports=80)]
    printed = folder.attempt(cluster, wanted, "--optimum", "-o", "json")
    (judged,) = printed.document["optimum"]
    assert goals(judged)["nodes_used"] == (2, 2, True)
    assert judged["notLookedAt"] == ["NodePorts"]
    told = folder.attempt(cluster, wanted, "--optimum")
    assert "BEST does not keep to NodePorts" in told.err


def test_domains_instead_of_nodes(folder: Folder) -> None:
    there = [pod("old", cpu="2", node="n0")]
    wanted = [pod("p", cpu="2", node_selector={"kubernetes.io/hostname": "n2"}), pod("q", cpu="2")]
    by_zone = folder.attempt([*NODES, *there], wanted, "--optimum", "--optimum-by", "topology.kubernetes.io/zone")
    assert "cpu difference between topology.kubernetes.io/zone domains" in by_zone.out
    unknown = folder.attempt(NODES, wanted, "--optimum", "--optimum-by", "nowhere")
    assert (unknown.code, "no node has the label nowhere" in unknown.err) == (1, True)


def test_shares_of_gpus_that_the_policy_left_unallocated(folder: Folder) -> None:
    devices = {"alibabacloud.com/gpu-count": "2", "alibabacloud.com/gpu-milli": "2000"}
    cluster = [node("g", cpu="32", resources=devices)]
    config = folder.write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: GpuShare}]}}, "
        "pluginConfig: [{name: GpuShare, args: {deviceChoice: worst}}]}]\n",
    )
    shares = [pod(f"s{number}", annotations={"alibabacloud.com/gpu-milli": "500"}) for number in range(2)]
    whole = pod("w", annotations={"alibabacloud.com/gpu-milli": "1000"})
    printed = folder.attempt(cluster, [*shares, whole], "--optimum", "--config", config, "-o", "json")
    (judged,) = printed.document["optimum"]
    # Each share got a device of its own, so that none was left whole.
    assert goals(judged)["gpu_unallocated"] == (0.5, 0.0, True)
    assert judged["notLookedAt"] == ["GpuShare"]  # by the other goals


def test_policies_of_a_scenario_at_their_busiest_moment_or_another(folder: Folder) -> None:
    scenario = str(small_scenario(folder.path))
    printed = folder.run("compare", scenario, "--optimum", "-o", "json", "--jobs", "1")
    default, packed = printed.document["optimum"]
    assert (default["policy"], packed["policy"]) == ("default", "packed")
    for judged in (default, packed):
        found = goals(judged)
        assert found["nodes_used"][0] >= found["nodes_used"][1]
        assert found["spread"][0] >= found["spread"][1] - 1e-9
    table = folder.run("compare", scenario, "--optimum", "--optimum-at", "30m", "--jobs", "1")
    assert "default   nodes used" in table.out
    assert "default: at 00:30:00, " in table.err
    assert "(seed" not in table.err


def test_the_report_has_it_too(folder: Folder) -> None:
    scenario, report = str(small_scenario(folder.path)), folder.path / "report.html"
    options = ("--optimum", "--optimum-at", "30m", "--seeds", "2", "--jobs", "1", "--html", str(report))
    printed = folder.run("compare", scenario, *options)
    assert printed.code == 0
    page = html.unescape(report.read_text())
    _, _, section = page.partition("The best possible placement")
    for row in printed.out.partition("how far from the best possible placement:\n")[2].splitlines()[1:]:
        for word in re.split(r" {2,}", row.strip()):
            assert word in section
    assert "default: at 00:30:00, " in section
    assert "pods on nodes (seed 4, the first)" in section
    without = folder.path / "without.html"
    folder.run("compare", scenario, "--jobs", "1", "--html", str(without))
    assert "best possible placement" not in without.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--optimum-by", "zone"), "--optimum-by needs --optimum"),
        (("--optimum", "--copies", "2"), "--copies and --optimum exclude each other"),
        (("--optimum", "--optimum-seconds", "0"), "--optimum-seconds"),
    ],
    ids=["alone", "copies", "no time"],
)
def test_options_that_make_no_sense(folder: Folder, options: tuple[str, ...], words: str) -> None:
    printed = folder.attempt(NODES, [pod("p")], *options)
    assert printed.code == 2
    assert words in printed.err


def test_without_the_solver_it_is_said_before_anything_runs(folder: Folder) -> None:
    (folder.path / "highspy.py").write_text("raise ImportError('not installed')\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder.path), *sys.path])}
    command = [sys.executable, "-m", "fairway", "compare", str(small_scenario(folder.path)), "--optimum"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("error: the best possible placement needs a solver\n→ pip install 'fairway[quality]'\n")


def test_time_that_runs_out_leaves_a_range(folder: Folder) -> None:
    cluster = [node(f"n{number}", cpu="7", memory="64Gi") for number in range(40)]
    wanted = [pod(f"p{number}", cpu=f"{1100 + 37 * number}m", memory=f"{number + 1}Gi") for number in range(60)]
    printed = folder.attempt(cluster, wanted, "--optimum", "--optimum-seconds", "0.001", "-o", "json")
    (judged,) = json.loads(printed.out)["optimum"]
    spread = next(goal for goal in judged["goals"] if goal["goal"] == "spread")
    assert not spread["proven"]
    assert spread["bound"] <= spread["best"] <= spread["value"]
    table = folder.attempt(cluster, wanted, "--optimum", "--optimum-seconds", "0.001")
    assert "where BEST is a range" in table.err
    assert "up to +" in table.out
