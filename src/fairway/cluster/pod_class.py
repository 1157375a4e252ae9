"""Pod classes: pods that no plugin could tell apart share one.

In: a pod. Out: its `PodClass`, with everything that follows from the pod alone worked out once: the request vector over
resource columns, host ports, claims, affinity terms, interned labels. The cycle caches its answers per class.
What makes two pods equal is the key below: namespace, labels, the annotations that anybody reads, spec (without the
node and the devices a bound pod has), its controller, for pods resized in place the resources in force, and what
plugins add.
Classes and label sets end with the last pod or cache that refers to them; nothing here holds on to them, and the keys
are digests, so that a pod of a megabyte does not leave another one behind.
"""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster.annotations import ReadAnnotations
from fairway.cluster.nodes import PODS, NodeTable
from fairway.cluster.terms import Kind, Terms, pod_terms
from fairway.model import Pod, Quantity
from fairway.model.device_need import GPU_INDEX, read_devices
from fairway.model.requests import pod_requests, pod_scoring_requests, resident_scoring_requests

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from fairway.cluster.counters import Counter, TermHolder
    from fairway.model import PodSpec


def _plain(value: Any) -> Any:
    if isinstance(value, Quantity):
        return value.text
    raise TypeError(f"a pod holds a {type(value).__name__}, which has no encoding")


ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain, order="deterministic")


DIGEST_BYTES = 32

Extra = tuple[tuple[str, "Hashable"], ...]
"""What plugins, by name, add to the key of a pod's class."""


class ClassKey(NamedTuple):
    """What makes pods equal, as a digest that nobody finds a second text for, and how long the text was."""

    digest: bytes
    size: int


class Added(dict[str, "Hashable"]):
    """What plugins add, by name; None of those that add nothing."""

    def __missing__(self, name: str) -> None:
        return None


class HostPort(NamedTuple):
    """A port of the node that a pod wants for itself."""

    ip: str
    protocol: str
    port: int


class LabelSet:
    """A namespace and a set of labels that some pod has, and the counters that count such pods."""

    __slots__ = ("__weakref__", "_free_ids", "_room", "counters", "id", "is_counted", "labels", "namespace")

    def __init__(self, number: int, namespace: str, labels: Mapping[str, str], free_ids: list[int]) -> None:
        self.id = number
        self._free_ids = free_ids  # where the number goes in the end
        self.namespace = namespace
        self.labels = labels
        self.counters: list[weakref.ref[Counter]] = []
        self.is_counted = False  # do those counters know of it?
        self._room = 8  # when so many are listed, those that are no more are left out

    def __del__(self) -> None:
        self._free_ids.append(self.id)

    def add_counter(self, counter: weakref.ref[Counter], times: int) -> None:
        """One more counts such pods, each so many times."""
        if len(self.counters) >= self._room:
            self.counters = [other for other in self.counters if other() is not None]
            self._room = max(8, 2 * len(self.counters))
        self.counters += [counter] * times


class PodClass:
    """What all pods of a class have in common. `pod` is any one of them, without the annotations that nobody reads."""

    __slots__ = (
        "__weakref__",
        "_amounts",
        "_columns",
        "_columns_version",
        "_missing",
        "_nodes",
        "_taken",
        "annotations",
        "bound",
        "claims",
        "devices",
        "devices_problem",
        "extra",
        "kept",
        "key",
        "label_set",
        "labels",
        "namespace",
        "pod",
        "ports",
        "priority",
        "requests",
        "resident_cpu",
        "resident_memory",
        "scoring",
        "spec",
        "term_counters",
        "term_holders",
        "terms",
    )

    def __init__(
        self,
        pod: Pod,
        label_set: LabelSet,
        annotations: Mapping[str, str],
        nodes: NodeTable,
        key: ClassKey,
        extra: Extra = (),
    ) -> None:
        self.pod = pod
        self.spec: PodSpec = pod.spec
        self.namespace = pod.metadata.namespace
        self.labels: Mapping[str, str] = pod.metadata.labels
        self.annotations = annotations  # those that somebody reads
        self.extra: dict[str, Hashable] = Added(extra)  # by plugin: what its `class_key` said
        self.label_set = label_set
        self.priority = pod.priority
        self.requests: dict[str, int] = pod_requests(pod)  # cpu in thousandths
        self.scoring: dict[str, int] = pod_scoring_requests(pod)  # as an incoming pod is scored
        resident = resident_scoring_requests(pod)  # as a pod on a node counts in scoring
        self.resident_cpu = resident.get("cpu", 0)
        self.resident_memory = resident.get("memory", 0)
        self._nodes = nodes
        self._columns_version = -1
        self.key = key
        self.ports = host_ports(pod)
        self.claims = claim_keys(pod)
        self.devices, self.devices_problem = read_devices(pod)  # no need where what the pod says makes no sense
        self.terms: dict[Kind, Terms] = pod_terms(pod)
        self.term_counters: tuple[Counter, ...] = ()
        self.term_holders: tuple[TermHolder, ...] = ()  # those who hold the counters, one each
        self.bound: PodClass | None = None  # of its pods when they are bound, as far as that was asked
        self.kept: dict[Any, Any] = {}  # where plugins keep what they want to find again, keyed by themselves

    @property
    def columns(self) -> NDArray[np.intp]:  # (num_wanted,)
        """The columns of what the pod requests, `pods` included, as far as nodes have such resources."""
        self._find_columns()
        return self._columns

    @property
    def amounts(self) -> NDArray[np.int64]:  # (num_wanted,)
        """How much of each column."""
        self._find_columns()
        return self._amounts

    @property
    def taken(self) -> list[tuple[int, int]]:
        """The same: column and amount."""
        if self._columns_version != self._nodes.resources.version:
            self._find_columns()
        return self._taken

    @property
    def missing(self) -> tuple[str, ...]:
        """Resources that the pod requests and no node has."""
        self._find_columns()
        return self._missing

    def _find_columns(self) -> None:
        resources = self._nodes.resources
        if self._columns_version == resources.version:
            return
        self._columns_version = resources.version
        wanted = {resources.find(name): amount for name, amount in self.requests.items() if amount}
        self._missing: tuple[str, ...] = ()
        if -1 in wanted:
            del wanted[-1]
            self._missing = tuple(name for name, amount in self.requests.items() if amount and resources.find(name) < 0)
        wanted[PODS] = 1
        self._columns = np.array(sorted(wanted), np.intp)
        self._amounts = np.array([wanted[column] for column in sorted(wanted)], np.int64)
        self._taken: list[tuple[int, int]] = sorted(wanted.items())

    @property
    def name(self) -> str:
        """A word for people: one of the pods."""
        return self.pod.key


class PodClasses:
    """All classes that some pod or cache still refers to, and their label sets."""

    def __init__(self, nodes: NodeTable, annotations: ReadAnnotations) -> None:
        self._nodes = nodes
        self._annotations = annotations
        self._classes: weakref.WeakValueDictionary[ClassKey, PodClass] = weakref.WeakValueDictionary()
        self.label_sets: weakref.WeakValueDictionary[bytes, LabelSet] = weakref.WeakValueDictionary()
        self._free_ids: list[int] = []
        self._num_ids = 0
        self.made = 0  # how many classes were ever made

    def __len__(self) -> int:
        """How many classes there are."""
        return len(self._classes)

    def find(self, key: ClassKey) -> PodClass | None:
        """The class of that key, if it is alive."""
        return self._classes.get(key)

    def make(self, key: ClassKey, pod: Pod, extra: Extra = (), apart: bool = False) -> PodClass:
        """A new class, under that key; annotations that nobody reads are not kept, unless it is the pod's own."""
        label_set = self.label_set(pod.metadata.namespace, pod.metadata.labels)
        annotations = self._annotations.of(pod)
        if not apart and len(annotations) < len(pod.metadata.annotations):
            pod = msgspec.structs.replace(
                pod, metadata=msgspec.structs.replace(pod.metadata, annotations=dict(annotations))
            )
        made = PodClass(pod, label_set, annotations, self._nodes, key, extra)
        self._classes[key] = made
        self.made += 1
        return made

    def label_set(self, namespace: str, labels: Mapping[str, str]) -> LabelSet:
        """The interned labels. Their number is free again when nobody refers to them any more."""
        key = hashlib.blake2b(ENCODER.encode((namespace, labels)), digest_size=DIGEST_BYTES).digest()
        found = self.label_sets.get(key)
        if found is None:
            number = self._free_ids.pop() if self._free_ids else self._num_ids
            self._num_ids = max(self._num_ids, number + 1)
            found = self.label_sets[key] = LabelSet(number, namespace, labels, self._free_ids)
        return found


def class_key(pod: Pod, annotations: ReadAnnotations, bound: bool, apart: bool = False, extra: Extra = ()) -> ClassKey:
    """Equal for pods of one class.

    `bound` pods' own node does not count; `apart` makes the pod a class of its own; `extra` is what plugins add.
    """
    meta, spec = pod.metadata, pod.spec
    if bound and spec.node_name:
        spec = msgspec.structs.replace(spec, node_name="")
    owner = meta.controller if meta.owner_references else None
    own: tuple[str, ...] = ()
    if apart or any(volume.ephemeral is not None for volume in spec.volumes):
        own = (meta.name, meta.uid)
    resized: tuple[Any, ...] = ()
    status = pod.status
    if (
        status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.allocated_resources
    ):
        resized = (
            status.resources,
            status.allocated_resources,
            status.resize,
            [(c.name, c.resources, c.allocated_resources) for c in status.container_statuses],
            [(c.name, c.resources, c.allocated_resources) for c in status.init_container_statuses],
            [(c.type, c.status, c.reason) for c in status.conditions if c.type.startswith("PodResize")],
        )
    made_by = owner and (owner.api_version, owner.kind, owner.name, owner.uid)
    parts = (spec, meta.labels, annotations.of(pod, bound), made_by, own, resized, extra)
    text = ENCODER.encode((meta.namespace, *parts))
    return ClassKey(hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest(), len(text))


def without_place(pod: Pod) -> Pod:
    """A bound pod as pods without a node may share its class: it must not be taken to ask for its node, or devices."""
    if pod.spec.node_name:
        pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
    if GPU_INDEX in pod.metadata.annotations:
        others = {key: text for key, text in pod.metadata.annotations.items() if key != GPU_INDEX}
        pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=others))
    return pod


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Ports taken on the node, by containers and sidecars alike (kube-scheduler: util.GetHostPorts)."""
    sidecars = [container for container in pod.spec.init_containers if container.is_restartable]
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    )


def claim_keys(pod: Pod) -> tuple[str, ...]:
    """`namespace/name` of every persistent volume claim the pod mounts, generic ephemeral volumes included."""
    keys = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            keys.append(f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            keys.append(f"{pod.metadata.namespace}/{pod.metadata.name}-{volume.name}")
    return tuple(keys)
