"""Other names for everything, the same ones throughout a run, so that a run can be shown to others.

In: names, labels, whole objects. Out: the same with pseudonyms, made with a random key that is never written down, so
that nobody can try out names. What decides stays: amounts, priorities, ports, well-known label keys, names of drivers
and resources, numbers (`Gt` and `Lt` compare them). Names are replaced piece by piece between dashes, because the
claim of a volume is called after its pod, a pod after its owner; equal pieces stay equal. Used by `anonymous_rows`.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from typing import Any, Final

from msgspec.structs import replace

from fairway.model import ObjectMeta
from fairway.model.affinity import NodeSelectorRequirement
from fairway.model.dataset import NODE_DATA, DataPlacement, DataState
from fairway.model.device_need import GPU_MODEL
from fairway.model.group import KOORDINATOR
from fairway.model.meta import LabelSelector, LabelSelectorRequirement
from fairway.model.node import ContainerImage, Taint
from fairway.model.pod import Container, ContainerPort, NodeAllocatableResourceClaimStatus, PodOS, PodSpec, Toleration
from fairway.model.pod_group import TopologyConstraint, VolcanoPodGroupSpec
from fairway.model.storage import CSINodeDriver, TopologySelectorLabelRequirement
from fairway.model.workload import PodDisruptionBudgetStatus, ReplicationControllerSpec, ServiceSpec
from fairway.record.writing.kept import OWN_ANNOTATIONS, kept_annotations
from fairway.record.writing.rewriting import rewrite

__all__ = ["Pseudonyms"]

NAMES: Final = frozenset((
    "name", "generate_name", "namespace", "uid", "node_name", "nominated_node_name", "priority_class_name",
    "runtime_class_name", "pod_group_name", "resource_claim_name", "resource_claim_template_name", "claim_name",
    "volume_name", "storage_class_name", "volume_attributes_class_name", "persistent_volume_name", "pd_name",
    "volume_id", "disk_name", "disk_uri", "secret_name", "secret_namespace", "share_name", "volume_path",
    "volume_handle", "target_portal", "iqn", "image", "pool", "reference", "path", "service_name", "container_name",
    "storage_policy_name", "storage_policy_id", "request", "queue",
))  # fmt: skip
"""Fields that hold a name, whatever they are in."""
LABEL_KEYS: Final = frozenset(("topology_key",))
LISTS_OF_LABEL_KEYS: Final = frozenset(("match_label_keys", "mismatch_label_keys", "topology_keys"))
LISTS_OF_NAMES: Final = frozenset(("namespaces", "monitors"))
DROPPED_LISTS: Final = frozenset(("finalizers", "volumes_in_use", "volumes_attached"))
STAY: Final = frozenset(("", "default", "kube-system", "kube-public", "kube-node-lease", "default-scheduler"))
KNOWN_DOMAINS: Final = re.compile(
    r"(.*\.)?(kubernetes\.io|(x-)?k8s\.io|volcano\.sh|koordinator\.sh|fairway\.dev|alibabacloud\.com|nvidia\.com"
    r"|amd\.com|intel\.com)"
)
PLAIN_KEYS: Final = frozenset(("kubernetes.io/arch", "kubernetes.io/os", GPU_MODEL))
"""Labels whose values stay too."""
WILDCARDS: Final = frozenset(("", "0.0.0.0", "::", "127.0.0.1", "::1"))
PLAIN_VALUE: Final = re.compile(r"[+-]?[0-9]{1,18}|true|false|")
NAMING_ANNOTATIONS: Final = (
    "user",
    "selected-node",
    "storage-class",
    "queue",
    "gang",
    "account",
    "partition",
    "data",
    "group-name",
    "task-spec",
)
JOBS_ANNOTATION: Final = "connect-to"
"""Names of jobs, with or without their namespaces: NAME,NAMESPACE/NAME."""
TAINT: Final = re.compile(r"\{([^{}:]*): ?([^{}]*)\}")
DATASET_LABEL: Final = re.compile(r"dataset\.[^./]*\.(id|useas)")
"""Labels by which a pod names a dataset; the value of the first kind is its name."""
QUOTED: Final = re.compile(r'"([^"]*)"')


class Pseudonyms:
    """One recording's other names."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(32) if key is None else key
        self._known: dict[str, str] = {}

    # -- words ---------------------------------------------------------------------------------------------------------

    def name(self, text: str) -> str:
        """A name; `namespace/name` and `Kind/name` piece by piece too."""
        if text in STAY or text.startswith("system-"):
            return text
        if "/" in text:
            return "/".join(map(self.name, text.split("/")))
        return "-".join(self._piece(piece) if piece else "" for piece in text.split("-"))

    def _piece(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            digest = hashlib.blake2b(text.encode(), key=self._key, digest_size=5).digest()
            known = self._known[text] = "x" + base64.b32encode(digest).decode().lower()
        return known

    def label_key(self, key: str) -> str:
        """A label's or taint's key: well-known ones stay."""
        if key.startswith(NODE_DATA):
            return NODE_DATA + self.name(key.removeprefix(NODE_DATA))
        if DATASET_LABEL.fullmatch(key):
            return key
        domain, slash, _ = key.partition("/")
        return key if slash and KNOWN_DOMAINS.fullmatch(domain) else self.name(key)

    def label_value(self, key: str, value: str) -> str:
        """A label's or taint's value: numbers stay, and what names no one."""
        if dataset := DATASET_LABEL.fullmatch(key):
            return self.name(value) if dataset[1] == "id" else value
        stays = key in PLAIN_KEYS or key.startswith(NODE_DATA) or PLAIN_VALUE.fullmatch(value)
        return value if stays else self.name(value)

    def image(self, text: str) -> str:
        """An image, under the name that a node would list it by."""
        if not text:
            return text
        is_tagged = "@" in text or ":" in text.rpartition("/")[2]
        return f"{self._piece(text if is_tagged else f'{text}:latest')}:x"

    def sentence(self, text: str) -> str:
        """What a scheduler said: taints and whatever is in quotes are replaced."""
        shown = TAINT.sub(lambda found: f"{{{self.label_key(found[1])}: {self.label_value(found[1], found[2])}}}", text)
        return QUOTED.sub(lambda found: f'"{self.name(found[1])}"', shown)

    # -- objects -------------------------------------------------------------------------------------------------------

    def thing(self, thing: Any) -> Any:
        """An object."""
        return rewrite(thing, self._part)

    def annotations(self, annotations: dict[str, str]) -> dict[str, str]:
        """Those that decide something; names in them are replaced."""
        return self.own_annotations(kept_annotations(annotations))

    def own_annotations(self, annotations: dict[str, str]) -> dict[str, str]:
        """The same of annotations that all decide something."""
        found: dict[str, str] = {}
        for key, value in annotations.items():
            word = key.rpartition("/")[2]
            if key == f"{KOORDINATOR}groups":
                found[key] = QUOTED.sub(lambda name: f'"{self.name(name[1])}"', value)
            elif word in NAMING_ANNOTATIONS or key == f"{KOORDINATOR}name" or word.endswith("-name"):
                found[key] = ",".join(map(self.name, value.split(",")))
            elif word == JOBS_ANNOTATION:
                found[key] = re.sub(r"[^,/\s]+", lambda name: self.name(name[0]), value)
            elif not key.startswith(OWN_ANNOTATIONS) or len(value) < 20:
                found[key] = value
        return found

    def _labels(self, labels: dict[str, str]) -> dict[str, str]:
        return {self.label_key(key): self.label_value(key, value) for key, value in labels.items()}

    def _values(self, key: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.label_value(key, value) for value in values)

    def _part(self, part: Any) -> Any:  # noqa: PLR0911, PLR0912 - a table of parts and what becomes of them
        match part:
            case PodOS():
                return part
            case CSINodeDriver():
                return replace(part, topology_keys=tuple(map(self.label_key, part.topology_keys)))
            case ContainerPort() if part.host_ip not in WILDCARDS:
                return replace(part, name=self.name(part.name), host_ip=self.name(part.host_ip))
            case NodeAllocatableResourceClaimStatus():
                return replace(part, **self._fields(part), containers=tuple(map(self.name, part.containers)))
            case ServiceSpec() | ReplicationControllerSpec():
                return replace(part, **self._fields(part), selector=self._labels(part.selector))
            case PodDisruptionBudgetStatus():
                names = {self.name(name): time for name, time in part.disrupted_pods.items()}
                return replace(part, **self._fields(part), disrupted_pods=names)
            case TopologyConstraint():
                return replace(part, key=self.label_key(part.key))
            case VolcanoPodGroupSpec():
                tasks = {self.name(task): least for task, least in part.min_task_member.items()}
                return replace(part, **self._fields(part), min_task_member=tasks)
            case DataState():
                return DataState(status=part.status)  # what is said about it may quote anything
            case Taint() | Toleration() | DataPlacement():
                return replace(part, key=self.label_key(part.key), value=self.label_value(part.key, part.value))
            case LabelSelectorRequirement() | NodeSelectorRequirement() | TopologySelectorLabelRequirement():
                key = part.key if part.key == "metadata.name" else self.label_key(part.key)
                return replace(part, key=key, values=self._values(part.key, part.values))
            case LabelSelector():
                return replace(part, match_labels=self._labels(part.match_labels))
            case ContainerImage():
                return replace(part, names=tuple(map(self.image, part.names)))
            case Container():
                return replace(part, name=self.name(part.name), image=self.image(part.image))
        changed = self._fields(part)
        if isinstance(part, ObjectMeta):
            changed |= {"labels": self._labels(part.labels), "annotations": self.annotations(part.annotations)}
        elif isinstance(part, PodSpec):
            changed["node_selector"] = self._labels(part.node_selector)
        return replace(part, **changed) if changed else part

    def _fields(self, part: Any) -> dict[str, Any]:
        """Those that are called as names are."""
        changed: dict[str, Any] = {}
        for field in part.__struct_fields__:
            value = getattr(part, field)
            if value in ("", None, (), {}):
                continue
            if isinstance(value, str) and field in NAMES:
                changed[field] = self.name(value)
            elif field in LABEL_KEYS:
                changed[field] = self.label_key(value)
            elif field in LISTS_OF_LABEL_KEYS:
                changed[field] = tuple(map(self.label_key, value))
            elif field in LISTS_OF_NAMES:
                changed[field] = tuple(map(self.name, value))
            elif field in DROPPED_LISTS:
                changed[field] = ()
            elif field == "message":  # a sentence may quote anything
                changed[field] = ""
        return changed
