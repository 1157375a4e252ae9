"""Fairway's own HTTP API: what only the scheduler itself knows.

In: a running `LiveScheduler`. Out: routes for `http_server`, which decides who may ask: `/fairway/v1/status` (is it
leading, how much does it know, how many wait where), `/fairway/v1/queue` (who waits, since when, tried how often,
refused by whom), `/fairway/v1/view` (what nodes have and hold, as it counts) and `/fairway/v1/why?pod=NAMESPACE/NAME`
(what every plugin says about every node, now; each of them with `&nodes=all`; of a job, by `job=` or where no pod is
called so, how many members fit and who is in the way). With `&text=yes`, the answer of `fairway why` in its words
besides, fixes included (`asked_answer`). `queue_routes` has those about queues of jobs. JSON; nothing is ever changed
by asking.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from aiohttp import web

from fairway.cluster.intents.held_pods import EndedHold, HeldPod
from fairway.cycle.funnel import funnel_document, make_funnel
from fairway.live.api.clock import rfc3339
from fairway.live.asked_answer import AskedAnswers
from fairway.live.asked_queues import AskedQueues
from fairway.live.job_view import find_job_book, job_document
from fairway.live.queue_routes import queue_routes, queueing
from fairway.live.service import LiveScheduler
from fairway.live.serving.http_server import Routes
from fairway.model import Node, NodeSpec, NodeStatus, ObjectMeta, Pod, PodStatus, pod_requests, to_builtins
from fairway.model.group import FAIRWAY
from fairway.queue import Place, QueuedPod, profile_name

__all__ = ["api_routes", "explained", "pod_why"]

NUM_BEST = 10


def api_routes(
    live: LiveScheduler, answers: AskedAnswers | None = None, queues: Callable[[], AskedQueues] | None = None
) -> Routes:
    """By method and path; `answers` are for who wants words, too, `queues` makes whoever answers about queues."""
    asked_queues = None if queues is None else cache(queues)

    async def status(_: web.Request) -> web.Response:
        return _json(_status(live))

    async def queue(_: web.Request) -> web.Response:
        return _json({"pods": _waiting(live)})

    async def view(_: web.Request) -> web.Response:
        return _json(_view(live))

    async def why(request: web.Request) -> web.Response:
        name = request.query.get("job") or request.query.get("pod", "")
        pod = live.watch.reflectors[Pod].store.find(name)
        if "job" in request.query or not isinstance(pod, Pod):
            job = find_job_book(live, name)
            document = {} if job is None else job_document(live, job)
            if (found := await queueing(live, asked_queues, name)) is not None:
                return _json(document | {"job": name, "queueing": found})
            if job is not None:
                return _json(document)
        if "job" in request.query:
            return _json({"message": f"there is no job {name!r} of ours; give job=NAMESPACE/NAME"}, 404)
        words = answers if "text" in request.query else None
        about = name, request.query.get("node"), request.query.get("nodes") == "all"
        code, document = await pod_why(live, words, asked_queues, *about)
        return _json(document, code)

    return {
        ("GET", "/fairway/v1/status"): status,
        ("GET", "/fairway/v1/queue"): queue,
        ("GET", "/fairway/v1/view"): view,
        ("GET", "/fairway/v1/why"): why,
        **queue_routes(live, asked_queues),
    }


async def pod_why(
    live: LiveScheduler,
    answers: AskedAnswers | None,
    queues: Callable[[], AskedQueues] | None,
    name: str,
    node: str | None,
    all_nodes: bool,
) -> tuple[int, dict[str, Any]]:
    """Status and document of `/fairway/v1/why` about namespace/name; with `answers` in words, too."""
    pod = live.watch.reflectors[Pod].store.find(name)
    if not isinstance(pod, Pod):
        return 404, {"message": f"there is no pod {name!r}; give pod=NAMESPACE/NAME"}
    if profile_name(pod) not in live.scheduler.profiles:
        return 404, {"message": f"pod {name} is for scheduler {profile_name(pod)}"}
    if node is not None and node not in live.cluster.nodes.row_of:
        return 404, {"message": f"the scheduler knows no node {node!r}"}
    answer = _why(live, pod, all_nodes=all_nodes)
    if (found := await queueing(live, queues, name, pod.metadata.uid)) is not None:
        answer["queueing"] = found
    if answers is not None:
        profile = live.scheduler.profiles[profile_name(pod)]
        answer["answer"] = await answers.about(profile, pod, live.watch.pods(), node, all_nodes)
    return 200, answer


async def explained(live: LiveScheduler, name: str) -> bytes | None:
    """What `/fairway/v1/why` says of namespace/name; None: there is no such pod of ours."""
    pod = live.watch.reflectors[Pod].store.find(name)
    if not isinstance(pod, Pod) or profile_name(pod) not in live.scheduler.profiles:
        return None
    return msgspec.json.encode(_why(live, pod))


def _status(live: LiveScheduler) -> dict[str, Any]:
    cluster, election = live.cluster, live.election
    return {
        "synced": live.is_synced,
        "leading": election is None or election.is_leading(),
        "nodes": len(cluster.nodes.row_of),
        "podsOnNodes": len(cluster.pods),
        "podsAssumed": live.world.num_assumed,
        "podsHeld": len(cluster.held),
        "queue": {place.value: number for place, number in live.scheduler.queue.counts().items()},
        "profiles": list(live.scheduler.profiles),
    }


def _waiting(live: LiveScheduler) -> list[dict[str, Any]]:
    """Those whose turn is next first."""
    pending = live.scheduler.queue.pending()
    return [
        _queued(queued, place)
        for place, pods in (
            (Place.IN_FLIGHT, pending.in_flight),
            (Place.ACTIVE, pending.active),
            (Place.BACKOFF, pending.backoff),
            (Place.UNSCHEDULABLE, pending.unschedulable),
            (Place.GATED, pending.gated),
        )
        for queued in pods
    ]


def _queued(queued: QueuedPod, place: Place) -> dict[str, Any]:
    since = queued.initial_attempt_timestamp
    return {
        "pod": queued.pod.key,
        "scheduler": queued.profile,
        "place": place.value,
        "priority": queued.pod.priority,
        "attempts": queued.attempts,
        "since": None if since is None else rfc3339(since),
        "refusedBy": sorted(queued.unschedulable_plugins | queued.pending_plugins),
        "gatedBy": queued.gating_plugin or None,
    }


def _held(held: HeldPod) -> dict[str, Any]:
    return {"by": list(held.plugins), "since": rfc3339(held.since), "until": rfc3339(held.deadline)}


def _ended(ended: EndedHold) -> dict[str, Any]:
    times = {"since": rfc3339(ended.since), "until": rfc3339(ended.until)}
    return {"by": ended.plugin, "node": ended.node, **times, "reason": ended.reason}


def _view(live: LiveScheduler) -> dict[str, Any]:
    """What nodes have and hold, as the scheduler counts it, and who waits; of each object what that takes."""
    cluster = live.cluster
    used: dict[str, dict[str, int]] = {}
    for placed in cluster.pods.by_uid.values():
        held = used.setdefault(cluster.nodes.names[placed.row], {})
        for resource, amount in ({"pods": 1} | pod_requests(placed.pod)).items():
            held[resource] = held.get(resource, 0) + amount
    nodes = [node for node in live.watch.reflectors[Node].store if isinstance(node, Node)]
    pending = live.scheduler.queue.pending()
    waiting = [*pending.in_flight, *pending.active, *pending.backoff, *pending.unschedulable, *pending.gated]
    return {
        "nodes": [to_builtins(_slim_node(node)) for node in nodes],
        "used": used,
        "waiting": [to_builtins(_slim_pod(live, queued.pod)) for queued in waiting],
        "podsOnNodes": len(cluster.pods),
    }


def _slim_node(node: Node) -> Node:
    status = NodeStatus(allocatable=node.status.allocatable, conditions=node.status.conditions)
    return Node(
        metadata=ObjectMeta(name=node.metadata.name, labels=node.metadata.labels),
        spec=NodeSpec(unschedulable=node.spec.unschedulable),
        status=status,
    )


def _slim_pod(live: LiveScheduler, pod: Pod) -> Pod:
    """As the API server has it now: the condition says why it waits."""
    current = live.watch.reflectors[Pod].store.find(pod.key)
    known = current if isinstance(current, Pod) else pod
    meta, group = known.metadata, live.cluster.groups.of(pod.metadata.uid)
    said = {} if group is None else {f"{FAIRWAY}gang": group.key.name}
    named = ObjectMeta(name=meta.name, namespace=meta.namespace, annotations=said)
    return Pod(
        metadata=msgspec.structs.replace(named, creation_timestamp=meta.creation_timestamp),
        status=PodStatus(conditions=known.status.conditions, nominated_node_name=known.status.nominated_node_name),
    )


def _why(live: LiveScheduler, pod: Pod, *, all_nodes: bool = False) -> dict[str, Any]:
    uid = pod.metadata.uid
    queued = live.scheduler.queue.find(uid)
    placed = live.cluster.pods.by_uid.get(uid)
    held, ended = live.cluster.held.find(uid), live.cluster.held.ended.get(uid)
    answer: dict[str, Any] = {
        "pod": pod.key,
        "node": None if placed is None else live.cluster.nodes.names[placed.row],
        "assumed": placed is not None and placed.assumed,
        "queue": None if queued is None or queued.place is None else _queued(queued, queued.place),
        "held": None if held is None else _held(held),
        "lastHold": None if ended is None else _ended(ended),
    }
    if placed is not None:
        return answer
    profile = live.scheduler.profiles[profile_name(pod)]
    if profile.gangs is not None and (group := live.cluster.groups.of(uid)) is not None:
        answer["job"] = job_document(live, group)
    found = profile.inspect(pod)
    funnel = make_funnel(profile, profile.classify(pod), found.diagnosis)
    best = sorted(found.totals, key=lambda node: (-found.totals[node], node))[:NUM_BEST]
    answer |= {
        "nodes": found.num_nodes,
        "feasible": len(found.feasible),
        "message": "" if found.feasible or found.diagnosis is None else found.diagnosis.message(""),
        "refused": [
            {"plugin": plugin, "reasons": list(refusal.reasons), "code": refusal.code.value, "nodes": len(names)}
            for plugin, refusal, names in found.rejected
        ],
        "funnel": funnel_document(funnel),
        "best": [
            {
                "node": node,
                "total": found.totals[node],
                "scores": {plugin: scores[node] for plugin, scores in found.scores.items()},
            }
            for node in best
        ],
    }
    if all_nodes:
        refused = {node: (plugin, refusal) for plugin, refusal, names in found.rejected for node in names}
        answer["perNode"] = [
            {
                "node": node,
                "fits": node not in refused,
                "total": found.totals.get(node),
                "plugin": refused[node][0] if node in refused else None,
                "reasons": list(refused[node][1].reasons) if node in refused else [],
                "scores": [f"{plugin} {by_node[node]}" for plugin, by_node in found.scores.items() if node in by_node],
            }
            for node in sorted({*found.feasible, *refused}, key=lambda node: (-found.totals.get(node, -1), node))
        ]
    return answer


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), content_type="application/json")
