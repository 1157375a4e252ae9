"""Fairway's own HTTP API: what only the scheduler itself knows.

In: a running `LiveScheduler`. Out: routes for `http_server`, which decides who may ask: `/fairway/v1/status` (is it
leading, how much does it know, how many wait where), `/fairway/v1/queue` (who waits, since when, tried how often,
refused by whom) and `/fairway/v1/why?pod=NAMESPACE/NAME` (what every plugin says about every node, now). JSON; nothing
is ever changed by asking.
"""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from fairway.cluster.held_pods import EndedHold, HeldPod
from fairway.live.api.clock import rfc3339
from fairway.live.service import LiveScheduler
from fairway.live.serving.http_server import Routes
from fairway.model import Pod
from fairway.queue import Place, QueuedPod, profile_name

__all__ = ["api_routes"]

NUM_BEST = 10


def api_routes(live: LiveScheduler) -> Routes:
    """By method and path."""

    async def status(_: web.Request) -> web.Response:
        return _json(_status(live))

    async def queue(_: web.Request) -> web.Response:
        return _json({"pods": _waiting(live)})

    async def why(request: web.Request) -> web.Response:
        name = request.query.get("pod", "")
        pod = live.watch.reflectors[Pod].store.find(name)
        if not isinstance(pod, Pod):
            return _json({"message": f"there is no pod {name!r}; give pod=NAMESPACE/NAME"}, 404)
        if profile_name(pod) not in live.scheduler.profiles:
            return _json({"message": f"pod {name} is for scheduler {profile_name(pod)}"}, 404)
        return _json(_why(live, pod))

    return {
        ("GET", "/fairway/v1/status"): status,
        ("GET", "/fairway/v1/queue"): queue,
        ("GET", "/fairway/v1/why"): why,
    }


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


def _why(live: LiveScheduler, pod: Pod) -> dict[str, Any]:
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
    found = live.scheduler.profiles[profile_name(pod)].inspect(pod)
    best = sorted(found.totals, key=lambda node: (-found.totals[node], node))[:NUM_BEST]
    answer |= {
        "nodes": found.num_nodes,
        "feasible": len(found.feasible),
        "message": "" if found.feasible or found.diagnosis is None else found.diagnosis.message(""),
        "refused": [
            {"plugin": plugin, "reasons": list(refusal.reasons), "code": refusal.code.value, "nodes": len(names)}
            for plugin, refusal, names in found.rejected
        ],
        "best": [
            {
                "node": node,
                "total": found.totals[node],
                "scores": {plugin: scores[node] for plugin, scores in found.scores.items()},
            }
            for node in best
        ],
    }
    return answer


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), content_type="application/json")
