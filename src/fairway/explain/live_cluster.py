"""A live cluster, read once: for `why`, `try` and `status`.

In: a kubeconfig and a context, or neither. Out: the cluster's objects, as a trial takes them (`live_objects`,
`pod_trial`), or as the table of `status` shows them (`live_status`). Reads what a scheduler would watch, and priority
classes; writes nothing. Raises `LiveProblem` when the cluster can not be reached or does not let us.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from fairway.config import Configuration, default_configuration
from fairway.config.gangs import Gangs
from fairway.exit_codes import USAGE
from fairway.explain.jobs.waiting_jobs import job_names
from fairway.explain.manifests import Manifests
from fairway.explain.run_status import NOT_TRIED, NodeLoad, Status, WaitingPods, load_sums
from fairway.explain.trial import Trial, read_configuration
from fairway.kinds.controllers import Wanted
from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Connection
from fairway.live.watches.cluster_watch import read_objects
from fairway.live.watches.optional_kinds import GROUPED, OPTIONAL, optional_kinds
from fairway.live.watches.watched_kinds import WATCHED, WatchedKind
from fairway.model import Loaded, Node, Pod, PriorityClass, Source, UserError, pod_requests
from fairway.plugins.registry import REGISTRY
from fairway.queue import DEFAULT_PROFILE, profile_name

__all__ = ["live_objects", "live_status", "pod_trial", "status_of"]

COUNTED = re.compile(r"(\d+) ([^,]+?)(?=, \d+ |\.(?: |$))")
"""`2 Insufficient cpu` in kube-scheduler's sentence."""


async def live_objects(
    kubeconfig: str | None,
    context: str | None,
    warn: Callable[[str], None] | None = None,
    config: str | None = None,
    *,
    every_kind: bool = False,
) -> list[Loaded]:
    """Everything a decision may depend on, as it is now; raises `LiveProblem`s. `warn`: as `Credentials` takes it.

    Of kinds that a cluster may lack those are read that plugins of this configuration read; without one, those that say
    which pods belong together, where we may; or else every kind.
    """
    optional = OPTIONAL if every_kind else GROUPED if config is None else optional_kinds(read_configuration(config))
    clock = SystemClock()
    connection = await Connection.open(kubeconfig, context, user_agent_suffix="command", clock=clock, warn=warn)
    try:
        classes = WatchedKind(PriorityClass, "/apis/scheduling.k8s.io/v1/priorityclasses")
        objects = await read_objects(connection, clock, (classes, *WATCHED), optional=optional)
    finally:
        await connection.close()
    return [Loaded(thing, Source(connection.url)) for thing in objects]


# -- why ---------------------------------------------------------------------------------------------------------------


def pod_trial(
    loaded: Sequence[Loaded], name: str, config: str | None, seed: int, time: float | None = None
) -> tuple[Trial, str, str]:
    """The cluster with one of its pods taken off its node; that node, if it had one; and a note, if there is one."""
    found = _find(name, [one for one in loaded if isinstance(one.object, Pod)])
    pod = found.object
    assert isinstance(pod, Pod)
    waiting = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
    owner = pod.metadata.controller
    kind, owner_name = ("Pod", pod.metadata.name) if owner is None else (owner.kind, owner.name)
    wanted = Wanted(kind, pod.metadata.namespace, owner_name, found.source, 1, lambda index: (waiting, ()))
    others = [one for one in loaded if one is not found]
    scheduler, note = profile_name(pod), ""
    if config is not None:
        configuration = read_configuration(config)
    else:
        configuration = _defaults(scheduler)
        if scheduler != DEFAULT_PROFILE:
            note = f"judged by kube-scheduler's default plugins; give --config if {scheduler} has others"
    return Trial(Manifests(others, [wanted], []), configuration, seed, time), pod.spec.node_name, note


def _defaults(scheduler: str) -> Configuration:
    """kube-scheduler's defaults under the name of the scheduler that a pod asks for: how it is set up is not known.

    Where a pod belongs to a job, that is looked at as mode `fairway` does; a pod that belongs to none is as before.
    """
    configuration = default_configuration(REGISTRY, Gangs(mode="fairway"))
    (profile,) = configuration.profiles
    return replace(configuration, profiles=(replace(profile, scheduler_name=scheduler),))


def _find(name: str, pods: Sequence[Loaded]) -> Loaded:
    name = name.removeprefix("pod/")
    matching = [one for one in pods if name in (_key(one), one.object.metadata.name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        which = ", ".join(_key(one) for one in matching[:10])
        raise UserError(f"there are {len(matching)} pods called {name}", f"say which: {which}", USAGE)
    raise UserError(
        f"no pod is called {name}", "kubectl get pods -A lists them; finished pods are not looked at", USAGE
    )


def _key(one: Loaded) -> str:
    return f"{one.object.metadata.namespace}/{one.object.metadata.name}"


# -- status ------------------------------------------------------------------------------------------------------------


def live_status(loaded: Sequence[Loaded], now: float) -> Status:
    """What is held, what is free and who waits, now."""
    objects = [one.object for one in loaded]
    pods = [one for one in objects if isinstance(one, Pod) and not one.is_finished]
    nodes = [one for one in objects if isinstance(one, Node)]
    used: dict[str, dict[str, int]] = {}
    for pod in pods:
        if pod.spec.node_name:
            held = used.setdefault(pod.spec.node_name, {})
            for resource, amount in ({"pods": 1} | pod_requests(pod)).items():
                held[resource] = held.get(resource, 0) + amount
    waiting = [pod for pod in pods if not pod.spec.node_name]
    return status_of(nodes, used, waiting, len(pods) - len(waiting), now)


def status_of(
    nodes: Sequence[Node],
    used: Mapping[str, dict[str, int]],
    waiting: Sequence[Pod],
    num_running: int,
    now: float,
) -> Status:
    """The same from what nodes hold: of the API server's pods, or as a running scheduler counts it."""
    resources = dict.fromkeys(["pods", "cpu", "memory"])
    resources |= dict.fromkeys(name for node in nodes for name in node.status.allocatable)
    resources |= dict.fromkeys(name for held in used.values() for name in held)
    loads = tuple(_node_load(node, used.get(node.metadata.name, {}), list(resources)) for node in nodes)
    return Status(now, loads, load_sums(loads, list(resources)), _waiting(waiting, now), num_running)


def _node_load(node: Node, used: dict[str, int], resources: Sequence[str]) -> NodeLoad:
    there = node.status.allocatable
    is_ready = next((one.status == "True" for one in node.status.conditions if one.type == "Ready"), True)
    amounts = {
        name: (there[name].milli if name == "cpu" else there[name].value) if name in there else 0 for name in resources
    }
    return NodeLoad(node, is_ready, node.spec.unschedulable, {name: used.get(name, 0) for name in resources}, amounts)


def _waiting(pods: Sequence[Pod], now: float) -> tuple[WaitingPods, ...]:
    """Pods by the reason that refused most nodes, as their condition tells it; the most frequent first."""
    jobs = job_names(pods)
    groups: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for pod in pods:
        created = pod.metadata.creation_timestamp
        waits = now - created.timestamp() if created is not None else 0.0
        job = jobs.get(pod.metadata.uid or pod.key, "")
        groups.setdefault((job, f"job {job}: {_reason(pod)}" if job else _reason(pod)), []).append((waits, pod.key))
    found = [WaitingPods(reason, len(some), *max(some), job) for (job, reason), some in groups.items()]
    return tuple(sorted(found, key=lambda one: (-one.num_pods, one.reason)))


def _reason(pod: Pod) -> str:
    said = next((one for one in pod.status.conditions if one.type == "PodScheduled" and one.status == "False"), None)
    if said is None:
        return NOT_TRIED
    if pod.status.nominated_node_name:
        return "waits for pods it evicts to go"
    _, _, words = said.message.partition(" nodes are available: ")
    counted = [(int(number), reason) for number, reason in COUNTED.findall(words.partition(". ")[0] + ".")]
    if not counted:
        return f"{said.reason}: {said.message}" if said.message else said.reason
    most: str = max(counted)[1]
    return most.replace("node(s) ", "")
