"""One translator for both worlds: what events mean, against a naive retelling; and the words, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.model import Node, NodeCondition, Pod, PodCondition, pod_requests
from fairway.model.disruption import EVICTED, ORPHANED, PREEMPTED, TAINTED
from fairway.model.meta import EPOCH
from fairway.model.node import ContainerImage
from fairway.model.pod import ContainerStatus
from fairway.record import NullRecorder, Run
from fairway.record.schema import TABLES
from fairway.record.translation import EventTranslator, node_change, pod_end
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.scenario.simulate import simulate
from fairway.testing import node, pod

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"


class Notebook(NullRecorder):
    """Writes down the calls about nodes and pods."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, ...]] = []

    def node_added(self, t: float, node: Node) -> None:
        self.calls.append(("node added", node.name))

    def node_changed(self, t: float, node: Node, what: NodeChange) -> None:
        self.calls.append(("node changed", node.name, what))

    def node_gone(self, t: float, name: str, why: NodeEnd) -> None:
        self.calls.append(("node gone", name, why))

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        self.calls.append(("created", pod.metadata.uid))
        return 0

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        self.calls.append(("bound", uid, node))

    def started(self, t: float, uid: str) -> None:
        self.calls.append(("started", uid))

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        self.calls.append(("ended", uid, reason))

    def of(self, uid: str) -> list[tuple[str, ...]]:
        return [call for call in self.calls if call[1] == uid]


def with_status(one: Pod, **status: Any) -> Pod:
    return msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, **status))


def on_node(one: Pod, name: str) -> Pod:
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, node_name=name))


ACTIONS = st.lists(
    st.tuples(st.sampled_from(("node", "node gone", "pod", "bind", "run", "finish", "delete")), st.integers(0, 2)),
    max_size=40,
)


@given(ACTIONS)
def test_a_pods_calls_are_what_a_naive_retelling_says(actions: list[tuple[str, int]]) -> None:
    """Two nodes, three pods; pod `i` goes to node `i % 2`, whether or not that is there yet."""
    notebook = Notebook()
    translator = EventTranslator(notebook, lambda: 0.0, EPOCH)
    nodes: set[str] = set()
    pods: dict[int, Pod] = {}
    wanted: dict[str, list[tuple[str, ...]]] = {f"default/p{number}": [] for number in range(3)}
    is_told = dict.fromkeys(range(3), False)  # that the pod is bound

    def tell(verb: Verb, thing: Node | Pod) -> None:
        translator.saw(Event(verb, thing))

    def note_bindings() -> None:
        for number, one in pods.items():
            name = one.spec.node_name
            if name in nodes and not is_told[number] and not one.is_finished:
                is_told[number] = True
                wanted[one.metadata.uid].append(("bound", one.metadata.uid, name))

    for action, number in actions:
        name, one = f"n{number % 2}", pods.get(number)
        uid = f"default/p{number}"
        if action == "node" and name not in nodes:
            nodes.add(name)
            tell(Verb.ADDED, node(name))
            note_bindings()
        elif action == "node gone" and name in nodes:
            nodes.remove(name)
            tell(Verb.DELETED, node(name))
        elif action == "pod" and one is None:
            pods[number] = pod(f"p{number}")
            is_told[number] = False
            wanted[uid].append(("created", uid))
            tell(Verb.ADDED, pods[number])
        elif action == "bind" and one is not None and not one.spec.node_name and not one.is_finished:
            pods[number] = on_node(one, name)
            note_bindings()
            tell(Verb.MODIFIED, pods[number])
        elif (
            action == "run" and one is not None and one.spec.node_name and one.status.phase not in ("Running", "Failed")
        ):
            pods[number] = with_status(one, phase="Running")
            wanted[uid].append(("started", uid))
            tell(Verb.MODIFIED, pods[number])
        elif action == "finish" and one is not None and not one.is_finished:
            pods[number] = with_status(one, phase="Failed")
            wanted[uid].append(("ended", uid, "Failed"))
            tell(Verb.MODIFIED, pods[number])
        elif action == "delete" and one is not None:
            if not one.is_finished:
                wanted[uid].append(("ended", uid, "Deleted"))
            del pods[number]
            tell(Verb.DELETED, one)
    for uid, calls in wanted.items():
        assert notebook.of(uid) == calls


ENDS: dict[str, tuple[dict[str, Any], PodEnd]] = {
    "done": ({"phase": "Succeeded"}, PodEnd.SUCCEEDED),
    "done though it had to go": ({"phase": "Succeeded", "conditions": (PREEMPTED,)}, PodEnd.SUCCEEDED),
    "failed": ({"phase": "Failed"}, PodEnd.FAILED),
    "deleted": ({"phase": "Running"}, PodEnd.DELETED),
    "deleted while it waited": ({"phase": "Pending"}, PodEnd.DELETED),
    "preempted": ({"phase": "Failed", "conditions": (PREEMPTED,)}, PodEnd.PREEMPTED),
    "evicted by the API": ({"phase": "Running", "conditions": (EVICTED,)}, PodEnd.EVICTED),
    "evicted by a taint": ({"phase": "Running", "conditions": (TAINTED,)}, PodEnd.EVICTED),
    "its node is gone": ({"phase": "Failed", "conditions": (ORPHANED,)}, PodEnd.NODE_LOST),
    "evicted by its kubelet": ({"phase": "Failed", "reason": "Evicted"}, PodEnd.EVICTED),
    "a condition that does not hold": (
        {"conditions": (PodCondition(type="DisruptionTarget", status="False", reason="PreemptionByScheduler"),)},
        PodEnd.DELETED,
    ),
    "no room": ({"phase": "Failed", "reason": "OutOfcpu"}, PodEnd.REJECTED),
    "ports taken": ({"phase": "Failed", "reason": "NodePorts"}, PodEnd.REJECTED),
}


@pytest.mark.parametrize(("status", "end"), ENDS.values(), ids=ENDS)
def test_how_a_pod_ended(status: dict[str, Any], end: PodEnd) -> None:
    assert pod_end(with_status(pod("a"), **status)) is end


def healthy(ready: str, *, beat: int = 0, **options: Any) -> Node:
    """A node; heartbeats change its version and its conditions' words."""
    one = node("a", **options)
    condition = NodeCondition(type="Ready", status=ready, reason=f"beat {beat}")
    metadata = msgspec.structs.replace(one.metadata, resource_version=str(beat))
    status = msgspec.structs.replace(one.status, conditions=(condition,))
    return msgspec.structs.replace(one, metadata=metadata, status=status)


def with_image(one: Node) -> Node:
    images = (ContainerImage(names=("web:1",), size_bytes=10),)
    return msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, images=images))


CHANGES: dict[str, tuple[Node, Node, NodeChange | None]] = {
    "a heartbeat": (healthy("True"), healthy("True", beat=1), None),
    "cordoned": (healthy("True"), healthy("True", unschedulable=True), NodeChange.CORDONED),
    "uncordoned": (healthy("True", unschedulable=True), healthy("True"), NodeChange.UNCORDONED),
    "lost": (healthy("True"), healthy("Unknown"), NodeChange.NOT_READY),
    "back": (healthy("False"), healthy("True"), NodeChange.READY),
    "more room": (healthy("True", cpu=4), healthy("True", cpu=8), NodeChange.RESIZED),
    "a label": (healthy("True"), healthy("True", labels={"disk": "ssd"}), NodeChange.CHANGED),
    "a taint": (healthy("True"), healthy("True", taints="team=red:NoSchedule"), NodeChange.CHANGED),
    "an image, which decides scores": (healthy("True"), with_image(healthy("True")), NodeChange.CHANGED),
}


@pytest.mark.parametrize(("before", "after", "change"), CHANGES.values(), ids=CHANGES)
def test_what_happened_to_a_node(before: Node, after: Node, change: NodeChange | None) -> None:
    assert node_change(before, after) is change
    notebook = Notebook()
    translator = EventTranslator(notebook, lambda: 0.0, EPOCH)
    for verb, one in ((Verb.ADDED, before), (Verb.MODIFIED, after), (Verb.DELETED, after), (Verb.DELETED, after)):
        translator.saw(Event(verb, one))
    told = [] if change is None else [("node changed", "a", change)]
    assert notebook.calls == [("node added", "a"), *told, ("node gone", "a", NodeEnd.DELETED)]


def test_a_simulation_speaks_in_these_words_and_no_others(tmp_path: Path) -> None:
    simulate(EXAMPLES / "faults.yaml", record=tmp_path / "run.duckdb")
    spoken: set[str] = set()
    with Run.open(tmp_path / "run.duckdb") as run:
        for table in TABLES.values():
            for column in table.columns:
                if column.words:
                    allowed = {word.value for words in column.words for word in words} | {None}
                    found = {row[column.name] for row in run.tables[table.name].select(column.name)}
                    assert found <= allowed, (table.name, column.name)
                    spoken |= {word for word in found if word}
    assert {"Added", "NotReady", "Ready", "Deleted", "NodeLost", "Applied"} <= spoken


class Losses(Notebook):
    """Also writes down what became of pods whose node went."""

    def lost(self, t: float, uid: str) -> None:
        self.calls.append(("lost", uid))

    def regained(self, t: float, uid: str) -> None:
        self.calls.append(("regained", uid))


def test_a_pod_whose_node_is_gone_holds_nothing_until_the_node_is_back() -> None:
    told = Losses()
    translator = EventTranslator(told, lambda: 0.0, EPOCH)
    here = node("n1")
    translator.saw(Event(Verb.ADDED, here))
    for name in ("a", "b", "gone"):
        translator.saw(Event(Verb.ADDED, pod(name, uid=name, node="n1")))
    translator.saw(Event(Verb.DELETED, pod("gone", uid="gone", node="n1")))
    told.calls.clear()
    for event in (Event(Verb.DELETED, here), Event(Verb.ADDED, here)):
        translator.saw(event)
    translator.saw(Event(Verb.DELETED, pod("a", uid="a", node="n1")))
    translator.saw(Event(Verb.DELETED, here))
    kinds = [call for call in told.calls if call[0] in ("lost", "regained")]
    assert kinds == [("lost", "a"), ("lost", "b"), ("regained", "a"), ("regained", "b"), ("lost", "b")]


@pytest.mark.parametrize("generation", [0, 1])
@pytest.mark.parametrize("given", ["", "before", "after"])
@pytest.mark.parametrize("cpu", [1, 2])
def test_what_a_pod_asks_for_is_seen_whatever_the_server_counts(generation: int, given: str, cpu: int) -> None:
    """Servers count changes of a spec, where they are new enough; what a kubelet gave counts besides."""

    class Resizes(NullRecorder):
        def resized(self, t: float, pod: Pod) -> None:
            seen.append(pod)

    def version(cpu: int, number: int, got: int) -> Pod:
        one = pod("a", uid="a", cpu=cpu, node="n1")
        meta = msgspec.structs.replace(one.metadata, generation=number)
        amounts = one.spec.containers[0].resources if got == cpu else pod("b", cpu=got).spec.containers[0].resources
        told = ContainerStatus(name=one.spec.containers[0].name, resources=amounts)
        status = msgspec.structs.replace(one.status, container_statuses=(told,)) if got else one.status
        return msgspec.structs.replace(one, metadata=meta, status=status)

    seen: list[Pod] = []
    translator = EventTranslator(Resizes(), lambda: 0.0, EPOCH)
    before = version(1, generation, 1 if given else 0)
    after = version(cpu, generation and cpu, 3 if given == "after" else 1 if given else 0)
    translator.saw(Event(Verb.ADDED, before))
    translator.saw(Event(Verb.MODIFIED, after))
    assert bool(seen) == (pod_requests(before) != pod_requests(after))
    assert bool(seen) == (cpu == 2 or given == "after")
