"""The kubelets of all nodes: what happens to a pod after it is bound.

In: pod and node events from the API server, `lose` and `revive` from the faults. Out: pods that are admitted or
rejected, start after a latency, run for their time, succeed or fail, and end when their deletion is asked for. Each
kubelet keeps its own books: it rejects what does not fit (as the real one does), whatever a scheduler believed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import numpy as np

from fairway.cluster import Event, HostPort, Verb
from fairway.cluster.pod_class import host_ports
from fairway.model import Node, Pod
from fairway.model.requests import pod_requests
from fairway.record import NullWriter
from fairway.sim.api_server import ApiServer
from fairway.sim.lifetime import Lifetime, lifetime_of
from fairway.sim.timeline import Handle


class KubeletSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Seconds that kubelets take."""

    start_latency: float = 1.0  # from binding to running, with the image on the node
    image_pull_latency: float = 0.0  # on top, where it is not; the image is there from then on
    termination_latency: float = 1.0  # from the request to the end, at most the pod's grace period


class Resident:
    """A pod on a node, as its kubelet sees it."""

    __slots__ = ("lifetime", "ports", "requests", "timer", "uid")

    def __init__(self, pod: Pod, lifetime: Lifetime) -> None:
        self.uid = pod.metadata.uid
        self.requests: Mapping[str, int] = pod_requests(pod)
        self.ports: tuple[HostPort, ...] = host_ports(pod)
        self.lifetime = lifetime
        self.timer: Handle | None = None  # what happens to it next


class Kubelet:
    """One node's books."""

    __slots__ = ("allocatable", "images", "is_lost", "residents", "used")

    def __init__(self, node: Node) -> None:
        self.residents: dict[str, Resident] = {}
        self.used: dict[str, int] = {}
        self.images: set[str] = set()
        self.is_lost = False
        self.learn(node)

    def learn(self, node: Node) -> None:
        """The node changed."""
        self.allocatable = {
            name: quantity.milli if name == "cpu" else quantity.value
            for name, quantity in node.status.allocatable.items()
        }
        self.images.update(name for image in node.status.images for name in image.names)

    def objection(self, newcomer: Resident) -> str:
        """Why the pod can not be admitted, in the kubelet's words; "" if it can."""
        if len(self.residents) + 1 > self.allocatable.get("pods", 0):
            return "OutOfpods"
        for name, amount in newcomer.requests.items():
            if amount and amount > self.allocatable.get(name, 0) - self.used.get(name, 0):
                return f"OutOf{name}"
        if newcomer.ports and any(port in other.ports for other in self.residents.values() for port in newcomer.ports):
            return "NodePorts"
        return ""

    def admit(self, newcomer: Resident) -> None:
        """From now on it counts."""
        self.residents[newcomer.uid] = newcomer
        for name, amount in newcomer.requests.items():
            self.used[name] = self.used.get(name, 0) + amount

    def dismiss(self, uid: str) -> Resident | None:
        """It does not count any more."""
        resident = self.residents.pop(uid, None)
        if resident is not None:
            for name, amount in resident.requests.items():
                self.used[name] -= amount
            if resident.timer is not None:
                resident.timer.cancel()
        return resident


class Kubelets:
    """All of them; watches the API server."""

    def __init__(
        self, api: ApiServer, settings: KubeletSettings, generator: np.random.Generator, writer: NullWriter
    ) -> None:
        self._api = api
        self._settings = settings
        self._random = generator
        self._writer = writer
        self.by_node: dict[str, Kubelet] = {}
        api.watch(self.observe)

    # -- events ----------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """A pod or node came, changed or went."""
        item = event.object
        if isinstance(item, Node):
            self._observe_node(item, event.verb)
        elif isinstance(item, Pod) and item.spec.node_name:
            self._observe_pod(item, event.verb)

    def _observe_node(self, node: Node, verb: Verb) -> None:
        name = node.metadata.name
        if verb is Verb.DELETED:
            kubelet = self.by_node.pop(name, None)
            for uid in list(kubelet.residents if kubelet else ()):
                self._end(uid, kubelet, "NodeLost")
        elif name in self.by_node:
            self.by_node[name].learn(node)
        else:
            self.by_node[name] = Kubelet(node)

    def _observe_pod(self, pod: Pod, verb: Verb) -> None:
        kubelet = self.by_node.get(pod.spec.node_name)
        uid = pod.metadata.uid
        if verb is Verb.DELETED:
            if kubelet is not None and kubelet.dismiss(uid) is not None:
                self._writer.ended(self._api.timeline.now(), uid, "Deleted")
        elif kubelet is None or pod.is_finished:
            return
        elif uid not in kubelet.residents:
            self._receive(pod, kubelet)
        elif pod.is_terminating and not kubelet.is_lost:
            self._terminate(pod, kubelet)

    # -- a pod's life ----------------------------------------------------------------------------------------------

    def _receive(self, pod: Pod, kubelet: Kubelet) -> None:
        """A pod was bound here: admit it or not, then start it."""
        now = self._api.timeline.now()
        newcomer = Resident(pod, lifetime_of(pod, self._random))
        objection = kubelet.objection(newcomer)
        self._writer.bound(now, pod.metadata.uid, pod.spec.node_name)
        if objection:
            self._writer.ended(now, pod.metadata.uid, "Rejected")
            self._finish(pod, "Failed", objection)
            return
        kubelet.admit(newcomer)
        if pod.status.phase == "Running":  # there from the beginning
            self._run(pod.metadata.uid, kubelet)
        elif not kubelet.is_lost:
            latency = newcomer.lifetime.start_latency
            delay = self._start_latency(pod, kubelet) if latency is None else latency
            newcomer.timer = self._api.timeline.after(delay, lambda: self._start(pod.metadata.uid, kubelet))

    def _start_latency(self, pod: Pod, kubelet: Kubelet) -> float:
        if not self._settings.image_pull_latency:
            return self._settings.start_latency
        missing = {container.image for container in pod.spec.containers} - kubelet.images
        kubelet.images |= missing
        return self._settings.start_latency + (self._settings.image_pull_latency if missing else 0.0)

    def _start(self, uid: str, kubelet: Kubelet) -> None:
        pod = self._api.pod(uid)
        if pod is None or uid not in kubelet.residents:
            return
        self._writer.started(self._api.timeline.now(), uid)
        status = msgspec.structs.replace(pod.status, phase="Running", start_time=self._api.calendar())
        self._run(uid, kubelet)
        self._api.update(msgspec.structs.replace(pod, status=status))

    def _run(self, uid: str, kubelet: Kubelet) -> None:
        resident = kubelet.residents[uid]
        if math.isfinite(resident.lifetime.seconds):
            phase = "Failed" if resident.lifetime.fails else "Succeeded"
            resident.timer = self._api.timeline.after(resident.lifetime.seconds, lambda: self._end(uid, kubelet, phase))

    def _terminate(self, pod: Pod, kubelet: Kubelet) -> None:
        """Its deletion was asked for: it ends soon."""
        resident = kubelet.residents[pod.metadata.uid]
        grace = pod.spec.termination_grace_period_seconds
        delay = min(self._settings.termination_latency, math.inf if grace is None else grace)
        if resident.timer is not None:
            resident.timer.cancel()
        reason = "Preempted" if _was_preempted(pod) else "Deleted"
        resident.timer = self._api.timeline.after(delay, lambda: self._end(pod.metadata.uid, kubelet, reason))

    def _end(self, uid: str, kubelet: Kubelet | None, reason: str) -> None:
        """It is over, one way or another."""
        if kubelet is None or kubelet.dismiss(uid) is None:
            return
        self._writer.ended(self._api.timeline.now(), uid, reason)
        pod = self._api.pod(uid)
        if pod is None:
            return
        if reason in ("Succeeded", "Failed"):
            self._finish(pod, reason, "")
        else:
            self._api.remove(pod)

    def _finish(self, pod: Pod, phase: str, reason: str) -> None:
        """Report the end; a pod that no controller looks after is then forgotten."""
        status = msgspec.structs.replace(pod.status, phase=phase, reason=reason)
        self._api.update(msgspec.structs.replace(pod, status=status))
        if pod.metadata.controller is None and self._api.pod(pod.metadata.uid) is not None:
            self._api.remove(pod)

    # -- faults ----------------------------------------------------------------------------------------------------

    def lose(self, name: str) -> None:
        """The node goes dark: nothing on it makes progress, and nobody there hears of anything."""
        kubelet = self.by_node[name]
        kubelet.is_lost = True
        for resident in kubelet.residents.values():
            self._writer.lost(self._api.timeline.now(), resident.uid)
            if resident.timer is not None:
                resident.timer.cancel()

    def revive(self, name: str) -> None:
        """The node is back, restarted: pods that were deleted meanwhile end, the others begin anew or have failed."""
        kubelet = self.by_node[name]
        kubelet.is_lost = False
        for uid in list(kubelet.residents):
            pod = self._api.pod(uid)
            if pod is None or pod.is_terminating:
                self._end(uid, kubelet, "NodeLost")
            elif pod.spec.restart_policy == "Never" and pod.status.phase == "Running":
                self._end(uid, kubelet, "Failed")
            else:
                self._writer.regained(self._api.timeline.now(), uid)
                (self._run if pod.status.phase == "Running" else self._start)(uid, kubelet)


def _was_preempted(pod: Pod) -> bool:
    return any(condition.type == "DisruptionTarget" for condition in pod.status.conditions)
