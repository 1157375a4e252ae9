"""Good plugins pass; for every rule there is a plugin that breaks it, and the complaint says what to do about it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairway.cluster import Action, Cluster, ClusterEvent, Event, PodClass, Resource, Verb
from fairway.model import Node, Pod
from fairway.plugin import (
    SKIP,
    Aspect,
    Hint,
    Locality,
    Nodes,
    Plugin,
    PluginArgs,
    Refusal,
    Relaxation,
    Restriction,
    Shortage,
    Skip,
    Wait,
    per_node,
)
from fairway.testing import Situation, check_plugin, node, pod

Mask = NDArray[np.bool_]
Scores = NDArray[np.int64]


# -- plugins that keep their word ------------------------------------------------------------------------------------


class PreferGreen(Plugin):
    """The first example of the documentation."""

    reads = Aspect.NODE

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
        return np.where(nodes.label("power") == "green", 100, 0)


class MostFree(Plugin):
    """Skips pods that ask for nothing; scores that kube-scheduler's normalisation brings down to 100."""

    normalize = "default"

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Skip | None:
        return None if pod.requests.get("cpu") else SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
        return np.maximum(nodes.free("cpu"), 0)


class Confined(Plugin):
    """Restricts some pods to a node by name, refuses others outright, and leaves the rest alone."""

    reads = Aspect.NODE

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        match pod.labels.get("app"):
            case "web":
                return Restriction(frozenset(("n1", "n2")), state="confined")
            case "db":
                return Refusal(("databases go elsewhere",))
        return SKIP

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        assert state == "confined"
        return ~nodes.table.unschedulable[nodes.rows]


class FewInCluster(Plugin):
    """Looks at the whole cluster: no more than so many pods of an app in all; follows what-ifs."""

    locality = Locality.CLUSTER
    reads = Aspect.PODS

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        app = pod.labels.get("app")
        if app is None:
            return SKIP
        return [sum(placed.pod.metadata.labels.get("app") == app for placed in self.cluster.pods.by_uid.values())]

    def filter(self, pod: PodClass, nodes: Nodes, state: list[int]) -> Mask:
        return np.full(len(nodes), state[0] < 3)

    def add_pod(self, pod: PodClass, state: list[int], other: Pod, other_class: PodClass, row: int) -> None:
        state[0] += other.metadata.labels.get("app") == pod.labels["app"]

    def remove_pod(self, pod: PodClass, state: list[int], other: Pod, other_class: PodClass, row: int) -> None:
        state[0] -= other.metadata.labels.get("app") == pod.labels["app"]


class Farthest(Plugin):
    """Its own normalisation, over whichever nodes are feasible."""

    reads = Aspect.NODE
    normalize = "own"

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
        return np.array([-len(name) for name in nodes.label("disk")], np.int64)

    def normalize_scores(self, pod: PodClass, nodes: Nodes, state: Any, scores: Scores) -> Scores:
        highest = int(scores.max())
        return 100 - (highest - scores) * 10


@per_node
def only_ssd(pod: Pod, node: Node) -> bool | str:
    return True if node.metadata.labels.get("disk") == "ssd" else "node(s) had no ssd"


@per_node
def by_name_length(pod: Pod, node: Node) -> int:
    return len(pod.metadata.name + node.name) % 101


@pytest.mark.parametrize(
    "plugin",
    [PreferGreen, MostFree, Confined, FewInCluster, Farthest, only_ssd, by_name_length],
    ids=lambda plugin: plugin.name,
)
def test_a_plugin_that_keeps_its_word_passes(plugin: type[Plugin]) -> None:
    check_plugin(plugin, examples=15)


def test_an_instance_is_checked_with_its_own_arguments() -> None:
    class AtMost(Plugin):
        def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
            return np.full(len(nodes), self.args["score"])

    check_plugin(AtMost(Cluster(), {"score": 100}), examples=2)
    check_plugin(AtMost, args={"score": 100}, examples=2)
    with pytest.raises(AssertionError, match="came to 101"):
        check_plugin(AtMost(Cluster(), {"score": 101}), examples=2)


def test_a_plugin_is_tried_on_situations_of_ones_own() -> None:
    class Rack(Plugin):
        reads = Aspect.PODS

        def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
            return nodes.label("rack") == "r1"

    moved = Event(Verb.MODIFIED, node("a", labels={"rack": "r1"}))
    situation = Situation([node("a", labels={"rack": "r2"})], [pod()], [moved])
    check_plugin(Rack, examples=10)  # no generated node has a rack
    with pytest.raises(AssertionError, match=r"Rack\.filter .*for pod default/pod and node a.* add Aspect\.NODE"):
        check_plugin(Rack, examples=[situation])


# -- plugins that do not ---------------------------------------------------------------------------------------------


class FilterNothing(Plugin):
    """To be broken in one way at a time."""

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.ones(len(nodes), bool)


class RefuseAll(Plugin):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.zeros(len(nodes), bool)


class Idle(Plugin):
    pass


class WordForLocality(FilterNothing):
    locality = "node"  # type: ignore[assignment]


class UnknownNormalisation(PreferGreen):
    normalize = "softmax"  # type: ignore[assignment]


class ForgottenNormalisation(PreferGreen):
    normalize = "own"


class OneHook(FilterNothing):
    def add_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        pass


class EventsWithoutHints(FilterNothing):
    def events(self) -> Any:
        return [ClusterEvent(Resource.NODE, Action.ADD)]


class ReturnsList(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return [True] * len(nodes)


class ReturnsTooMany(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.ones(nodes.table.capacity, bool)


class ReturnsNumbers(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.ones(len(nodes), np.int64)


class ScoresFloats(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.full(len(nodes), 0.5)


class ScoresOneNumber(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return 50


class Raises(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.array([bool(node.metadata.labels["kubernetes.io/hostname"]) for node in nodes.objects])


class TakesResources(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        nodes.table.requested[nodes.rows, 0] += 1
        return np.ones(len(nodes), bool)


class WritesLabels(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        for one in nodes.objects:
            one.metadata.labels["seen"] = "yes"
        return np.ones(len(nodes), bool)


class WritesPod(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        pod.pod.metadata.annotations["seen"] = "yes"
        return np.ones(len(nodes), bool)


class Moody(FilterNothing):
    asked = False

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        self.asked = not self.asked
        return np.full(len(nodes), self.asked)


class UsesUpItsState(FilterNothing):
    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        return [True]

    def filter(self, pod: PodClass, nodes: Nodes, state: list[bool]) -> Any:
        return np.full(len(nodes), state.pop() if state else False)


class IgnoresRows(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return ~nodes.table.unschedulable[: len(nodes)]


class ScoresIgnoreRows(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return nodes.table.allocatable[: len(nodes), 0] // 100


class SaysNothing(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return Refusal(())


class SaysBlank(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return Refusal((" ",))


class SaysWord(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return Refusal("no")  # type: ignore[arg-type]


class SaysNone(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return None


class SaysTooFew(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return [Refusal(("no",))] * max(1, len(nodes) - 1)


class SaysStrings(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return ["no"] * len(nodes)


class SaysCodeByName(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return Refusal(("no",), "Unschedulable")  # type: ignore[arg-type]


class SaysByPosition(RefuseAll):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return [Refusal((f"number {number}",)) for number in range(len(nodes))]


class RefusesWithoutWords(FilterNothing):
    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        return Refusal(())


class RestrictsByList(FilterNothing):
    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        return Restriction(["n1"])  # type: ignore[arg-type]


class ScoresMillicores(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
        return nodes.allocatable("cpu")


class ScoresBelowZero(Plugin):
    normalize = "default"

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
        return -nodes.allocatable("cpu")


class NormalisesTooHigh(PreferGreen):
    normalize = "own"

    def normalize_scores(self, pod: PodClass, nodes: Nodes, state: Any, scores: Scores) -> Scores:
        return scores * 2


class NormalisesToFloats(PreferGreen):
    normalize = "own"

    def normalize_scores(self, pod: PodClass, nodes: Nodes, state: Any, scores: Scores) -> Any:
        return scores / 2


class LooksAtOthers(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
        most = max(1, int(self.cluster.view().allocatable("cpu").max()))
        return 100 * nodes.allocatable("cpu") // most


class LooksAtPods(FilterNothing):
    reads = Aspect.NODE

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return nodes.num_pods < 2


class LooksAtNodes(FilterNothing):
    reads = Aspect.PODS

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return nodes.label("disk") == "ssd"


class LooksAtStorage(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return np.full(len(nodes), len(self.cluster.storage.claims) % 2 == 0)


class LooksAtServices(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return np.full(len(nodes), "front" in self.cluster.workloads.services.get("default", {}))


class LooksAtNamespaces(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return np.full(len(nodes), self.cluster.workloads.namespace_labels("default").get("tier") == "prod")


class KeepsRows(FilterNothing):
    """Works out in `pre_filter` what it should look up in `filter`."""

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        return dict(zip(nodes.names, nodes.label("disk") == "ssd", strict=True))

    def filter(self, pod: PodClass, nodes: Nodes, state: dict[str, bool]) -> Mask:
        return np.array([state.get(name, False) for name in nodes.names], bool)


class KeepsNotes(FewInCluster):
    """Never brings its notes up to date."""

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        return pod.kept.setdefault(self, super().pre_filter(pod, nodes))


class BlindToWhatIf(FewInCluster):
    def add_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        pass

    def remove_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        pass


class OneWay(FewInCluster):
    """What it adds it does not take away again."""

    def remove_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        state[0] -= 2 * (other.metadata.labels.get("app") == pod.labels["app"])


class LooksAtName(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return np.full(len(nodes), pod.pod.metadata.name.endswith("1"))


class LooksAtStatus(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
        return np.full(len(nodes), 100 if pod.pod.status.phase == "Pending" else 0)


class KeepsReservation(FilterNothing):
    taken = 0

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return np.full(len(nodes), self.taken == 0)

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        self.taken += 1


class WritesReservation(FilterNothing):
    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        self.cluster.nodes.nonzero[row] += 1


class ReservesTruth(FilterNothing):
    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Any:
        return True


class PermitsTruth(FilterNothing):
    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Any:
        return True


class QueuesTruth(FilterNothing):
    def pre_enqueue(self, pod: Pod) -> Any:
        return False


class SleepsThroughDeletions(FilterNothing):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return nodes.num_pods < 2

    def events(self) -> Sequence[Hint]:
        return (Hint(ClusterEvent(Resource.NODE, Action.ADD)),)


class WavesDeletionsAway(SleepsThroughDeletions):
    def events(self) -> Sequence[Hint]:
        return (Hint(ClusterEvent(Resource.POD, Action.ALL), lambda pod, change: False), *super().events())


BROKEN: list[tuple[type[Plugin], str]] = [
    (Idle, "Idle overrides none of .*: it would do nothing"),
    (WordForLocality, "locality is 'node'; it has to be a Locality"),
    (UnknownNormalisation, "normalize is 'softmax'; it has to be none, default, reverse or own"),
    (ForgottenNormalisation, 'normalize = "own" and normalize_scores belong together'),
    (OneHook, "overrides only one of add_pod and remove_pod"),
    (EventsWithoutHints, "events gave a ClusterEvent; wrap each event in a Hint"),
    (ReturnsList, r"filter returned a list \(for pod .*\)\. Return a NumPy array"),
    (ReturnsTooMany, r"filter returned the shape \(16,\) for \d+ nodes"),
    (ReturnsNumbers, "filter returned an array of int64 .* Return booleans"),
    (ScoresFloats, "score returned an array of float64 .* Return integers"),
    (ScoresOneNumber, "score returned a int "),
    (Raises, r"filter raised KeyError: 'kubernetes\.io/hostname' .* rows of deleted nodes read as an empty node"),
    (TakesResources, r"changed the cluster's nodes\.requested .* copy an array before you write"),
    (WritesLabels, r"changed the cluster's .*nodes\.objects"),
    (WritesPod, "changed the pod .* read them, never write"),
    (Moody, "answered (True|False) and then, asked again with the same state, (True|False)"),
    (UsesUpItsState, "answered True and then, asked again with the same state, False .* do not change `state`"),
    (
        IgnoresRows,
        r"filter says .* when asked about all nodes and .* and node n\d\)\. Index the tables with nodes\.rows",
    ),
    (
        ScoresIgnoreRows,
        r"score gives \d+ and \d+, depending on which nodes it is asked about in which order .*nodes\.rows",
    ),
    (SaysNothing, r"explain refused without a reason .* Give the reasons in words"),
    (SaysBlank, "explain refused without a reason"),
    (SaysWord, "gave the reasons 'no', which are not a tuple of words"),
    (SaysNone, r"explain returned a NoneType .*and node n\d"),
    (SaysTooFew, r"explain returned \d refusals for \d nodes"),
    (SaysStrings, "explain returned a str where a Refusal belongs"),
    (SaysCodeByName, r"gave the code 'Unschedulable' .*Use one of fairway\.plugin\.Code"),
    (SaysByPosition, r"explain gives \('number 1',\) among others and \('number 0',\) alone"),
    (RefusesWithoutWords, "pre_filter refused without a reason"),
    (RestrictsByList, r"pre_filter restricts the pod to a list .*frozenset"),
    (ScoresMillicores, r"score came to \d{4} .*Scores end between 0 and 100"),
    (ScoresBelowZero, r"score returned -\d+ to be normalised"),
    (NormalisesTooHigh, "score came to 200"),
    (NormalisesToFloats, "normalize_scores returned an array of float64"),
    (
        LooksAtOthers,
        r"score answers \d+, not \d+ as remembered, after Node n\d .* declare locality = Locality\.CLUSTER",
    ),
    (LooksAtPods, r"after Pod \S+ was .* add Aspect\.PODS to `reads`"),
    (LooksAtNodes, r"after Node n\d was modified .* add Aspect\.NODE to `reads`"),
    (LooksAtStorage, r"after PersistentVolumeClaim \S+ was .* add Aspect\.STORAGE to `reads`"),
    (LooksAtServices, r"after Service \S+ was .* add Aspect\.WORKLOADS to `reads`"),
    (LooksAtNamespaces, r"after Namespace \S+ was .* add Aspect\.NAMESPACES to `reads`"),
    (KeepsRows, r"after Node n\d was .* look at the rows in filter and score"),
    (KeepsNotes, r"has gone stale: bring it up to date in pre_filter"),
    (BlindToWhatIf, r"if \S+ were .* override add_pod and remove_pod"),
    (OneWay, r"(does not undo the other|anew), if"),
    (LooksAtName, "to a pod that differs in name, uid and status alone .* Declare per_pod = True"),
    (LooksAtStatus, "to a pod that differs in name, uid and status alone"),
    (KeepsReservation, "after a reservation was taken back .* unreserve gives back all that reserve took"),
    (WritesReservation, r"unreserve left a trace in nodes\.nonzero"),
    (ReservesTruth, "reserve returned True"),
    (PermitsTruth, "permit returned True"),
    (QueuesTruth, "pre_enqueue returned False"),
]


@pytest.mark.parametrize(("plugin", "complaint"), BROKEN, ids=[plugin.__name__ for plugin, _ in BROKEN])
def test_a_plugin_that_breaks_a_rule_is_told_so(plugin: type[Plugin], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_plugin(plugin, examples=60)


CROWDED = Situation(
    [node("a"), pod("one", node="a"), pod("two", node="a")],
    [pod("judged")],
    [Event(Verb.DELETED, pod("one", node="a"))],
)


@pytest.mark.parametrize(
    ("plugin", "advice"),
    [
        (SleepsThroughDeletions, "Add a Hint for one of ASSIGNED_POD/DELETE."),
        (WavesDeletionsAway, "Add a Hint for one of ASSIGNED_POD/DELETE, or let its `helps` say so."),
    ],
    ids=["no hint", "a hint that says no"],
)
def test_an_event_that_helps_has_to_wake_the_pod(plugin: type[Plugin], advice: str) -> None:
    with pytest.raises(
        AssertionError, match="would leave the pod waiting although Pod default/one was deleted"
    ) as found:
        check_plugin(plugin, examples=[CROWDED])
    assert str(found.value).endswith(advice)
    check_plugin(plugin, examples=[CROWDED], hints=False)


def test_a_node_local_plugin_says_the_same_of_a_lonely_node() -> None:
    calm = Situation([node("a", cpu=1), node("b", cpu=4)], [pod()])
    with pytest.raises(AssertionError, match=r"score says 25 among 2 nodes and 100 when it is the only one .*node a\)"):
        check_plugin(LooksAtOthers, examples=[calm])


def test_waiting_is_a_permission() -> None:
    class Patient(FilterNothing):
        def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Wait:
            return Wait(10)

    check_plugin(Patient, examples=3)


def test_the_same_seed_tries_the_same_situations() -> None:
    complaints = set()
    for _ in range(2):
        with pytest.raises(AssertionError) as found:
            check_plugin(LooksAtPods, seed=3)
        complaints.add(str(found.value))
    assert len(complaints) == 1


# -- what a plugin owns besides its judgement --------------------------------------------------------------------------


class Tight(Plugin):
    """Refuses nodes with less than a core left, and says so in every way there is."""

    annotations = ()

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
        return np.asarray(nodes.free("cpu") >= 1_000_000)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        return Refusal(("Insufficient cpu",), shortages=(Shortage("cpu", 1_000_000),))


def pod_called(name: str) -> Pod:
    return pod(name)


class TightArgs(PluginArgs, frozen=True, kw_only=True):
    """Needed: a limit."""

    limit: int


NO_SHORTAGES: Any = ("cpu",)


@pytest.mark.parametrize(
    ("attributes", "complaint"),
    [
        ({"explain": lambda *_: Refusal(("x",), shortages=NO_SHORTAGES)}, "explain gave the shortage 'cpu'"),
        ({"explain": lambda *_: Refusal(("x",), shortages=(Shortage("cpu", 0),))}, "supply says that .* were refused"),
        ({"supply": lambda *_: 3}, "supply returned 3 for one node"),
        ({"funnel_words": lambda *_: ["x"] * 99}, "funnel_words returned"),
        ({"relax": lambda *_: [3]}, "relax gave 3"),
        ({"relax": lambda self, pod, *_: [Relaxation("as it is", pod)]}, "relax gave the pod as it is"),
        ({"relax": lambda self, pod, *_: [Relaxation("x", pod_called("other"))]}, "relax gave another pod"),
        ({"relax": lambda *_: (1 / 0 for _ in (1,))}, "relax raised ZeroDivisionError"),
        ({"class_key": lambda *_: []}, r"class_key returned \[\]"),
        ({"annotations": "example.com/x"}, "annotations is 'example.com/x'; it has to be a tuple"),
        ({"Args": dict}, r"Args is <class 'dict'>; it has to be a struct"),
        ({"Args": TightArgs}, "can not be told None: args.limit: missing; it is an integer"),
    ],
)
def test_what_is_said_to_people_is_looked_at(attributes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_plugin(type("Wrong", (Tight,), attributes), examples=3)


def test_what_is_said_rightly_passes() -> None:
    check_plugin(Tight, examples=3)


def test_annotations_that_are_read_have_to_be_named() -> None:
    class Reader(Plugin):
        annotations = ("example.com/read",)

        def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Scores:
            return np.full(len(nodes), min(len(pod.pod.metadata.annotations), 100))

    with pytest.raises(AssertionError, match="differs in annotations that it does not say it reads alone"):
        check_plugin(Reader, examples=3)


def test_arguments_are_decoded_as_a_configuration_s_are() -> None:
    class Limited(Tight):
        Args = TightArgs

        def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Mask:
            return np.asarray(nodes.free("cpu") >= 1000 * self.args.limit)

        def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
            return Refusal(("Insufficient cpu",), shortages=(Shortage("cpu", 1000 * self.args.limit),))

    check_plugin(Limited, args={"limit": 2}, examples=3)
    with pytest.raises(AssertionError, match=r"args\.limits: unknown field; did you mean limit"):
        check_plugin(Limited, args={"limits": 2}, examples=3)
