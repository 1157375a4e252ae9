"""The books balance: whatever happens in whatever order, every table says what the objects say."""

from collections import Counter as Tally
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster, Counter, Event, Nodes, Verb
from fairway.cluster.terms import KINDS, Kind, Term
from fairway.cycle import Outcome
from fairway.model import Node, Pod, parse_label_selector, pod_requests, resident_scoring_requests
from fairway.testing.fingerprint import differences, fingerprint
from fairway.testing.population import NODE_NAMES, POD_SELECTORS, random_pod, without_ports
from fairway.testing.situations import Dice
from fairway.testing.world import World
from tests.cycle.profiles import profile

seeds = st.integers(0, 2**32 - 1)
ZONE = "topology.kubernetes.io/zone"


def some_world(seed: int) -> tuple[World, Dice]:
    dice = Dice(np.random.default_rng(seed))
    world = World(dice)
    world.populate(num_nodes=dice.pick((1, 3, 6)), num_pods=dice.pick((0, 5, 10)))
    return world, dice


# -- auditing ----------------------------------------------------------------------------------------------------------


def watched(cluster: Cluster) -> list[Counter]:
    """Counters of all kinds, to be followed from now on."""
    return [
        cluster.counters.of_labels(((namespaces, parse_label_selector(text)),), skip)
        for text in POD_SELECTORS
        for namespaces in (None, frozenset({"default"}))
        for skip in (False, True)
    ]


def audit(cluster: Cluster, counters: list[Counter]) -> None:
    """Count everything again from the pods on each row."""
    table = cluster.nodes
    names = {row: name for name, row in table.row_of.items()}
    on_row = {row: [placed.pod for placed in cluster.pods.on_row(row)] for row in range(table.num_rows)}
    assert sorted(uid for pods in on_row.values() for uid in (one.metadata.uid for one in pods)) == sorted(
        cluster.pods.by_uid
    )
    for row, pods in on_row.items():
        assert bool(table.alive[row]) == (row in names)
        assert row in names or not pods
        audit_row(cluster, row, pods)
    for counter in counters:
        audit_counter(cluster, counter, on_row, partial(is_counted, counter))
    for kind in KINDS:
        for term, counter in cluster.counters.terms(kind):
            audit_counter(cluster, counter, on_row, partial(carries, cluster, kind, term))


def audit_row(cluster: Cluster, row: int, pods: list[Pod]) -> None:
    table = cluster.nodes
    total: Tally[str] = Tally()
    for pod in pods:
        total.update({name: amount for name, amount in pod_requests(pod).items() if amount})
    total["pods"] = len(pods)
    for column, name in enumerate(table.resources.values):
        assert table.requested[row, column] == total.pop(name, 0), name
    for name, amount in total.items():  # no node has such a thing, so there is no column
        assert not any(name in node.status.allocatable for node in table.objects if node is not None), name
        assert Nodes(cluster).requested(name)[row] == amount
    scoring = [resident_scoring_requests(pod) for pod in pods]
    assert table.nonzero[row].tolist() == [sum(one[name] for one in scoring) for name in ("cpu", "memory")]
    held = {port for placed in cluster.pods.on_row(row) for port in placed.pod_class.ports}
    assert cluster.ports.taken(row) == held
    for placed in cluster.pods.on_row(row):
        pods_table, slot = cluster.pods, placed.slot
        assert placed.pod_class is cluster.classify(placed.pod, bound=True)
        assert (pods_table.row[slot], pods_table.label_set[slot]) == (row, placed.pod_class.label_set.id)
        assert (pods_table.priority[slot], pods_table.terminating[slot]) == (
            placed.pod.priority,
            placed.pod.is_terminating,
        )


def is_counted(counter: Counter, pod: Pod) -> bool:
    if counter.skip_terminating and pod.is_terminating:
        return False
    return all(
        (namespaces is None or pod.metadata.namespace in namespaces) and selector.matches(pod.metadata.labels)
        for namespaces, selector in counter.requirements
    )


def carries(cluster: Cluster, kind: Kind, term: Term, pod: Pod) -> int:
    return cluster.classify(pod, bound=True).terms.get(kind, ()).count(term)


def audit_counter(
    cluster: Cluster, counter: Counter, on_row: dict[int, list[Pod]], times: Callable[[Pod], int]
) -> None:
    rows = [sum(int(times(pod)) for pod in pods) for pods in on_row.values()]
    assert counter.rows[: len(rows)].tolist() == rows
    assert counter.total == sum(rows)


def by_name(cluster: Cluster) -> dict[str, Any]:
    """What a cluster holds, whichever rows it is on."""
    table, view = cluster.nodes, Nodes(cluster)
    found: dict[str, Any] = {}
    resources = {"cpu", "memory", *(name for node in view.objects for name in node.status.allocatable)}
    for name, row in table.row_of.items():
        amounts = {
            kind: {resource: int(read(resource)[row]) for resource in resources}
            for kind, read in (("allocatable", view.allocatable), ("requested", view.requested))
        }
        found[name] = (
            {kind: +Tally(values) for kind, values in amounts.items()},
            table.objects[row],
            table.taint_values[int(table.taint_sets[row])],
            table.feature_values[int(table.feature_sets[row])],
            bool(table.unschedulable[row]),
            sorted(placed.pod.metadata.uid for placed in cluster.pods.on_row(row)),
            sorted(cluster.ports.taken(row)),
            sorted(image for image, one in table.images.by_name.items() if one.rows[row]),
        )
    found["storage"] = (cluster.storage.volumes, cluster.storage.claims, cluster.storage.classes)
    found["namespaces"] = cluster.workloads.namespaces
    return found


# -- what the world says -----------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(seeds)
def test_books_balance_after_any_events(seed: int) -> None:
    world, dice = some_world(seed)
    cluster = world.load()
    counters = watched(cluster)
    for _ in range(12):
        event = world.event()
        for _ in range(dice.pick((1, 1, 2))):  # being told twice is harmless
            cluster.apply(event)
        audit(cluster, counters)
    assert by_name(cluster) == by_name(world.load())


@settings(max_examples=40)
@given(seeds)
def test_the_order_of_arrival_does_not_matter(seed: int) -> None:
    world, _ = some_world(seed)
    things = list(world.objects.values())
    shuffled = [things[index] for index in np.random.default_rng(seed).permutation(len(things))]
    cluster = Cluster()
    counters = watched(cluster)
    for thing in shuffled:
        cluster.apply(Event(Verb.ADDED, thing))
        audit(cluster, counters)
    assert by_name(cluster) == by_name(world.load())


@settings(max_examples=40)
@given(seeds)
def test_news_that_comes_too_late_is_harmless(seed: int) -> None:
    """Deletions of what nobody knows, second deletions, old versions of waiting pods."""
    world, dice = some_world(seed)
    cluster = world.load()
    counters = watched(cluster)
    before = fingerprint(cluster)
    for pod in world.pods():
        cluster.apply(Event(Verb.MODIFIED, on_node(pod, "")))
    cluster.apply(Event(Verb.DELETED, random_pod(dice, "never-seen")))
    known = set(cluster.nodes.row_of)
    for name in set(NODE_NAMES) - known:
        cluster.apply(Event(Verb.DELETED, Node(metadata=msgspec.structs.replace(Node().metadata, name=name))))
    assert differences(before, fingerprint(cluster)) == []
    gone = world.pods()[:3]
    for pod in (*gone, *gone):
        cluster.apply(Event(Verb.DELETED, pod))
        audit(cluster, counters)


def on_node(pod: Pod, name: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=name))


# -- what is decided here ----------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(seeds)
def test_decisions_that_are_confirmed_forgotten_or_overtaken_balance(seed: int) -> None:
    world, dice = some_world(seed)
    cluster = world.load()
    counters = watched(cluster)
    assumed: dict[str, tuple[Pod, str]] = {}
    for step in range(12):
        what = dice.pick(("assume", "assume", "confirm", "elsewhere", "forget", "delete", "event"))
        if what == "assume" and cluster.nodes.row_of:
            pod = without_ports(on_node(random_pod(dice, f"decided-{step}"), ""))
            name = dice.pick(sorted(cluster.nodes.row_of))
            cluster.assume(pod, cluster.classify(pod), cluster.nodes.row_of[name])
            assumed[pod.metadata.uid] = (pod, name)
        elif what == "event":
            cluster.apply(world.event())
        elif assumed:
            uid = dice.pick(sorted(assumed))
            pod, name = assumed.pop(uid)
            match what:
                case "confirm":
                    cluster.apply(Event(Verb.MODIFIED, on_node(pod, name)))
                case "elsewhere":
                    cluster.apply(Event(Verb.MODIFIED, on_node(pod, dice.pick(NODE_NAMES))))
                case "forget":
                    assert cluster.forget(uid) is pod
                case "delete":
                    cluster.apply(Event(Verb.DELETED, pod))
        audit(cluster, counters)


@settings(max_examples=40)
@given(seeds)
def test_decisions_never_over_commit_a_node(seed: int) -> None:
    world, dice = some_world(seed)
    cluster = world.load()
    deciding = profile(cluster, defaults=True)
    for number in range(25):
        pod = random_pod(dice, f"decided-{number}")
        decision = deciding.decide(pod)
        if decision.outcome is not Outcome.SCHEDULED:
            continue
        assert not cluster.ports.conflicts(decision.row, decision.pod_class.ports)
        cluster.assume(pod, decision.pod_class, decision.row)
        columns, row = decision.pod_class.columns, decision.row
        assert (cluster.nodes.requested[row, columns] <= cluster.nodes.allocatable[row, columns]).all()


# -- what is only tried ------------------------------------------------------------------------------------------------


def meddle(cluster: Cluster, dice: Dice, depth: int, number: int) -> int:
    """Place and remove pods at random, within what-ifs within what-ifs."""
    for _ in range(dice.pick((1, 3, 5))):
        number += 1
        if depth < 3 and dice.flip(30):
            before = fingerprint(cluster)
            with cluster.what_if():
                number = meddle(cluster, dice, depth + 1, number)
            assert differences(before, fingerprint(cluster)) == []
        elif cluster.pods.by_uid and dice.flip(50):
            cluster.remove(dice.pick(sorted(cluster.pods.by_uid)))
        elif cluster.nodes.row_of:
            pod = random_pod(dice, f"imagined-{number}")
            row = cluster.nodes.row_of[dice.pick(sorted(cluster.nodes.row_of))]
            cluster.place(pod, cluster.classify(pod), row)
    return number


@settings(max_examples=60)
@given(seeds)
def test_what_if_leaves_no_trace(seed: int) -> None:
    world, dice = some_world(seed)
    cluster = world.load()
    counters = watched(cluster)
    following = profile(cluster, defaults=True)
    pods = [random_pod(dice, f"judged-{number}") for number in range(2)]
    said = [inspected(following, pod) for pod in pods]
    before = fingerprint(cluster)
    with cluster.what_if():
        meddle(cluster, dice, 0, 0)
        if dice.flip(30):
            said_meanwhile = [inspected(following, pod) for pod in pods]  # fills caches with what is not so
            assert len(said_meanwhile) == len(said)
    assert differences(before, fingerprint(cluster)) == []
    audit(cluster, counters)
    assert [inspected(following, pod) for pod in pods] == said


def inspected(following: Any, pod: Pod) -> Any:
    found = following.inspect(pod)
    return found.feasible, sorted((plugin, names) for plugin, _, names in found.rejected), found.scores, found.totals
