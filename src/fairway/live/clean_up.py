"""Queues leave a cluster without a trace: our finalizers, taints and cordons are taken away, and nothing else.

In: a cluster, in which no scheduler of ours works any more: that is waited for, as long as its lease may last. Out: no
JobRecord with our finalizer, so that records go with their owners and the kinds can be deleted; no node with a taint of
ours, or cordoned by a maintenance window. Pods are left alone, nodes that a person cordoned too. Whoever writes to an
object meanwhile is not overwritten; it is looked at again. Called by `fairway run --clean-up`, and so by the chart.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from fairway.batch.actions import CORDONED_BY
from fairway.batch.upkeep.node_sights import QUEUE_TAINT
from fairway.config.config_file import LeaderElection
from fairway.live.api.api_server import MERGE_PATCH, ApiServer
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.api.connection import Answer
from fairway.live.api.pages import list_pages
from fairway.live.api.problems import LiveProblem, problem_of, status_message
from fairway.live.batch.objects import JobRecordObject, object_path
from fairway.live.batch.releases import FINALIZER, without_ours
from fairway.live.lease import renewed_at
from fairway.live.process import RunOptions, open_connection, read_configuration
from fairway.plugins.exclusive_guard import TAINT as EXCLUSIVE_TAINT

__all__ = ["CleanUp", "NotClean", "StillAtWork", "clean_up", "run_clean_up"]


OK, NOT_FOUND, CONFLICT = 200, 404, 409
OURS: Final = (QUEUE_TAINT, EXCLUSIVE_TAINT)
PATIENCE: Final = 60.0  # with a scheduler that is about to end
MOST_ROUNDS: Final = 20


class StillAtWork(LiveProblem):
    """A scheduler of ours would put everything back."""

    def __init__(self, lease: str, holder: str) -> None:
        super().__init__(
            "nothing was taken away",
            f"{holder} holds the lease {lease}, and would put everything back",
            "stop the scheduler first: helm uninstall, or kubectl scale deployment --replicas=0",
        )


class NotClean(LiveProblem):
    """Somebody puts it back as quickly as we take it away."""

    def __init__(self, done: CleanUp) -> None:
        super().__init__(
            "not everything was taken away",
            f"somebody changes the same objects all the time; by now {done.words}",
            "is another scheduler at work, for another lease? stop it, and try again",
        )


@dataclass
class CleanUp:
    """What was taken away."""

    num_records: int = 0
    num_cordons: int = 0
    num_taints: int = 0

    @property
    def words(self) -> str:
        """In a line."""
        nodes = f"nodes uncordoned: {self.num_cordons}, taints removed: {self.num_taints}"
        return f"records let go: {self.num_records}, {nodes}"


async def run_clean_up(options: RunOptions, clock: Clock | None = None) -> CleanUp:
    """The same on the cluster that a command line names, for the lease that it names."""
    configuration, clock = read_configuration(options), clock or SystemClock()
    settings = msgspec.structs.replace(configuration.leader_election, **options.leader_election)
    connection = await open_connection(options, configuration, clock, "clean-up")
    try:
        await connection.check()
        return await clean_up(connection, settings, clock)
    finally:
        await connection.close()


async def clean_up(api: ApiServer, settings: LeaderElection, clock: Clock) -> CleanUp:
    """Take everything of ours away. Raises `LiveProblem`."""
    if settings.leader_elect:
        await _wait_for_lease(api, settings, clock)
    done = CleanUp()
    for _ in range(MOST_ROUNDS):
        is_clean = await _release_records(api, done)
        is_clean &= await _open_nodes(api, done)
        if is_clean:
            return done
    raise NotClean(done)


async def _wait_for_lease(api: ApiServer, settings: LeaderElection, clock: Clock) -> None:
    """Until nobody holds it any more."""
    namespace, name = settings.resource_namespace, settings.resource_name
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    deadline = clock.monotonic() + PATIENCE
    while True:
        answer = await api.request("GET", path)
        if answer.status == NOT_FOUND:
            return
        if answer.status != OK:
            raise _refused("GET", path, answer)
        spec = msgspec.json.decode(answer.body).get("spec") or {}
        if not spec.get("holderIdentity") or _is_over(spec, clock.now()):
            return
        if clock.monotonic() > deadline:
            raise StillAtWork(f"{namespace}/{name}", spec["holderIdentity"])
        await clock.sleep(1.0)


def _is_over(spec: dict[str, Any], now: float) -> bool:
    renewed = renewed_at(spec)
    return renewed is None or now > renewed + float(spec.get("leaseDurationSeconds") or 0.0)


async def _release_records(api: ApiServer, done: CleanUp) -> bool:
    """Records may go with their owners; says whether there were none to let go."""
    is_clean = True
    async for each in _all(api, object_path(JobRecordObject)):
        meta = each["metadata"]
        if FINALIZER not in meta.get("finalizers", ()):
            continue
        is_clean = False
        path = object_path(JobRecordObject, meta["name"], meta["namespace"])
        change = {"metadata": {"finalizers": without_ours(meta["finalizers"])}}
        done.num_records += await _patch(api, path, meta, change)
    return is_clean


async def _open_nodes(api: ApiServer, done: CleanUp) -> bool:
    """Nodes without taints of ours, and open if a window closed them; says whether there were none."""
    is_clean = True
    async for each in _all(api, "/api/v1/nodes"):
        meta, spec = each["metadata"], each.get("spec", {})
        taints = spec.get("taints") or []
        kept = [taint for taint in taints if taint["key"] not in OURS]
        is_cordoned = CORDONED_BY in meta.get("annotations", {})
        if not is_cordoned and len(kept) == len(taints):
            continue
        is_clean = False
        change: dict[str, Any] = {"metadata": {}, "spec": {}}
        if is_cordoned:
            change = {"metadata": {"annotations": {CORDONED_BY: None}}, "spec": {"unschedulable": None}}
        if len(kept) < len(taints):
            change["spec"]["taints"] = kept or None
        if await _patch(api, f"/api/v1/nodes/{meta['name']}", meta, change):
            done.num_cordons += is_cordoned
            done.num_taints += len(taints) - len(kept)
    return is_clean


async def _patch(api: ApiServer, path: str, meta: dict[str, Any], change: dict[str, Any]) -> bool:
    """Change the object as it was seen; False: it is another one by now, or gone."""
    change["metadata"] |= {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    answer = await api.request("PATCH", path, body=msgspec.json.encode(change), content_type=MERGE_PATCH)
    if answer.status not in (OK, NOT_FOUND, CONFLICT):
        raise _refused("PATCH", path, answer)
    return answer.status == OK


def _refused(method: str, path: str, answer: Answer) -> LiveProblem:
    known = problem_of("the cluster", method, path, answer.status, answer.body)
    why = f"{path}: {answer.status} {status_message(answer.body)}"
    return known or LiveProblem("the API server refused", why, "what was taken away by now stays so: try again")


async def _all(api: ApiServer, path: str) -> AsyncIterator[dict[str, Any]]:
    """All objects there; none, if nothing is served there."""
    async for page in list_pages(api, path):
        if page.answer.status == NOT_FOUND:
            return
        if not page.is_list:
            raise _refused("GET", path, page.answer)
        for each in page.items:
            yield each
