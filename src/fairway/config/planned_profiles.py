"""Profiles whose pods wait in queues of jobs: two plugins more, and jobs that start as one.

In: a configuration, the names of profiles that queues are served by, and those plugins. Out: the same configuration
with them at every point where they take part, after all others, and with `gangs` as it is by default where the profile
says nothing of them. Called where queues are: by the batch layer of the simulation and of a real cluster.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from fairway.config.configuration import Configuration, ProfileConfig
from fairway.config.gangs import Gangs, complete_gangs
from fairway.config.plugin_entry import Registry

__all__ = ["with_queues"]


def with_queues(configuration: Configuration, names: Collection[str], plugins: Registry) -> Configuration:
    """The configuration with queues for pods of these profiles."""
    profiles = tuple(
        _planned(profile, plugins) if profile.scheduler_name in names else profile for profile in configuration.profiles
    )
    return replace(configuration, profiles=profiles)


def _planned(profile: ProfileConfig, plugins: Registry) -> ProfileConfig:
    points = dict(profile.points)
    for name, entry in plugins.items():
        for point in entry.points:
            points[point] = (*points.get(point, ()), name)
    gangs = profile.gangs or complete_gangs(Gangs())
    return replace(profile, points=points, entries={**profile.entries, **plugins}, gangs=gangs)
