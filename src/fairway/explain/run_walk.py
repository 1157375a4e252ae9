"""A walk through a run with one of its schedulers: before each attempt, the cluster as that scheduler saw it.

In: a run and a scheduler of it. Out: `news`, everything it heard of, each at the time at which it heard of it, and
`hear`, which brings a cluster up to an attempt. Several decisions may fall on one instant, so what a decision caused
(its pod is bound, its victims go) is news for later decisions only. What `run_moment` works out for one moment from the
tables, this does for all in one pass, with nothing but the rows. Called by `run_replay`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fairway.cluster import Cluster, Event, Verb
from fairway.explain.run_schedulers import RunScheduler
from fairway.model import Node, Pod
from fairway.model.disruption import PREEMPTED, with_condition
from fairway.record import Run
from fairway.record.manifests import node_of, object_of, pod_of
from fairway.record.snapshot import pod_at
from fairway.record.vocabulary import ObjectVerb

__all__ = ["News", "RunWalk"]

NOBODY = -1


class News(NamedTuple):
    """Something to hear of, in the order in which it is heard."""

    time: float
    cause: int  # the decision that caused it at that very time, which does not see it; NOBODY
    tell: Callable[[], Event | None]  # what it is, when its turn comes; None: nothing any more


class RunWalk:
    """The cluster of a run, as one scheduler hears of it."""

    def __init__(self, run: Run, scheduler: RunScheduler) -> None:
        self._run = run
        self._lag = scheduler.recorded.view_delay
        self.cluster = Cluster()
        self.pods: dict[int, dict[str, Any]] = {row["pod_id"]: row for row in run.pods.rows()}
        self._templates = {row["template_id"]: pod_of(run, row["manifest"]) for row in run.templates.rows()}
        bindings, evictions = self._causes()
        self._victims = {number for number, _ in evictions}
        news = [*self._node_news(), *self._object_news(), *self._pod_news(bindings, evictions)]
        self._news = iter(sorted(news, key=lambda one: (one.time, one.cause)))
        self._next = next(self._news, None)

    def hear(self, time: float, number: int) -> None:
        """Take in what was heard before the attempt of that number, made at that time."""
        while self._next is not None and (self._next.time, self._next.cause) < (time, number):
            event = self._next.tell()
            if event is not None:
                self.cluster.apply(event)
            self._next = next(self._news, None)

    def pod(self, number: int, at: float) -> Pod:
        """A pod as it was then."""
        row = self.pods[number]
        found = pod_at(self._run, row, self._templates[row["template_id"]], at)
        return with_condition(found, PREEMPTED) if found.is_terminating and number in self._victims else found

    # -- what there is to hear of ------------------------------------------------------------------------------------

    def _news_of(self, time: float, cause: int, tell: Callable[[], Event | None]) -> News:
        return News(time + self._lag, cause if self._lag == 0 else NOBODY, tell)

    def _node_news(self) -> Iterator[News]:
        for row in self._run.nodes.rows():
            node: Callable[[], Node] = lambda row=row: node_of(self._run, row["manifest"])  # type: ignore[misc] # noqa: E731
            yield self._news_of(row["from_seconds"], NOBODY, lambda node=node: Event(Verb.MODIFIED, node()))  # type: ignore[misc]
            if row["gone"] is not None:
                yield self._news_of(row["to_seconds"], NOBODY, lambda node=node: Event(Verb.DELETED, node()))  # type: ignore[misc]

    def _object_news(self) -> Iterator[News]:
        for row in self._run.objects.rows():
            verb = Verb.DELETED if row["verb"] == ObjectVerb.DELETED else Verb.MODIFIED
            yield self._news_of(
                row["time_seconds"],
                NOBODY,
                lambda verb=verb, row=row: Event(verb, object_of(self._run, row["manifest"])),  # type: ignore[misc]
            )

    def _pod_news(
        self, bindings: dict[tuple[int, float], int], evictions: dict[tuple[int, float], int]
    ) -> Iterator[News]:
        for number, row in self.pods.items():
            if row.get("job_id") is not None:
                yield self._news_of(row["created_seconds"], NOBODY, lambda number=number: self._joins(number))  # type: ignore[misc]
            bound, ended = row["bound_seconds"], row["ended_seconds"]
            if bound is not None:
                yield self._news_of(
                    bound,
                    bindings.get((number, bound), NOBODY),
                    lambda number=number, bound=bound: Event(Verb.MODIFIED, self.pod(number, bound)),  # type: ignore[misc]
                )
            for time in (row.get("start_seconds"), row.get("leaving_seconds")):
                if bound is not None and time is not None and time >= bound:
                    yield self._news_of(
                        time,
                        evictions.get((number, time), NOBODY),
                        lambda number=number, time=time: self._changed(number, time),  # type: ignore[misc]
                    )
            if ended is not None:
                cause = max(evictions.get((number, ended), NOBODY), bindings.get((number, ended), NOBODY))
                yield self._news_of(ended, cause, lambda number=number: self._ended(number))  # type: ignore[misc]

    def _joins(self, number: int) -> None:
        """A member of a job waits: whoever follows jobs knows of it."""
        self.cluster.groups.observe(self.pod(number, self.pods[number]["created_seconds"]))

    def _changed(self, number: int, time: float) -> Event | None:
        uid = self.pods[number]["uid"]
        return Event(Verb.MODIFIED, self.pod(number, time)) if uid in self.cluster.pods.by_uid else None

    def _ended(self, number: int) -> Event:
        pod = self.pod(number, math.inf)
        self.cluster.nominations.remove(pod.metadata.uid)
        return Event(Verb.DELETED, pod)

    def _causes(self) -> tuple[dict[tuple[int, float], int], dict[tuple[int, float], int]]:
        """Which decision bound a pod, and which evicted one, at the very time at which it was made."""
        placed = self._run.sql(
            "SELECT pod_id, time_seconds, max(decision_id) AS number FROM decisions"
            " WHERE outcome = 'scheduled' AND pod_id IS NOT NULL GROUP BY ALL"
        )
        evicted = self._run.sql(
            "SELECT v.victim_id, d.time_seconds, min(decision_id) AS number"
            " FROM preemptions v JOIN decisions d USING (decision_id) WHERE v.victim_id IS NOT NULL GROUP BY ALL"
        )
        bindings = {(row["pod_id"], row["time_seconds"]): row["number"] for row in placed.rows()}
        evictions = {(row["victim_id"], row["time_seconds"]): row["number"] for row in evicted.rows()}
        return bindings, evictions
