"""The controllers of a simulated cluster: what kube-controller-manager does, in virtual time.

`start_controllers` brings all of them to life. They watch the API server through one door, which sends each event to
those it concerns: a pod's to the controller of its owner's kind. Every controller can also be used alone:
`api.watch(JobController(api, timeline).observe)`.
"""

from __future__ import annotations

from typing import Any, Protocol

from fairway.cluster import Event, Verb
from fairway.model import Pod
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.cron_job import CronJobController
from fairway.sim.controllers.daemon_set import DaemonSetController
from fairway.sim.controllers.deployment import DeploymentController
from fairway.sim.controllers.disruption import DisruptionController
from fairway.sim.controllers.ephemeral_volume import EphemeralVolumeController
from fairway.sim.controllers.job import JobController
from fairway.sim.controllers.persistent_volume import PersistentVolumeController
from fairway.sim.controllers.reconciler import Reconciler, Report, silent
from fairway.sim.controllers.replica_set import ReplicaSetController
from fairway.sim.controllers.settings import ControllerSettings
from fairway.sim.controllers.stateful_set import StatefulSetController
from fairway.sim.timeline import Timeline

__all__ = [
    "ControllerSettings",
    "CronJobController",
    "DaemonSetController",
    "DeploymentController",
    "DisruptionController",
    "JobController",
    "PersistentVolumeController",
    "ReplicaSetController",
    "Report",
    "StatefulSetController",
    "start_controllers",
]


class Observer(Protocol):
    """Whoever hears of events."""

    def observe(self, event: Event) -> None:
        """Something happened."""


class Switchboard:
    """Sends each event to the controllers it concerns."""

    def __init__(self, api: ApiServer, timeline: Timeline, settings: ControllerSettings, report: Report) -> None:
        self._api = api
        replica_sets = ReplicaSetController(api, timeline, settings, report)
        deployments = DeploymentController(api, timeline, replica_sets, settings, report)
        stateful_sets = StatefulSetController(api, timeline, settings, report)
        daemon_sets = DaemonSetController(api, timeline, settings, report)
        jobs = JobController(api, timeline, settings, report)
        cron_jobs = CronJobController(api, timeline, settings, report)
        controllers: tuple[Reconciler[Any], ...] = (
            replica_sets,
            deployments,
            stateful_sets,
            daemon_sets,
            jobs,
            cron_jobs,
        )
        self._disruption = DisruptionController(api, timeline, settings, report)
        self._ephemeral_volumes = EphemeralVolumeController(api, report)
        volumes = PersistentVolumeController(api, timeline, settings, report)
        self._by_kind = {kind: one for one in controllers for kind in one.kinds}
        self._listeners: dict[str, tuple[Observer, ...]] = {kind: (one,) for kind, one in self._by_kind.items()}
        self._listeners |= dict.fromkeys(volumes.kinds, (volumes,))
        self._listeners |= {
            "ReplicaSet": (replica_sets, deployments),
            "Job": (jobs, cron_jobs),
            "Node": (daemon_sets,),
            "PodDisruptionBudget": (self._disruption,),
        }

    def observe(self, event: Event) -> None:
        """Something happened."""
        item = event.object
        if not isinstance(item, Pod):
            for one in self._listeners.get(item.kind, ()):
                one.observe(event)
            return
        if self._disruption.budgets:
            self._disruption.observe_pod(item, event.verb)
        if item.spec.volumes:
            self._ephemeral_volumes.observe_pod(item, event.verb)
        if item.metadata.owner_references and (owner := item.metadata.controller) is not None:
            controller = self._by_kind.get(owner.kind)
            if controller is not None:
                controller.observe_pod(item, event.verb, owner.uid)
            elif item.is_finished and event.verb is not Verb.DELETED:
                self._api.remove(item)  # its controller is none of ours, and will not ask for it


def start_controllers(
    api: ApiServer, timeline: Timeline, settings: ControllerSettings | None = None, report: Report = silent
) -> None:
    """From now on controllers see to what is created; `report` hears what they complain about, and how jobs end."""
    api.watch(Switchboard(api, timeline, settings or ControllerSettings(), report).observe)
