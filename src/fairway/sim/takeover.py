"""A scheduler that comes to a cluster in which others were before: it reads all that is there, then goes on.

In: all objects of an API server (`ApiServer.everything`), and a `SimScheduler` that has heard of none of them; what was
written of jobs it finds there as well. Out: the scheduler as if it had been there all the time: nodes and controllers
first, then what jobs had and is over or gone, then pods. Called by whoever lets a scheduler of a simulation die and
come again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.batch.restoration import catch_up
from fairway.cluster import Event, Verb
from fairway.model import Node, Pod
from fairway.sim.sim_scheduler import SimScheduler

__all__ = ["take_over"]


def take_over(things: Sequence[Any], newcomer: SimScheduler) -> None:
    """Tell the newcomer of everything; to be done between two events."""
    pods = [thing for thing in things if isinstance(thing, Pod)]
    queues = newcomer.queues
    for thing in things:
        if not isinstance(thing, Pod):
            if queues is not None:
                queues.observe(Event(Verb.ADDED, thing))
            newcomer.scheduler.observe(Event(Verb.ADDED, thing))
    if queues is not None:
        queues.desk.machine.refresh(queues.now())
        # The desk first: whether a pod may be tried depends on all pods of its job.
        nodes = [thing for thing in things if isinstance(thing, Node)]
        catch_up(queues.desk, pods, nodes, queues.observe)
        queues.desk.resume()
    for pod in pods:
        newcomer.scheduler.observe(Event(Verb.ADDED, pod))
    if queues is not None:
        queues.begin()
