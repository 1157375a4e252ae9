"""What must hold in a scenario besides its types.

In: a decoded `ScenarioFile`. Out: a `Problem` for everything that makes no sense, with its field; configurations that
are written in place are checked as kube-scheduler would check them. Nothing is read from disk here. Called by
`decode_scenario`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fairway.config.fields import alternatives, shown
from fairway.config.plugin_entry import NamesOnly
from fairway.plugins.registry import REGISTRY
from fairway.scenario.batch_section import batch_problems, merged_batch
from fairway.scenario.data_changes import data_problems
from fairway.scenario.datasets import dataset_problems
from fairway.scenario.defragmentations import defragment_problems
from fairway.scenario.faults import fault_problems
from fairway.scenario.fields import Problem
from fairway.scenario.scenario_file import (
    Config,
    ScenarioFile,
    ScenarioSpec,
    SchedulerSpec,
    WorkloadSource,
)
from fairway.scenario.schedulers import configure
from fairway.trace import group_problems, spec_problems

__all__ = ["SOURCES", "policy_problem", "scenario_problems", "workload_paths"]

NAMES: Final = NamesOnly(REGISTRY)
"""Reading a scenario runs nothing: plugins are imported when it is run."""

SOURCES: Final = ("files", "synthetic", "swf", "openb")
WORD: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
NAME: Final = re.compile(r"[^/\\\s\x00-\x1f\x7f]{1,200}")


def scenario_problems(file: ScenarioFile) -> Iterator[Problem]:
    """Everything that is wrong with a file whose types are right."""
    spec = file.spec
    if file.metadata.name and not NAME.fullmatch(file.metadata.name):
        yield Problem(
            "metadata.name", f"{shown(file.metadata.name)} is no name: no spaces, no slashes, 200 letters at most"
        )
    if spec.end is not None and spec.end <= 0:
        yield Problem("spec.end", "it ends before it begins; allowed: more than 0s")
    yield from _node_problems(spec)
    for path, source in workload_paths(spec):
        yield from _source_problems(source, path)
    yield from _name_problems(spec)
    yield from _scheduler_problems(spec.schedulers)
    if spec.batch is not None:
        yield from batch_problems(spec.batch, "spec.batch")
    yield from _policy_problems(spec)
    yield from fault_problems(spec)
    yield from defragment_problems(spec)
    yield from dataset_problems(spec.cluster.datasets)
    yield from data_problems(spec)


def _node_problems(spec: ScenarioSpec) -> Iterator[Problem]:
    for path, text in group_problems(spec.cluster.nodes, "spec.cluster.nodes"):
        yield Problem(path, text)
    for index, group in enumerate(spec.cluster.nodes):
        for name, size in group.images.items():
            if size.nanos < 0:
                yield Problem(f'spec.cluster.nodes[{index}].images["{name}"]', f"must not be negative: {size}")


def workload_paths(spec: ScenarioSpec) -> Iterator[tuple[str, WorkloadSource]]:
    """Each source of arrivals with the path it has in the file."""
    if isinstance(spec.workload, WorkloadSource):
        yield "spec.workload", spec.workload
    else:
        yield from ((f"spec.workload[{index}]", source) for index, source in enumerate(spec.workload))


def _source_problems(source: WorkloadSource, path: str) -> Iterator[Problem]:
    given = [name for name in SOURCES if getattr(source, name)]
    if not given:
        yield Problem(path, f"says nothing that arrives; give one of {', '.join(SOURCES)}")
    elif len(given) > 1:
        yield Problem(path, f"has {' and '.join(given)}; make it a list of one each")
    if source.synthetic is not None:
        for field, text in spec_problems(source.synthetic, f"{path}.synthetic"):
            yield Problem(field, text)
        others = {one.gang_spelling for one in source.synthetic.classes} - {"fairway"}
        if source.copies > 1 and others:
            yield Problem(
                f"{path}.copies", f"gangs of spelling {min(others)} can not be copied; leave gangSpelling out"
            )
    if source.stop is not None and source.stop <= source.start:
        yield Problem(f"{path}.stop", f"it is not after start, which is {source.start:g}s")


def _name_problems(spec: ScenarioSpec) -> Iterator[Problem]:
    """Pods that are drawn are numbered, each source from 0: two sources must not give the same names."""
    names: dict[tuple[str, str], str] = {}
    for path, source in workload_paths(spec):
        made = source.synthetic
        if made is None:
            continue
        for one in made.classes:
            name = f"{made.name}-{one.name}"
            other = names.setdefault((one.namespace or made.namespace, name), path)
            if other != path:
                yield Problem(f"{path}.synthetic.name", f"{other} has pods called {name}-0, ... already; give another")


def _scheduler_problems(schedulers: tuple[SchedulerSpec, ...]) -> Iterator[Problem]:
    if not schedulers:
        yield Problem("spec.schedulers", "empty; give one scheduler or more, or leave the field out")
    names: dict[str, str] = {}
    for index, scheduler in enumerate(schedulers):
        path = f"spec.schedulers[{index}]"
        if not WORD.fullmatch(scheduler.name):
            yield Problem(f"{path}.name", _no_word(scheduler.name))
        elif (other := names.setdefault(scheduler.name, path)) != path:
            yield Problem(f"{path}.name", f"{shown(scheduler.name)} is the name of {other} already")
        yield from _config_problems(scheduler, scheduler.config, f"{path}.config")
        for number, pause in enumerate(scheduler.pause):
            if pause.seconds <= 0:
                yield Problem(f"{path}.pause[{number}].for", "no pause at all; allowed: more than 0s")


def _policy_problems(spec: ScenarioSpec) -> Iterator[Problem]:
    for name, policy in spec.policies.items():
        path = f'spec.policies["{name}"]'
        if not WORD.fullmatch(name):
            yield Problem(path, _no_word(name))
        if spec.schedulers:
            yield from _config_problems(spec.schedulers[0], policy.config, f"{path}.config")
        problems: list[Problem] = []
        merged_batch(spec.batch, policy.batch, f"{path}.batch", problems)
        yield from problems


def _config_problems(scheduler: SchedulerSpec, config: Config | None, path: str) -> Iterator[Problem]:
    """Of a config written in place; a file is read when it is needed."""
    problems: list[Problem] = []
    if isinstance(config, dict):
        configure(scheduler, config, "", 0, (path, problems), NAMES)
    elif config == "":
        problems.append(Problem(path, "empty; allowed: a file, or a KubeSchedulerConfiguration"))
    yield from problems


def policy_problem(spec: ScenarioSpec, policy: str, path: str) -> Problem:
    """For a policy that is not there."""
    return Problem(path, f"{shown(policy)} is unknown{alternatives(policy[:60], ['default', *spec.policies])}")


def _no_word(name: str) -> str:
    return f"{shown(name)} is no name: letters, digits, '-', '_' and '.', at most 63, a letter or digit at both ends"
