"""`fairway try`: where pods go, what fails and why, how many copies fit, and what is said about bad input."""

import csv
import io
import json
from typing import Any

import pytest
import yaml

from fairway.model import ObjectMeta, PriorityClass
from fairway.testing import node, pod
from tests.cli.trial_files import Folder, controller

NODES = [node("n1", cpu=4, memory="8Gi", zone="a"), node("n2", cpu=4, memory="8Gi", zone="b")]


def results(document: Any) -> dict[str, str]:
    return {row["pod"]: row["result"] for row in document["pods"]}


# -- where pods go ---------------------------------------------------------------------------------------------------


def test_all_pods_placed_is_yes(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("a", cpu=1), pod("b", cpu=1)], "-o", "json")
    assert printed.code == 0
    assert printed.document["placed"] == 2
    assert {row["node"] for row in printed.document["pods"]} == {"n1", "n2"}


def test_a_pod_without_a_node_is_no(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("a", cpu=1), pod("big", cpu=5)], "-o", "json")
    assert printed.code == 3
    assert results(printed.document) == {"default/a": "scheduled", "default/big": "unschedulable"}
    assert printed.document["pods"][1]["message"] == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_each_pod_finds_the_cluster_as_the_one_before_left_it(folder: Folder) -> None:
    printed = folder.attempt(NODES[:1], [pod("a", cpu=3), pod("b", cpu=3)], "-o", "json")
    assert results(printed.document) == {"default/a": "scheduled", "default/b": "unschedulable"}


def test_the_most_important_pod_goes_first(folder: Folder) -> None:
    printed = folder.attempt(NODES[:1], [pod("a", cpu=3), pod("b", cpu=3, priority=1)], "-o", "json")
    assert results(printed.document) == {"default/b": "scheduled", "default/a": "unschedulable"}


def test_pods_of_the_cluster_take_their_room(folder: Folder) -> None:
    cluster = [*NODES[:1], pod("old", cpu=3, node="n1"), pod("done", cpu=3, node="n1", phase="Succeeded")]
    assert folder.attempt(cluster, [pod("a", cpu=1)]).code == 0
    assert folder.attempt(cluster, [pod("a", cpu=2)]).code == 3


def test_an_important_pod_says_whom_it_evicts(folder: Folder) -> None:
    printed = folder.attempt([*NODES[:1], pod("old", cpu=3, node="n1")], [pod("new", cpu=3, priority=5)], "-o", "json")
    assert printed.code == 0
    (row,) = printed.document["pods"]
    assert (row["result"], row["node"], row["evicts"]) == ("preempts", "n1", ["default/old"])


def test_who_was_evicted_makes_room_for_later_pods(folder: Folder) -> None:
    cluster = [*NODES[:1], pod("old", cpu=4, node="n1")]
    printed = folder.attempt(cluster, [pod("new", cpu=2, priority=5), pod("small", cpu=2)], "-o", "json")
    assert results(printed.document) == {"default/new": "preempts", "default/small": "scheduled"}


def test_a_gated_pod_is_no(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("held", gates="example.com/wait")], "-o", "json")
    assert printed.code == 3
    assert results(printed.document) == {"default/held": "gated"}
    assert printed.document["pods"][0]["message"] == "waiting for scheduling gates: [example.com/wait]"


def test_a_pod_for_another_scheduler_is_ignored(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("other", scheduler_name="another")], "-o", "json")
    assert printed.code == 3
    assert results(printed.document) == {"default/other": "ignored"}
    assert "configured: default-scheduler" in printed.document["pods"][0]["message"]


def test_a_missing_claim_is_told_in_the_words_of_kubernetes(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("p", claims="nope")], "-o", "json")
    assert printed.code == 3
    expected = '0/2 nodes are available: persistentvolumeclaim "nope" not found. not found'
    assert printed.document["pods"][0]["message"] == expected


def test_the_same_seed_gives_the_same_answer_and_another_may_not(folder: Folder) -> None:
    nodes = [node(f"n{number}") for number in range(10)]
    answers = [
        [folder.attempt(nodes, [pod("p")], "-o", "csv", "--seed", str(seed)).out for seed in range(8)] for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert len(set(answers[0])) > 1


def test_nodes_may_be_in_the_files_of_f(folder: Folder) -> None:
    file = folder.write("all.json", *NODES, pod("a"))
    assert folder.run("try", "-f", file).code == 0
    assert folder.run("try", "-f", file, "--cluster", file).code == 0  # the same objects twice are one


def test_pods_of_f_that_have_a_node_count_as_running(folder: Folder) -> None:
    printed = folder.attempt(NODES[:1], [pod("old", cpu=3, node="n1"), pod("new", cpu=3)], "-o", "json")
    assert results(printed.document) == {"default/new": "unschedulable"}
    assert "on a node already, and counted there: Pod default/old" in printed.err


# -- what makes pods -------------------------------------------------------------------------------------------------

CONTROLLERS: list[tuple[dict[str, Any], list[str]]] = [
    (controller("Deployment", "web", replicas=3), ["web-0", "web-1", "web-2"]),
    (controller("Deployment", "web"), ["web-0"]),
    (controller("Deployment", "web", replicas=0), []),
    (controller("ReplicaSet", "web", replicas=2), ["web-0", "web-1"]),
    (controller("ReplicationController", "web", replicas=2), ["web-0", "web-1"]),
    (controller("StatefulSet", "db", replicas=2), ["db-0", "db-1"]),
    (controller("Job", "train", parallelism=3), ["train-0", "train-1", "train-2"]),
    (controller("Job", "train", parallelism=3, completions=2), ["train-0", "train-1"]),
    (controller("Job", "train", parallelism=3, suspend=True), []),
    (controller("CronJob", "nightly", parallelism=2), ["nightly-0", "nightly-1"]),
    (controller("DaemonSet", "agent"), ["agent-n1", "agent-n2"]),
]


@pytest.mark.parametrize(("thing", "names"), CONTROLLERS, ids=lambda one: one["kind"] if isinstance(one, dict) else "")
def test_controllers_are_expanded_to_their_pods(thing: dict[str, Any], names: list[str], folder: Folder) -> None:
    printed = folder.attempt(NODES, [thing], "-o", "name")
    assert printed.code == 0
    assert printed.out.split() == [f"default/{name}" for name in names]
    made = f"{len(names)} pod{'' if len(names) == 1 else 's'}"
    assert f"made {made}: {len(names)} of {thing['kind']} default/{thing['metadata']['name']}" in printed.err


def test_a_daemon_runs_on_each_node_that_it_tolerates_and_wants(folder: Folder) -> None:
    nodes = [
        node("plain", labels={"disk": "ssd"}),
        node("cordoned", labels={"disk": "ssd"}, unschedulable=True, taints="node.kubernetes.io/unschedulable"),
        node("gpu", labels={"disk": "ssd"}, taints="gpu"),
        node("slow", labels={"disk": "hdd"}),
    ]
    spec = {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "c"}]}
    printed = folder.attempt(nodes, [controller("DaemonSet", "agent", spec)], "-o", "json")
    placed = {row["pod"]: row["node"] for row in printed.document["pods"]}
    assert placed == {"default/agent-plain": "plain", "default/agent-cordoned": "cordoned"}
    assert "one on each of 2 of 4 nodes" in printed.err


def test_pods_of_a_deployment_are_spread_by_default_like_those_of_its_replica_set(folder: Folder) -> None:
    nodes = [node(f"n{number}", cpu=64, zone="abc"[number % 3]) for number in range(6)]
    printed = folder.attempt(nodes, [controller("Deployment", "web", replicas=6)], "-o", "json")
    assert sorted(row["node"] for row in printed.document["pods"]) == [f"n{number}" for number in range(6)]


def test_a_stateful_set_brings_its_claims(folder: Folder) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    fast = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "example.com/disk",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    database = controller("StatefulSet", "db", replicas=2, volumeClaimTemplates=[claim])
    assert folder.attempt([*NODES, fast], [database]).code == 0
    by_hand = fast | {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"}
    printed = folder.attempt([*NODES, by_hand], [database], "-o", "json")
    assert printed.code == 3
    assert "unbound immediate PersistentVolumeClaims" in printed.document["pods"][0]["message"]


def test_a_controller_whose_pods_are_given_makes_no_more(folder: Folder) -> None:
    replica_set = controller("ReplicaSet", "web-1", replicas=5)
    replica_set["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "web", "controller": True}]
    own = pod("web-1-abc", owner="ReplicaSet/web-1")
    things = [controller("Deployment", "web", replicas=5), replica_set, own]
    assert folder.attempt(NODES, things, "-o", "name").out.split() == ["default/web-1-abc"]


def test_pods_that_leave_their_name_to_the_server_get_numbers(folder: Folder) -> None:
    unnamed = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "job-"},
        "spec": {"containers": [{"name": "c"}]},
    }
    printed = folder.attempt(NODES, [unnamed, unnamed], "-o", "name")
    assert printed.out.split() == ["default/job-1", "default/job-2"]


# -- how it is printed -----------------------------------------------------------------------------------------------


def test_the_funnel_is_disjoint_and_names_what_is_missing(folder: Folder) -> None:
    nodes = [
        node("cordoned", unschedulable=True),
        node("gpu", taints="gpu=a100", cpu=64),
        node("small", cpu=2),
        node("larger", cpu=6, memory="1Gi"),
    ]
    printed = folder.attempt(nodes, [pod("p", cpu=8, memory="2Gi")])
    assert printed.out.splitlines()[-6:] == [
        "     4  nodes",
        "     3  NodeUnschedulable   1 cordoned",
        "     2  TaintToleration     1 tainted (gpu=a100 1)",
        "     0  NodeResourcesFit    2 short: cpu 2 (needs 8, most free 6)",
        "",
        "0 of 1 pod gets a node, 1 fits nowhere",
    ]
    document = folder.attempt(nodes, [pod("p", cpu=8, memory="2Gi")], "-o", "json").document
    funnel = document["pods"][0]["funnel"]
    assert sum(step["refused"] for step in funnel) + funnel[-1]["left"] == document["nodes"]
    assert funnel[-1]["reasons"] == [
        {"reason": "cpu", "nodes": 2, "resource": "cpu", "needed": 8000, "mostFree": 6000},
    ]


def test_pods_with_the_same_answer_are_told_together(folder: Folder) -> None:
    printed = folder.attempt(NODES, [controller("Deployment", "web", replicas=14)])
    told = [line for line in printed.out.splitlines() if "nodes are available" in line]
    assert len(told) == 1
    assert told[0].startswith("default/web-8, default/web-9, default/web-10, default/web-11 and 2 more: 0/2 nodes")


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "csv", "name"])
def test_every_output_has_every_pod_and_no_colour(output: str, folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("a"), pod("b", cpu=9)], "-o", output)
    assert printed.code == 3
    assert "default/a" in printed.out
    assert "default/b" in printed.out
    assert "\x1b" not in printed.out + printed.err


def test_structured_outputs_agree(folder: Folder) -> None:
    wanted = [pod("a"), pod("b", cpu=9)]
    document = folder.attempt(NODES, wanted, "-o", "json").document
    assert yaml.safe_load(folder.attempt(NODES, wanted, "-o", "yaml").out) == document
    rows = list(csv.DictReader(io.StringIO(folder.attempt(NODES, wanted, "-o", "csv").out)))
    assert [(row["pod"], row["result"], row["message"]) for row in rows] == [
        (row["pod"], row["result"], row["message"] or "") for row in document["pods"]
    ]


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copies", "fit", "code"), [("3", 3, 0), ("8", 8, 0), ("9", 8, 3), ("max", 8, 0)], ids=["few", "all", "more", "max"]
)
def test_copies_are_counted(copies: str, fit: int, code: int, folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("p", cpu=1)], "--copies", copies, "-o", "json")
    (found,) = printed.document
    assert (printed.code, found["fit"]) == (code, fit)
    assert sum(found["perNode"].values()) == fit


def test_each_kind_of_pod_is_counted_alone_and_evicts_nobody(folder: Folder) -> None:
    cluster = [*NODES, pod("old", cpu=4, node="n1")]
    wanted = [pod("a", cpu=2, priority=9), controller("Deployment", "web", replicas=100)]
    printed = folder.attempt(cluster, wanted, "--copies", "max", "-o", "json")
    assert {one["from"]: one["fit"] for one in printed.document} == {"Pod default/a": 2, "Deployment default/web": 4}
    assert printed.document[0]["evicts"] == ["default/old"]


def test_no_copy_at_all_is_no(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("p", cpu=9)], "--copies", "max")
    assert printed.code == 3
    assert "Pod default/p, copy 1: 0/2 nodes are available: 2 Insufficient cpu." in printed.out


def test_wide_copies_show_the_nodes(folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("p", cpu=1)], "--copies", "4", "-o", "wide")
    assert "n1 2, n2 2" in printed.out


def test_a_pod_does_not_follow_its_like_to_their_node(folder: Folder) -> None:
    cluster = [*NODES, pod("old", cpu=1, node="n2")]  # of the same class as the pod to place
    assert folder.attempt(cluster, [pod("new", cpu=1)], "-o", "json").document["pods"][0]["node"] == "n1"


# -- configuration ---------------------------------------------------------------------------------------------------


def test_the_configuration_decides(folder: Folder) -> None:
    packed = folder.write(
        "packed.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- plugins: {multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation}]}}\n"
        "  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, "
        "resources: [{name: cpu, weight: 1}]}}}]\n",
    )
    cluster = [*NODES, pod("old", cpu=1, node="n2")]
    assert folder.attempt(cluster, [pod("p", cpu=1)], "-o", "json").document["pods"][0]["node"] == "n1"
    packing = folder.attempt(cluster, [pod("p", cpu=1)], "-o", "json", "--config", packed)
    assert packing.document["pods"][0]["node"] == "n2"


def test_a_plugin_that_fails_is_named_and_no_answer_is_a_failure(folder: Folder) -> None:
    folder.write(
        "failing_plugin_of_a_test.py",
        "from fairway.plugin import Plugin\n\n\nclass Failing(Plugin):\n"
        "    def score(self, pod, nodes, state):\n        return 1 / 0\n",
    )
    config = folder.write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {score: {enabled: [{name: 'failing_plugin_of_a_test:Failing'}]}}}]\n",
    )
    for command in ("try", "why p"):
        printed = folder.attempt(NODES, [pod("p")], "--config", config, "--allow-plugins", command=command)
        assert printed.code == 1
        assert "failing_plugin_of_a_test:Failing: score() raised ZeroDivisionError" in printed.out + printed.err
        assert "Traceback" not in printed.out + printed.err


# -- bad input -------------------------------------------------------------------------------------------------------


def pod_text(spec: str, name: str = "p") -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def pod_asking(amount: str) -> str:
    return pod_text(f"{{containers: [{{name: c, resources: {{requests: {{cpu: {amount}}}}}}}]}}")


def deployment_text(**spec: Any) -> str:
    return json.dumps(controller("Deployment", "d", **spec))


BAD_FILES = {
    "malformed YAML": ("a: [b\n", "wanted.yaml: YAML is malformed at line 2, column 1"),
    "not an object": ("- 1\n", "wanted.yaml: expected an object with apiVersion and kind, found a list"),
    "no kind": ("apiVersion: v1\n", "kind: must be there, and be text such as Pod"),
    "nothing": ("", "nothing to place in"),
    "no pods": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
        "found 1 ConfigMap (not a kind that makes pods",
    ),
    "a claim only": ("apiVersion: v1\nkind: Namespace\nmetadata: {name: c}\n", "found 1 Namespace"),
    "bad quantity": (pod_asking("lots"), "Pod p: spec.containers[0].resources.requests.cpu: quantity 'lots' is not"),
    "negative quantity": (pod_asking("-1"), "spec.containers[0].resources.requests.cpu: -1 must not be negative"),
    "absurd quantity": (pod_asking("9e99"), "spec.containers[0].resources.requests.cpu: 9e99 is more than 64 bits"),
    "wrong shape": (pod_text("{containers: {}}"), "Pod p: spec.containers: expected a list, found an object"),
    "no containers": (pod_text("{}"), "Pod default/p: spec.containers: must have at least one container"),
    "unknown effect": (
        pod_text("{tolerations: [{key: a, effect: Sometimes}], containers: [{name: c}]}"),
        "spec.tolerations[0].effect: 'Sometimes' is not one of NoSchedule, PreferNoSchedule, NoExecute",
    ),
    "unknown priority class": (
        pod_text("{priorityClassName: nope, containers: [{name: c}]}"),
        "spec.priorityClassName: there is no PriorityClass 'nope'; there are system-cluster-critical,",
    ),
    "a name that is none": (pod_text("{containers: [{name: c}]}", "A_B"), "Pod default/A_B: metadata.name: 'A_B' must"),
    "the same name twice": (
        "---\n".join([pod_text("{containers: [{name: c}]}")] * 2),
        "wanted.yaml, document 2 (line 6): Pod default/p: metadata.name: is there twice; first in",
    ),
    "negative replicas": (deployment_text(replicas=-1), "Deployment default/d: spec.replicas: -1 must not be negative"),
    "absurd replicas": (deployment_text(replicas=2_000_000_000), "spec.replicas: 2000000000 pods are too many to try"),
    "too many replicas for 32 bits": (deployment_text(replicas=10**12), "spec.replicas: expected at most 2147483647"),
    "replicas that are no number": (deployment_text(replicas="x"), "spec.replicas: expected an integer, found 'x'"),
    "a template that is wrong": (
        deployment_text(template={"containers": [{"name": "c", "resources": {"requests": {"cpu": "-1"}}}]}),
        "Deployment default/d: spec.template.spec.containers[0].resources.requests.cpu: -1 must not be negative",
    ),
    "a template with an unknown priority class": (
        deployment_text(template={"priorityClassName": "nope", "containers": [{"name": "c"}]}),
        "Deployment default/d: spec.template.spec.priorityClassName: there is no PriorityClass 'nope'",
    ),
}


@pytest.mark.parametrize(("text", "told"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_input_is_told_by_file_object_and_field(text: str, told: str, folder: Folder) -> None:
    nodes = folder.write("nodes.json", *NODES)
    printed = folder.run("try", "-f", folder.write("wanted.yaml", text), "--cluster", nodes)
    assert printed.code == 1
    assert printed.out == ""
    assert told in printed.err
    assert printed.err.startswith("error: ")
    assert "Traceback" not in printed.err
    assert "something unexpected" not in printed.err


def test_several_problems_are_told_at_once(folder: Folder) -> None:
    text = "---\n".join([pod_asking("-1"), pod_asking("-2").replace("name: p", "name: q")])
    printed = folder.attempt(NODES, [json.loads(json.dumps(document)) for document in yaml.safe_load_all(text)])
    assert printed.code == 1
    assert printed.err.startswith("error: 2 problems\n")
    assert "-1 must not be negative" in printed.err
    assert "-2 must not be negative" in printed.err


def test_a_selector_that_misses_its_own_pods(folder: Folder) -> None:
    thing = controller("Deployment", "d")
    thing["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    printed = folder.attempt(NODES, [thing])
    assert printed.code == 1
    assert "Deployment default/d: spec.selector: does not match the labels of its own pods" in printed.err


def test_a_pod_that_is_in_the_cluster_already(folder: Folder) -> None:
    printed = folder.attempt([*NODES, pod("web-0", node="n1")], [controller("Deployment", "web")])
    assert printed.code == 1
    assert "Deployment default/web: metadata.name: its pod default/web-0 is there twice; first in" in printed.err


BAD_CONFIGURATIONS = {
    "malformed": ("a: [b\n", "config.yaml: not YAML: line 2, column 1"),
    "another kind": (
        "apiVersion: v1\nkind: Pod\n",
        'kind: "Pod" is not supported; allowed: KubeSchedulerConfiguration',
    ),
    "unknown plugin": (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {score: {enabled: [{name: NodeFit}]}}}]\n",
        'profiles[0].plugins.score.enabled[0].name: no plugin is called "NodeFit"',
    ),
    "a module that is not there": (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {score: {enabled: [{name: 'no_such_module:Plugin'}]}}}]\n",
        "the plugin no_such_module:Plugin cannot be imported: ModuleNotFoundError",
    ),
}


@pytest.mark.parametrize(("text", "told"), BAD_CONFIGURATIONS.values(), ids=BAD_CONFIGURATIONS)
def test_bad_configurations_are_told_by_field(text: str, told: str, folder: Folder) -> None:
    printed = folder.attempt(NODES, [pod("p")], "--config", folder.write("config.yaml", text))
    assert printed.code == 1
    assert told in printed.err
    assert "Traceback" not in printed.err


USAGE = {
    "no files": ((), "Missing option '-f'"),
    "no cluster": (("-f", "{pod}"), "no nodes to try on: --cluster is missing"),
    "no copies": (("-f", "{pod}", "--copies", "0"), "'0' is not a number of copies; allowed: 1 or more, or max"),
    "negative seed": (("-f", "{pod}", "--seed", "-1"), "-1 is not in the range"),
    "unknown output": (("-f", "{pod}", "-o", "xml"), "'xml' is not one of"),
    "standard input twice": (("-f", "-", "--cluster", "-"), "standard input can be read only once"),
}


@pytest.mark.parametrize(("arguments", "told"), USAGE.values(), ids=USAGE)
def test_wrong_usage(arguments: tuple[str, ...], told: str, folder: Folder) -> None:
    file = folder.write("pod.json", pod("p"))
    printed = folder.run("try", *(word.format(pod=file) for word in arguments))
    assert printed.code == 2
    assert told in printed.err
    assert "→ " in printed.err


def test_files_that_are_not_there_and_clusters_without_nodes(folder: Folder) -> None:
    file = folder.write("pod.json", pod("p"))
    absent = folder.run("try", "-f", file, "--cluster", str(folder.path / "none.yaml"))
    assert (absent.code, "none.yaml: cannot be read: No such file or directory" in absent.err) == (1, True)
    empty = folder.run("try", "-f", file, "--cluster", folder.write("empty.yaml", ""))
    assert (empty.code, "error: no nodes in " in empty.err) == (1, True)


def test_what_a_scheduler_does_not_read_is_said_to_be_skipped(folder: Folder) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    printed = folder.attempt([*NODES, other], [pod("p"), other])
    assert printed.code == 0
    assert "skipped what is of no concern to a scheduler: 2 ConfigMap" in printed.err


def test_pods_of_the_cluster_that_do_not_count_are_mentioned(folder: Folder) -> None:
    cluster = [*NODES, pod("waiting"), pod("lost", node="gone")]
    printed = folder.attempt(cluster, [pod("p")])
    assert "pods of the cluster that are on no node, left out (give them with -f to try them): 1" in printed.err
    assert "1 pods do not count, being on nodes that are not in the files: gone" in printed.err


def test_priorities_come_from_the_classes_in_the_files(folder: Folder) -> None:
    urgent = PriorityClass(metadata=ObjectMeta(name="urgent"), value=7)
    template = {"priorityClassName": "urgent", "containers": [{"name": "c"}]}
    printed = folder.attempt([*NODES, urgent], [controller("Deployment", "web", template)], "-o", "json")
    assert printed.document["pods"][0]["priority"] == 7


# -- what a job says for its pods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "code"), [({"fairway.dev/exclusive": "node"}, 3), ({}, 0)], ids=["exclusive", "not"])
def test_what_a_job_says_of_its_nodes_counts_for_its_pods(folder: Folder, said: dict[str, str], code: int) -> None:
    config = folder.write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{fairway: {exclusive: true}}]\n",
    )
    job = controller("Job", "train", parallelism=1)
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    job["metadata"]["annotations"] = said
    cluster = [*NODES[:1], pod("old", cpu=1, node="n1")]
    printed = folder.attempt(cluster, [job], "--config", config)
    assert printed.code == code
    assert ("had pods of others" in printed.out + printed.err) is (code == 3)
