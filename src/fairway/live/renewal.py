"""A scheduler that begins anew in the same process: queues of jobs came or went, or what is known of them is wrong.

In: the service, and its `BatchService` that says so. Out: a new `Scheduler`, with a desk or without, that was told of
everything the watches have, in the order of a start: nodes and controllers; to the desk, what jobs had and is over or
gone, then pods; then pods to the scheduler. What ended while nobody led counts up to when somebody last did. It costs
what a restart costs and loses nothing: the API server is the truth. Until it is known whether there are queues, nobody
decides. Called by `service` between two slices of deciding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fairway.batch.restoration import catch_up
from fairway.cluster import Event, Verb
from fairway.live.api.clock import Clock
from fairway.live.batch.batch_service import BatchService
from fairway.live.election import Election
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.model import Node, Pod
from fairway.scheduler import Scheduler

__all__ = ["Renewable", "begin_anew"]


class Renewable(Protocol):
    """A service, as far as it begins anew."""

    @property
    def scheduler(self) -> Scheduler:
        """The one that decides now."""

    @property
    def election(self) -> Election | None:
        """Who says that we lead; None: we do."""

    @property
    def watch(self) -> ClusterWatch:
        """What is known of the cluster."""

    def renew(self) -> Scheduler:
        """Make another scheduler, which decides from now on."""


async def begin_anew(live: Renewable, batch: BatchService, clock: Clock, is_over: Callable[[], bool]) -> None:
    """Begin anew, with queues if there are any. Raises `LiveProblem` if they can not be read."""
    # Once there was a desk of ours, it was us all along.
    last_led = None if batch.had_desk or live.election is None else live.election.last_led
    pods = live.watch.reflectors[Pod]
    if batch.is_served:
        pods.select("")  # how pods end is worth knowing
        while not pods.synced.is_set() and not is_over():
            await clock.sleep(0.02)
    desk_world = await batch.open()
    # From here on nothing is waited for: what happens is told to the new one.
    former = live.scheduler.queue
    for places in former.pending():
        for queued in list(places):
            former.delete(queued.pod)  # for those who count
    scheduler = live.renew()
    things = [*batch.objects(), *live.watch.objects()]
    seen = [thing for thing in things if isinstance(thing, Pod)]
    for thing in things:
        if not isinstance(thing, Pod):
            batch.observe(Event(Verb.ADDED, thing))
            scheduler.observe(Event(Verb.ADDED, thing))
    if desk_world is not None:
        desk = desk_world.desk
        desk.machine.refresh(desk_world.now())
        nodes = [thing for thing in things if isinstance(thing, Node)]
        # The desk first: whether a pod may be tried depends on all pods of its job.
        catch_up(desk, seen, nodes, batch.observe, last_led)
        desk.resume()
    for pod in seen:
        scheduler.observe(Event(Verb.ADDED, pod))
    if desk_world is not None:
        desk_world.begin()
