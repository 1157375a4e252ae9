"""The schedulers of a run, ready to decide again: their configurations, as the run keeps them, decoded.

In: an open run. Out: a `RunScheduler` for each scheduler, and notes about plugins whose code is not what it was.
Plugins of users are imported from where they are now, if that is allowed (`config.plugin_folders`). Called by
`run_trial` and `run_replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairway.config import Configuration, decode_configuration
from fairway.config.plugin_folders import FOLDERS
from fairway.config.plugin_source import PluginSource, plugin_source
from fairway.model import UserError
from fairway.plugins.registry import REGISTRY
from fairway.record import Run
from fairway.record.schedulers import RecordedScheduler
from fairway.record.schema import SCHEMA_VERSION

__all__ = ["RunScheduler", "merged_configuration", "plugin_notes", "run_schedulers", "scheduler_of"]


@dataclass(frozen=True, slots=True)
class RunScheduler:
    """A scheduler of a run."""

    recorded: RecordedScheduler
    configuration: Configuration

    def serves(self, scheduler_name: str) -> bool:
        """Do pods that ask for this name wait for it?"""
        return any(profile.scheduler_name == scheduler_name for profile in self.configuration.profiles)


def run_schedulers(run: Run) -> list[RunScheduler]:
    """All schedulers of the run; `UserError` if it does not say who they are, `ConfigError` if they can not be made."""
    recorded = run.schedulers
    if not recorded:
        raise _unknown(run)
    FOLDERS.offer(str(run.path))
    schedulers = []
    for scheduler in recorded:
        source = f"{run.path}, scheduler {scheduler.name}"
        configuration = decode_configuration(scheduler.config, source, REGISTRY)
        schedulers.append(RunScheduler(scheduler, configuration))
    return schedulers


def _unknown(run: Run) -> UserError:
    """Why a run says nothing of its schedulers: it is too old, or nobody who made it could know."""
    what = f"{run.path} does not say how its schedulers were configured"
    version = run.meta["schema_version"]
    if version < SCHEMA_VERSION:
        writer = run.meta.get("fairway_version", "?")
        why = f"it is a run of an older schema (version {version}), written by Fairway {writer}"
        return UserError(f"{what}: {why}", "record or simulate it anew")
    return UserError(
        f"{what}: it was made of what others told, who do not tell that",
        "fairway status --run and fairway export show what is in it",
    )


def scheduler_of(schedulers: Sequence[RunScheduler], scheduler_name: str) -> RunScheduler | None:
    """The scheduler that serves this name, if any does."""
    return next((scheduler for scheduler in schedulers if scheduler.serves(scheduler_name)), None)


def merged_configuration(schedulers: Sequence[RunScheduler]) -> Configuration:
    """The first scheduler's configuration, with the profiles of all."""
    profiles = {
        profile.scheduler_name: profile
        for scheduler in reversed(schedulers)
        for profile in scheduler.configuration.profiles
    }
    return replace(schedulers[0].configuration, profiles=tuple(profiles.values()))


def plugin_notes(schedulers: Sequence[RunScheduler]) -> list[str]:
    """A sentence for each plugin whose code is not the code that decided in the run."""
    notes = {}
    for scheduler in schedulers:
        entries = {
            name: entry for profile in scheduler.configuration.profiles for name, entry in profile.entries.items()
        }
        for name, plain in scheduler.recorded.plugins.items():
            then = PluginSource(**{key: str(plain.get(key, "")) for key in PluginSource._fields})
            now = plugin_source(name, entries[name]) if name in entries else None
            if now is not None and now != then:
                notes[name] = f"the plugin {name} ({then}) has changed since it decided in this run"
    return list(notes.values())
