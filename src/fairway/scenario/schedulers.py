"""A scenario's schedulers, ready to run: each with its whole configuration, its speed, and when it pauses.

In: `SchedulerSpec`s, whose config is a file, written in place, or absent, and the policy to use for the first. Out:
`SchedulerPlan`s. A profile that says no schedulerName serves the scheduler's name; one that says no seed gets one
that follows from the scenario's. Problems within a config are told with the path of the field that holds it. Called
by `Scenario.configurations`, `decode_scenario` (to check) and `complete` (to write configs in place).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairway.config import ConfigError, Configuration, decode_configuration
from fairway.config.config_file import API_VERSION, KIND
from fairway.config.gangs import MODE_PLUGINS
from fairway.config.plugin_entry import Registry
from fairway.config.plugin_folders import FOLDERS
from fairway.config.text import parse_text
from fairway.model import DecodeError
from fairway.model.text_file import read_bytes
from fairway.plugins.registry import REGISTRY
from fairway.scenario.fields import Problem
from fairway.scenario.scenario_file import SchedulerSpec
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Pause, SchedulerPlan

__all__ = ["Config", "configure", "plain_config", "scheduler_seed"]

Config = str | dict[str, Any] | None


def configure(
    scheduler: SchedulerSpec,
    config: Config,
    folder: str,
    seed: int,
    at: tuple[str, list[Problem]],
    registry: Registry = REGISTRY,
) -> SchedulerPlan | None:
    """One scheduler with this config; None after adding to the problems what is wrong, under the path given."""
    path, problems = at
    plain = plain_config(config, scheduler.name, folder, at)
    if plain is None:
        return None
    try:
        configuration = decode_configuration(_seeded(plain, seed), "", registry)
    except ConfigError as error:
        problems += [_within(problem, path, config) for problem in error.problems]
        return None
    if not scheduler.decision_latency and (mode := _waiting_mode(configuration)):
        words = "tries members again and again within one instant, and time would stand still"
        fix = "give the scheduler a decisionLatency, such as 10ms"
        problems.append(Problem(path, f"mode {mode} of fairway.gangs {words}; {fix}"))
        return None
    settings = SchedulerSettings(
        decision_latency=float(scheduler.decision_latency),
        view_delay=float(scheduler.view_delay),
        bind_latency=float(scheduler.bind_latency),
    )
    pauses = tuple(Pause(float(each.start), float(each.seconds)) for each in scheduler.pause)
    return SchedulerPlan(scheduler.name, configuration, settings, pauses)


def _waiting_mode(configuration: Configuration) -> str | None:
    """A mode in which members hold nodes, call each other and give up in turn, as fast as they are tried."""
    modes = (profile.gangs.mode for profile in configuration.profiles if profile.gangs is not None)
    return next((mode for mode in modes if mode in MODE_PLUGINS), None)


def plain_config(config: Config, name: str, folder: str, at: tuple[str, list[Problem]]) -> dict[str, Any] | None:
    """The config as plain values, with apiVersion, kind and, for a sole profile, schedulerName."""
    path, problems = at
    plain: Any = config
    if isinstance(config, str):
        file = os.path.join(folder, config)  # noqa: PTH118 - "./x" stays as it is written
        FOLDERS.offer(file)
        try:
            plain = parse_text(read_bytes(file))
        except DecodeError as error:
            problems.append(Problem(path, f"{file} {error.problem}"))
            return None
        except ValueError as error:
            problems.append(Problem(path, f"{file}: {error}"))
            return None
    if isinstance(config, str) and not isinstance(plain, Mapping):
        problems.append(Problem(path, f"{config}: not a {KIND}"))
        return None
    whole: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND} if not isinstance(config, str) else {}
    whole |= plain or {}
    profiles: Any = whole.get("profiles") or [{}]
    if isinstance(profiles, list) and len(profiles) == 1 and isinstance(profiles[0], Mapping):
        if profiles[0].get("schedulerName") is None:
            profiles = [{"schedulerName": name, **{k: v for k, v in profiles[0].items() if k != "schedulerName"}}]
        whole["profiles"] = profiles
    return whole


def _seeded(plain: dict[str, Any], seed: int) -> dict[str, Any]:
    """With a seed in every profile that has none."""
    profiles = plain.get("profiles")
    if not isinstance(profiles, list):
        return plain
    return {**plain, "profiles": [_seeded_profile(each, seed, index) for index, each in enumerate(profiles)]}


def _seeded_profile(profile: Any, seed: int, index: int) -> Any:
    own = profile.get("fairway") if isinstance(profile, Mapping) else None
    if not isinstance(profile, Mapping) or not isinstance(own, Mapping | None) or (own or {}).get("seed") is not None:
        return profile
    return {**profile, "fairway": {**(own or {}), "seed": seed + index}}


def scheduler_seed(seed: int, index: int) -> int:
    """What the scheduler in this place of the list breaks ties with, whichever policy it has."""
    state = np.random.SeedSequence((zlib.crc32(b"scheduler"), seed, index)).generate_state(1, np.uint32)
    return int(state[0])


def _within(problem: Problem, path: str, config: Config) -> Problem:
    if isinstance(config, str):
        return Problem(path, ": ".join(part for part in (config, *problem) if part))
    joint = "" if not problem.path or problem.path.startswith("[") else "."
    return Problem(f"{path}{joint}{problem.path}", problem.text)
