"""Gangs that are deleted together in a simulation, as mode `pfnet` does.

In: what a scheduler hears of, and its view of the cluster. Out: deletions of a gang's members, asked of the API server
as soon as one of them is being deleted. Called by `SimScheduler`, if a profile of its scheduler has that mode.
"""

from __future__ import annotations

from functools import partial

from fairway.cluster import Event, Verb
from fairway.model import Pod
from fairway.plugins.pfnet_gang import PfnetGang
from fairway.queue import profile_name
from fairway.record import Recorder
from fairway.scheduler import Scheduler
from fairway.sim.api_server import ApiServer

__all__ = ["DeletedGangs", "pfnet_plugins"]


def pfnet_plugins(scheduler: Scheduler) -> dict[str, PfnetGang]:
    """The plugins that hold gangs together so, by schedulerName."""
    plugins = ((name, plugin) for name, profile in scheduler.profiles.items() for plugin in profile.plugins)
    return {name: plugin for name, plugin in plugins if isinstance(plugin, PfnetGang)}


class DeletedGangs:
    """Deletes members of gangs because another one goes."""

    def __init__(self, api: ApiServer, recorder: Recorder, plugins: dict[str, PfnetGang]) -> None:
        self._api = api
        self._recorder = recorder
        self._plugins = plugins

    def observe(self, event: Event) -> None:
        """The scheduler has heard of it: delete the others, at the same instant, when that is done."""
        item = event.object
        if isinstance(item, Pod) and item.is_terminating and event.verb is not Verb.DELETED:
            plugin = self._plugins.get(profile_name(item))
            others = [] if plugin is None else plugin.deleted_with(item)
            if others:
                self._api.timeline.after(0.0, partial(self._delete, item, others))

    def _delete(self, first: Pod, others: list[Pod]) -> None:
        for other in others:
            current = self._api.pod(other.metadata.uid)
            if current is not None and not current.is_terminating:
                words = f"of the same gang as {first.key}, which is being deleted"
                self._recorder.event(self._api.timeline.now(), "Pod", current.key, "DeletedAsPartOfGang", words)
                self._api.delete(current)
