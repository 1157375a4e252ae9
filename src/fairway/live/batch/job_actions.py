"""What the desk wants done to pods, Jobs and nodes, on a real API server.

In: `Action`s, in order. Out: requests, one after the other, each only after all that was written down before it is on
the server: whoever takes over reads why pods end. Each says what shall be true, so an action that is asked for while
the same one waits is that one. A server that does not answer is asked again until it does; what it refuses is logged,
and the desk, which looks at what is there, may ask again. `live_desk` is the caller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from fairway.batch.actions import (
    CORDONED_BY,
    Action,
    AnnotatePod,
    CordonNode,
    CreatePod,
    DeletePod,
    EvictPod,
    MarkDisrupted,
    ResumeJob,
    SetActiveDeadline,
    TaintNode,
    Tell,
    UncordonNode,
)
from fairway.batch.upkeep.node_sights import QUEUE_TAINT
from fairway.live.api.api_server import MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.batch.manifests import PodManifests, former_uid
from fairway.live.batch.outbox import Outbox
from fairway.live.batch.pod_making import PodMaker
from fairway.live.watches.watched_kinds import pod_path
from fairway.live.world.conditions import condition_patch
from fairway.live.world.worker_pool import WorkerPool
from fairway.model import Job, Node, Pod

__all__ = ["ActionTargets", "JobActions"]

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = (0.2, 1.0, 5.0)
GONE: Final = (404, 409)
BUSY: Final = 429
SERVER_ERRORS: Final = 500


class ActionTargets(NamedTuple):
    """Where to find what actions are about, how pods were made, and whom to tell."""

    pod: Callable[[str], Pod | None]  # by uid
    job: Callable[[str], Job | None]  # by uid
    node: Callable[[str], Node | None]  # by name
    tell_pod: Callable[[Pod, str, str, bool], None]
    tell: Callable[[Tell], None]
    manifests: PodManifests
    job_of_former: Callable[[str], str]  # the key of the job in which a pod comes in the place of that uid


class _Request(NamedTuple):
    method: str
    path: str
    body: Any
    content_type: str = MERGE_PATCH


class JobActions:
    """Carries them out."""

    def __init__(
        self, api: ApiServer, clock: Clock, outbox: Outbox, targets: ActionTargets, may_write: Callable[[], bool]
    ) -> None:
        self._api = api
        self._clock = clock
        self._outbox = outbox
        self._targets = targets
        self._may_write = may_write
        self._maker = PodMaker(api, targets.manifests, lambda pod: targets.job_of_former(former_uid(pod)), targets.tell)
        self._waiting: set[Action | str] = set()  # pods to be made, by who was there before
        self._refused: set[str] = set()  # uids: evictions that were told to be refused
        self._pool: WorkerPool[Action] = WorkerPool(1, self._carry_out)

    @property
    def backlog(self) -> int:
        """Actions that are not done."""
        return self._pool.backlog

    def submit(self, actions: Sequence[Action]) -> None:
        """Make it so, soon."""
        for action in actions:
            if isinstance(action, Tell):
                self._targets.tell(action)
            elif (name := _name(action)) not in self._waiting:
                self._waiting.add(name)
                self._pool.submit(action)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._pool.run()

    async def _carry_out(self, action: Action) -> None:
        await self._outbox.written()
        self._waiting.discard(_name(action))
        tries = 0
        while self._may_write():
            if isinstance(action, CreatePod):
                is_done = await self._maker.make(action.pod)
            else:
                request = self._request(action)  # None: it is so, or what it is about is gone
                is_done = request is None or await self._send(action, request)
            if is_done:
                return
            await self._clock.sleep(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)])
            tries += 1

    async def _send(self, action: Action, request: _Request) -> bool:
        """Says whether that was it."""
        body = msgspec.json.encode(request.body)
        try:
            answer = await self._api.request(request.method, request.path, body=body, content_type=request.content_type)
        except LiveProblem as problem:
            logger.info("%s: %s; trying again", type(action).__name__, problem.why)
            return False
        if answer.status < 300:
            self._tell(action)
            return True
        if isinstance(action, EvictPod) and answer.status == BUSY:
            self._tell_refused(action, status_message(answer.body))
            return True  # its budget does not allow it now; the desk asks again
        if answer.status in GONE and not isinstance(action, CordonNode | UncordonNode | TaintNode):
            return True
        if answer.status == BUSY or answer.status >= SERVER_ERRORS or answer.status in GONE:
            return False
        logger.warning("%s was refused: %s %s", type(action).__name__, answer.status, status_message(answer.body))
        return True

    def _tell(self, action: Action) -> None:
        if isinstance(action, DeletePod | EvictPod) and (pod := self._targets.pod(action.pod)) is not None:
            self._refused.discard(action.pod)
            self._targets.tell_pod(pod, getattr(action, "cause", "Evicted"), action.why, False)

    def _tell_refused(self, action: EvictPod, why: str) -> None:
        pod = self._targets.pod(action.pod)
        if pod is not None and action.pod not in self._refused:
            self._refused.add(action.pod)
            self._targets.tell_pod(pod, "EvictionRefused", why, True)

    # -- what to send --------------------------------------------------------------------------------------------------

    def _request(self, action: Action) -> _Request | None:
        """None: there is nothing to do."""
        if isinstance(action, DeletePod | EvictPod | MarkDisrupted | AnnotatePod):
            pod = self._targets.pod(action.pod)
            return None if pod is None else self._pod_request(action, pod)
        if isinstance(action, SetActiveDeadline | ResumeJob):
            job = self._targets.job(action.controller)
            return None if job is None else _job_request(action, job)
        if isinstance(action, CordonNode | UncordonNode | TaintNode):
            node = self._targets.node(action.node)
            return None if node is None else _node_request(action, node)
        return None

    def _pod_request(self, action: DeletePod | EvictPod | MarkDisrupted | AnnotatePod, pod: Pod) -> _Request | None:
        uid = pod.metadata.uid
        if isinstance(action, DeletePod):
            if pod.is_terminating and not action.is_forced:
                return None
            options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
            grace = 0 if action.is_forced else action.grace
            if grace is not None:
                options["gracePeriodSeconds"] = int(grace)
            return _Request("DELETE", pod_path(pod), options, "application/json")
        if isinstance(action, EvictPod):
            if pod.is_terminating:
                return None
            meta = {"name": pod.metadata.name, "namespace": pod.metadata.namespace}
            body = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": meta,
                "deleteOptions": {"preconditions": {"uid": uid}},
            }
            return _Request("POST", pod_path(pod, "eviction"), body, "application/json")
        if isinstance(action, MarkDisrupted):
            words = {"reason": action.reason, "message": action.message}
            condition = {"type": "DisruptionTarget", "status": "True", **words}
            status = condition_patch(pod, condition, self._clock.now())
            body = {"metadata": {"uid": uid}, "status": status}
            return _Request("PATCH", pod_path(pod, "status"), body, STRATEGIC_MERGE_PATCH) if status else None
        if pod.metadata.annotations.get(action.key) == action.value:
            return None
        return _Request("PATCH", pod_path(pod), {"metadata": {"uid": uid, "annotations": {action.key: action.value}}})


def _name(action: Action) -> Action | str:
    """What says whether the same is asked for already: pods are too large for that."""
    return former_uid(action.pod) if isinstance(action, CreatePod) else action


def _job_request(action: SetActiveDeadline | ResumeJob, job: Job) -> _Request | None:
    spec: dict[str, Any]
    if isinstance(action, ResumeJob):
        if not job.spec.suspend:
            return None
        spec = {"suspend": False}
    else:
        if job.spec.active_deadline_seconds == action.seconds:
            return None
        spec = {"activeDeadlineSeconds": action.seconds}
    path = f"/apis/batch/v1/namespaces/{job.metadata.namespace}/jobs/{job.metadata.name}"
    return _Request("PATCH", path, {"metadata": {"uid": job.metadata.uid}, "spec": spec})


def _node_request(action: CordonNode | UncordonNode | TaintNode, node: Node) -> _Request | None:
    """With a version check: a person may have changed the node since we looked."""
    meta: dict[str, Any] = {"resourceVersion": node.metadata.resource_version}
    cordoned_by = node.metadata.annotations.get(CORDONED_BY, "")
    if isinstance(action, TaintNode):
        others = [taint for taint in node.spec.taints if taint.key != QUEUE_TAINT]
        ours = [taint for taint in node.spec.taints if taint.key == QUEUE_TAINT]
        if [taint.value for taint in ours] == ([action.queue] if action.queue else []):
            return None
        taints = msgspec.to_builtins(others)
        if action.queue:
            taints.append({"key": QUEUE_TAINT, "value": action.queue, "effect": "NoSchedule"})
        spec: dict[str, Any] = {"taints": taints}
    elif isinstance(action, CordonNode):
        if node.spec.unschedulable and cordoned_by == action.window:
            return None
        meta["annotations"], spec = {CORDONED_BY: action.window}, {"unschedulable": True}
    else:
        if cordoned_by != action.window:
            return None
        meta["annotations"], spec = {CORDONED_BY: None}, {"unschedulable": None}
    return _Request("PATCH", f"/api/v1/nodes/{node.metadata.name}", {"metadata": meta, "spec": spec})
