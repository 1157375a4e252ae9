"""DataLocality: cases worked out by hand, and agreement with a naive loop while nodes and datasets come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Action, Change, Cluster, ClusterEvent, Event, Resource, Verb
from fairway.config import ConfigError, decode_configuration
from fairway.cycle import Outcome, Profile
from fairway.model import Node, Pod
from fairway.model.dataset import DataPlacement
from fairway.model.node import NodeCondition
from fairway.plugin import Code, Refusal
from fairway.plugins.data_locality import DataLocality
from fairway.plugins.data_locality_args import DataLocalityArgs
from fairway.plugins.registry import REGISTRY
from fairway.testing import Situation, check_plugin, cluster, dataset, dataset_internal, node, pod
from fairway.testing.interview import Interview
from fairway.testing.situations import Dice
from tests.cycle.profiles import profile
from tests.plugins.data_world import DataWorld, random_args, random_user
from tests.plugins.naive_data import naive_answer
from tests.properties.test_caches import decided, inspected

seeds = st.integers(0, 2**32 - 1)
NOT_READY = (NodeCondition(type="Ready", status="False"),)


def placed(name: str, rack: str, zone: str, region: str, **more: Any) -> Node:
    return node(name, zone=zone, region=region, labels={"fairway.dev/rack": rack, **more.pop("labels", {})}, **more)


NODES = (
    placed("own", "r1", "z1", "east"),
    placed("rack", "r1", "z1", "east"),
    placed("zone", "r2", "z1", "east"),
    placed("region", "r3", "z2", "east"),
    placed("far", "r4", "z3", "west"),
)


def user(*names: str, **more: Any) -> Pod:
    labels = {f"dataset.{number}.id": name for number, name in enumerate(names)}
    return pod("user", labels=labels, **more)


def scores(what: Cluster, incoming: Pod, **args: Any) -> dict[str, int]:
    return Interview(DataLocality(what, DataLocalityArgs(**args)), incoming).answers().scores


def stance(what: Cluster, incoming: Pod, **args: Any) -> object:
    return Interview(DataLocality(what, DataLocalityArgs(**args)), incoming).stance


def refused(what: Cluster, incoming: Pod, **args: Any) -> set[str]:
    fits = Interview(DataLocality(what, DataLocalityArgs(**args)), incoming).answers().fits
    return {name for name, passes in fits.items() if not passes}


def test_the_ladder_of_an_idle_gateway() -> None:
    what = cluster(NODES, objects=[dataset("data"), dataset_internal("data", gateways="own")])
    assert scores(what, user("data")) == {"own": 100, "rack": 75, "zone": 50, "region": 25, "far": 0}


def test_a_full_gateway_gives_way_to_idle_copies_further_away() -> None:
    copies = dataset_internal("data", gateways=["own", "far"])
    what = cluster(NODES, [pod("load", cpu=8, node="own")], [dataset("data"), copies])
    half = {"own": 50, "rack": 38, "zone": 25, "region": 13, "far": 100}  # 37.5 and 12.5 are rounded up
    assert scores(what, user("data")) == half
    assert scores(what, user("data"), load_penalty=0) == {"own": 100, "rack": 75, "zone": 50, "region": 25, "far": 100}
    assert scores(what, user("data"), load_penalty=1) == {"own": 0, "rack": 0, "zone": 0, "region": 0, "far": 100}


def test_load_is_the_larger_share_and_never_more_than_all() -> None:
    load = pod("load", cpu=2, memory="24Gi", node="own")
    what = cluster(NODES[0], [load], [dataset_internal("data", gateways="own")])
    assert scores(what, user("data"), load_penalty=1) == {"own": 25}
    what.apply(Event(Verb.ADDED, pod("more", memory="64Gi", node="own")))
    assert scores(what, user("data"), load_penalty=1) == {"own": 0}


def test_load_may_be_told_by_an_annotation() -> None:
    busy = placed("own", "r1", "z1", "east", annotations={"data.fairway.dev/load": "0.4"})
    what = cluster(busy, [pod("load", cpu=8, node="own")], [dataset_internal("data", gateways="own")])
    assert scores(what, user("data"), load_from="annotation", load_penalty=1) == {"own": 60}


def test_without_gateways_the_places_of_the_data_serve_it() -> None:
    what = cluster(NODES, objects=[dataset_internal("data", copies=["zone"])])
    assert scores(what, user("data")) == {"own": 50, "rack": 50, "zone": 100, "region": 25, "far": 0}
    assert refused(what, user("data")) == {"own", "rack", "region", "far"}  # it can be read there alone
    assert refused(what, user("data"), require_within="topology.kubernetes.io/zone") == {"region", "far"}


def test_storage_nodes_may_be_spared_where_gateways_serve() -> None:
    what = cluster(NODES, objects=[dataset_internal("data", gateways="own", copies=["own", "zone"])])
    assert scores(what, user("data"), gateway_on_storage=0) == {"own": 0, "rack": 75, "zone": 0, "region": 25, "far": 0}
    assert scores(what, user("data"), gateway_on_storage=0.5)["zone"] == 25
    assert stance(what, user("data")) == "skips"


def test_several_datasets_count_by_their_size_where_all_have_one() -> None:
    places = [dataset_internal("big", gateways="own"), dataset_internal("small", gateways="far")]
    what = cluster(NODES, objects=[*places, dataset("big", size="3Gi"), dataset("small", size="1Gi")])
    assert scores(what, user("big", "small")) == {"own": 75, "rack": 56, "zone": 38, "region": 19, "far": 25}
    odd = cluster(NODES, objects=[*places, dataset("big", size="3Gi"), dataset("small", size="-1")])
    assert scores(odd, user("big", "small")) == {"own": 50, "rack": 38, "zone": 25, "region": 13, "far": 50}


def test_data_may_be_declared_without_any_object() -> None:
    holders = (
        placed("own", "r1", "z1", "east", labels={"data.fairway.dev/data": "gateway"}),
        placed("held", "r2", "z2", "west", labels={"data.fairway.dev/data": "copy"}),
    )
    incoming = pod(annotations={"fairway.dev/data": "data", "fairway.dev/data-mode": "require"})
    what = cluster(holders)
    assert scores(what, incoming) == {"own": 100, "held": 0}
    assert refused(what, incoming) == {"held"}


def test_nothing_known_and_nothing_wanted_is_no_error() -> None:
    what = cluster(NODES)
    assert scores(what, user("data")) == dict.fromkeys([one.name for one in NODES], 0)
    assert scores(what, pod()) == {}
    assert stance(what, pod()) == stance(what, user("data")) == "skips"


@pytest.mark.parametrize(
    ("objects", "reasons"),
    [
        ([], ('dataset "data" does not exist',)),
        ([dataset("data", provision="Pending", info="soon")], ('dataset "data" is not ready: Pending, soon',)),
        ([dataset("data", provision="Failed")], ('dataset "data" is not ready: Failed',)),
    ],
)
def test_required_data_that_is_not_there_yet_keeps_the_pod_waiting(objects: list[Any], reasons: tuple[str]) -> None:
    what = cluster(NODES, objects=objects)
    incoming = user("data", annotations={"fairway.dev/data-mode": "require"})
    assert stance(what, incoming) == Refusal(reasons, Code.PENDING)
    assert stance(what, user("data")) == "skips"
    decision = profile(what, "NodeResourcesFit", "DataLocality").decide(incoming)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.diagnosis is not None
    assert decision.diagnosis.pending_plugins == {"DataLocality"}
    assert reasons[0] in decision.message


def test_required_data_that_is_there_but_nowhere_near() -> None:
    what = cluster(NODES, objects=[dataset("data"), dataset_internal("data", gateways=["own"])])
    assert refused(what, user("data"), mode="require") == {"rack", "zone", "region", "far"}
    assert refused(what, user("data"), mode="require", require_within="fairway.dev/rack") == {"zone", "region", "far"}
    made = profile(what, "NodeAffinity", "DataLocality", args={"DataLocality": {"mode": "require"}})
    decision = made.decide(user("data", node_selector={"topology.kubernetes.io/zone": "z3"}))
    assert 'had no copy of dataset "data" near enough' in decision.message
    anywhere = user("data", annotations={"fairway.dev/data-mode": "prefer"})
    assert stance(what, anywhere, mode="require") == "skips"


def test_what_is_told_of_nodes_that_are_gone_or_not_ready_does_not_count() -> None:
    down = placed("own", "r1", "z1", "east", conditions=NOT_READY)
    where = dataset_internal("data", gateways=["own", "gone"], copies=["far"])
    what = cluster((down, *NODES[1:]), objects=[where])
    assert scores(what, user("data")) == {"own": 0, "rack": 0, "zone": 0, "region": 0, "far": 100}
    assert stance(what, user("data")) == "skips"  # gateways are told of: it is not for that node alone
    what.apply(Event(Verb.MODIFIED, NODES[0]))
    assert scores(what, user("data"))["own"] == 100
    what.apply(Event(Verb.DELETED, NODES[0]))
    assert scores(what, user("data"))["far"] == 100


def test_the_newer_group_tells_where_data_is() -> None:
    places = [dataset_internal("data", gateways="far"), dataset_internal("data", gateways="own", old_group=True)]
    what = cluster(NODES, objects=places)
    assert scores(what, user("data"))["far"] == 100
    assert scores(what, user("data"))["own"] == 0


def test_placements_that_make_no_sense_harm_nobody() -> None:
    odd = [DataPlacement(), DataPlacement(key="unheard/of", value="x"), DataPlacement(key="kubernetes.io/hostname")]
    many = [f"gone-{number}" for number in range(10_000)]
    where = dataset_internal("data", gateways=[*odd, *many, "own"])
    what = cluster(NODES, objects=[where, dataset("data", size="abc")])
    assert scores(what, user("data"))["own"] == 100
    every = cluster(NODES, objects=[dataset_internal("data", gateways=[one.name for one in NODES] * 2000)])
    assert scores(every, user("data")) == dict.fromkeys([one.name for one in NODES], 100)


def test_five_thousand_datasets() -> None:
    names = [f"d{number}" for number in range(5000)]
    where = [dataset_internal(name, gateways=NODES[number % 5].name) for number, name in enumerate(names)]
    what = cluster(NODES, objects=[*map(dataset, names), *where])
    made = profile(what, "NodeResourcesFit", "DataLocality", weights={"DataLocality": 10})
    for number in range(0, 5000, 250):
        assert made.decide(user(names[number])).node == NODES[number % 5].name
    moved = dataset_internal("d0", gateways="far")
    assert what.apply(Event(Verb.MODIFIED, moved))
    assert made.decide(user("d0")).node == "far"
    assert made.decide(user("d250")).node == "own"


def test_labels_that_make_no_sense_are_ignored() -> None:
    labels = {"dataset.x.id": "data", f"dataset.{'9' * 20}.id": "data", "dataset.1.id": "", "dataset.2.id": "No/Such"}
    what = cluster(NODES, objects=[dataset_internal("data", copies="own")])
    assert stance(what, pod(labels=labels)) == "skips"
    assert scores(what, pod(labels={**labels, "dataset.3.id": "data"}))["own"] == 100


def test_what_people_read() -> None:
    both = [dataset("data"), dataset("data", old_group=True)]
    where = dataset_internal("data", gateways=["zone", "gone"])
    what = cluster(NODES, [pod("load", cpu=4, node="zone")], [*both, where])
    made = profile(what, "NodeResourcesFit", "DataLocality")
    words = made.score_words(user("data", "other"))["DataLocality"]
    assert words["zone"] == (
        "data: gateway on zone, its own host, load 50%, 75 points",
        "  stale: kubernetes.io/hostname=gone (no such node)",
        "  told by datashim.io, which is believed, and by Dataset com.ie.ibm.hpsys",
        "other: does not exist",
    )
    assert words["own"][0] == "data: gateway on zone, same zone, load 50%, 37.5 points"
    assert words["far"][0] == "data: 1 copy, none on the ladder, 0 points"


def test_people_are_told_what_is_ignored_and_what_a_pod_was_placed_without() -> None:
    what = cluster(NODES, objects=[dataset("late", provision="Pending", info="soon")])
    made = profile(what, "NodeResourcesFit", "DataLocality")
    odd = pod("user", labels={"dataset.x.id": "a", "dataset.0.id": "late", "dataset.1.id": "none"})
    decision = made.decide(odd)
    ignored, missing = made.new_notices(decision, frozenset())
    assert ignored.reason == "DataIgnored"
    assert "label dataset.x.id: 'x' is no number" in ignored.note
    assert missing.reason == "DataMissing"
    assert missing.note == (
        f'Placed on {decision.node} though dataset "late" is not ready: Pending, soon, dataset "none" does not exist'
    )
    assert made.new_notices(decision, frozenset([ignored, missing])) == []
    plain = made.decide(pod("plain"))
    assert made.new_notices(plain, frozenset()) == []


# -- waiting -------------------------------------------------------------------------------------------------------


def helps(incoming: Pod, resource: Resource, action: Action, old: Any, new: Any) -> bool:
    plugin = DataLocality(cluster(NODES))
    event = ClusterEvent(resource, action)
    hints = [hint for hint in plugin.events() if hint.event.covers(event)]
    return any(hint.helps is None or hint.helps(incoming, Change(event, old, new)) for hint in hints)


def test_the_pod_wakes_when_its_own_data_changes_and_not_when_other_data_does() -> None:
    waiting = user("data")
    assert helps(waiting, Resource.DATASET, Action.ADD, None, dataset("data"))
    assert helps(waiting, Resource.DATASET_INTERNAL, Action.UPDATE, dataset_internal("data"), dataset_internal("data"))
    assert helps(waiting, Resource.DATASET_INTERNAL, Action.DELETE, dataset_internal("data"), None)
    assert not helps(waiting, Resource.DATASET, Action.ADD, None, dataset("other"))
    assert not helps(waiting, Resource.DATASET, Action.ADD, None, dataset("data", namespace="other"))
    assert helps(waiting, Resource.NODE, Action.ADD, None, NODES[0])
    assert not helps(waiting, Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE, NODES[0], NODES[0])
    assert not helps(waiting, Resource.ASSIGNED_POD, Action.DELETE, pod("gone", node="own"), None)


# -- as everybody's plugins ----------------------------------------------------------------------------------------


def data_situations(number: int, seed: int) -> list[Situation]:
    found = []
    for _, generator in enumerate(np.random.default_rng(seed).spawn(number)):
        dice = Dice(generator)
        world = DataWorld(dice)
        objects = tuple(world.objects.values())
        pods = tuple(random_user(dice, f"judged-{place}") for place in range(3))
        found.append(Situation(objects, pods, tuple(world.event() for _ in range(6))))
    return found


@pytest.mark.parametrize(
    "args", [{}, {"mode": "require", "requireWithin": "fairway.dev/rack"}, {"loadFrom": "annotation"}], ids=str
)
def test_it_keeps_its_word_where_data_is_used(args: dict[str, Any]) -> None:
    check_plugin(DataLocality, args=args, examples=data_situations(12, seed=7))


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_it_says_what_a_naive_loop_says_while_the_world_changes(seed: int) -> None:
    dice = Dice(np.random.default_rng(seed))
    world = DataWorld(dice)
    args = random_args(dice)
    live = world.load()
    plugin = DataLocality(live, args)
    pods = [random_user(dice, f"judged-{number}") for number in range(3)]
    for _ in range(6):
        for incoming in pods:
            expected = naive_answer(world.objects.values(), incoming, args)
            found = Interview(plugin, incoming)
            if expected.waits_for:
                assert found.stance == Refusal(tuple(expected.waits_for), Code.PENDING)
                continue
            answers = found.answers()
            refusals = {name for name, fits in answers.fits.items() if not fits}
            assert refusals == set(expected.refused)
            if refusals:
                names = sorted(refusals)
                rows = np.array([live.nodes.row_of[name] for name in names])
                words = [refusal.reasons[0] for refusal in found.refusals(rows)]
                assert words == [
                    f'node(s) had no copy of dataset "{expected.refused[name]}" near enough' for name in names
                ]
            assert (answers.scores or dict.fromkeys(expected.scores, 0)) == expected.scores
        for _ in range(dice.pick((1, 1, 3))):
            live.apply(world.event())


@settings(max_examples=40, deadline=None)
@given(seeds, st.randoms(use_true_random=False))
def test_the_order_of_gateways_does_not_matter(seed: int, shuffler: Any) -> None:
    dice = Dice(np.random.default_rng(seed))
    world = DataWorld(dice)
    names = [thing.name for thing in world.objects.values() if isinstance(thing, Node)]
    mixed = list(names)
    shuffler.shuffle(mixed)
    rest = [thing for thing in world.objects.values() if thing.kind != "DatasetInternal"]
    args = random_args(dice)
    found = [
        Interview(
            DataLocality(cluster(objects=[*rest, dataset_internal("a", gateways=order)]), args), user("a")
        ).answers()
        for order in (names, mixed)
    ]
    assert found[0] == found[1]


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_remembering_changes_no_decision(seed: int) -> None:
    dice = Dice(np.random.default_rng(seed))
    world = DataWorld(dice)
    live = world.load()
    args = {"DataLocality": {"mode": dice.pick(("prefer", "require")), "requireWithin": "kubernetes.io/hostname"}}
    remembering = profile(live, "DataLocality", defaults=True, args=args)
    pods = [random_user(dice, f"judged-{number}") for number in range(3)]
    for _ in range(5):
        for incoming in pods:
            forgetful = profile(world.load(), "DataLocality", defaults=True, args=args, caching=False)
            assert inspected(remembering, incoming) == inspected(forgetful, incoming)
            assert decided(remembering.decide(incoming)) == decided(forgetful.decide(incoming))
        live.apply(world.event())


# -- arguments -----------------------------------------------------------------------------------------------------


def configured(name: str, args: Any) -> Any:
    enabled = [{"name": name}]
    data = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"plugins": {"multiPoint": {"enabled": enabled}}, "pluginConfig": [{"name": name, "args": args}]},
        ],
    }
    return decode_configuration(data, "config.yaml", REGISTRY).profiles[0]


@pytest.mark.parametrize(
    ("args", "field", "words"),
    [
        ({"mode": "must"}, "mode", "prefer"),
        ({"loadPenalty": 2}, "loadPenalty", "0 to 1"),
        ({"gatewayOnStorage": -0.5}, "gatewayOnStorage", "0 to 1"),
        ({"loadFrom": "moon"}, "loadFrom", "annotation"),
        ({"ladder": []}, "ladder", "at least one rung"),
        ({"ladder": [{"key": "a/b/c", "points": 1}]}, "ladder[0].key", "prefix"),
        ({"ladder": [{"key": "a", "points": 101}]}, "ladder[0].points", "0 to 100"),
        ({"ladder": [{"key": "a", "points": 1}, {"key": "b", "points": 2}]}, "ladder[1].points", "most first"),
        ({"ladder": [{"key": "a", "points": 1}, {"key": "a", "points": 1}]}, "ladder[1].key", "already"),
        ({"ladder": [{"key": "a"}]}, "ladder[0]", "points"),
        ({"requireWithin": "topology.kubernetes.io/zon"}, "requireWithin", "topology.kubernetes.io/zone"),
        ({"penalty": 1}, "penalty", "loadPenalty"),
    ],
)
def test_arguments_that_make_no_sense_are_told_with_their_field(args: Any, field: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        configured("DataLocality", args)
    told = str(raised.value)
    assert "config.yaml" in told
    assert f"profiles[0].pluginConfig[0].args.{field}" in told
    assert words in told


def test_the_arguments_of_the_documentation_are_the_defaults() -> None:
    written = {
        "mode": "prefer",
        "ladder": [
            {"key": "kubernetes.io/hostname", "points": 100},
            {"key": "fairway.dev/rack", "points": 75},
            {"key": "topology.kubernetes.io/zone", "points": 50},
            {"key": "topology.kubernetes.io/region", "points": 25},
        ],
        "requireWithin": "kubernetes.io/hostname",
        "loadPenalty": 0.5,
        "loadFrom": "requests",
        "gatewayOnStorage": 1.0,
    }
    assert configured("DataLocality", written).args["DataLocality"] == DataLocalityArgs()


def test_the_name_of_the_example_that_it_replaces_is_understood() -> None:
    set_of = {"enabled": [{"name": "CacheAwarePlugin", "weight": 5}]}
    data = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"filter": set_of, "score": set_of},
                "pluginConfig": [{"name": "CacheAwarePlugin", "args": {"mode": "require"}}],
            }
        ],
    }
    made = decode_configuration(data, "config.yaml", REGISTRY).profiles[0]
    assert made.args["DataLocality"] == DataLocalityArgs(mode="require")
    assert made.weights["DataLocality"] == 5
    assert "DataLocality" in made.points["filter"]
    assert "CacheAwarePlugin" not in made.entries
    what = cluster(NODES, objects=[dataset("data"), dataset_internal("data", gateways="zone")])
    assert Profile(made, what).decide(user("data")).node == "zone"
