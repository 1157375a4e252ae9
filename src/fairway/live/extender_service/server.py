"""Fairway's plugins as an extender of a stock kube-scheduler: `fairway run --extender :8888`.

In: kube-scheduler's filter, prioritize and preempt requests. Out: what a profile of Fairway thinks of those nodes, so
that a cluster can try a policy written in Python without replacing its scheduler. The cluster is known from watches
(`nodeCacheCapable: true` spares kube-scheduler sending every node each time). Nothing is bound or written. The
profile is that of the pod's schedulerName if there is one, else the first; kube-scheduler runs its own plugins as
well, so a profile with just the new policy in it is what one wants. Callers may be strangers: bodies and times are
bounded, whoever has no token where one is wanted is refused, and what makes no sense is a 400.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import ssl
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
from aiohttp import web

from fairway.cycle import Diagnosis, ExtenderError, PluginError, Profile
from fairway.cycle.failure import diagnose
from fairway.cycle.feasibility import feasible_mask, nominated_rows
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.extender_service.requests import BadRequest, read_nodes_request, read_victims_request
from fairway.live.extenders.wire import MAX_PRIORITY
from fairway.live.serving.front_door import DoorLimits, FrontDoor, TooBusy, requests_logger
from fairway.live.serving.http_server import Handler, Routes
from fairway.model import Pod
from fairway.plugin import MAX_SCORE, Code
from fairway.queue import profile_name

__all__ = ["Callers", "ExtenderServer", "reason_words"]

logger = logging.getLogger(__name__)

UNKNOWN_NODE = "node(s) are not known to Fairway yet"
MAX_BODY_BYTES = 16 << 20
MOST_WORDS = 1024  # characters of reasons for a node; events have as many
FEWEST_WORDS = 64


class Callers(NamedTuple):
    """How callers are told from strangers."""

    tls: ssl.SSLContext | None = None  # may want certificates of them
    token: str = ""  # what they have to send; "": nothing


class ExtenderServer:
    """Answers for the profiles of one cluster."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        prefix: str = "",
        clock: Clock | None = None,
        limits: DoorLimits | None = None,
    ) -> None:
        """`prefix` is the path of the `urlPrefix` in kube-scheduler's configuration."""
        if not profiles:
            raise ValueError("an extender needs at least one profile")
        self._clock = clock or SystemClock()
        self._limits = limits
        self._token = ""
        self._door: FrontDoor | None = None
        self._runner: web.AppRunner | None = None
        self._profiles = profiles
        self._prefix = prefix.rstrip("/")

    def routes(self) -> Routes:
        """By method and path, for an HTTP server."""
        return {
            ("POST", f"{self._prefix}/filter"): self._serve_filter,
            ("POST", f"{self._prefix}/prioritize"): self._serve_prioritize,
            ("POST", f"{self._prefix}/preempt"): self._serve_preempt,
        }

    async def start(self, host: str, port: int, callers: Callers = Callers()) -> int:  # noqa: B008 - never changed
        """Listen; returns the port. Raises OSError."""
        self._token = callers.token
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        for (method, path), handler in self.routes().items():
            application.router.add_route(method, path, partial(self._serve, handler))
        application.router.add_get("/healthz", _healthy)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, logger=requests_logger)
        await self._runner.setup()
        assert self._runner.server is not None
        self._door = FrontDoor(self._runner.server, self._clock, self._limits)
        return await self._door.open(host, port, callers.tls)

    async def stop(self) -> None:
        """Stop listening; requests under way may end."""
        if self._door is not None:
            await self._door.close()
        if self._runner is not None:
            await self._runner.cleanup()

    # -- requests --------------------------------------------------------------------------------------------------

    async def _serve(self, handler: Handler, request: web.Request) -> web.StreamResponse:
        """Whoever may ask gets an answer, of whatever kind, in time."""
        assert self._door is not None
        sent = request.headers.get("Authorization", "").encode(errors="surrogateescape")
        if self._token and not hmac.compare_digest(sent, f"Bearer {self._token}".encode()):
            return web.Response(status=401, text="fairway: the token is missing or wrong\n")
        if "Content-Encoding" in request.headers:  # kube-scheduler compresses nothing
            return web.Response(status=415, text="fairway: bodies are read as they are, not compressed\n")
        try:
            with self._door.request(request.transport):
                async with asyncio.timeout(self._door.limits.request_seconds):
                    return await handler(request)
        except TooBusy:
            return web.Response(status=429, text="fairway: too many requests are being answered\n")
        except TimeoutError:
            return web.Response(status=504, text="fairway: it took too long\n")
        except BadRequest as error:
            logger.warning("%s: %s", request.path, error)
            return web.Response(status=400, text=f"fairway: {error}\n")

    async def _serve_filter(self, request: web.Request) -> web.Response:
        pod, names, items = read_nodes_request(await request.read())
        try:
            return _json(self.filter(pod, names, items))
        except (ExtenderError, PluginError) as error:
            logger.warning("filter: %s", error)
            return _json({"Nodes": None, "NodeNames": None, "FailedNodes": {}, "Error": f"fairway: {error}"})

    async def _serve_prioritize(self, request: web.Request) -> web.Response:
        pod, names, _ = read_nodes_request(await request.read())
        try:
            return _json(self.prioritize(pod, names))
        except (ExtenderError, PluginError) as error:
            logger.warning("prioritize: %s", error)
            return web.Response(status=500, text=f"fairway: {error}\n")

    async def _serve_preempt(self, request: web.Request) -> web.Response:
        try:
            pod, candidates = read_victims_request(await request.read())
            return _json(self.preempt(pod, candidates))
        except (ExtenderError, PluginError) as error:
            logger.warning("preempt: %s", error)
            return web.Response(status=500, text=f"fairway: {error}\n")

    # -- answers ---------------------------------------------------------------------------------------------------

    def filter(self, pod: Pod, names: Sequence[str], items: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Which of the nodes named will do, and why the others will not; `items`: give the nodes themselves back."""
        profile = self._profile(pod)
        row_of = profile.cluster.nodes.row_of
        mask, diagnosis = _judge(profile, pod)
        most = max(FEWEST_WORDS, min(MOST_WORDS, MAX_BODY_BYTES // max(len(names), 1)))
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
                unresolvable[name] = reason_words(refusal[1].reasons, most)
            else:
                failed[name] = reason_words(refusal[1].reasons, most)
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

    def preempt(self, pod: Pod, candidates: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Which candidates remain: those whose node Fairway would not refuse for a reason that no eviction cures."""
        profile = self._profile(pod)
        row_of = profile.cluster.nodes.row_of
        mask, diagnosis = _judge(profile, pod)
        answer = {}
        for node, victims in candidates.items():
            row = row_of.get(node)
            refusal = None if row is None or mask[row] else diagnosis.refusal_of(row) or diagnosis.pre_filter
            if row is not None and (refusal is None or refusal[1].code is not Code.UNRESOLVABLE):
                answer[node] = victims
        return {"NodeNameToMetaVictims": answer}

    def _profile(self, pod: Pod) -> Profile:
        profile = self._profiles.get(profile_name(pod)) or next(iter(self._profiles.values()))
        profile.cluster.clock.advance(self._clock.now())
        try:
            profile.classify(pod)
        except ValueError as error:  # a selector that the API server would not have let through
            raise BadRequest(str(error)) from None
        return profile


def _judge(profile: Profile, pod: Pod) -> tuple[Any, Diagnosis]:
    """The mask of nodes that fit, and why the others do not."""
    answers = profile.answers(profile.classify(pod))
    if answers.pre_filter_refusal is not None:
        return np.zeros(profile.cluster.nodes.num_rows, bool), diagnose(profile, pod, answers, {})
    mask, refusals = feasible_mask(profile, pod, answers, nominated_rows(profile, pod))
    return mask, diagnose(profile, pod, answers, refusals)


def reason_words(reasons: Sequence[str], most: int) -> str:
    """The first of them, so many characters: one pod has thousands, for each of thousands of nodes, in one answer."""
    size = 0
    for number, reason in enumerate(reasons):
        size += len(reason) + 2
        if size > most:
            first = [*reasons[:number]] or [f"{reason[:most]}..."]
            left = len(reasons) - len(first)
            return ", ".join([*first, f"and {left} more"] if left else first)
    return ", ".join(reasons)


def _share(total: int, highest: int) -> int:
    return min(max(round(MAX_PRIORITY * total / highest), 0), MAX_PRIORITY) if highest > 0 else 0


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
