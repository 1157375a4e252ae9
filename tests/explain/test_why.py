"""`fairway why`: funnels that add up, scores that decide, and fixes that work."""

from typing import Any

import pytest

from fairway.explain.more_nodes import MoreNodes, more_nodes
from fairway.model import ObjectMeta, PriorityClass
from fairway.plugin import Aspect, Locality, Plugin, Refusal
from fairway.testing import cluster, node, pod
from tests.cli.trial_files import Folder, Printed, controller
from tests.cycle.profiles import profile

NODES = [node("n1", cpu=4, memory="8Gi", zone="a"), node("n2", cpu=8, memory="8Gi", zone="b")]
ZONE = "topology.kubernetes.io/zone"


def why(folder: Folder, cluster: list[Any], wanted: list[Any], name: str = "p", *options: str) -> Printed:
    return folder.attempt(cluster, wanted, *options, command=f"why {name}")


# -- a pod with a node -----------------------------------------------------------------------------------------------


def test_the_scores_add_up_and_the_chosen_node_is_first(folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", cpu=1)], "p", "-o", "json")
    assert printed.code == 0
    found = printed.document
    assert (found["result"], found["node"], found["via"]) == ("scheduled", "n2", "scores")
    assert [row["node"] for row in found["perNode"]] == ["n2", "n1"]
    for row in found["perNode"]:
        assert sum(row["scores"].values()) == row["total"]


def test_people_see_what_told_the_nodes_apart(folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", cpu=1)])
    lines = printed.out.splitlines()
    assert lines[0].startswith("default/p goes to n2 · best of 2 nodes that fit, score ")
    assert lines[4].split() == ["NODE", "TOTAL", "NodeResourcesFit", "NodeResourcesBalancedAllocation"]
    assert [line.split()[0] for line in lines[5:7]] == ["n2", "n1"]
    assert lines[7] == "  the same on all: TaintToleration 300"
    assert printed.err.startswith("→ fairway why default/p --node n1 -f ")


def test_the_only_node_that_fits_needs_no_scores(folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", cpu=5)])
    assert printed.out.splitlines()[0] == "default/p goes to n2 · the only node that fits"
    assert "1 short: cpu 1 (needs 5, most free 4)" in printed.out
    assert "TOTAL" not in printed.out


def test_of_many_nodes_some_are_looked_at_and_who_was_passed_by_may_score_more(folder: Folder) -> None:
    nodes = [node(f"n{number:03}", cpu=2 if number < 100 else 8) for number in range(200)]
    lines = why(folder, nodes, [pod("p", cpu=1)]).out.splitlines()
    assert " · best of 100 nodes looked at, of 200 that fit, score " in lines[0]
    told = "  scored beside all 200 that fit; the decision looked at 100 of them, so others may score more here"
    assert told in lines
    few = why(folder, nodes[:100], [pod("p", cpu=1)]).out
    assert "may score more" not in few


def test_few_of_many_nodes_are_shown_and_the_rest_are_counted(folder: Folder) -> None:
    nodes = [node(f"n{number}", cpu=number + 4) for number in range(9)]
    short = why(folder, nodes, [pod("p", cpu=1)])
    assert "and 4 nodes more, no better (--all-nodes)" in short.out
    every = why(folder, nodes, [pod("p", cpu=1)], "p", "--all-nodes")
    assert "more" not in every.out
    assert all(f"n{number} " in every.out for number in range(9))


def test_a_node_is_compared_with_the_chosen_one(folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", cpu=1)], "p", "--node", "n1")
    lines = [line.split() for line in printed.out.splitlines()]
    assert printed.out.startswith("default/p fits on n1\n")
    assert ["SCORE", "n1", "n2"] in lines
    assert ["cpu", "1", "4", "4"] in lines
    totals = next(line for line in lines if line[:1] == ["total"])
    assert int(totals[1]) < int(totals[2])


def test_who_would_be_evicted_and_where_else(folder: Folder) -> None:
    cluster = [*NODES, pod("a", cpu=4, node="n1"), pod("b", cpu=8, node="n2", priority=3)]
    printed = why(folder, cluster, [pod("p", cpu=4, priority=5)])
    assert printed.code == 0
    lines = printed.out.splitlines()
    assert lines[0] == "default/p fits on none of 2 nodes now · goes to n1 after evicting default/a"
    assert lines[-2:] == ["  n1 without default/a (priority 0)", "  n2 without default/b (priority 3)"]


# -- a pod without ---------------------------------------------------------------------------------------------------


def test_the_funnel_adds_up(folder: Folder) -> None:
    nodes = [
        node("a", unschedulable=True),
        *(node(f"b{number}", taints="gpu=a100") for number in range(2)),
        *(node(f"c{number}", taints="maintenance:NoExecute") for number in range(3)),
        *(node(f"d{number}", zone="eu-2") for number in range(4)),
        *(node(f"e{number}", zone="eu-1", cpu=number + 1) for number in range(5)),
    ]
    wanted = pod("p", cpu=6, memory="1Gi", node_selector={ZONE: "eu-1"})
    printed = why(folder, nodes, [wanted])
    assert printed.code == 3
    assert printed.out.splitlines()[3:8] == [
        "    15  nodes",
        "    14  NodeUnschedulable   1 cordoned",
        "     9  TaintToleration     5 tainted (maintenance 3, gpu=a100 2)",
        f"     5  NodeAffinity        4 not {ZONE}=eu-1",
        "     0  NodeResourcesFit    5 short: cpu 5 (needs 6, most free 5)",
    ]
    funnel = why(folder, nodes, [wanted], "p", "-o", "json").document["funnel"]
    assert sum(step["refused"] for step in funnel) == 15
    for step in funnel:
        assert sum(group["nodes"] for group in step["reasons"]) == step["refused"]


def test_a_node_short_of_several_things_is_counted_once(folder: Folder) -> None:
    nodes = [node("a", cpu=1, memory="1Gi"), node("b", cpu=1, memory="1Gi"), node("c", cpu=9, memory="1Gi")]
    (step,) = why(folder, nodes, [pod("p", cpu=2, memory="2Gi")], "p", "-o", "json").document["funnel"]
    assert [(group["resource"], group["nodes"]) for group in step["reasons"]] == [("memory", 3)]


def test_every_node_has_its_own_reason(folder: Folder) -> None:
    nodes = [node("a", cpu=1, memory="1Gi"), node("b", taints="gpu"), node("c", cpu=1)]
    rows = why(folder, nodes, [pod("p", cpu=2, memory="2Gi")], "p", "-o", "json").document["perNode"]
    assert {row["node"]: (row["plugin"], row["reasons"]) for row in rows} == {
        "a": ("NodeResourcesFit", ["Insufficient cpu", "Insufficient memory"]),
        "b": ("TaintToleration", ["node(s) had untolerated taint(s)"]),
        "c": ("NodeResourcesFit", ["Insufficient cpu"]),
    }
    one = why(folder, nodes, [pod("p", cpu=2, memory="2Gi")], "p", "--node", "a")
    assert one.out.splitlines()[0] == (
        "default/p does not fit on a · NodeResourcesFit: Insufficient cpu, Insufficient memory"
    )
    assert "  cpu            2      1     1   short" in one.out.splitlines()
    other = why(folder, nodes, [pod("p", cpu=2, memory="2Gi")], "p", "--node", "b")  # and what is wrong with just that
    words = "default/p does not fit on b · TaintToleration: node(s) had untolerated taint(s) (gpu)"
    assert other.out.splitlines()[0] == words


def test_the_moment_is_that_of_the_queue(folder: Folder) -> None:
    wanted = [controller("Deployment", "web", replicas=14)]
    assert why(folder, NODES, wanted, "web-11").code == 0
    late = why(folder, NODES, wanted, "web-13")
    assert late.code == 3
    assert "2 short: cpu 2 (needs 1, most free 0)" in late.out


def test_a_gated_pod_would_fit_somewhere(folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", cpu=5, gates="example.com/wait")])
    assert printed.code == 3
    assert printed.out.splitlines()[0] == (
        "default/p is held back · waiting for scheduling gates: [example.com/wait] · without that, 1 node would fit now"
    )


def test_a_pod_refused_outright_has_a_funnel_too(folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", claims="nope")])
    assert '     0  VolumeRestrictions   2 persistentvolumeclaim "nope" not found' in printed.out.splitlines()


def test_a_pod_confined_to_named_nodes_has_a_funnel_too(folder: Folder) -> None:
    daemon = controller("DaemonSet", "agent", {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5"}}}]})
    printed = why(folder, NODES, [daemon], "agent-n1")
    assert printed.out.splitlines()[3:6] == [
        "     2  nodes",
        "     1  NodeAffinity       1 not named by the pod",
        "     0  NodeResourcesFit   1 short: cpu 1 (needs 5, most free 4)",
    ]


# -- what would fix it -----------------------------------------------------------------------------------------------

SPREAD_OUT = [pod(f"web-{zone}", cpu=1, labels={"app": "web"}, node=name) for zone, name in (("a", "n1"), ("b", "n2"))]

FIXES: dict[str, tuple[list[Any], Any, dict[str, list[str]]]] = {
    "smaller": (NODES, pod("p", cpu=10), {"ask for 8 cpu instead of 10": ["n2"]}),
    "smaller in two ways": (
        [node("n1", cpu=2, memory="3Gi")],
        pod("p", cpu=4, memory="8Gi"),
        {"ask for 2 cpu instead of 4 and 3Gi memory instead of 8Gi": ["n1"]},
    ),
    "tolerate": (
        [node("n1", taints="gpu=a100"), node("n2", taints="gpu=h100"), node("n3", taints="gpu=h100", cpu=1)],
        pod("p", cpu=2),
        {"tolerate gpu=a100:NoSchedule": ["n1"], "tolerate gpu=h100:NoSchedule": ["n2"]},
    ),
    "uncordon": ([node("n1", unschedulable=True)], pod("p", cpu=2), {"uncordon n1": ["n1"]}),
    "uncordon several": (
        [node(name, unschedulable=True, taints="node.kubernetes.io/unschedulable") for name in ("n1", "n2")],
        pod("p"),
        {"uncordon the 2 cordoned nodes": ["n1", "n2"]},
    ),
    "another zone as well": (
        NODES,
        pod("p", cpu=5, node_selector={ZONE: "a"}),
        {f"{ZONE}=b as well": ["n2"], f"without nodeSelector {ZONE}=a": ["n2"], "ask for 4 cpu instead of 5": ["n1"]},
    ),
    "without affinity": (
        NODES,
        pod("p", node_affinity="disk=ssd"),
        {"without node affinity (disk=ssd)": ["n1", "n2"]},
    ),
    "one of several wishes": (
        [node("n1", zone="a"), node("n2", zone="b", labels={"disk": "hdd"})],
        pod("p", node_affinity=f"disk=ssd,{ZONE}=b"),
        {
            "disk=hdd as well": ["n2"],
            "without affinity to disk=ssd": ["n2"],
            f"without node affinity (disk=ssd and {ZONE}=b)": ["n1", "n2"],
        },
    ),
    "less even": (
        [*NODES, node("n3", cpu=1, zone="c"), *SPREAD_OUT],
        pod("p", cpu=2, labels={"app": "web"}, spread="zone"),
        {
            f"maxSkew 1 → 2 over {ZONE}": ["n1", "n2"],
            f"spread over {ZONE} as a wish (ScheduleAnyway)": ["n1", "n2"],
            "ask for 1 cpu instead of 2": ["n3"],
        },
    ),
    "less shy": (
        [*NODES, *SPREAD_OUT],
        pod("p", labels={"app": "web"}, anti_affinity="zone"),
        {f"without anti-affinity to app=web over {ZONE}": ["n1", "n2"]},
    ),
    "without its host port": (
        [NODES[0], pod("old", node="n1", ports=80)],
        pod("p", ports=80),
        {"without host port 80": ["n1"]},
    ),
    "without its volume": (NODES, pod("p", claims="nope"), {"without volume nope": ["n1", "n2"]}),
    "two things together": (
        [node("n1", cpu=2, taints="gpu")],
        pod("p", cpu=4),
        {"tolerate gpu:NoSchedule and ask for 2 cpu instead of 4": ["n1"]},
    ),
    "nothing": ([node("n1", pods=0)], pod("p"), {}),
}


@pytest.mark.parametrize(("cluster", "wanted", "fixes"), FIXES.values(), ids=FIXES)
def test_fixes(cluster: list[Any], wanted: Any, fixes: dict[str, list[str]], folder: Folder) -> None:
    found = why(folder, cluster, [wanted], "p", "-o", "json").document
    assert found["result"] == "unschedulable"
    proposed = [fix for fix in found["fixes"] if not fix["evicts"] and "moreNodes" not in fix]
    assert {" and ".join(fix["changes"]): fix["nodes"] for fix in proposed} == fixes


def test_a_fix_that_is_proposed_works(folder: Folder) -> None:
    nodes = [node("n1", taints="gpu=a100"), node("n2", cpu=1)]
    (fix,) = [
        one for one in why(folder, nodes, [pod("p", cpu=4)], "p", "-o", "json").document["fixes"] if "gpu" in str(one)
    ]
    assert fix["changes"] == ["tolerate gpu=a100:NoSchedule"]
    repaired = folder.attempt(nodes, [pod("p", cpu=4, tolerates="gpu=a100:NoSchedule")], "-o", "json")
    assert repaired.document["pods"][0]["node"] == fix["nodes"][0]


def test_siblings_that_refuse_each_other_are_relaxed_together(folder: Folder) -> None:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}}
    spec = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "containers": [{"name": "c"}],
    }
    printed = why(folder, NODES, [controller("StatefulSet", "db", spec, replicas=3)], "db-2")
    assert printed.out.splitlines()[-1] == (
        f"  fix  without anti-affinity to app=db over {ZONE}, in all of StatefulSet default/db → 2 nodes fit now"
    )


def test_a_more_important_class_is_proposed_if_it_makes_room(folder: Folder) -> None:
    classes = [
        PriorityClass(metadata=ObjectMeta(name="low"), value=1),
        PriorityClass(metadata=ObjectMeta(name="high"), value=9),
    ]
    cluster = [*NODES[:1], *classes, pod("old", cpu=4, node="n1", priority=5)]
    printed = why(folder, cluster, [pod("p", cpu=4)])
    assert printed.out.splitlines()[-1] == "       priorityClassName: high → fits on n1 after evicting default/old"


def test_no_fix_is_said_plainly(folder: Folder) -> None:
    printed = why(folder, [node("n1", pods=0)], [pod("p")])
    assert (
        "  fix  none found: neither giving up one or two of its demands nor more nodes would let it fit now"
        in printed.out
    )


# -- naming the pod, and bad usage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p", "pod/p", "default/p"])
def test_a_pod_may_be_named_in_several_ways(name: str, folder: Folder) -> None:
    assert why(folder, NODES, [pod("p"), pod("q")], name).code == 0


USAGE = {
    "ambiguous": ("p", (), "there are 2 pods called p", "say which: default/p, other/p"),
    "unknown": ("zzz", (), "no pod to place is called zzz", "there are: default/p, other/p, default/web-0"),
    "misspelt": ("web-O", (), "no pod to place is called web-O", "did you mean web-0"),
    "unknown node": ("web-0", ("--node", "n9"), "there is no node n9", "there are: n1, n2"),
    "both": ("web-0", ("--node", "n1", "--all-nodes"), "--node and --all-nodes exclude each other", "--help"),
}


@pytest.mark.parametrize(("name", "options", "told", "hint"), USAGE.values(), ids=USAGE)
def test_wrong_usage(name: str, options: tuple[str, ...], told: str, hint: str, folder: Folder) -> None:
    wanted = [pod("p"), pod("p", namespace="other"), pod("web-0")]
    printed = why(folder, NODES, wanted, name, *options)
    assert (printed.code, printed.out) == (2, "")
    assert f"error: {told}" in printed.err
    assert f"→ {hint}" in printed.err or hint in printed.err


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "csv", "name"])
def test_every_output_answers_without_colour(output: str, folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", cpu=9)], "p", "-o", output)
    assert printed.code == 3
    assert "n1" in printed.out or output == "table"
    assert "\x1b" not in printed.out + printed.err


# -- devices -----------------------------------------------------------------------------------------------------------

FGD_CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: GpuShare}, {name: FGD, weight: 10}]}
  pluginConfig:
  - name: FGD
    args: {typicalPods: [{milliCpu: 1000, gpuMilli: 500, gpuCount: 1}]}
"""


def test_a_score_of_fragmentation_is_explained(folder: Folder) -> None:
    devices = {"alibabacloud.com/gpu-count": 1, "alibabacloud.com/gpu-milli": 1000}
    cluster = [node("n1", cpu=4, resources=devices), node("n2", cpu=8, resources=devices)]
    wanted = [pod("p", cpu=1, annotations={"alibabacloud.com/gpu-milli": "700"})]
    config = folder.path / "config.yaml"
    config.write_text(FGD_CONFIG)
    printed = why(folder, cluster, wanted, "p", "--config", str(config))
    assert printed.code == 0
    start = "  FGD on n2: on GPU 0, fragmentation goes from 0.000 to 0.300 GPUs, of 0.300 idle then"
    lines = printed.out.splitlines()
    place = lines.index(start)
    assert lines[place + 1 : place + 3] == [
        "    strands 1 of 1 typical pods, 100.0 % of arrivals:",
        "      1 CPU, 500m of a GPU (100.0 %) then lacks GPU",
    ]
    other = why(folder, cluster, wanted, "p", "--config", str(config), "--node", "n1")
    assert start.replace("n2", "n1") in other.out.splitlines()
    told = why(folder, cluster, wanted, "p", "--config", str(config), "-o", "json").document
    assert told["perNode"][0]["scoreReasons"]["FGD"][0] == start.removeprefix("  FGD on n2: ")


def test_devices_that_make_no_sense_are_an_error_of_the_file(folder: Folder) -> None:
    printed = why(folder, NODES, [pod("p", annotations={"alibabacloud.com/gpu-milli": "1500"})])
    assert printed.code == 1
    assert "metadata.annotations['alibabacloud.com/gpu-milli']" in printed.err
    assert "must be from 1 to 1000, thousandths of one device, not 1500" in printed.err


# -- more nodes ------------------------------------------------------------------------------------------------------


def test_a_node_more_is_a_fix_and_the_cheapest_that_helps_is_named(folder: Folder) -> None:
    small = [node(f"s{number}", cpu=2) for number in range(3)]
    large = [node(f"l{number}", cpu=8, labels={"fairway.dev/price": price}) for number, price in enumerate(("9", "3"))]
    there = [pod(f"on-{one.name}", cpu=1, node=one.name) for one in small]
    there += [pod(f"on-{one.name}", cpu=5, node=one.name) for one in large]
    printed = why(folder, [*small, *large, *there], [pod("p", cpu=4)])
    assert "1 node more like l1 → fits" in printed.out
    fixes = why(folder, [*small, *large, *there], [pod("p", cpu=4)], "p", "-o", "json").document["fixes"]
    assert {"number": 1, "like": "l1"} in [fix.get("moreNodes") for fix in fixes]


class Company(Plugin):
    """Runs where at least so many nodes of a kind are, whatever else they do."""

    locality = Locality.CLUSTER
    reads = Aspect.NODE

    def pre_filter(self, pod: Any, nodes: Any) -> Any:
        return Refusal(("too lonely",)) if len(self.cluster.nodes.row_of) < 4 else None


def test_so_many_nodes_as_it_takes_and_they_leave_no_trace() -> None:
    there = cluster([node("n1", cpu=4), node("n2", cpu=1)], [pod("a", cpu=3, node="n1"), pod("b", cpu=1, node="n2")])
    lonely = profile(there, "NodeResourcesFit", Company)
    before = [lonely.inspect(one) for one in (pod("p", cpu=2), pod("q", cpu=1))]
    assert more_nodes(lonely, pod("p", cpu=2)) == MoreNodes(2, "n1")
    assert more_nodes(lonely, pod("q", cpu=1)) == MoreNodes(2, "n2")  # the smaller one will do
    assert more_nodes(lonely, pod("r", cpu=9)) is None
    assert set(there.nodes.row_of) == {"n1", "n2"}
    after = [lonely.inspect(one) for one in (pod("p", cpu=2), pod("q", cpu=1))]
    assert [(one.feasible, one.rejected) for one in after] == [(one.feasible, one.rejected) for one in before]


def test_a_new_node_is_not_cordoned_and_has_no_trouble(folder: Folder) -> None:
    printed = why(folder, [node("n1", cpu=4, unschedulable=True)], [pod("p", cpu=1)])
    assert "1 node more like n1 → fits" in printed.out


def test_no_number_of_nodes_helps_a_pod_that_none_of_them_may_hold(folder: Folder) -> None:
    printed = why(folder, [node("n1", cpu=4, taints="gpu")], [pod("p", cpu=1)])
    assert "more like" not in printed.out
    printed = why(folder, [node("n1", cpu=4)], [pod("p", cpu=5)])
    assert "more like" not in printed.out
