"""A KubeSchedulerConfiguration, read as kube-scheduler reads it, and completed into what the profiles run.

In: a file, its text, or its plain values, and the registry of plugins. Out: a `Configuration`, whose profiles name
the plugins of every extension point in order, with weights and arguments. Anything unknown or out of bounds is a
`ConfigError` that names each field. Rules and defaults: kube-scheduler 1.36, apis/config. Called wherever profiles
are made: by the command line, the simulation, the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fairway.config.config_file import (
    API_VERSION,
    KIND,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    Sampling,
)
from fairway.config.fields import ConfigError, Problem, decode_fields, kind_problems, shown
from fairway.config.gangs import MODE_PLUGINS, Gangs, complete_gangs, gangs_problems, mode_args
from fairway.config.other_names import with_own_names
from fairway.config.own_plugins import with_own_plugins
from fairway.config.plugin_args import decode_args
from fairway.config.plugin_entry import PluginEntry, PluginNotFoundError, Registry, resolve
from fairway.config.plugin_sets import absence, select_plugins
from fairway.config.text import parse_text
from fairway.model import DecodeError, label_key_problem
from fairway.model.text_file import read_bytes
from fairway.plugin import PluginArgs

__all__ = [
    "ConfigError",
    "Configuration",
    "PluginEntry",
    "ProfileConfig",
    "Registry",
    "Sampling",
    "decode_configuration",
    "default_configuration",
    "load_configuration",
]


NEAR: Final = "NearJob"


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """One profile, complete: nothing is left to default or to merge."""

    scheduler_name: str
    percentage_of_nodes_to_score: int  # the profile's own or else the whole configuration's; 0: by cluster size
    sampling: Sampling
    seed: int
    points: dict[str, tuple[str, ...]]  # plugin names in order, for every extension point ("preFilter", ...)
    weights: dict[str, int]  # of the plugins in points["score"]
    args: dict[str, Any]  # what plugins are told: their `Args`, or mappings where they declare none
    entries: dict[str, PluginEntry]  # how to make each enabled plugin
    gangs: Gangs | None = None  # how pods that belong together are treated; None: one by one
    placement_weights: dict[str, int] = field(default_factory=dict)  # of the plugins in points["placementScore"]
    near: PluginEntry | None = None  # of NearJob, which takes part once a job names another that it wants to be near


@dataclass(frozen=True, slots=True)
class Configuration:
    """The whole configuration; extenders stand in the order in which kube-scheduler asks them, ignorable ones last."""

    profiles: tuple[ProfileConfig, ...]
    parallelism: int
    percentage_of_nodes_to_score: int
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    extenders: tuple[Extender, ...]
    leader_election: LeaderElection
    client_connection: ClientConnection
    enable_profiling: bool
    enable_contention_profiling: bool
    delay_cache_until_active: bool


def load_configuration(path: str | Path, registry: Registry, gangs: Gangs | None = None) -> Configuration:
    """Read a file, YAML or JSON, plain or gzip; `gangs` is for profiles that do not say theirs."""
    try:
        text = read_bytes(path)
    except DecodeError as error:
        raise ConfigError(str(path), [Problem("", error.problem)]) from error
    return decode_configuration(text, str(path), registry, gangs)


def default_configuration(registry: Registry, gangs: Gangs | None = None) -> Configuration:
    """What kube-scheduler does when it is given no file."""
    return decode_configuration({"apiVersion": API_VERSION, "kind": KIND}, "default configuration", registry, gangs)


def decode_configuration(data: Any, source: str, registry: Registry, gangs: Gangs | None = None) -> Configuration:
    """From text (bytes) or from plain values; `source` is what error messages call it."""
    if isinstance(data, bytes):
        try:
            data = parse_text(data)
        except ValueError as error:
            raise ConfigError(source, [Problem("", str(error))]) from error
    problems = list(kind_problems(data, API_VERSION, KIND))
    file = None if problems else decode_fields(data, KubeSchedulerConfiguration, "", problems)
    if file is None:
        raise ConfigError(source, problems)
    problems.extend(_setting_problems(file))
    problems.extend(_extender_problems(file.extenders))
    profiles = _profiles(file, registry, problems, gangs)
    if problems:
        raise ConfigError(source, problems)
    contention = file.enable_contention_profiling
    return Configuration(
        profiles=profiles,
        parallelism=file.parallelism,
        percentage_of_nodes_to_score=file.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=file.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=file.pod_max_backoff_seconds,
        extenders=tuple(sorted(file.extenders, key=lambda extender: extender.ignorable)),
        leader_election=file.leader_election,
        client_connection=file.client_connection,
        enable_profiling=file.enable_profiling,
        enable_contention_profiling=file.enable_profiling if contention is None else contention,
        delay_cache_until_active=file.delay_cache_until_active,
    )


def _setting_problems(file: KubeSchedulerConfiguration) -> Iterator[Problem]:
    if file.parallelism <= 0:
        yield Problem("parallelism", f"{file.parallelism} is out of range; allowed: 1 or more")
    yield from _percentage_problems("percentageOfNodesToScore", file.percentage_of_nodes_to_score)
    first, most = file.pod_initial_backoff_seconds, file.pod_max_backoff_seconds
    if first <= 0:
        yield Problem("podInitialBackoffSeconds", f"{first} is out of range; allowed: 1 or more")
    if most < first:
        yield Problem("podMaxBackoffSeconds", f"{most} is below podInitialBackoffSeconds; allowed: {first} or more")
    if file.client_connection.burst < 0:
        yield Problem("clientConnection.burst", f"{file.client_connection.burst} is negative; allowed: 0 or more")
    election = file.leader_election
    if not election.leader_elect:
        return
    for name, seconds in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if seconds <= 0:
            yield Problem(f"leaderElection.{name}", "negative; allowed: more than 0s")
    if election.lease_duration <= election.renew_deadline:
        deadline = f"{election.renew_deadline:g}s"
        yield Problem("leaderElection.leaseDuration", f"it has to be longer than renewDeadline, which is {deadline}")
    if election.resource_lock != "leases":
        lock = shown(election.resource_lock)
        yield Problem("leaderElection.resourceLock", f"{lock} is not supported; allowed: leases")


def _percentage_problems(path: str, percentage: int | None) -> Iterator[Problem]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield Problem(path, f"{percentage} is out of range; allowed: 0 to 100")


def _extender_problems(extenders: tuple[Extender, ...]) -> Iterator[Problem]:
    binder = None
    managed: dict[str, str] = {}
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield Problem(f"{path}.weight", f"{extender.weight} with a prioritizeVerb; allowed: 1 or more")
        if extender.bind_verb:
            if binder is not None:
                yield Problem(f"{path}.bindVerb", f"only one extender can bind, and {binder} does already")
            binder = binder or path
        for number, resource in enumerate(extender.managed_resources):
            at = f"{path}.managedResources[{number}].name"
            if fault := label_key_problem(resource.name):
                yield Problem(at, fault)
            elif not _is_extended_resource(resource.name):
                yield Problem(at, f"{shown(resource.name)} is not an extended resource, such as example.com/gpu")
            elif resource.name in managed:
                yield Problem(at, f"{resource.name} is managed by {managed[resource.name]} already")
            managed.setdefault(resource.name, path)


def _is_extended_resource(name: str) -> bool:
    """Not one of Kubernetes' own, and fit to be counted in a quota: `v1helper.IsExtendedResourceName`."""
    own = "/" not in name or "kubernetes.io/" in name or name.startswith("requests.")
    return not own and label_key_problem(f"requests.{name}") is None


def _profiles(
    file: KubeSchedulerConfiguration, registry: Registry, problems: list[Problem], gangs: Gangs | None
) -> tuple[ProfileConfig, ...]:
    written = file.profiles or (KubeSchedulerProfile(),)
    profiles: list[ProfileConfig] = []
    for index, profile in enumerate(map(with_own_names, written)):
        path = f"profiles[{index}]"
        name = profile.scheduler_name
        if name is None and len(written) == 1:
            name = "default-scheduler"
        if not name:
            problems.append(
                Problem(f"{path}.schedulerName", "missing; it is the name that pods give as spec.schedulerName")
            )
        for number, other in enumerate(profiles):
            if name and other.scheduler_name == name:
                text = f"{shown(name)} is the name of profiles[{number}] already"
                problems.append(Problem(f"{path}.schedulerName", text))
        problems.extend(_percentage_problems(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score))
        problems.extend(profile.fairway.problems(f"{path}.fairway"))
        before = len(problems)
        told = _gangs(profile.fairway.gangs or gangs, f"{path}.fairway.gangs", problems)
        complete = _profile(with_own_plugins(profile), name or "", file, path, registry, problems, told)
        profiles.append(complete)
        if len(problems) == before:
            problems.extend(_queue_problems(complete, profiles[0], path))
    return tuple(profiles)


def _profile(
    profile: KubeSchedulerProfile,
    name: str,
    file: KubeSchedulerConfiguration,
    path: str,
    registry: Registry,
    problems: list[Problem],
    gangs: Gangs | None,
) -> ProfileConfig:
    chosen = select_plugins(profile.plugins, f"{path}.plugins", registry, problems, gangs)
    args: dict[str, Any] = {}
    for index, config in enumerate(profile.plugin_config):
        at = f"{path}.pluginConfig[{index}]"
        if config.name in args:
            problems.append(Problem(f"{at}.name", f"{config.name} is configured twice"))
        entry = chosen.entries.get(config.name)
        if entry is None:
            try:
                entry = resolve(config.name, registry)
            except PluginNotFoundError as error:
                problems.append(Problem(f"{at}.name", absence(config.name) or str(error)))
                continue
        args[config.name] = decode_args(config.name, entry.args, config.args, f"{at}.args", problems)
    for plugin, entry in chosen.entries.items():
        if plugin not in args and entry.args is not None:
            args[plugin] = decode_args(plugin, entry.args, None, f"{path}.pluginConfig[{plugin}].args", problems)
    if gangs is not None and (entry := chosen.entries.get(MODE_PLUGINS.get(gangs.mode, ""))) is not None:
        assert entry.args is not None
        args[MODE_PLUGINS[gangs.mode]] = mode_args(gangs, entry.args, profile.fairway.seed)
    ignored = tuple(r.name for e in file.extenders for r in e.managed_resources if r.ignored_by_scheduler)
    if ignored:
        args |= {plugin: told.leaving(ignored) for plugin, told in args.items() if isinstance(told, PluginArgs)}
    percentage = profile.percentage_of_nodes_to_score
    starts_jobs = gangs is not None and gangs.mode == "fairway"
    return ProfileConfig(
        scheduler_name=name,
        percentage_of_nodes_to_score=file.percentage_of_nodes_to_score if percentage is None else percentage,
        sampling=profile.fairway.sampling,
        seed=profile.fairway.seed,
        points=chosen.points,
        weights=chosen.weights,
        args=args,
        entries=chosen.entries,
        gangs=gangs,
        near=registry.get(NEAR) if starts_jobs and NEAR not in chosen.entries else None,
        placement_weights=chosen.placement_weights,
    )


def _gangs(written: Gangs | None, path: str, problems: list[Problem]) -> Gangs | None:
    if written is None:
        return None
    problems.extend(gangs_problems(written, path))
    return complete_gangs(written)


def _queue_problems(profile: ProfileConfig, first: ProfileConfig, path: str) -> Iterator[Problem]:
    """All profiles share one queue, so they have to agree on its order; and what is decided has to be bound."""
    sorters = profile.points["queueSort"]
    if not sorters and not all(entry.is_imported for entry in profile.entries.values()):
        pass  # one of those that were only read about may sort it
    elif len(sorters) != 1:
        enabled = ", ".join(sorters) or "none"
        yield Problem(f"{path}.plugins.queueSort", f"exactly one plugin has to sort the queue; enabled: {enabled}")
    elif sorters != first.points["queueSort"]:
        wanted = ", ".join(first.points["queueSort"])
        yield Problem(
            f"{path}.plugins.queueSort", f"all profiles share one queue; profiles[0] sorts it by {wanted or 'none'}"
        )
    elif profile.args.get(sorters[0]) != first.args.get(sorters[0]):
        yield Problem(
            f"{path}.pluginConfig", f"{sorters[0]} has other args than in profiles[0], which shares the queue"
        )
    if not profile.points["bind"]:
        yield Problem(f"{path}.plugins.bind", "no plugin binds; enable DefaultBinder")
