"""Leader election: of several schedulers, the one that holds a Lease works.

In: the API server, kube-scheduler's settings and a clock. Out: `is_leading()`, which whoever writes to the cluster
asks before each write; `run`, which acquires the lease, renews it, and comes back when it is lost or no longer
wanted; `release`, which hands it over. The requests are those of client-go's leaderelection (v0.36): same object,
same fields, same periods, so that it shares a lease with kube-scheduler.

One thing is different. client-go's leader goes on working until it has failed to renew for `renewDeadline`, counted
from when it began to try; frozen past its lease and thawed, it works beside its successor for ten seconds. Here
leadership ends by the clock: a renewal makes sure of `renewDeadline` from the moment it was *sent*, and not an
instant more. Nobody else may take over before `leaseDuration`, which is longer, from the moment it arrived.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import uuid
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from fairway.config.config_file import LeaderElection as ElectionSettings
from fairway.exit_codes import USAGE
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock, micro_time
from fairway.live.api.connection import Answer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.lease import election_event, renewed_at
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics

__all__ = ["BadElectionSettings", "Election", "LeaseCandidate", "new_identity"]

logger = logging.getLogger(__name__)

JITTER = 1.2
"""A standby waits for 1 to 2.2 periods, so that several do not ask in step."""

GRACE_SECONDS = 20.0
"""How long after the lease a leader that has not renewed still counts as healthy: it may be about to notice."""


def new_identity() -> str:
    """Another for every process: two on one machine are two."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Election(Protocol):
    """What the rest of the process wants of an election."""

    @property
    def last_led(self) -> float | None:
        """When somebody last led before us; None: nobody knows of anybody."""

    async def run(self, stop: asyncio.Event, on_started: Callable[[], None]) -> bool:
        """Wait for the lease, call `on_started`, keep it. True: asked to stop; False: lost."""

    async def release(self) -> None:
        """Give the lease up."""

    def is_leading(self) -> bool:
        """May we write to the cluster at this very moment?"""

    def fault(self) -> str | None:
        """What is wrong, for the health check."""


class BadElectionSettings(LiveProblem):
    """Periods with which nobody could be sure of the lease."""

    exit_code = USAGE

    def __init__(self, why: str) -> None:
        fix = "kube-scheduler's are: lease duration 15s, renew deadline 10s, retry period 2s"
        super().__init__("leader election can not work with these periods", why, fix)


class LeaseCandidate:
    """One candidate for one lease."""

    def __init__(
        self,
        api: ApiServer,
        settings: ElectionSettings,
        clock: Clock,
        *,
        identity: str = "",
        component: str = "default-scheduler",
        metrics: SchedulerMetrics | None = None,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        """`component` is who the events are from: the first profile's name."""
        if settings.lease_duration <= settings.renew_deadline:
            raise BadElectionSettings("the lease has to last longer than the deadline for renewing it")
        if settings.renew_deadline <= settings.retry_period * JITTER:
            raise BadElectionSettings(f"the renew deadline has to be more than {JITTER} times the retry period")
        self.identity = identity or new_identity()
        self.leader = ""  # who holds the lease, as far as we know
        self._last_led: float | None = None
        self._api = api
        self._settings = settings
        self._clock = clock
        self._component = component
        self._metrics = metrics
        self._jitter = jitter or clock.chance.random  # candidates must not come at once
        self._lease: dict[str, Any] = {}  # as the server last gave it
        self._seen_at = 0.0  # when its record last changed, by our own clock
        self._certain_until = -float("inf")
        self._renewed_at = 0.0
        self._holds = False
        self._tasks: set[asyncio.Task[None]] = set()
        if metrics is not None:
            metrics.leading(settings.resource_name, False)

    # -- what others ask -------------------------------------------------------------------------------------------

    @property
    def last_led(self) -> float | None:
        """When somebody last led before us: what the lease said that we took over; None: nobody knows of anybody."""
        return self._last_led

    def is_leading(self) -> bool:
        """May we write to the cluster at this very moment?"""
        return self._holds and self._clock.monotonic() < self._certain_until

    def fault(self) -> str | None:
        """What is wrong, for the health check; a standby is healthy."""
        silent = self._clock.monotonic() - self._renewed_at
        if self._holds and silent > self._settings.lease_duration + GRACE_SECONDS:
            return f"failed election to renew leadership on lease {self._settings.resource_name}"
        return None

    # -- the life of a candidate -----------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event, on_started: Callable[[], None]) -> bool:
        """Wait for the lease, call `on_started`, keep it. True: asked to stop; False: lost, and nothing may be written.

        The lease is still ours after a stop: finish what is under way, then `release`.
        """
        while not stop.is_set() and not await self._try():
            await self._pause(stop, self._settings.retry_period * (1 + JITTER * self._jitter()))
        if stop.is_set():
            return True
        self._announce("became leader")
        logger.info("became leader", extra={"lease": self._name, "identity": self.identity})
        on_started()
        while not stop.is_set():
            left = self._certain_until - self._clock.monotonic()
            if left <= 0 or not (await self._try() or self._clock.monotonic() < self._certain_until):
                await self._lose()
                return False
            await self._pause(stop, min(self._settings.retry_period, self._certain_until - self._clock.monotonic()))
        return True

    async def release(self) -> None:
        """Give the lease up, so that a standby need not wait for it to run out."""
        if not self._holds:
            return
        self._holds = False
        try:
            answer = await self._send("GET", self._path)
            if answer.status != 200 or (lease := _decoded(answer))["spec"].get("holderIdentity") != self.identity:
                return
            now = micro_time(self._clock.now())
            spec = lease["spec"]
            transitions = spec.get("leaseTransitions", 0)
            lease["spec"] = {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": transitions,
            }
            await self._send("PUT", self._path, lease)
            logger.info("gave up the lease", extra={"lease": self._name, "identity": self.identity})
        except LiveProblem as problem:
            logger.warning("the lease could not be given up: %s", problem.why, extra={"lease": self._name})
        finally:
            self._show(False)

    async def _lose(self) -> None:
        self._holds = False
        self._show(False)
        logger.error("lost the lease", extra={"lease": self._name, "identity": self.identity, "leader": self.leader})
        self._announce("stopped leading")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)

    async def _pause(self, stop: asyncio.Event, seconds: float) -> None:
        """Wait, but not past a wish to stop."""
        waits = [asyncio.ensure_future(self._clock.sleep(max(seconds, 0.0))), asyncio.ensure_future(stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    # -- one try: acquire or renew ---------------------------------------------------------------------------------

    async def _try(self) -> bool:
        try:
            return await self._acquire_or_renew()
        except LiveProblem as problem:
            logger.warning("the lease could not be read or written: %s", problem.why, extra={"lease": self._name})
            return False

    async def _acquire_or_renew(self) -> bool:
        if self.is_leading():
            if await self._renew(self._lease):
                return True
            if self._metrics is not None:
                self._metrics.renewed_slowly(self._settings.resource_name)
        answer = await self._send("GET", self._path)
        if answer.status == 404:
            return await self._create()
        if answer.status != 200:
            logger.warning("reading the lease: %s %s", answer.status, status_message(answer.body))
            return False
        lease = _decoded(answer)
        self._note(lease)
        spec = lease["spec"]
        holder = spec.get("holderIdentity") or ""
        expires = self._seen_at + (spec.get("leaseDurationSeconds") or 0)
        if holder != self.identity:
            self._certain_until = -float("inf")  # somebody has written over our name: stop at once
        if holder and holder != self.identity and self._clock.monotonic() < expires:
            return False
        return await self._renew(lease)

    async def _create(self) -> bool:
        settings = self._settings
        metadata = {"name": settings.resource_name, "namespace": settings.resource_namespace}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
        lease["spec"] = self._record({}, transitions=0)
        return await self._claim("POST", self._collection, lease)

    async def _renew(self, lease: dict[str, Any]) -> bool:
        """Write our name into the lease; the server refuses if it is not as we saw it."""
        spec = lease["spec"]
        transitions = spec.get("leaseTransitions") or 0
        if spec.get("holderIdentity") != self.identity:
            transitions += 1
            self._last_led = renewed_at(spec)  # or given up: then it says when
        return await self._claim("PUT", self._path, {**lease, "spec": self._record(spec, transitions)})

    async def _claim(self, method: str, path: str, lease: dict[str, Any]) -> bool:
        sent_at = self._clock.monotonic()
        try:
            answer = await self._send(method, path, lease)
        except LiveProblem as problem:
            # It may have arrived all the same: the next try reads before it writes.
            logger.warning("writing the lease: %s", problem.why, extra={"lease": self._name})
            return False
        if answer.status not in (200, 201):
            logger.warning("writing the lease: %s %s", answer.status, status_message(answer.body))
            return False
        self._note(_decoded(answer))
        self._renewed_at = sent_at
        self._certain_until = sent_at + self._settings.renew_deadline
        self._holds = True
        self._show(True)
        return True

    def _record(self, before: dict[str, Any], transitions: int) -> dict[str, Any]:
        now = micro_time(self._clock.now())
        ours = before.get("holderIdentity") == self.identity
        return {
            **before,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._settings.lease_duration),
            "acquireTime": before.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    def _note(self, lease: dict[str, Any]) -> None:
        """Remember the lease, and when we first saw it so: that is what expiry counts from, not what others wrote."""
        if lease.get("spec") != self._lease.get("spec"):
            self._seen_at = self._clock.monotonic()
        self._lease = lease
        holder = lease["spec"].get("holderIdentity") or ""
        if holder != self.leader:
            self.leader = holder
            logger.info("the leader is %s", holder or "nobody", extra={"lease": self._name})

    # -- requests --------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return f"{self._settings.resource_namespace}/{self._settings.resource_name}"

    @property
    def _collection(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self._settings.resource_namespace}/leases"

    @property
    def _path(self) -> str:
        return f"{self._collection}/{self._settings.resource_name}"

    async def _send(self, method: str, path: str, body: Any = None) -> Answer:
        seconds = self._settings.renew_deadline / 2
        data = None if body is None else msgspec.json.encode(body)
        return await self._api.request(method, path, query={"timeout": f"{seconds:g}s"}, body=data, timeout=seconds)

    def _show(self, leading: bool) -> None:
        if self._metrics is not None:
            self._metrics.leading(self._settings.resource_name, leading)

    def _announce(self, what: str) -> None:
        """Tell people, by a core/v1 event as client-go does; nothing waits for it."""
        settings = self._settings
        message = f"{self.identity} {what}"
        event = election_event(self._lease, settings, self._component, message, self._clock.now())
        task = asyncio.ensure_future(self._post(f"/api/v1/namespaces/{settings.resource_namespace}/events", event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _post(self, path: str, event: dict[str, Any]) -> None:
        try:
            answer = await self._api.request("POST", path, body=msgspec.json.encode(event), timeout=5.0)
        except LiveProblem as problem:
            logger.warning("an event was not written: %s", problem.why)
            return
        if answer.status != 201:
            logger.warning("an event was not written: %s %s", answer.status, status_message(answer.body))


def _decoded(answer: Answer) -> dict[str, Any]:
    lease: dict[str, Any] = msgspec.json.decode(answer.body)
    lease.setdefault("spec", {})
    return lease
