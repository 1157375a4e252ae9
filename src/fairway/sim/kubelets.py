"""The kubelets of all nodes: what happens to a pod after it is bound.

In: pod and node events from the API server, `lose` and `revive` from the faults. Out: pods that are admitted or
rejected, start after a latency, run for their time, succeed or fail, and end when their deletion is asked for. Each
kubelet keeps its own books: it rejects what does not fit (as the real one does), whatever a scheduler believed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from fairway.cluster import Event, HostPort, Verb
from fairway.cluster.pod_class import host_ports
from fairway.model import Node, Pod, PodSpec
from fairway.model.disruption import ORPHANED
from fairway.model.requests import pod_requests
from fairway.record import Recorder
from fairway.record.vocabulary import PodEnd
from fairway.sim.api_server import ApiServer
from fairway.sim.data_reads import DataReads
from fairway.sim.lifetime import Lifetime, lifetime_of
from fairway.sim.luck import Luck
from fairway.sim.timeline import Handle

ORPHAN_QUARANTINE = 40.0  # of kube-controller-manager's pod garbage collector
MOST_NEEDS = 4096


class KubeletSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Seconds that kubelets take."""

    start_latency: float = 1.0  # from binding to running, with the image on the node
    image_pull_latency: float = 0.0  # on top, where it is not; the image is there from then on
    termination_latency: float = 1.0  # from the request to the end, at most the pod's grace period


class Needs(NamedTuple):
    """What a pod takes from its node."""

    spec: PodSpec
    requests: Mapping[str, int]
    ports: tuple[HostPort, ...]


class Resident:
    """A pod on a node, as its kubelet sees it."""

    __slots__ = ("lifetime", "ports", "requests", "running_since", "stretch", "timer", "uid")

    def __init__(self, pod: Pod, lifetime: Lifetime, needs: Needs) -> None:
        self.uid = pod.metadata.uid
        self.requests = needs.requests
        self.ports = needs.ports
        self.lifetime = lifetime
        self.timer: Handle | None = None  # what happens to it next
        self.running_since: float | None = None
        self.stretch = 1.0  # how many times as long it runs as it would with its data at hand


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
        self,
        api: ApiServer,
        settings: KubeletSettings,
        luck: Luck,
        recorder: Recorder,
        data: DataReads | None = None,
    ) -> None:
        """`data` knows how much longer pods run whose data is not at hand; without, none does."""
        self._api = api
        self._data = data
        self._settings = settings
        self._luck = luck
        self._recorder = recorder
        self.by_node: dict[str, Kubelet] = {}
        self._orphans: dict[str, str] = {}  # pods on nodes that do not exist, and the nodes
        self._needs: dict[int, Needs] = {}  # by the containers themselves
        api.watch(self.observe)

    # -- events ----------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """A pod or node came, changed or went."""
        item = event.object
        if isinstance(item, Pod):
            if item.spec.node_name:
                self._observe_pod(item, event.verb)
        elif isinstance(item, Node):
            self._observe_node(item, event.verb)

    def _observe_node(self, node: Node, verb: Verb) -> None:
        name = node.metadata.name
        if verb is Verb.DELETED:
            kubelet = self.by_node.pop(name, None)
            for uid in list(kubelet.residents if kubelet else ()):
                self._end(uid, kubelet, PodEnd.NODE_LOST)
        elif name in self.by_node:
            self.by_node[name].learn(node)
        else:
            kubelet = self.by_node[name] = Kubelet(node)
            for uid in [uid for uid, wanted in self._orphans.items() if wanted == name]:
                pod = self._api.pod(uid)
                if pod is not None and not pod.is_finished:
                    self._receive(pod, kubelet)

    def _observe_pod(self, pod: Pod, verb: Verb) -> None:
        kubelet = self.by_node.get(pod.spec.node_name)
        uid = pod.metadata.uid
        if verb is Verb.DELETED:
            if kubelet is not None:
                kubelet.dismiss(uid)
        elif kubelet is None or pod.is_finished:
            if kubelet is None and uid not in self._orphans:
                self._orphans[uid] = pod.spec.node_name
                self._api.timeline.after(ORPHAN_QUARANTINE, lambda: self._collect(uid))
        elif uid not in kubelet.residents:
            self._receive(pod, kubelet)
        elif pod.is_terminating and not kubelet.is_lost:
            self._terminate(pod, kubelet)

    def _collect(self, uid: str) -> None:
        """A pod was bound to a node that did not exist, by somebody who did not know: it goes if that is still so."""
        node = self._orphans.pop(uid)
        pod = self._api.pod(uid)
        if pod is not None and node not in self.by_node:
            now = self._api.timeline.now()
            self._recorder.event(now, "Pod", pod.key, "DeletingNode", f"PodGC: node {node} no longer exists")
            self._api.remove(pod, ORPHANED)

    # -- a pod's life ----------------------------------------------------------------------------------------------

    def _receive(self, pod: Pod, kubelet: Kubelet) -> None:
        """A pod was bound here: admit it or not, then start it."""
        newcomer = Resident(pod, lifetime_of(pod, self._luck), self._needs_of(pod))
        objection = kubelet.objection(newcomer)
        if objection:
            self._finish(pod, "Failed", objection)
            return
        kubelet.admit(newcomer)
        if pod.status.phase == "Running":  # there from the beginning
            self._run(pod.metadata.uid, kubelet)
        elif not kubelet.is_lost:
            latency = newcomer.lifetime.start_latency
            delay = self._start_latency(pod, kubelet) if latency is None else latency
            newcomer.timer = self._api.timeline.after(delay, lambda: self._start(pod.metadata.uid, kubelet))

    def _needs_of(self, pod: Pod) -> Needs:
        """Worked out once for pods that share their containers, as the pods of a template do."""
        spec, status = pod.spec, pod.status
        known = self._needs.get(id(spec.containers))
        if known is not None:
            like = known.spec
            if (
                like.containers is spec.containers
                and like.init_containers is spec.init_containers
                and like.resources is spec.resources
                and like.overhead is spec.overhead
                and not (status.container_statuses or status.init_container_statuses or status.resources)
            ):
                return known
        needs = Needs(spec, pod_requests(pod), host_ports(pod))
        if not (status.container_statuses or status.init_container_statuses or status.resources):
            if len(self._needs) >= MOST_NEEDS:
                self._needs.clear()
            self._needs[id(spec.containers)] = needs
        return needs

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
        status = msgspec.structs.replace(pod.status, phase="Running", start_time=self._api.calendar())
        self._run(uid, kubelet)
        self._api.update(msgspec.structs.replace(pod, status=status))

    def _run(self, uid: str, kubelet: Kubelet) -> None:
        resident = kubelet.residents[uid]
        resident.running_since = self._api.timeline.now()
        if self._data is not None and (pod := self._api.pod(uid)) is not None:
            resident.stretch = self._data.begin(pod)
        if math.isfinite(resident.lifetime.seconds):
            end = PodEnd.FAILED if resident.lifetime.fails else PodEnd.SUCCEEDED
            seconds = resident.lifetime.seconds * resident.stretch
            resident.timer = self._api.timeline.after(seconds, lambda: self._end(uid, kubelet, end))

    def _terminate(self, pod: Pod, kubelet: Kubelet) -> None:
        """Its deletion was asked for: it ends soon."""
        resident = kubelet.residents[pod.metadata.uid]
        graces = (pod.metadata.deletion_grace_period_seconds, pod.spec.termination_grace_period_seconds)
        grace = next((each for each in graces if each is not None), math.inf)
        delay = min(self._settings.termination_latency, grace)
        if resident.timer is not None:
            resident.timer.cancel()
        resident.timer = self._api.timeline.after(delay, lambda: self._end(pod.metadata.uid, kubelet, PodEnd.DELETED))

    def _end(self, uid: str, kubelet: Kubelet | None, end: PodEnd) -> None:
        """It is over, one way or another."""
        if kubelet is None or kubelet.dismiss(uid) is None:
            return
        pod = self._api.pod(uid)
        if pod is None:
            return
        if end in (PodEnd.SUCCEEDED, PodEnd.FAILED):
            self._finish(pod, end.value, "")
        else:
            self._api.remove(pod, ORPHANED if end is PodEnd.NODE_LOST else None)

    def _finish(self, pod: Pod, phase: str, reason: str) -> None:
        """Report the end; a pod that no controller looks after is then forgotten."""
        status = msgspec.structs.replace(pod.status, phase=phase, reason=reason)
        self._api.update(msgspec.structs.replace(pod, status=status))
        if pod.metadata.controller is None and self._api.pod(pod.metadata.uid) is not None:
            self._api.remove(pod)

    def left_of(self, pod: Pod) -> Lifetime:
        """What a pod on a node still has before it, if it were to go on elsewhere."""
        resident = self.by_node[pod.spec.node_name].residents[pod.metadata.uid]
        lifetime, since = resident.lifetime, resident.running_since
        ran = 0.0 if since is None else (self._api.timeline.now() - since) / resident.stretch
        return lifetime._replace(seconds=max(lifetime.seconds - ran, 0.0))

    # -- faults ----------------------------------------------------------------------------------------------------

    def lose(self, name: str) -> None:
        """The node goes dark: nothing on it makes progress, and nobody there hears of anything."""
        kubelet = self.by_node[name]
        kubelet.is_lost = True
        for resident in kubelet.residents.values():
            self._recorder.lost(self._api.timeline.now(), resident.uid)
            if resident.timer is not None:
                resident.timer.cancel()

    def revive(self, name: str) -> None:
        """The node is back, restarted: pods that were deleted meanwhile end, the others begin anew or have failed."""
        kubelet = self.by_node[name]
        kubelet.is_lost = False
        for uid in list(kubelet.residents):
            pod = self._api.pod(uid)
            if pod is None or pod.is_terminating:
                self._end(uid, kubelet, PodEnd.NODE_LOST)
            elif pod.spec.restart_policy == "Never" and pod.status.phase == "Running":
                self._end(uid, kubelet, PodEnd.FAILED)
            else:
                self._recorder.regained(self._api.timeline.now(), uid)
                (self._run if pod.status.phase == "Running" else self._start)(uid, kubelet)
