"""Every way to say that pods belong together, and what can not be meant."""

from typing import Any

import pytest

from fairway.model import DecodeError, Job, Pod, PodGroup, convert, decode_object
from fairway.model.group import (
    GroupKey,
    GroupReading,
    GroupSpec,
    GroupTopology,
    Membership,
    Misconfigured,
    Spelling,
    membership,
)
from fairway.model.group_reading import controller_spec, object_spec, sayings, told_spec
from fairway.model.job_set import JobSet
from fairway.testing.builders import pod
from fairway.testing.group_builders import coscheduling_group, member, pod_group, volcano_group

READING = GroupReading(("gang.example.com/pod",))
KOORD = "gang.scheduling.koordinator.sh/"


def found(made: Pod, asks: bool = False) -> Membership | None:
    return membership(made, READING, lambda _: asks)


SPELLINGS: dict[str, tuple[Pod, Spelling, str]] = {
    "kubernetes": (member("a", "train", namespace="ml"), Spelling.KUBE, "train"),
    "coscheduling": (
        pod("a", namespace="ml", labels={"scheduling.x-k8s.io/pod-group": "t"}),
        Spelling.COSCHEDULING,
        "t",
    ),
}
ANNOTATIONS = {
    "scheduling.k8s.io/group-name": Spelling.VOLCANO,
    "scheduling.volcano.sh/group-name": Spelling.VOLCANO,
    f"{KOORD}name": Spelling.KOORDINATOR,
    "gang.example.com/pod-name": Spelling.PFNET,
    "fairway.dev/gang": Spelling.FAIRWAY,
}
SPELLINGS |= {
    name: (pod("a", namespace="ml", annotations={name: "t"}), spelling, "t") for name, spelling in ANNOTATIONS.items()
}


@pytest.mark.parametrize(("made", "spelling", "name"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_pod_belongs_to_the_group_it_names(made: Pod, spelling: Spelling, name: str) -> None:
    assert found(made) == ((spelling, "ml", name), ())


def test_a_pod_that_names_none_belongs_to_none() -> None:
    assert found(pod("a", annotations={"fairway.dev/user": "eve"}, owner="Job/x")) is None


def test_the_first_spelling_counts_and_the_others_are_told() -> None:
    made = pod("a", labels={"scheduling.x-k8s.io/pod-group": "x"}, annotations={"fairway.dev/gang": "y"})
    both = found(made)
    assert both is not None
    assert (both.key.spelling, both.key.name, both.ignored) == (Spelling.COSCHEDULING, "x", (Spelling.FAIRWAY,))


def test_without_a_prefix_pfnet_is_not_read() -> None:
    made = pod("a", annotations={"gang.example.com/pod-name": "t"})
    assert membership(made, GroupReading(), lambda _: False) is None


CONTROLLED: dict[str, tuple[dict[str, str], str]] = {
    "a Job's": ({}, "train"),
    "a JobSet's": ({"jobset.sigs.k8s.io/jobset-name": "set"}, "set"),
    "a leader's": (
        {"leaderworkerset.sigs.k8s.io/name": "lws", "leaderworkerset.sigs.k8s.io/group-index": "3"},
        "lws-3",
    ),
}


@pytest.mark.parametrize(("labels", "name"), CONTROLLED.values(), ids=CONTROLLED.keys())
@pytest.mark.parametrize("asked_by", ["its template", "the controller"])
def test_pods_of_a_controller_belong_together_on_request(labels: dict[str, str], name: str, asked_by: str) -> None:
    said = {"fairway.dev/start-together": "true"} if asked_by == "its template" else {}
    made = pod("a", labels=labels, annotations=said, owner="Job/train")
    key = found(made, asks=asked_by == "the controller")
    assert key is not None
    assert (key.key.spelling, key.key.name) == (Spelling.CONTROLLER, name)


# -- how a group starts ------------------------------------------------------------------------------------------------


def read(made: Pod) -> GroupSpec | Misconfigured:
    known = found(made)
    assert known is not None
    return told_spec(known.key, sayings(made, known.key.spelling, READING), made.key, READING)


TOLD: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "fairway, size alone": ({"fairway.dev/gang": "t", "fairway.dev/gang-size": "8"}, {"min_count": 8, "size": 8}),
    "fairway, min and size": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "8", "fairway.dev/gang-min": "6"},
        {"min_count": 6, "size": 8},
    ),
    "fairway, a rack": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "2", "fairway.dev/gang-topology": "required=rack"},
        {"topology": GroupTopology(True, ("rack",))},
    ),
    "fairway, a rack or else a zone": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "2", "fairway.dev/gang-topology": "preferred=rack,zone"},
        {"topology": GroupTopology(False, ("rack", "zone"))},
    ),
    "fairway, one a node": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "2", "fairway.dev/gang-one-per-node": "true"},
        {"one_per_node": True},
    ),
    "fairway, connected": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "2", "fairway.dev/connect-to": "db, other/x"},
        {"together": ("ml/db", "other/x")},
    ),
    "fairway, after another": (
        {
            "fairway.dev/gang": "t",
            "fairway.dev/gang-size": "2",
            "fairway.dev/connect-to": "data",
            "fairway.dev/connect-mode": "after-ok",
        },
        {"after": (("after-ok", "ml/data"),)},
    ),
    "koordinator": (
        {
            f"{KOORD}name": "t",
            f"{KOORD}min-available": "3",
            f"{KOORD}total-number": "4",
            f"{KOORD}waiting-time": "600s",
            f"{KOORD}groups": '["ml/t", "u"]',
        },
        {"min_count": 3, "size": 4, "timeout_seconds": 600.0, "together": ("ml/t", "ml/u")},
    ),
    "pfnet": (
        {
            "gang.example.com/pod-name": "t",
            "gang.example.com/pod-size": "5",
            "gang.example.com/pod-schedule-timeout-seconds": "30",
        },
        {"min_count": 5, "size": 5, "timeout_seconds": 30.0},
    ),
}


@pytest.mark.parametrize(("said", "expected"), TOLD.values(), ids=TOLD.keys())
def test_members_say_how_they_start(said: dict[str, str], expected: dict[str, Any]) -> None:
    spec = read(pod("a", namespace="ml", annotations=said))
    assert isinstance(spec, GroupSpec)
    assert {name: getattr(spec, name) for name in expected} == expected


WRONG: dict[str, tuple[dict[str, str], str, str]] = {
    "no number at all": ({"fairway.dev/gang": "t"}, "fairway.dev/gang-size", "is missing"),
    "text": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "many"},
        "fairway.dev/gang-size",
        "'many' is not a number",
    ),
    "none": ({"fairway.dev/gang": "t", "fairway.dev/gang-size": "0"}, "fairway.dev/gang-size", "is 0"),
    "more than there are": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "2", "fairway.dev/gang-min": "3"},
        "fairway.dev/gang-min",
        "3 is more than fairway.dev/gang-size, which is 2",
    ),
    "a topology without a mode": (
        {"fairway.dev/gang": "t", "fairway.dev/gang-size": "2", "fairway.dev/gang-topology": "rack"},
        "fairway.dev/gang-topology",
        "neither required=KEY nor preferred=KEY",
    ),
    "an unknown connection": (
        {
            "fairway.dev/gang": "t",
            "fairway.dev/gang-size": "2",
            "fairway.dev/connect-to": "x",
            "fairway.dev/connect-mode": "beside",
        },
        "fairway.dev/connect-mode",
        "'beside' is none of",
    ),
    "koordinator, more than there are": (
        {f"{KOORD}name": "t", f"{KOORD}min-available": "5", f"{KOORD}total-number": "4"},
        f"{KOORD}min-available",
        "5 is more than",
    ),
    "koordinator, no time": (
        {f"{KOORD}name": "t", f"{KOORD}min-available": "5", f"{KOORD}waiting-time": "soon"},
        f"{KOORD}waiting-time",
        "'soon' is not a number of seconds",
    ),
    "pfnet, no size": ({"gang.example.com/pod-name": "t"}, "gang.example.com/pod-size", "is missing"),
}


@pytest.mark.parametrize(("said", "field", "problem"), WRONG.values(), ids=WRONG.keys())
def test_what_can_not_be_meant_names_the_pod_and_the_field(said: dict[str, str], field: str, problem: str) -> None:
    wrong = read(pod("a", namespace="ml", annotations=said))
    assert isinstance(wrong, Misconfigured)
    assert (wrong.subject, wrong.field) == ("Pod ml/a", f"metadata.annotations[{field!r}]")
    assert problem in wrong.problem
    assert wrong.message.startswith(f"Misconfigured: Pod ml/a: metadata.annotations[{field!r}]: ")


OBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "basic": (pod_group("t"), {"min_count": 0, "is_gang": False, "topology": None, "has_constraints": False}),
    "gang": (
        pod_group("t", 4, priority=7, topology="rack", disruption="PodGroup"),
        {
            "min_count": 4,
            "priority": 7,
            "topology": GroupTopology(True, ("rack",)),
            "has_constraints": True,
            "disruption": "PodGroup",
        },
    ),
    "coscheduling": (
        coscheduling_group("t", 3, timeout=10, resources={"cpu": "2", "memory": "1Gi"}),
        {"min_count": 3, "timeout_seconds": 10.0, "min_resources": {"cpu": 2000, "memory": 2**30}},
    ),
    "volcano": (
        volcano_group("t", 3, tasks={"ps": 1, "worker": 2}, priority_class="high"),
        {"min_count": 3, "task_minimums": {"ps": 1, "worker": 2}, "priority": 100},
    ),
    "volcano, as its controller writes a Job that says nothing of tasks": (
        volcano_group("t", 2, tasks={"ps": 1, "worker": 2}),
        {"min_count": 2, "task_minimums": {}},
    ),
}


@pytest.mark.parametrize(("group", "expected"), OBJECTS.values(), ids=OBJECTS.keys())
def test_objects_say_how_their_pods_start(group: Any, expected: dict[str, Any]) -> None:
    spec = object_spec(GroupKey(Spelling.KUBE, "default", "t"), group, (), "default/a", {"high": 100}.get)
    assert isinstance(spec, GroupSpec)
    assert {name: getattr(spec, name) for name in expected} == expected


WRONG_OBJECTS: dict[str, tuple[Any, str]] = {
    "a gang of none": (pod_group("t", 0), "spec.schedulingPolicy.gang.minCount"),
    "coscheduling, none": (coscheduling_group("t", 0), "spec.minMember"),
    "volcano, none": (volcano_group("t", 0), "spec.minMember"),
}


@pytest.mark.parametrize(("group", "field"), WRONG_OBJECTS.values(), ids=WRONG_OBJECTS.keys())
def test_what_an_object_can_not_mean_names_it_and_the_field(group: Any, field: str) -> None:
    known = found(member("a", "t"))
    assert known is not None
    wrong = object_spec(known.key, group, (), "default/a", lambda _: None)
    assert isinstance(wrong, Misconfigured)
    assert (wrong.subject, wrong.field) == ("PodGroup default/t", field)


def job(parallelism: int | None, completions: int | None) -> Job:
    made = decode_object(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "t", "namespace": "default"},
            "spec": {"parallelism": parallelism, "completions": completions},
        }
    )
    assert isinstance(made, Job)
    return made


@pytest.mark.parametrize(("parallelism", "completions", "number"), [(4, 4, 4), (4, None, 4), (None, None, 1)])
def test_a_job_starts_with_all_its_pods(parallelism: int | None, completions: int | None, number: int) -> None:
    known = found(pod("a", owner="Job/t"), asks=True)
    assert known is not None
    spec = controller_spec(known.key, job(parallelism, completions), (), "default/a", GroupReading())
    assert isinstance(spec, GroupSpec)
    assert (spec.min_count, spec.size) == (number, number)


def test_a_job_that_does_not_run_at_once_can_not_start_together() -> None:
    known = found(pod("a", owner="Job/t"), asks=True)
    assert known is not None
    wrong = controller_spec(known.key, job(2, 4), (), "default/a", GroupReading())
    assert isinstance(wrong, Misconfigured)
    assert (wrong.subject, wrong.field) == ("Job default/t", "spec.parallelism")


def test_a_job_set_starts_with_the_pods_of_all_its_jobs() -> None:
    made = convert(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": "set"},
            "spec": {
                "replicatedJobs": [
                    {"name": "driver", "template": {"spec": {}}},
                    {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4, "completions": 4}}},
                ]
            },
        },
        JobSet,
    )
    assert made.num_pods == 9
    assert made.order is None


ORDERS: dict[str, tuple[dict[str, Any], str]] = {
    "in order": (
        {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": [{"name": "a"}, {"name": "b"}]},
        "spec.startupPolicy.startupPolicyOrder: is InOrder",
    ),
    "one depends on another": (
        {"replicatedJobs": [{"name": "a"}, {"name": "b", "dependsOn": [{"name": "a", "status": "Ready"}]}]},
        "spec.replicatedJobs[1].dependsOn: names a",
    ),
}


@pytest.mark.parametrize(("spec", "words"), ORDERS.values(), ids=ORDERS.keys())
def test_a_job_set_that_makes_its_jobs_one_after_the_other_can_not_start_together(
    spec: dict[str, Any], words: str
) -> None:
    tree = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "t"}, "spec": spec}
    key = GroupKey(Spelling.CONTROLLER, "default", "t")
    wrong = controller_spec(key, convert(tree, JobSet), (), "default/t-0", GroupReading())
    assert isinstance(wrong, Misconfigured)
    assert wrong.message.startswith(f"Misconfigured: JobSet default/t: {words}")
    assert wrong.message.endswith("pods that start together have to be made together")


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
def test_a_pod_group_of_upstream_s_documentation_is_read(version: str) -> None:
    made = decode_object(
        {
            "apiVersion": f"scheduling.k8s.io/{version}",
            "kind": "PodGroup",
            "metadata": {"name": "training", "namespace": "ml"},
            "spec": {
                "podGroupTemplateRef": None,
                "schedulingPolicy": {"gang": {"minCount": 4}},
                "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/rack"}]},
            },
        }
    )
    assert isinstance(made, PodGroup)
    assert made.spec == pod_group("training", 4, topology="topology.kubernetes.io/rack").spec


def test_a_min_count_that_is_no_number_is_told() -> None:
    tree = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "t"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": "four"}}},
    }
    with pytest.raises(DecodeError, match="minCount"):
        decode_object(tree, "group.yaml")
