"""What an API server would refuse, refused here when objects come from files.

In: loaded objects, after `default`. Out: a list of `DecodeError`, one for each problem, each naming file, object,
field and what is allowed; the caller decides whether the first is enough. Only what would mislead the engine
is checked: names, amounts, operators, effects, policies, selectors, duplicates. The rules are those of
`pkg/apis/*/validation` of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from fairway.model.codec import ApiObject, kind_title, object_name
from fairway.model.controllers import CronJob, DaemonSet, Deployment, Job
from fairway.model.decode import Loaded
from fairway.model.default import NAMESPACED
from fairway.model.errors import DecodeError, Source
from fairway.model.meta import ObjectMeta
from fairway.model.names import dns_label_problem, dns_subdomain_problem, label_key_problem
from fairway.model.node import Node
from fairway.model.pod import Pod
from fairway.model.storage import CSINode, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from fairway.model.validate_controllers import budget_problems, controller_problems
from fairway.model.validate_parts import (
    EFFECTS,
    Problem,
    choice_problems,
    node_selector_problems,
    quantity_problems,
    selector_problems,
)
from fairway.model.validate_pod import pod_problems
from fairway.model.workload import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

__all__ = ["check_duplicates", "validate_object", "validate_objects"]

ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
MAX_USER_PRIORITY = 1_000_000_000


def validate_objects(loaded: Iterable[Loaded]) -> list[DecodeError]:
    """Everything that is wrong with these objects, each taken alone and all together."""
    loaded = list(loaded)
    problems = chain.from_iterable(validate_object(one.object, one.source) for one in loaded)
    return [*problems, *check_duplicates(loaded)]


def validate_object(thing: ApiObject, source: Source | str = "") -> list[DecodeError]:
    """Everything that is wrong with one object."""
    return [
        DecodeError(problem, source=source, subject=object_name(thing), field=field)
        for field, problem in chain(_meta_problems(thing), _kind_problems(thing))
    ]


def check_duplicates(loaded: Iterable[Loaded]) -> list[DecodeError]:
    """One problem for each object whose kind, namespace and name were there before."""
    first: dict[tuple[str, str, str], Source] = {}
    problems = []
    for one in loaded:
        meta = one.object.metadata
        key = (kind_title(one.object.api_version, one.object.kind), meta.namespace, meta.name)
        if key in first:
            problem = f"is there twice; first in {first[key]}"
            problems.append(
                DecodeError(problem, source=one.source, subject=object_name(one.object), field="metadata.name")
            )
        else:
            first[key] = one.source
    return problems


def _meta_problems(thing: ApiObject) -> Iterator[Problem]:
    meta: ObjectMeta = thing.metadata
    check = dns_label_problem if isinstance(thing, Namespace) else dns_subdomain_problem
    if problem := check(meta.name):
        yield "metadata.name", problem
    if isinstance(thing, NAMESPACED):
        if problem := dns_label_problem(meta.namespace):
            yield "metadata.namespace", problem
    elif meta.namespace:
        yield "metadata.namespace", f"a {thing.kind} belongs to no namespace"


def _kind_problems(thing: ApiObject) -> Iterator[Problem]:
    match thing:
        case Pod():
            yield from pod_problems(thing)
        case Node():
            yield from _node_problems(thing)
        case PersistentVolume():
            yield from _volume_problems(thing)
        case PersistentVolumeClaim():
            yield from _claim_problems(thing)
        case StorageClass():
            yield from _storage_class_problems(thing)
        case CSINode():
            yield from _csi_node_problems(thing)
        case CSIStorageCapacity():
            yield from selector_problems("nodeTopology", thing.node_topology)
        case PriorityClass():
            yield from _priority_class_problems(thing)
        case PodDisruptionBudget():
            yield from budget_problems(thing)
        case ReplicaSet() | StatefulSet() | ReplicationController() | Deployment() | DaemonSet() | Job() | CronJob():
            yield from controller_problems(thing)


def _node_problems(node: Node) -> Iterator[Problem]:
    seen = set()
    for index, taint in enumerate(node.spec.taints):
        path = f"spec.taints[{index}]"
        if problem := label_key_problem(taint.key):
            yield f"{path}.key", problem
        yield from choice_problems(f"{path}.effect", taint.effect, EFFECTS)
        if (taint.key, taint.effect) in seen:
            yield path, f"the taint {taint.key}:{taint.effect} is there twice"
        seen.add((taint.key, taint.effect))
    yield from quantity_problems("status.capacity", node.status.capacity)
    yield from quantity_problems("status.allocatable", node.status.allocatable)
    for index, image in enumerate(node.status.images):
        if image.size_bytes < 0:
            yield f"status.images[{index}].sizeBytes", "must not be negative"


def _volume_problems(volume: PersistentVolume) -> Iterator[Problem]:
    spec = volume.spec
    yield from quantity_problems("spec.capacity", spec.capacity)
    for index, mode in enumerate(spec.access_modes):
        yield from choice_problems(f"spec.accessModes[{index}]", mode, ACCESS_MODES)
    yield from choice_problems("spec.volumeMode", spec.volume_mode or "Filesystem", ("Filesystem", "Block"))
    if spec.node_affinity is not None:
        yield from node_selector_problems("spec.nodeAffinity.required", spec.node_affinity.required)
    if spec.local is not None and (spec.node_affinity is None or spec.node_affinity.required is None):
        yield "spec.nodeAffinity", "a local volume must say which node it is on"


def _claim_problems(claim: PersistentVolumeClaim) -> Iterator[Problem]:
    spec = claim.spec
    if not spec.access_modes:
        yield "spec.accessModes", f"must have at least one of {', '.join(ACCESS_MODES)}"
    for index, mode in enumerate(spec.access_modes):
        yield from choice_problems(f"spec.accessModes[{index}]", mode, ACCESS_MODES)
    yield from choice_problems("spec.volumeMode", spec.volume_mode or "Filesystem", ("Filesystem", "Block"))
    yield from quantity_problems("spec.resources.requests", spec.resources.requests)
    if "storage" not in spec.resources.requests:
        yield "spec.resources.requests.storage", "must be there"
    yield from selector_problems("spec.selector", spec.selector)


def _storage_class_problems(storage_class: StorageClass) -> Iterator[Problem]:
    modes = ("Immediate", "WaitForFirstConsumer")
    yield from choice_problems("volumeBindingMode", storage_class.volume_binding_mode or modes[0], modes)
    if not storage_class.provisioner:
        yield "provisioner", "must not be empty"


def _csi_node_problems(node: CSINode) -> Iterator[Problem]:
    for index, driver in enumerate(node.spec.drivers):
        if driver.allocatable is not None and (driver.allocatable.count or 0) < 0:
            yield f"spec.drivers[{index}].allocatable.count", "must not be negative"


def _priority_class_problems(priority_class: PriorityClass) -> Iterator[Problem]:
    if priority_class.value > MAX_USER_PRIORITY and not priority_class.metadata.name.startswith("system-"):
        yield "value", f"must be at most {MAX_USER_PRIORITY}; above are the system's own"
    policies = ("PreemptLowerPriority", "Never")
    yield from choice_problems("preemptionPolicy", priority_class.preemption_policy or policies[0], policies)
