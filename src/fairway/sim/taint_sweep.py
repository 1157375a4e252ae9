"""Exclusive nodes in a simulation, where a scheduler that knows nothing of them may be at work too.

In: what a scheduler hears of, and its view of the cluster. Out: taints that agree with the pods on the nodes, where a
profile of that scheduler wants its nodes guarded so. It looks whenever something happens to an exclusive pod or a
guarded node; before the first pod is bound, the plugin itself has seen to the taint. Called by `SimScheduler`.
"""

from __future__ import annotations

from fairway.cluster import Event
from fairway.model import Node, Pod
from fairway.plugins.exclusive_guard import has_taint, taint_repairs
from fairway.plugins.exclusive_node import ExclusiveNode
from fairway.scheduler import Scheduler
from fairway.sim.api_server import ApiError, ApiServer
from fairway.sim.writing import carry_out

__all__ = ["TaintSweep", "wants_guard"]


def wants_guard(scheduler: Scheduler) -> bool:
    """Does any of its profiles guard exclusive nodes by a taint?"""
    plugins = (plugin for profile in scheduler.profiles.values() for plugin in profile.plugins)
    return any(isinstance(plugin, ExclusiveNode) and plugin.args.guard == "taint" for plugin in plugins)


class TaintSweep:
    """Looks after the taints of one scheduler's exclusive nodes."""

    def __init__(self, api: ApiServer, scheduler: Scheduler) -> None:
        self._api = api
        self._cluster = scheduler.cluster
        self._is_due = False

    def observe(self, event: Event) -> None:
        """The scheduler has heard of it: look, at the same instant, when that is done."""
        item = event.object
        is_exclusive = isinstance(item, Pod) and self._cluster.wishes.is_exclusive(item)
        if not self._is_due and (is_exclusive or (isinstance(item, Node) and has_taint(item))):
            self._is_due = True
            self._api.timeline.after(0.0, self._look)

    def _look(self) -> None:
        self._is_due = False
        for patch in list(taint_repairs(self._cluster)):
            try:
                carry_out(self._api, patch)
            except ApiError:
                continue  # the view is late: there will be word of what changed the node, and another look
