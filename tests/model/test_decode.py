"""Manifests become objects, or errors that name file, object and field."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import (
    KINDS,
    DecodeError,
    Namespace,
    Node,
    Pod,
    Skipped,
    Source,
    decode_object,
    encode_json,
    load_json,
    load_yaml,
    parse_quantity,
    skipped_notes,
    to_builtins,
)

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "shop", "labels": {"app": "web"}, "creationTimestamp": None},
    "spec": {
        "containers": [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}}],
        "nodeName": "n1",
        "dnsPolicy": "ClusterFirst",
    },
    "status": {"phase": "Running", "startTime": "2030-01-01T00:00:01Z", "podIP": "10.0.0.1"},
}


def pod_with(**spec: Any) -> bytes:
    return json.dumps(POD | {"spec": spec}).encode()


def test_a_pod_from_bytes_and_from_a_dict_is_the_same() -> None:
    pod = decode_object(POD)
    assert isinstance(pod, Pod)
    assert decode_object(json.dumps(POD).encode()) == pod
    assert pod.key == "shop/web-0"
    assert pod.spec.node_name == "n1"
    assert pod.spec.containers[0].resources.requests == {"cpu": parse_quantity("250m"), "memory": parse_quantity("1Gi")}
    assert pod.status.start_time == dt.datetime(2030, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    assert (pod.spec.tolerations, pod.spec.node_selector, pod.spec.affinity) == ((), {}, None)


def test_what_is_kept_survives_a_round_trip() -> None:
    pod = decode_object(POD)
    assert decode_object(encode_json(pod)) == pod
    assert decode_object(to_builtins(pod)) == pod
    written = json.loads(encode_json(pod))
    assert (written["apiVersion"], written["kind"], written["spec"]["nodeName"]) == ("v1", "Pod", "n1")
    assert json.loads(encode_json(Pod())) == {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_every_kind_decodes_from_nothing_but_a_name(api_version: str, kind: str) -> None:
    tree = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    thing = decode_object(tree)
    assert (thing.api_version, thing.kind, thing.metadata.name) == (api_version, kind, "x")
    assert json.loads(encode_json(thing)) == tree
    (of_json,) = load_json(json.dumps(tree).encode(), "f")
    (of_yaml,) = load_yaml(yaml.safe_dump(tree).encode(), "f")
    assert of_json.object == of_yaml.object == thing


ODD_NAMES: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "node": (
        {"kind": "Node", "apiVersion": "v1", "spec": {"providerID": "p", "podCIDR": "10.0.0.0/24"}},
        ["spec.provider_id", "p", "spec.pod_cidr", "10.0.0.0/24"],
    ),
    "volumes": (
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "spec": {"volumes": [{"awsElasticBlockStore": {"volumeID": "v"}, "azureDisk": {"diskURI": "d"}}]},
        },
        ["spec.volumes.0.aws_elastic_block_store.volume_id", "v", "spec.volumes.0.azure_disk.disk_uri", "d"],
    ),
    "ports": (
        {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"ports": [{"hostIP": "::1", "hostPort": 80}]}]}},
        ["spec.containers.0.ports.0.host_ip", "::1", "spec.containers.0.ports.0.host_port", 80],
    ),
    "csi node": (
        {"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "spec": {"drivers": [{"nodeID": "i"}]}},
        ["spec.drivers.0.node_id", "i"],
    ),
    "gce disk": (
        {"kind": "PersistentVolume", "apiVersion": "v1", "spec": {"gcePersistentDisk": {"pdName": "d"}}},
        ["spec.gce_persistent_disk.pd_name", "d"],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), ODD_NAMES.values(), ids=ODD_NAMES)
def test_names_that_are_not_plain_camel_case(tree: dict[str, Any], expected: list[Any]) -> None:
    thing: Any = decode_object(tree)
    for path, value in zip(expected[::2], expected[1::2], strict=True):
        found = thing
        for step in path.split("."):
            found = found[int(step)] if step.isdigit() else getattr(found, step)
        assert found == value
    assert json.loads(encode_json(thing)) == tree


def test_null_is_absent() -> None:
    data = pod_with(
        containers=None, nodeSelector=None, affinity=None, tolerations=None, schedulerName=None, overhead=None
    )
    pod = decode_object(data)
    assert isinstance(pod, Pod)
    assert (pod.spec.containers, pod.spec.node_selector, pod.spec.scheduler_name) == ((), {}, "")
    assert decode_object(json.dumps(POD | {"spec": None, "status": None}).encode()) == decode_object(
        {key: value for key, value in POD.items() if key not in ("spec", "status")}
    )


def test_a_quantity_may_be_a_number_or_null_or_have_spaces() -> None:
    pod = decode_object(pod_with(overhead={"cpu": 0.5, "memory": 7, "a/b": None, "c/d": " 3 "}))
    assert isinstance(pod, Pod)
    assert {name: quantity.milli for name, quantity in pod.spec.overhead.items()} == {
        "cpu": 500,
        "memory": 7000,
        "a/b": 0,
        "c/d": 3000,
    }


ERRORS = {
    "a quantity": (
        pod_with(containers=[{}, {"resources": {"requests": {"memory": "1Gi", "cpu": "1x"}}}]),
        "p.json: Pod shop/web-0: spec.containers[1].resources.requests.cpu: quantity '1x' is not a number",
    ),
    "a quantity that is a list": (
        pod_with(overhead={"cpu": ["1"]}),
        "spec.overhead.cpu: expected a quantity: a number or text such as 250m or 2Gi, found a list",
    ),
    "a quantity that is true": (pod_with(overhead={"cpu": True}), "spec.overhead.cpu: a quantity is a number or text"),
    "a label": (
        json.dumps(POD | {"metadata": {"name": "x", "labels": {"a": "b", "example.com/c": 1}}}).encode(),
        "p.json: Pod x: metadata.labels['example.com/c']: expected text, found 1",
    ),
    "a number": (pod_with(priority="high"), "spec.priority: expected an integer, found 'high'"),
    "a big number": (pod_with(priority=1 << 40), "spec.priority: expected at most 2147483647, found 1099511627776"),
    "a huge number": (b'{"apiVersion":"v1","kind":"Pod","spec":{"priority":1e999}}', "out of range"),
    "a time": (
        json.dumps(POD | {"status": {"startTime": "noon"}}).encode(),
        "status.startTime: expected a time with a zone, such as 2030-01-01T00:00:00Z, found 'noon'",
    ),
    "a time without zone": (
        json.dumps(POD | {"status": {"startTime": "2030-01-01T00:00:00"}}).encode(),
        "status.startTime: expected a time with a zone",
    ),
    "a list": (pod_with(containers={"name": "c"}), "spec.containers: expected a list, found an object"),
    "an object": (pod_with(containers=[None]), "spec.containers[0]: expected an object, found null"),
    "a boolean": (pod_with(hostNetwork="yes"), "spec.hostNetwork: expected true or false, found 'yes'"),
    "no apiVersion": (b'{"kind":"Pod"}', "p.json: Pod: apiVersion: must be there, and be text such as v1"),
    "no kind": (b'{"apiVersion":"v1"}', "p.json: kind: must be there, and be text such as Pod"),
    "a kind that is a number": (b'{"apiVersion":"v1","kind":7}', "p.json: kind: must be there"),
    "not an object": (b"[]", "p.json: expected an object with apiVersion and kind, found a list"),
    "null": (b"null", "p.json: expected an object with apiVersion and kind, found null"),
    "cut off": (b'{"apiVersion":"v1",\n"kind":"Pod"', "p.json: JSON is malformed at line 2, column 13"),
    "malformed": (
        b'{"apiVersion":"v1",\n"kind":x}',
        "p.json: JSON is malformed at line 2, column 8: invalid character",
    ),
    "empty": (b"", "p.json: JSON is malformed at line 1, column 1"),
    "not text": (b'{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":"\xff"}}', "p.json: JSON is not UTF-8 text"),
    "deep": (b'{"a":\n' * 9000, "p.json: line 101, column 1: nested more than 100 deep"),
    "deep and whole": (b"[" * 900 + b"]" * 900, "p.json: line 1, column 101: nested more than 100 deep"),
    "deep in a field that is not read": (
        pod_with(priority="high", x=0).replace(b'"x": 0', b'"x": ' + b"[" * 9000 + b"]" * 9000),
        ": nested more than 100 deep",
    ),
    "deep without end": (b"[" * 5_000_000, "nested more than 100 deep"),
    "a list that is none": (
        b'{"apiVersion":"v1","kind":"PodList","items":{}}',
        "p.json: PodList: items: expected a list",
    ),
    "in a list": (
        b'{"apiVersion":"v1","kind":"PodList","items":[{},{"metadata":{"name":"b"},"spec":{"priority":"x"}}]}',
        "p.json, items[1]: Pod b: spec.priority: expected an integer, found 'x'",
    ),
}


@pytest.mark.parametrize(("data", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_name_file_object_and_field(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        load_json(data, "p.json")
    assert message in str(caught.value)


def test_an_error_can_be_sent_to_another_process() -> None:
    error = DecodeError("is wrong", source=Source("f.yaml", 2, 9, 3), subject="Pod a/b", field="spec.x")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "f.yaml, document 2 (line 9), items[3]: Pod a/b: spec.x: is wrong"
    assert (copy.problem, copy.source, copy.subject, copy.field) == ("is wrong", error.source, "Pod a/b", "spec.x")


def test_an_unknown_kind_is_an_error_only_when_one_object_is_wanted() -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    with pytest.raises(DecodeError, match="v1 ConfigMap is not a kind Fairway reads; it reads v1 Pod"):
        decode_object(tree, "f")
    skipped: list[Skipped] = []
    assert load_json(json.dumps(tree).encode(), "f", skipped) == []
    assert [(one.api_version, one.kind, one.name, str(one.source)) for one in skipped] == [
        ("v1", "ConfigMap", "x", "f")
    ]


def test_a_known_kind_of_another_version_is_skipped() -> None:
    skipped: list[Skipped] = []
    assert load_json(b'{"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget"}', "f", skipped) == []
    assert skipped[0].api_version == "policy/v1beta1"


@pytest.mark.parametrize(
    ("kinds", "notes"),
    [
        ([], []),
        ([("v1", "Secret")], ["skipped what is of no concern to a scheduler: 1 Secret"]),
        (
            [("v1", "Secret"), ("extensions/v1beta1", "Deployment"), ("batch.volcano.sh/v1alpha1", "Job")],
            [
                "skipped what is of no concern to a scheduler: 1 Secret",
                "skipped, being of an API that is not read: "
                "1 Deployment (extensions/v1beta1), 1 Job (batch.volcano.sh/v1alpha1)",
            ],
        ),
    ],
    ids=["nothing", "other kinds", "other versions"],
)
def test_what_is_skipped_is_told_apart(kinds: list[tuple[str, str]], notes: list[str]) -> None:
    skipped = [Skipped(version, kind, "x", Source("f")) for version, kind in kinds]
    assert skipped_notes(Counter(one.title for one in skipped)) == notes


LIST = b"""
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {since: 2024-01-01, at: 12:30, octal: "010"}}
---
# nothing here
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, memory: 1.5e9, pods: 110}}}
- {apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: d}}
- apiVersion: v1
  kind: PodList
  items:
  - metadata: {name: a}
"""


def test_yaml_with_documents_and_lists() -> None:
    skipped: list[Skipped] = []
    namespace, node, pod = load_yaml(LIST, "all.yaml", skipped)
    assert isinstance(namespace.object, Namespace)
    assert namespace.object.metadata.labels == {"since": "2024-01-01", "at": "12:30", "octal": "010"}
    assert isinstance(node.object, Node)
    assert node.object.status.allocatable["memory"].value == 1_500_000_000
    assert isinstance(pod.object, Pod)
    assert [str(one.source) for one in (namespace, node, pod)] == [
        "all.yaml, document 1 (line 2)",
        "all.yaml, document 2 (line 8), items[0]",
        "all.yaml, document 2 (line 8), items[0]",
    ]
    assert str(skipped[0]).startswith("all.yaml, document 2 (line 8), items[1]: apps/v1 ControllerRevision d")


def test_yaml_anchors_and_merges() -> None:
    text = b"""
    apiVersion: v1
    kind: Pod
    metadata: {name: a, labels: &labels {app: web, tier: x}, annotations: {<<: *labels, tier: "y"}}
    spec: {nodeSelector: {<<: [{tier: first}, *labels]}}
    """
    pod = load_yaml(text, "f")[0].object
    assert isinstance(pod, Pod)
    assert pod.metadata.annotations == {"app": "web", "tier": "y"}
    assert pod.spec.node_selector == {"app": "web", "tier": "first"}


def scalars(text: str) -> Any:
    return f"apiVersion: v1\nkind: Pod\nspec: {{priority: {text}}}".encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("-7", -7), ("0x1F", 31), ("010", 8), ("0b11", 3), ("1_000", 1000), ("0", 0)],
)
def test_yaml_integers(text: str, value: int) -> None:
    pod = load_yaml(scalars(text), "f")[0].object
    assert isinstance(pod, Pod)
    assert pod.spec.priority == value


YAML_ERRORS = {
    "malformed": (b"a: [\n", "f.yaml: YAML is malformed at line 2, column 1"),
    "tab": (b"a:\n\tb: c", "f.yaml: YAML is malformed at line 2, column 1"),
    "a key twice": (b"kind: Pod\nkind: Node", "f.yaml: line 2, column 1: the key 'kind' is there twice"),
    "a key that is a list": (b"? [a]\n: b", "f.yaml: line 1, column 3: a key must be text"),
    "endless": (b"&a [*a]", "f.yaml: line 1, column 5: there is no complete &a before this *a"),
    "deep": (b"[" * 300_000, "f.yaml: line 1, column 102: nested more than 100 deep"),
    "deep mappings": (b"{a: " * 300_000, "nested more than 100 deep"),
    "deep lists": (b"- " * 100_000, "nested more than 100 deep"),
    "a bomb": (
        b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%b]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 10)) for n in range(ord("b"), ord("i"))),
        "aliases expand this document to more than can be meant",
    ),
    "a tag": (b"a: !!python/name:os.system", "the tag python/name:os.system is not allowed"),
    "a set": (b"!!set {a}", "the tag tag:yaml.org,2002:set is not allowed"),
    "not UTF-8": (b"a: b\nc: \xff", "f.yaml: not UTF-8 text at line 2, column 4"),
    "control characters": (b"a: \x00", "f.yaml: YAML is malformed"),
    "an unknown alias": (b"a: *b", "f.yaml: line 1, column 4: there is no complete &b before this *b"),
    "merge of a scalar": (b"<<: 1", "'<<' takes a mapping or a list of mappings"),
    "scalar": (b"hello", "f.yaml: expected an object with apiVersion and kind, found 'hello'"),
    "the document": (
        b"apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: 1}",
        "f.yaml, document 2 (line 4): Pod: metadata.name: expected text, found 1",
    ),
    "infinity": (b"apiVersion: v1\nkind: Pod\nspec: {overhead: {cpu: .inf}}", "spec.overhead.cpu: quantity inf is not"),
}


@pytest.mark.parametrize(("data", "message"), YAML_ERRORS.values(), ids=YAML_ERRORS)
def test_yaml_errors_say_where(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        load_yaml(data, "f.yaml")
    assert message in str(caught.value)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = ["metadata", "spec", "status", "name", "labels", "containers", "resources", "requests", "cpu", "affinity"]
WORDS += ["nodeAffinity", "tolerations", "conditions", "capacity", "allocatable", "items", "kind", "apiVersion"]
NEAR_MISSES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "1", "2Gi", "x", "2030-01-01T00:00:00Z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=20,
)
HEADERS = st.sampled_from([*KINDS, ("v1", "PodList"), ("v1", "List"), ("v1", "ConfigMap")])


def decodes(data: bytes) -> None:
    """Either objects or a DecodeError: any other exception fails the test."""
    for load in (load_json, load_yaml):
        with suppress(DecodeError):
            for one in load(data, "f"):
                assert decode_object(encode_json(one.object)) == one.object


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    decodes(data)


@given(st.text("{}[]:,-&*!|>%@`'\"#? \n\tab01.<", max_size=40))
def test_any_punctuation(text: str) -> None:
    decodes(text.encode())


@given(JSON_VALUES)
def test_any_json(tree: Any) -> None:
    decodes(json.dumps(tree).encode())


@given(HEADERS, st.dictionaries(st.sampled_from(WORDS[:3] + WORDS[-3:]), NEAR_MISSES, max_size=4))
def test_anything_that_looks_like_an_object(header: tuple[str, str], tree: dict[str, Any]) -> None:
    decodes(json.dumps({"apiVersion": header[0], "kind": header[1]} | tree).encode())
    decodes(json.dumps(tree | {"apiVersion": header[0], "kind": header[1]}).encode())
