"""ExclusiveNode: who may be with whom, in which words others are refused, what may help, and who has to make room."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from fairway.cluster import Action, Cluster, Nodes, Resource
from fairway.cycle import Outcome
from fairway.model import LabelSelector, OwnerReference, Pod, TopologySpreadConstraint
from fairway.plugin import SKIP, Refusal
from fairway.plugins.exclusive_node import ExclusiveNode, ExclusiveNodeArgs
from fairway.testing import check_plugin, cluster, node, pod
from tests.cycle.profiles import profile
from tests.plugins.naive_exclusive import MEMBER, OTHERS, TAKEN, tenant_situations
from tests.plugins.volume_verdicts import helps

NEVER, NOT_NOW = "UnschedulableAndUnresolvable", "Unschedulable"


def tenant(name: str = "pod", *, exclusive: str = "", gang: str = "", user: str = "", **others: Any) -> Pod:
    said = {"exclusive": exclusive, "gang": gang, "user": user, "gang-one-per-node": others.pop("alone", "")}
    annotations = {f"fairway.dev/{key}": text for key, text in said.items() if text}
    return pod(name, annotations=annotations | others.pop("annotations", {}), **others)


def owned(name: str, kind: str, uid: str) -> OwnerReference:
    return OwnerReference(api_version="batch/v1", kind=kind, name=name, uid=uid, controller=True)


def words(wanted: Pod, *residents: Pod) -> str | None:
    """Why the pod may not be on node n, where these are."""
    here = cluster(node("n"), [pod_on(each) for each in residents])
    made = profile(here, "ExclusiveNode")
    found = made.inspect(wanted)
    if found.feasible:
        return None
    ((plugin, refusal, names),) = found.rejected
    assert (plugin, refusal.code.value, names) == ("ExclusiveNode", NOT_NOW, ["n"])
    (reason,) = refusal.reasons
    return reason


def pod_on(one: Pod) -> Pod:
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, node_name="n"))


TRAIN = {"exclusive": "node", "gang": "train"}


@pytest.mark.parametrize(
    ("wanted", "there", "expected"),
    [
        pytest.param(tenant(), tenant("a"), None, id="nobody is exclusive"),
        pytest.param(tenant(exclusive="node"), tenant("a"), OTHERS, id="somebody is there"),
        pytest.param(tenant(), tenant("a", exclusive="node"), TAKEN, id="somebody has it"),
        pytest.param(tenant(exclusive="node"), tenant("a", exclusive="node"), OTHERS, id="two who want it"),
        pytest.param(tenant(**TRAIN), tenant("a", **TRAIN), None, id="members of one gang"),
        pytest.param(tenant(gang="train"), tenant("a", **TRAIN), None, id="a member that says nothing"),
        pytest.param(tenant(**TRAIN), tenant("a", gang="train"), None, id="where a member says nothing"),
        pytest.param(tenant(**TRAIN), tenant("a", **TRAIN, namespace="ml"), OTHERS, id="the same name elsewhere"),
        pytest.param(tenant(**TRAIN, alone="true"), tenant("a", **TRAIN), MEMBER, id="one member a node"),
        pytest.param(tenant(gang="t", alone="true"), tenant("a", gang="t"), MEMBER, id="one a node, not exclusive"),
        pytest.param(tenant(**TRAIN, alone="false"), tenant("a", **TRAIN), None, id="several members a node"),
        pytest.param(
            tenant(exclusive="node", annotations={"scheduling.k8s.io/group-name": "g"}),
            tenant("a", exclusive="node", annotations={"scheduling.k8s.io/group-name": "g"}),
            None,
            id="members of Volcano's group",
        ),
        pytest.param(
            tenant(exclusive="node", labels={"scheduling.x-k8s.io/pod-group": "g"}, owner=owned("a", "Job", "1")),
            tenant("a", exclusive="node", labels={"scheduling.x-k8s.io/pod-group": "g"}, owner=owned("b", "Job", "2")),
            None,
            id="a group of several controllers",
        ),
        pytest.param(
            tenant(exclusive="node", owner=owned("a", "Job", "1")),
            tenant("a", exclusive="node", owner=owned("a", "Job", "1")),
            None,
            id="of one controller",
        ),
        pytest.param(
            tenant(exclusive="node", owner=owned("a", "Job", "2")),
            tenant("a", exclusive="node", owner=owned("a", "Job", "1")),
            OTHERS,
            id="of a controller that was made anew",
        ),
        pytest.param(tenant(exclusive="user"), tenant("a", exclusive="user"), None, id="one namespace, one user"),
        pytest.param(
            tenant(exclusive="user"), tenant("a", exclusive="user", namespace="ml"), OTHERS, id="another namespace"
        ),
        pytest.param(
            tenant(exclusive="user", user="anna"),
            tenant("a", exclusive="user", user="anna", namespace="ml"),
            None,
            id="one user, two namespaces",
        ),
        pytest.param(
            tenant(exclusive="user", user="default"),
            tenant("a", exclusive="user"),
            OTHERS,
            id="a user named as a namespace is",
        ),
        pytest.param(tenant(exclusive="user"), tenant("a"), OTHERS, id="of the same user, but shares with all"),
        pytest.param(tenant(), tenant("a", exclusive="user"), TAKEN, id="where the same user shares with itself"),
        pytest.param(tenant(exclusive="user"), tenant("a", exclusive="node"), OTHERS, id="node is stricter than user"),
        pytest.param(
            tenant(exclusive="node"), tenant("a", owner=owned("d", "DaemonSet", "1")), None, id="a DaemonSet's is there"
        ),
        pytest.param(
            tenant(exclusive="node"),
            tenant("a", annotations={"kubernetes.io/config.mirror": "x"}),
            None,
            id="a static pod is there",
        ),
        pytest.param(
            tenant(owner=owned("d", "DaemonSet", "1")), tenant("a", exclusive="node"), None, id="a DaemonSet's comes"
        ),
        pytest.param(
            tenant(exclusive="node"), tenant("a", terminating=True), OTHERS, id="who is about to go is still there"
        ),
        pytest.param(tenant(), tenant("a", exclusive="yes"), None, id="a resident's nonsense is none"),
    ],
)
def test_who_may_be_with_whom(wanted: Pod, there: Pod, expected: str | None) -> None:
    assert words(wanted, there) == expected


def test_a_pod_that_is_assumed_has_its_node() -> None:
    here = cluster(node("n"))
    made = profile(here, "ExclusiveNode")
    first = made.decide(tenant("first", exclusive="node"))
    assert made.assume(first) is None
    assert made.decide(tenant("second")).message == "0/1 nodes are available: 1 node(s) were taken exclusively."
    made.release(first.pod, first.pod_class, first.row)
    assert made.decide(tenant("second")).node == "n"


@pytest.mark.parametrize(
    ("annotation", "text", "expected"),
    [
        ("exclusive", "yes", "the pod's fairway.dev/exclusive is 'yes'; allowed: node, user"),
        ("gang-one-per-node", "1", 'the pod\'s fairway.dev/gang-one-per-node is \'1\'; allowed: "true", "false"'),
    ],
)
def test_what_makes_no_sense_is_refused(annotation: str, text: str, expected: str) -> None:
    decision = profile(cluster(2), "ExclusiveNode").decide(pod(annotations={f"fairway.dev/{annotation}": text}))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert expected in decision.message.replace('"' + text + '"', f"'{text}'")
    assert decision.diagnosis is not None
    assert decision.diagnosis.pre_filter is not None
    assert decision.diagnosis.pre_filter[1].code.value == NEVER


def test_pods_share_a_class_where_nobody_is_exclusive() -> None:
    here = cluster(node("n"))
    made = profile(here, "ExclusiveNode")
    plain = [pod("a"), pod("b")]
    assert made.classify(plain[0]) is made.classify(plain[1])
    exclusive = [tenant(name, exclusive="node") for name in "cd"]
    assert made.classify(exclusive[0]) is not made.classify(exclusive[1])
    owned_by = [tenant(name, exclusive="node", owner=owned("a", "Job", "1")) for name in "gh"]
    assert made.classify(owned_by[0]) is made.classify(owned_by[1])
    members = [tenant(name, **TRAIN) for name in "ef"]
    assert made.classify(members[0]) is made.classify(members[1])


# -- room is made ------------------------------------------------------------------------------------------------------


def preempting(here: Cluster, wanted: Pod) -> dict[str, list[str]]:
    decision = profile(here, "NodeResourcesFit", "ExclusiveNode", "DefaultPreemption").decide(wanted)
    assert decision.preemption is not None
    names = here.nodes.names
    return {names[each.row]: sorted(p.metadata.name for p in each.victims) for each in decision.preemption.candidates}


def test_all_others_on_a_node_have_to_go_or_none() -> None:
    here = cluster(
        [node("a"), node("b"), node("c")],
        [
            pod("a1", node="a"),
            pod("a2", node="a", priority=5),
            pod("a3", node="a", owner=owned("d", "DaemonSet", "1")),
            pod("b1", node="b"),
            pod("b2", node="b", priority=100),
            tenant("c1", node="c", **TRAIN),
            pod("c2", node="c"),
        ],
    )
    assert preempting(here, tenant("wanted", priority=50, **TRAIN)) == {"a": ["a1", "a2"], "c": ["c2"]}


def test_who_has_a_node_to_itself_may_have_to_go() -> None:
    here = cluster(
        [node("a"), node("b")], [tenant("a1", node="a", **TRAIN), tenant("b1", node="b", priority=60, **TRAIN)]
    )
    assert preempting(here, pod("wanted", priority=50)) == {"a": ["a1"]}


# -- the taint that keeps others off ----------------------------------------------------------------------------------


def test_who_sees_the_pods_does_not_look_at_the_taint() -> None:
    spread = TopologySpreadConstraint(
        max_skew=1,
        topology_key="kubernetes.io/hostname",
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels={"app": "x"}),
        node_taints_policy="Honor",
    )
    guarded = node("guarded", taints="fairway.dev/exclusive=1:NoSchedule")
    there = [pod("there", node="plain", labels={"app": "x"}), pod("other", node="guarded", labels={"app": "y"})]
    wanted = pod("wanted", labels={"app": "x"}, spread=spread)
    plugins = ("TaintToleration", "PodTopologySpread")
    without = profile(cluster([guarded, node("plain")], there), *plugins)
    assert without.inspect(wanted).feasible == ["plain"]
    aware = profile(cluster([guarded, node("plain")], there), *plugins, "ExclusiveNode")
    assert aware.inspect(wanted).feasible == ["guarded"]  # it counts as a domain, and is the emptier one


# -- hints -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "gone", "expected"),
    [
        pytest.param(tenant(exclusive="node"), pod("a", node="n"), True, id="somebody left"),
        pytest.param(tenant(), tenant("a", node="n", exclusive="node"), True, id="who had it left"),
        pytest.param(tenant(), pod("a", node="n"), False, id="somebody left whom it did not mind"),
        pytest.param(tenant(**TRAIN), tenant("a", node="n", **TRAIN), False, id="a member left"),
        pytest.param(tenant(**TRAIN, alone="true"), tenant("a", node="n", **TRAIN), True, id="a member left, one each"),
        pytest.param(
            tenant(exclusive="node"), pod("a", node="n", owner=owned("d", "DaemonSet", "1")), False, id="a daemon left"
        ),
    ],
)
def test_which_leaving_helps(wanted: Pod, gone: Pod, expected: bool) -> None:
    plugin = ExclusiveNode(Cluster())
    assert helps(plugin, wanted, Resource.ASSIGNED_POD, Action.DELETE, gone) is expected


def test_what_else_helps() -> None:
    plugin = ExclusiveNode(Cluster())
    wanted = tenant(exclusive="node")
    assert helps(plugin, wanted, Resource.NODE, Action.ADD, None, node("n"))
    assert helps(plugin, wanted, Resource.NODE, Action.UPDATE_NODE_LABEL, node("n"), node("n", zone="b"))
    had, has = tenant("a", node="n", exclusive="node"), tenant("a", node="n")
    assert helps(plugin, tenant(), Resource.ASSIGNED_POD, Action.UPDATE, had, has)
    assert not helps(plugin, tenant(), Resource.ASSIGNED_POD, Action.UPDATE, has, had)


def test_it_keeps_its_word_where_pods_are_exclusive() -> None:
    check_plugin(ExclusiveNode, examples=tenant_situations(20))
    check_plugin(ExclusiveNode, args=ExclusiveNodeArgs(guard="taint"), examples=tenant_situations(5, seed=1))


# -- for people --------------------------------------------------------------------------------------------------------


def test_it_says_who_holds_the_node() -> None:
    residents = [
        tenant("a0", gang="train", node="a"),
        tenant("a1", gang="train", node="a"),
        pod("web", node="a"),
        pod("web", node="b", namespace="shop", owner=owned("web-7", "ReplicaSet", "3")),
        pod("daemon", node="b", owner=owned("d", "DaemonSet", "1")),
    ]
    assert held(tenant(exclusive="node"), residents, "a", "b") == ["by default/train", "by shop/web-7"]
    assert held(tenant(exclusive="node"), residents, "a") == ["by default/train, default/web"]
    assert held(tenant(exclusive="node", gang="train"), residents, "a") == ["by default/web"]


def test_of_many_it_names_those_with_the_most_nodes() -> None:
    names = [f"n{number}" for number in range(8)]
    jobs = ["x", "x", "x", "y", "y", "p", "q", "r"]
    residents = [
        tenant(f"p{number}", exclusive="node", gang=job, node=name)
        for number, (name, job) in enumerate(zip(names, jobs, strict=True))
    ]
    told = held(pod(), residents, *names)
    assert told == [*["by default/x"] * 3, *["by default/y"] * 2, "by default/p", *["by others"] * 2]


def held(wanted: Pod, residents: list[Pod], *names: str) -> list[str]:
    """The words about these nodes."""
    here = cluster([node(name) for name in sorted({*names, *(one.spec.node_name for one in residents)})], residents)
    made = profile(here, "ExclusiveNode")
    plugin, pod_class = made.plugin("ExclusiveNode"), made.classify(wanted)
    state = plugin.pre_filter(pod_class, Nodes(here))
    assert state is not SKIP
    assert not isinstance(state, Refusal)
    rows = np.array([here.nodes.row_of[name] for name in names], np.intp)
    return list(plugin.funnel_words(pod_class, Nodes(here, rows), state))
