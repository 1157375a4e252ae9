"""A small cluster in virtual time: API server, kubelets, controllers, and a scheduler that says yes at once.

In: nodes, and settings if need be. Out: a `World` in which tests create controllers and let time pass. Its scheduler
puts each pod on the node it names, or on the nodes in turn, without asking whether it fits.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.cluster import Event, Verb
from fairway.model import Container, Job, Node, ObjectMeta, Pod, PodSpec, PodTemplateSpec, default_object
from fairway.model.daemon import target_node
from fairway.record import NullRecorder
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers import ControllerSettings, start_controllers
from fairway.sim.kubelets import Kubelets, KubeletSettings
from fairway.sim.luck import Luck
from fairway.sim.timeline import Timeline
from fairway.testing import node

LABELS = {"app": "web"}


def template(**annotations: str) -> PodTemplateSpec:
    """A pod template; keywords are annotations under fairway.dev/, `_` standing for `-`."""
    own = {f"fairway.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=LABELS, annotations=own), spec=PodSpec(containers=(Container(name="c", image="i"),))
    )


def changed(template: PodTemplateSpec, image: str) -> PodTemplateSpec:
    """The same template with another image."""
    spec = msgspec.structs.replace(template.spec, containers=(Container(name="c", image=image),))
    return msgspec.structs.replace(template, spec=spec)


class World:
    """Everything but a real scheduler."""

    def __init__(
        self,
        nodes: tuple[Node, ...] = (node("n1"), node("n2")),
        kubelet: KubeletSettings | None = None,
        settings: ControllerSettings | None = None,
        binds: bool = True,
    ) -> None:
        self.timeline = Timeline()
        self.api = ApiServer(self.timeline)
        self.kubelets = Kubelets(self.api, kubelet or KubeletSettings(), Luck(1, "kubelets"), NullRecorder())
        self.reports: list[tuple[str, str, str, str]] = []
        self.num_created = 0
        self.most = 0  # living pods at any time
        start_controllers(self.api, self.timeline, settings, lambda *words: self.reports.append(words))
        self.binds = binds
        self._turn = 0
        self.api.watch(self._observe)
        for one in nodes:
            self.api.create(one)

    def _observe(self, event: Event) -> None:
        pod = event.object
        if not isinstance(pod, Pod) or event.verb is not Verb.ADDED:
            return
        self.num_created += 1
        self.most = max(self.most, len(self.api.objects("Pod")))
        if self.binds and not pod.spec.node_name:
            self.timeline.after(0, lambda: self.place(pod))

    def place(self, pod: Pod) -> None:
        """Bind a pod, if it is still there."""
        current = self.api.pod(pod.metadata.uid)
        names = [one.metadata.name for one in self.api.objects("Node")]
        if current is None or current.spec.node_name or not names:
            return
        self._turn += 1
        wanted = target_node(pod.spec)
        if not wanted or wanted in names:
            self.api.bind(pod.metadata.uid, wanted or names[(self._turn - 1) % len(names)])

    def create(self, thing: Any) -> Any:
        """Make an object, completed as a loader would."""
        return self.api.create(default_object(thing))

    def change(self, thing: Any, **spec: Any) -> Any:
        """Change the present spec of an object."""
        current = self.api.find(thing.kind, thing.metadata.namespace, thing.metadata.name)
        assert current is not None
        return self.api.update(msgspec.structs.replace(current, spec=msgspec.structs.replace(current.spec, **spec)))

    def run(self, until: float) -> None:
        """Let time pass."""
        self.timeline.run(until)

    @property
    def pods(self) -> list[Pod]:
        """All pods, by name."""
        return sorted(self.api.objects("Pod"), key=lambda pod: pod.metadata.name)

    @property
    def names(self) -> list[str]:
        """The names of all pods."""
        return [pod.metadata.name for pod in self.pods]

    def count(self, phase: str = "Running") -> int:
        """How many pods are in that phase and not on their way out."""
        return sum(pod.status.phase == phase and not pod.is_terminating for pod in self.pods)

    def job(self, name: str = "job") -> Job:
        """The job of that name, as it is now."""
        found = self.api.find("Job", "default", name)
        assert isinstance(found, Job)
        return found

    def verdict(self, name: str = "job") -> str:
        """How a job ended, if it has."""
        finish = self.job(name).finish
        return "" if finish is None else f"{finish.type} {finish.reason}"

    def jobs(self) -> list[str]:
        """The names of all jobs."""
        return [job.metadata.name for job in self.api.objects("Job")]
