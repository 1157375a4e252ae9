"""Pseudonyms: nothing that could name somebody is left in any kind of object, and everything else is as it was."""

from __future__ import annotations

import types
import typing
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import Pod
from fairway.model.codec import KINDS
from fairway.record.writing.anonymous_schedulers import anonymous_scheduler
from fairway.record.writing.kept import kept
from fairway.record.writing.pseudonyms import KNOWN_DOMAINS, STAY, Pseudonyms
from fairway.record.writing.rewriting import rewrite
from fairway.testing import node, pod

RACK = "fairway.dev/rack"
SECRET = "q98"  # with digits that no pseudonym has

WORDS_OF_KUBERNETES = {
    "access_modes", "action", "caching_mode", "completion_mode", "concurrency_policy", "effect", "fs_type", "operator",
    "node_affinity_policy", "node_taints_policy", "persistent_volume_reclaim_policy", "phase", "pod_management_policy",
    "pod_replacement_policy", "preemption_policy", "protocol", "pull_policy", "qos_class", "reason", "reclaim_policy",
    "resize", "restart_policy", "status", "type", "unhealthy_pod_eviction_policy", "volume_binding_mode",
    "volume_lifecycle_modes", "volume_mode", "when_deleted", "when_satisfied", "when_scaled", "when_unsatisfiable",
    "declared_features", "disruption_mode",
}  # fmt: skip
"""Fields that hold one of a list of words."""
WHAT_DECIDES = {
    "allocatable", "allocated_resources", "capacity", "limits", "min_resources", "overhead", "requests",  # resources
    "resources",
    "attacher", "driver", "provisioner",  # drivers, which have limits of their own
    "completed_indexes", "failed_indexes", "succeeded_indexes", "resource_version",  # numbers
    "managed_by", "schedule", "scheduler_name", "time_zone",
}  # fmt: skip
"""Fields that decide something and say nothing about anybody."""
DRIVERS_AND_SYSTEMS = {("CSINodeDriver", "name"), ("PodOS", "name")}


def filled(kind: Any, field: str) -> Any:
    """A value of this type with a secret in every text, called after the field it is in."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is str:
        return f"{SECRET}{field.replace('_', '')}"
    if kind in (int, bool, float):
        return kind(1)
    if origin is dict:
        return {filled(args[0], field): filled(args[1], field)}
    if origin is tuple:
        return (filled(args[0], field),)
    if origin in (typing.Union, types.UnionType):
        return filled(next(part for part in args if part is not type(None)), field)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = typing.get_type_hints(kind)
        names = [name for name in kind.__struct_fields__ if name not in ("kind", "api_version")]
        return kind(**{name: filled(hints[name], name) for name in names})
    return None


def texts(thing: Any, owner: str = "", field: str = "") -> Iterator[tuple[str, str, str]]:
    """Every text in an object, keys of mappings too: the struct it is in, the field, the text."""
    match thing:
        case str():
            yield owner, field, thing
        case msgspec.Struct():
            for name in thing.__struct_fields__:
                yield from texts(getattr(thing, name), type(thing).__name__, name)
        case tuple():
            for part in thing:
                yield from texts(part, owner, field)
        case dict():
            for key, value in thing.items():
                yield from texts(key, owner, field)
                yield from texts(value, owner, field)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_no_field_of_any_kind_of_object_keeps_a_name(kind: type[Any]) -> None:
    """A field that is new in the model has to be listed here, or to be replaced."""
    thing = filled(kind, "")
    assert sum(SECRET in text for *_, text in texts(thing)) > 3
    left = {(owner, field) for owner, field, text in texts(Pseudonyms(b"key").thing(kept(thing))) if SECRET in text}
    told = {place for place in left if place[1] not in WORDS_OF_KUBERNETES | WHAT_DECIDES} - DRIVERS_AND_SYSTEMS
    assert told == set()


# -- whole objects of random names -------------------------------------------------------------------------------------

NAMES = st.text("abc-", min_size=1, max_size=6).map(lambda text: f"{SECRET}{text}x")
KEYS = st.one_of(NAMES, st.sampled_from(["kubernetes.io/hostname", "topology.kubernetes.io/zone"]))
LABELS = st.dictionaries(KEYS, st.one_of(NAMES, st.sampled_from(["", "true", "17"])), max_size=3)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """A pod that names things wherever one can."""
    labels = draw(LABELS)
    return pod(
        draw(NAMES),
        namespace=draw(NAMES),
        uid=draw(NAMES),
        cpu=draw(st.integers(0, 8)) or None,
        labels=labels,
        node=draw(st.one_of(st.just(""), NAMES)),
        priority=draw(st.integers(-5, 5)),
        tolerates=[f"{draw(NAMES)}={draw(NAMES)}:NoSchedule"],
        node_selector=draw(LABELS),
        claims=draw(st.lists(NAMES, max_size=2, unique=True)),
        ports=draw(st.lists(st.integers(1, 99), max_size=2, unique=True)),
        images=[f"{draw(NAMES)}:{draw(st.sampled_from(['v1', 'latest']))}"],
        annotations={"fairway.dev/user": draw(NAMES), f"{draw(NAMES)}/note": "dropped"},
    )


def shape(thing: Any) -> Any:
    """An object without its texts: structs, lengths, numbers."""
    match thing:
        case str():
            return bool(thing)
        case msgspec.Struct():
            return type(thing).__name__, [shape(getattr(thing, name)) for name in thing.__struct_fields__]
        case tuple():
            return [shape(part) for part in thing]
        case dict():
            return sorted(repr(shape(value)) for value in thing.values())
        case _:
            return thing


@given(st.lists(pods(), min_size=1, max_size=3))
def test_a_pod_keeps_its_shape_and_loses_its_names(before: list[Pod]) -> None:
    names = Pseudonyms()
    for one in map(kept, before):
        after = names.thing(one)
        assert shape(after) == shape(one)
        assert not [place for *place, text in texts(after) if SECRET in text]
    again = [names.thing(kept(one)) for one in before]
    assert again == [names.thing(kept(one)) for one in before]
    for field in ("namespace", "name", "uid"):
        assert partition([getattr(one.metadata, field) for one in before]) == partition(
            [getattr(one.metadata, field) for one in again]
        )


def partition(values: list[str]) -> list[list[int]]:
    """Who is equal to whom."""
    places = defaultdict(list)
    for number, value in enumerate(values):
        places[value].append(number)
    return sorted(places.values())


@given(LABELS, LABELS)
def test_labels_match_as_before(selector: dict[str, str], labels: dict[str, str]) -> None:
    names = Pseudonyms()
    other = names.thing(pod("p", node_selector=selector)).spec.node_selector
    there = names.thing(node("n", labels=labels)).metadata.labels
    for key, value in selector.items():
        new = names.label_key(key)
        assert (labels.get(key) == value) == (there.get(new) == other[new])
        assert (new == key) == bool(KNOWN_DOMAINS.fullmatch(key.partition("/")[0]))
        assert (other[new] == value) == (value in ("", "true", "17"))


@given(st.lists(st.one_of(NAMES, st.sampled_from(sorted(STAY))), min_size=1, max_size=4))
def test_names_of_several_pieces_are_replaced_piece_by_piece(pieces: list[str]) -> None:
    names = Pseudonyms()
    whole = names.name("/".join(pieces))
    assert whole == "/".join(map(names.name, pieces)) or "/".join(pieces) in STAY
    assert SECRET not in whole
    for piece in pieces:
        assert (names.name(piece) == piece) == (piece in STAY)


@given(NAMES, NAMES, NAMES)
def test_sentences_lose_what_is_quoted_and_taints(key: str, value: str, name: str) -> None:
    names = Pseudonyms()
    before = f'0/3 nodes: 2 had taint {{{key}: {value}}}, 1 claim "{name}" not found'
    after = f'0/3 nodes: 2 had taint {{{names.name(key)}: {names.name(value)}}}, 1 claim "{names.name(name)}" not found'
    assert names.sentence(before) == after


@pytest.mark.parametrize(
    ("first", "second", "are_the_same"),
    [
        ("frontend", "frontend:latest", True),  # how a node lists it
        ("frontend:v1", "frontend:v2", False),
        ("hub/frontend", "hub/frontend:latest", True),
        ("hub:5000/frontend", "hub:5000/frontend:latest", True),
        ("frontend@sha256:0a", "frontend", False),
    ],
)
def test_images_are_the_same_where_a_node_lists_them_so(first: str, second: str, are_the_same: bool) -> None:
    names = Pseudonyms()
    assert (names.image(first) == names.image(second)) is are_the_same
    assert "frontend" not in names.image(first) + names.image(second)
    assert names.image("") == ""


def test_the_arguments_of_plugins_get_the_names_that_nodes_have() -> None:
    names = Pseudonyms()
    term = {"matchExpressions": [{"key": f"{SECRET}disk", "operator": "In", "values": [f"{SECRET}ssd", "3"]}]}
    spread = {
        "topologyKey": f"{SECRET}rack",
        "maxSkew": 1,
        "labelSelector": {"matchLabels": {f"{SECRET}a": f"{SECRET}b"}},
    }
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"{SECRET}n"]}]}
    plain = {
        "name": "default-scheduler",
        "config": {
            "leaderElection": {"resourceName": f"{SECRET}lease"},
            "clientConnection": {"kubeconfig": f"{SECRET}path"},
            "extenders": [{"urlPrefix": f"{SECRET}host", "weight": 3}],
            "profiles": [
                {
                    "schedulerName": "default-scheduler",
                    "pluginConfig": [
                        {"name": "NodeAffinity", "args": {"addedAffinity": {"terms": [term, fields]}}},
                        {
                            "name": "PodTopologySpread",
                            "args": {"defaultConstraints": [spread], "matchLabelKeys": ["k"]},
                        },
                        {"name": "ByNobody"},
                    ],
                }
            ],
        },
    }
    config = anonymous_scheduler(plain, names)["config"]
    assert SECRET not in str(config)
    assert config["extenders"] == [{"urlPrefix": "", "weight": 3}]
    affinity, spreading, nobody = config["profiles"][0]["pluginConfig"]
    (asked,) = affinity["args"]["addedAffinity"]["terms"][0]["matchExpressions"]
    assert asked == {"key": names.name(f"{SECRET}disk"), "operator": "In", "values": [names.name(f"{SECRET}ssd"), "3"]}
    (field,) = affinity["args"]["addedAffinity"]["terms"][1]["matchFields"]
    assert field == {"key": "metadata.name", "operator": "In", "values": [names.name(f"{SECRET}n")]}
    (constraint,) = spreading["args"]["defaultConstraints"]
    assert constraint["topologyKey"] == names.label_key(f"{SECRET}rack")
    assert constraint["maxSkew"] == 1
    assert constraint["labelSelector"]["matchLabels"] == {names.name(f"{SECRET}a"): names.name(f"{SECRET}b")}
    assert spreading["args"]["matchLabelKeys"] == [names.name("k")]
    assert nobody["args"] is None


# -- rewriting ---------------------------------------------------------------------------------------------------------


@given(pods())
def test_rewriting_that_changes_nothing_is_the_same_object(one: Pod) -> None:
    seen: list[Any] = []

    def note(part: Any) -> Any:
        seen.append(part)
        return part

    assert rewrite(one, note) is one
    assert seen[-1] is one  # the innermost first
    assert len(seen) == sum(1 for _ in structs(one))


def structs(thing: Any) -> Iterator[Any]:
    """Every struct in an object, itself too."""
    if isinstance(thing, msgspec.Struct):
        yield thing
        for name in thing.__struct_fields__:
            yield from structs(getattr(thing, name))
    elif isinstance(thing, tuple | dict):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from structs(part)


@given(pods())
def test_a_part_that_changes_leaves_its_neighbours_shared(one: Pod) -> None:
    def change(part: Any) -> Any:
        return msgspec.structs.replace(part, name="other") if type(part).__name__ == "ObjectMeta" else part

    after = rewrite(one, change)
    assert after.metadata.name == "other"
    assert (after.spec is one.spec, after.metadata.labels is one.metadata.labels) == (True, True)
    assert one.metadata.name.startswith(SECRET)


def test_jobs_that_a_pod_names_have_the_names_that_they_have_themselves() -> None:
    pseudonyms = Pseudonyms()
    said = {"fairway.dev/connect-to": "train, ml/a-job-with-a-long-name", "fairway.dev/exclusive": "node"}
    train, namespace, long = (pseudonyms.name(word) for word in ("train", "ml", "a-job-with-a-long-name"))
    assert pseudonyms.annotations(said) == {
        "fairway.dev/connect-to": f"{train}, {namespace}/{long}",
        "fairway.dev/exclusive": "node",
    }


def test_the_ladder_of_data_goes_by_the_labels_that_nodes_have_then() -> None:
    names = Pseudonyms()
    args = {"ladder": [{"key": "acme/row", "points": 80}, {"key": RACK, "points": 5}], "requireWithin": "acme/row"}
    told = {"name": "DataLocality", "args": args}
    plain = {"config": {"profiles": [{"pluginConfig": [told]}]}}
    found = anonymous_scheduler(plain, names)["config"]["profiles"][0]["pluginConfig"][0]["args"]
    labels = names.thing(
        node("n1", labels={"acme/row": "7", RACK: "r1", "data.fairway.dev/images": "copy"})
    ).metadata.labels
    assert found["requireWithin"] == found["ladder"][0]["key"]
    assert found["requireWithin"] in labels
    assert found["ladder"] == [{"key": found["requireWithin"], "points": 80}, {"key": RACK, "points": 5}]
    assert labels[f"data.fairway.dev/{names.name('images')}"] == "copy"
    user = names.thing(pod("p", labels={"dataset.0.id": "images"}, annotations={"fairway.dev/data": "images,texts"}))
    assert user.metadata.labels == {"dataset.0.id": names.name("images")}
    assert user.metadata.annotations["fairway.dev/data"] == f"{names.name('images')},{names.name('texts')}"
