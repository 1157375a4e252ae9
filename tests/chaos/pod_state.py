"""What the judge needs to know of a pod, and of a node: small values, read from the API's JSON.

In: objects as `tests.kube.api` gives them. Out: `PodState`, `Sighting`, `Binding` and `Amounts`. Quantities are those
that `load` writes (milli-CPU, Mi, plain numbers); anything else is an error rather than a guess, for the judge shares
no code with what it judges. Used by `history`, `judge` and `load`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tests.kube.api import Json

__all__ = ["Amounts", "Binding", "PodState", "Sighting", "amounts_of_node", "milli_cpu", "pod_state"]

FINISHED = ("Succeeded", "Failed")


class Amounts(NamedTuple):
    """What a node offers, or pods take."""

    cpu: int  # milli-CPU
    memory: int  # Mi
    pods: int

    def plus(self, other: Amounts) -> Amounts:
        """Both together."""
        return Amounts(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)

    def minus(self, other: Amounts) -> Amounts:
        """What is left."""
        return Amounts(self.cpu - other.cpu, self.memory - other.memory, self.pods - other.pods)


class PodState(NamedTuple):
    """A pod at one moment."""

    uid: str
    key: str  # namespace/name
    node: str
    phase: str
    is_leaving: bool
    amounts: Amounts
    ports: frozenset[int]
    claims: tuple[str, ...]  # namespace/name
    version: int

    @property
    def holds_room(self) -> bool:
        """It is on a node and has not come to its end."""
        return bool(self.node) and self.phase not in FINISHED

    @property
    def waits(self) -> bool:
        """A scheduler should have it in its queue."""
        return not self.node and not self.is_leaving and self.phase not in FINISHED


class Sighting(NamedTuple):
    """What a watch said about a pod."""

    verb: Literal["ADDED", "MODIFIED", "DELETED"]
    pod: PodState


class Binding(NamedTuple):
    """A binding that the API server accepted."""

    key: str
    uid: str
    node: str


def pod_state(item: Json) -> PodState:
    """Read a pod."""
    metadata, spec = item["metadata"], item["spec"]
    namespace = metadata["namespace"]
    asked = [container.get("resources", {}).get("requests", {}) for container in spec["containers"]]
    amounts = Amounts(
        sum(milli_cpu(each.get("cpu", "0")) for each in asked), sum(mebi(each.get("memory", "0")) for each in asked), 1
    )
    ports = (port for container in spec["containers"] for port in container.get("ports", ()))
    volumes = (volume.get("persistentVolumeClaim") for volume in spec.get("volumes", ()))
    return PodState(
        uid=metadata["uid"],
        key=f"{namespace}/{metadata['name']}",
        node=spec.get("nodeName", ""),
        phase=item.get("status", {}).get("phase", ""),
        is_leaving="deletionTimestamp" in metadata,
        amounts=amounts,
        ports=frozenset(port["hostPort"] for port in ports if port.get("hostPort")),
        claims=tuple(f"{namespace}/{claim['claimName']}" for claim in volumes if claim),
        version=int(metadata["resourceVersion"]),
    )


def amounts_of_node(node: Json) -> Amounts:
    """What a node offers."""
    offered = node["status"]["allocatable"]
    return Amounts(milli_cpu(offered["cpu"]), mebi(offered["memory"]), int(offered["pods"]))


def milli_cpu(text: str) -> int:
    """`250m` or `2`."""
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


def mebi(text: str) -> int:
    """`64Mi`, `2Gi` or `0`."""
    for suffix, factor in (("Mi", 1), ("Gi", 1024)):
        if text.endswith(suffix):
            return int(text[:-2]) * factor
    if text != "0":
        raise ValueError(f"{text!r} is a memory quantity that the chaos load does not write: use Mi or Gi")
    return 0
