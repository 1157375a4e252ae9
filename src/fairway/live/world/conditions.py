"""What a pod's status says about its scheduling: the PodScheduled condition and the nominated node.

In: `report`, the words of a failed attempt, and the newest version of the pod that we know. Out: strategic merge
patches of `pods/status`, as small as kube-scheduler's, and none where nothing would change. Only the latest word about
a pod is sent; a pod that has a node by then gets none, and a version check makes sure that it stays so on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from fairway.live.api.api_server import STRATEGIC_MERGE_PATCH, ApiServer
from fairway.live.api.clock import Clock, rfc3339
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.watches.watched_kinds import pod_path
from fairway.live.world.worker_pool import WorkerPool
from fairway.model import Pod

__all__ = ["StatusWriter", "WantedStatus", "condition_patch", "status_patch"]

logger = logging.getLogger(__name__)

RETRY_DELAYS = (0.013, 0.053, 0.27)  # client-go's retry.DefaultRetry, about
NUM_WORKERS = 8
QUEUED = "fairway.dev/Queued"


class WantedStatus(NamedTuple):
    """What a pod's status should say."""

    reason: str = ""  # "": nothing about scheduling
    message: str = ""
    nominated: str | None = None  # None: as it is; "": no node
    queued: str = ""  # why its job waits in its queue, in one word; "": it is of none


class StatusWriter:
    """Writes pods' statuses."""

    def __init__(
        self,
        api: ApiServer,
        clock: Clock,
        *,
        newest: Callable[[Pod], Pod | None],
        may_write: Callable[[], bool],
    ) -> None:
        """`newest`: the pod as the watch has it now; None if it is no more."""
        self._api = api
        self._clock = clock
        self._newest = newest
        self._may_write = may_write
        self._wanted: dict[str, tuple[Pod, WantedStatus]] = {}  # by uid: what is not sent yet
        self._pool: WorkerPool[str] = WorkerPool(NUM_WORKERS, self._send)
        self.idle = self._pool.idle

    @property
    def backlog(self) -> int:
        """Pods whose status is to be written."""
        return self._pool.backlog

    def write(self, pod: Pod, wanted: WantedStatus) -> None:
        """Let the pod's status say this; a later word replaces an earlier one that was not sent yet."""
        uid = pod.metadata.uid
        before = self._wanted.get(uid)
        if before is None:
            self._pool.submit(uid)
        else:
            earlier = before[1]
            if wanted.nominated is None:
                wanted = wanted._replace(nominated=earlier.nominated)
            if not wanted.reason:
                wanted = wanted._replace(reason=earlier.reason, message=earlier.message, queued=earlier.queued)
        self._wanted[uid] = (pod, wanted)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._pool.run()

    async def _send(self, uid: str) -> None:
        pod, wanted = self._wanted.pop(uid)
        for delay in (*RETRY_DELAYS, None):
            current = self._newest(pod)
            if current is None or current.spec.node_name or uid in self._wanted or not self._may_write():
                return  # gone, bound, or there is a newer word
            patch = status_patch(current, wanted, self._clock.now())
            if patch is None:
                return
            pause, why = await self._patch(current, patch)
            if not why:
                return
            if delay is not None:
                await self._clock.sleep(max(pause or 0.0, delay))
        logger.warning("the status of pod %s was not written: %s", pod.key, why)

    async def _patch(self, pod: Pod, patch: dict[str, Any]) -> tuple[float | None, str]:
        """Send it; returns for how long to wait before the next try, and why one is needed ("": it is not)."""
        try:
            answer = await self._api.request(
                "PATCH", pod_path(pod, "status"), body=msgspec.json.encode(patch), content_type=STRATEGIC_MERGE_PATCH
            )
        except LiveProblem as problem:
            return None, problem.why
        if answer.status in (200, 404):
            return None, ""
        return answer.retry_after, f"{answer.status} {status_message(answer.body)}"


# -- what to send ------------------------------------------------------------------------------------------------------


def status_patch(pod: Pod, wanted: WantedStatus, now: float) -> dict[str, Any] | None:
    """The difference between what the pod's status says and what it should say; None if there is none."""
    status: dict[str, Any] = {}
    if wanted.reason:
        status |= condition_patch(
            pod, {"type": "PodScheduled", "status": "False", "reason": wanted.reason, "message": wanted.message}, now
        )
    if wanted.queued:
        words = {"reason": wanted.queued, "message": wanted.message}
        _add(status, condition_patch(pod, {"type": QUEUED, "status": "True", **words}, now))
    if wanted.nominated is not None and wanted.nominated != pod.status.nominated_node_name:
        status["nominatedNodeName"] = wanted.nominated or None
    if not status:
        return None
    meta = pod.metadata
    return {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "status": status}


def _add(status: dict[str, Any], more: dict[str, Any]) -> None:
    """Bring another condition up to date in the same patch."""
    status["conditions"] = [*status.get("conditions", ()), *more.get("conditions", ())]
    orders = [part.get("$setElementOrder/conditions", ()) for part in (status, more)]
    if any(orders):
        names = dict.fromkeys(each["type"] for order in orders for each in order)
        names |= dict.fromkeys(each["type"] for each in status["conditions"])
        status["$setElementOrder/conditions"] = [{"type": name} for name in names]
    if not status["conditions"]:
        del status["conditions"]


def condition_patch(pod: Pod, condition: dict[str, str], now: float) -> dict[str, Any]:
    """The part of a status patch that brings one condition up to date; empty if it says the same already."""
    known = {one.type: one for one in pod.status.conditions}
    before = known.get(condition["type"])
    if before is None:
        change: dict[str, Any] = {"lastProbeTime": None, "lastTransitionTime": rfc3339(now), **condition}
        if pod.metadata.generation:
            change["observedGeneration"] = pod.metadata.generation
    else:
        said = {"status": before.status, "reason": before.reason, "message": before.message}
        change = {name: text for name, text in condition.items() if name != "type" and said[name] != text}
        if not change:
            return {}
        if "status" in change:
            change["lastTransitionTime"] = rfc3339(now)
        if pod.metadata.generation != before.observed_generation:
            change["observedGeneration"] = pod.metadata.generation
        change["type"] = condition["type"]
    patch: dict[str, Any] = {"conditions": [dict(sorted(change.items()))]}
    if known:
        order = list(dict.fromkeys([*known, condition["type"]]))
        patch["$setElementOrder/conditions"] = [{"type": name} for name in order]
    return patch
