"""Orders in a simulation: what operators and owners say about jobs, queues and accounts, at its time.

In: a `BatchOrder`. Out: what it would be in a cluster: another spec of a job's record, of a queue or an account; or, if
an owner says it, other annotations, or a deletion. How the desk takes that is its own affair. An order about a job that
is not there at that moment is told, and nothing else happens. Called by the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from fairway.batch.job import BatchJob, JobOrders
from fairway.batch.limits import granted_limit
from fairway.batch.settings import BatchSettings
from fairway.batch.wishes import TIME_LIMIT
from fairway.model.batch import AccountSpec, QueueSpec
from fairway.record import Recorder
from fairway.sim.api_server import ApiServer
from fairway.sim.batch_world import SimDesk
from fairway.words import length_text, time_text

__all__ = ["BatchOrder", "JobVerb", "OrderBearer"]

JobVerb = Literal["extend", "limit", "hold", "release", "requeue", "cancel", "nice", "move"]

HOLD: Final = "fairway.dev/hold"
NICE: Final = "fairway.dev/nice"


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """Something is said at a time."""

    at: float
    verb: JobVerb | Literal["queue", "account", "window", "reservation"]
    subject: str  # namespace/name of a job, or of the controller that makes its pods; the name of what is none
    seconds: float = 0.0  # of extend: by how much; of limit: to what
    nice: int = 0
    queue: str = ""  # of move: where to
    spec: QueueSpec | AccountSpec | None = (
        None  # of queue, completed, and of account: how it is from now on; None: gone
    )
    by_owner: bool = False


class OrderBearer:
    """Carries orders to where they are heard."""

    def __init__(
        self, api: ApiServer, recorder: Recorder, desks: Sequence[SimDesk], problem: Callable[[str], None]
    ) -> None:
        """`problem` hears of orders that came to nothing."""
        self._api = api
        self._recorder = recorder
        self._desks = desks
        self._problem = problem

    def carry_out(self, order: BatchOrder) -> None:
        """It is said now."""
        if order.verb in ("queue", "account"):
            for desk in self._desks:
                self._change(desk, order)
            return
        if order.verb in ("window", "reservation"):
            for desk in self._desks:
                self._call_off(desk, order)
            return
        is_there = False
        for desk in self._desks:
            for job in _jobs(desk, order.subject):
                is_there = True
                self._tell("Job", job.key, "Ordered", _words(order))
                if order.by_owner:
                    self._say_as_owner(desk, job, order)
                else:
                    orders = _orders(job, order, desk.desk.settings, self._api.timeline.now())
                    desk.books.order(job.uid, orders)
                    desk.desk.ordering.heed(job, orders)
            desk.look()
        if not is_there:
            words = f"{_words(order)}: no such job at this moment, nothing was done"
            self._tell("Job", order.subject, "OrderLost", words)
            self._problem(f"order at {time_text(order.at)}: job {order.subject}: {words}")

    def _tell(self, kind: str, subject: str, reason: str, words: str) -> None:
        self._recorder.event(self._api.timeline.now(), kind, subject, reason, words)

    # -- queues and accounts -----------------------------------------------------------------------------------------

    def _change(self, desk: SimDesk, order: BatchOrder) -> None:
        settings, name = desk.desk.settings, order.subject
        if order.verb == "account":
            accounts = {**settings.accounts}
            if isinstance(order.spec, AccountSpec):
                accounts[name] = order.spec
            else:
                accounts.pop(name, None)
            self._tell("Account", name, "Ordered", "is otherwise" if order.spec is not None else "deleted")
            desk.change(replace(settings, accounts=accounts))
            return
        if name not in settings.queues and name not in settings.departed:
            return  # another scheduler's
        queues, departed = {**settings.queues}, {**settings.departed}
        if isinstance(order.spec, QueueSpec):
            before = departed.pop(name, None) or queues.get(name)
            queues[name] = order.spec
            is_state = before is not None and before.state != order.spec.state
            self._tell("Queue", name, "Ordered", order.spec.state if is_state else "is otherwise")
        elif name in queues:
            departed[name] = queues.pop(name)
            self._tell("Queue", name, "Ordered", "deleted")
        desk.change(replace(settings, queues=queues, departed=departed))

    def _call_off(self, desk: SimDesk, order: BatchOrder) -> None:
        upkeep = desk.desk.upkeep
        (upkeep.windows if order.verb == "window" else upkeep.reservations).cancel(order.subject)
        self._tell(
            "MaintenanceWindow" if order.verb == "window" else "Reservation", order.subject, "Ordered", "deleted"
        )
        desk.look()

    # -- owners ------------------------------------------------------------------------------------------------------

    def _say_as_owner(self, desk: SimDesk, job: BatchJob, order: BatchOrder) -> None:
        if order.verb == "cancel":
            for owner in {job.ledger.owner, *(pod.metadata.uid for pod in job.members.values())}:
                self._delete(owner)
            return
        said = {
            "extend": {TIME_LIMIT: f"{_limit(job, order, desk.desk.settings):g}s"},
            "limit": {TIME_LIMIT: f"{order.seconds:g}s"},
            "hold": {HOLD: "true"},
            "release": {HOLD: "false"},
            "nice": {NICE: str(order.nice)},
        }[order.verb]
        (key,) = said
        pod = next(iter(job.members.values()), None)
        if pod is None:
            return
        *above, _ = desk.desk.book.sayings.holders(pod)
        speaker = next(
            (each for each in above if key in each.metadata.annotations or key in each.metadata.labels), None
        )
        for each in list(job.members.values()) if speaker is None else [speaker]:
            self._annotate(each, said)

    def _annotate(self, item: Any, said: Mapping[str, str]) -> None:
        meta = item.metadata
        current = self._api.find(item.kind, meta.namespace, meta.name)
        if current is not None:
            labels = {key: value for key, value in current.metadata.labels.items() if key not in said}
            annotations = {**current.metadata.annotations, **said}
            metadata = msgspec.structs.replace(current.metadata, annotations=annotations, labels=labels)
            self._api.update(msgspec.structs.replace(current, metadata=metadata))

    def _delete(self, uid: str) -> None:
        pod = self._api.pod(uid) if uid else None
        if pod is not None:
            self._api.delete(pod)
            return
        for kind in ("Job", "JobSet"):
            for item in list(self._api.objects(kind)):
                if item.metadata.uid == uid:
                    self._api.delete(item)


def _jobs(desk: SimDesk, subject: str) -> list[BatchJob]:
    """The job of that name; else those whose pods a controller of that name makes."""
    book = desk.desk.book
    if (found := book.find(subject)) is not None:
        return [found]
    namespace, _, name = subject.partition("/")
    return [
        job
        for job in book
        if job.key.startswith(f"{namespace}/")
        and any(owner.name == name for pod in job.members.values() if (owner := pod.metadata.controller) is not None)
    ]


def _limit(job: BatchJob, order: BatchOrder, settings: BatchSettings) -> float:
    """What the job's limit shall be."""
    if order.verb == "limit":
        return order.seconds
    return granted_limit(job, settings.spec_of(job.queue).limits) + order.seconds


def _orders(job: BatchJob, order: BatchOrder, settings: BatchSettings, now: float) -> JobOrders:
    """The spec of the job's record, with what is ordered now."""
    orders = job.orders
    match order.verb:
        case "extend" | "limit":
            limit = _limit(job, order, settings)
            return replace(orders, time_limit=None if limit == math.inf else limit)
        case "hold" | "release":
            return replace(orders, hold=order.verb == "hold")
        case "nice":
            return replace(orders, nice=order.nice)
        case "move":
            return replace(orders, queue=order.queue)
        case "cancel":
            return replace(orders, cancel=True)
        case _:
            return replace(orders, requeue_before=now)


def _words(order: BatchOrder) -> str:
    by = " by its owner" if order.by_owner else ""
    match order.verb:
        case "extend":
            return f"extend by {length_text(order.seconds)}{by}"
        case "limit":
            return f"limit {length_text(order.seconds)}{by}"
        case "nice":
            return f"nice {order.nice}{by}"
        case "move":
            return f"move to queue {order.queue}"
        case verb:
            return f"{verb}{by}"
