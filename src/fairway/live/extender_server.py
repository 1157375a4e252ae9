"""Fairway's plugins as an extender of a stock kube-scheduler: `fairway run --extender :8888`.

In: kube-scheduler's filter, prioritize and preempt requests. Out: what a profile of Fairway thinks of those nodes, so
that a cluster can try a policy written in Python without replacing its scheduler. The cluster is known from watches
(`nodeCacheCapable: true` spares kube-scheduler sending every node each time). Nothing is bound or written. The
profile is that of the pod's schedulerName if there is one, else the first; kube-scheduler runs its own plugins as
well, so a profile with just the new policy in it is what one wants.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from aiohttp import web

from fairway.cycle import Diagnosis, ExtenderError, PluginError, Profile
from fairway.cycle.failure import diagnose
from fairway.cycle.feasibility import feasible_mask, nominated_rows
from fairway.live.extender_wire import MAX_PRIORITY, any_case, read_json
from fairway.live.http_server import Routes
from fairway.model import Pod
from fairway.model.codec import convert
from fairway.plugin import MAX_SCORE, Code
from fairway.queue import profile_name

__all__ = ["ExtenderServer"]

logger = logging.getLogger(__name__)

UNKNOWN_NODE = "node(s) are not known to Fairway yet"
MAX_BODY_BYTES = 256 * 1024 * 1024


class ExtenderServer:
    """Answers for the profiles of one cluster."""

    def __init__(self, profiles: Mapping[str, Profile], prefix: str = "") -> None:
        """`prefix` is the path of the `urlPrefix` in kube-scheduler's configuration."""
        if not profiles:
            raise ValueError("an extender needs at least one profile")
        self._profiles = profiles
        self._prefix = prefix.rstrip("/")

    def routes(self) -> Routes:
        """By method and path, for an HTTP server."""
        return {
            ("POST", f"{self._prefix}/filter"): self._serve_filter,
            ("POST", f"{self._prefix}/prioritize"): self._serve_prioritize,
            ("POST", f"{self._prefix}/preempt"): self._serve_preempt,
        }

    async def start(self, host: str, port: int) -> web.AppRunner:
        """Listen, without TLS: kube-scheduler is meant to reach this on a private address."""
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        for (method, path), handler in self.routes().items():
            application.router.add_route(method, path, handler)
        application.router.add_get("/healthz", _healthy)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        return runner

    # -- requests --------------------------------------------------------------------------------------------------

    async def _serve_filter(self, request: web.Request) -> web.Response:
        try:
            pod, names, items = _asked(await request.read())
            return _json(self.filter(pod, names, items))
        except (ExtenderError, PluginError) as error:
            logger.warning("filter: %s", error)
            return _json({"Nodes": None, "NodeNames": None, "FailedNodes": {}, "Error": f"fairway: {error}"})

    async def _serve_prioritize(self, request: web.Request) -> web.Response:
        try:
            pod, names, _ = _asked(await request.read())
            return _json(self.prioritize(pod, names))
        except (ExtenderError, PluginError) as error:
            logger.warning("prioritize: %s", error)
            return web.Response(status=500, text=f"fairway: {error}\n")

    async def _serve_preempt(self, request: web.Request) -> web.Response:
        try:
            return _json(self.preempt(any_case(read_json(await request.read()))))
        except ExtenderError as error:
            logger.warning("preempt: %s", error)
            return web.Response(status=500, text=f"fairway: {error}\n")

    # -- answers ---------------------------------------------------------------------------------------------------

    def filter(self, pod: Pod, names: Sequence[str], items: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Which of the nodes named will do, and why the others will not; `items`: give the nodes themselves back."""
        profile = self._profile(pod)
        row_of = profile.cluster.nodes.row_of
        mask, diagnosis = _judge(profile, pod)
        kept: list[str] = []
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        for name in names:
            row = row_of.get(name)
            if row is not None and mask[row]:
                kept.append(name)
                continue
            refusal = None if row is None else diagnosis.refusal_of(row) or diagnosis.pre_filter
            if refusal is None:
                failed[name] = UNKNOWN_NODE
            elif refusal[1].code is Code.UNRESOLVABLE:
                unresolvable[name] = ", ".join(refusal[1].reasons)
            else:
                failed[name] = ", ".join(refusal[1].reasons)
        whole = None if items is None else {"metadata": {}, "items": [items[name] for name in kept]}
        return {
            "Nodes": whole,
            "NodeNames": kept if items is None else None,
            "FailedNodes": failed,
            "FailedAndUnresolvableNodes": unresolvable,
            "Error": "",
        }

    def prioritize(self, pod: Pod, names: Sequence[str]) -> list[dict[str, Any]]:
        """How good each of the nodes named is, from 0 to 10: its share of the highest total there can be."""
        profile = self._profile(pod)
        totals = profile.inspect(pod).totals
        highest = MAX_SCORE * sum(max(profile.weights.get(plugin.name, 1), 0) for plugin in profile.scores)
        scores = {name: _share(total, highest) for name, total in totals.items()}
        return [{"Host": name, "Score": scores.get(name, 0)} for name in names]

    def preempt(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Which candidates remain: those whose node Fairway would not refuse for a reason that no eviction cures."""
        pod = _pod(asked.get("pod"))
        profile = self._profile(pod)
        row_of = profile.cluster.nodes.row_of
        mask, diagnosis = _judge(profile, pod)
        answer = {}
        for node, victims in _candidates(asked).items():
            row = row_of.get(node)
            refusal = None if row is None or mask[row] else diagnosis.refusal_of(row) or diagnosis.pre_filter
            if row is not None and (refusal is None or refusal[1].code is not Code.UNRESOLVABLE):
                answer[node] = victims
        return {"NodeNameToMetaVictims": answer}

    def _profile(self, pod: Pod) -> Profile:
        return self._profiles.get(profile_name(pod)) or next(iter(self._profiles.values()))


def _judge(profile: Profile, pod: Pod) -> tuple[Any, Diagnosis]:
    """The mask of nodes that fit, and why the others do not."""
    answers = profile.answers(profile.classify(pod))
    if answers.pre_filter_refusal is not None:
        return np.zeros(profile.cluster.nodes.num_rows, bool), diagnose(profile, pod, answers, {})
    mask, refusals = feasible_mask(profile, pod, answers, nominated_rows(profile, pod))
    return mask, diagnose(profile, pod, answers, refusals)


def _share(total: int, highest: int) -> int:
    return min(max(round(MAX_PRIORITY * total / highest), 0), MAX_PRIORITY) if highest > 0 else 0


def _asked(body: bytes) -> tuple[Pod, list[str], dict[str, Any] | None]:
    """The pod, the nodes' names and, where they were sent, the nodes themselves."""
    found = any_case(read_json(body))
    pod = _pod(found.get("pod"))
    if found.get("nodenames") is not None:
        return pod, list(found["nodenames"]), None
    items = {item["metadata"]["name"]: item for item in any_case(found.get("nodes")).get("items") or ()}
    return pod, list(items), items


def _pod(found: Any) -> Pod:
    if not isinstance(found, dict):
        raise ExtenderError("a request without a pod")
    try:
        return convert(found, Pod)
    except (msgspec.ValidationError, ValueError) as error:
        raise ExtenderError(f"a pod that can not be read: {error}") from None


def _candidates(asked: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By node, the victims by uid, from either form of the request."""
    found = asked.get("nodenametometavictims") or asked.get("nodenametovictims") or {}
    candidates = {}
    for node, victims in found.items():
        fields = any_case(victims)
        uids = [_uid(any_case(each)) for each in fields.get("pods") or ()]
        candidates[node] = {
            "Pods": [{"UID": uid} for uid in uids],
            "NumPDBViolations": fields.get("numpdbviolations") or 0,
        }
    return candidates


def _uid(victim: Mapping[str, Any]) -> str:
    return str(victim.get("uid") or any_case(victim.get("metadata")).get("uid", ""))


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
