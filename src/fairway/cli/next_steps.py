"""What to try after a simulation: lines that can be pasted as they are.

In: what `sim` was told, and what came of it. Out: up to three commands, each with the question that it answers. None
is proposed that has no answer: no seed where nothing is left to chance, no fewer nodes where one is in use or most pods
wait, no other policy where none is known. Called by `sim`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairway.cli.options.scenario import change_words
from fairway.cli.output import word
from fairway.config.plugin_folders import FOLDERS

if TYPE_CHECKING:
    from fairway.compare.simulations import Finished
    from fairway.scenario.scenario import Scenario

__all__ = ["next_lines"]

LONG = 60  # seconds: where most pods wait longer, fewer nodes are no question, but in queues they may well
FEWER = 0.9  # of the nodes that were in use at the busiest moment


def next_lines(
    path: str | None,
    changes: Mapping[str, Any],
    scenario: Scenario,
    given: Sequence[str],
    save: str | None,
    finished: Sequence[Finished],
) -> list[str]:
    """The lines; `changes` and `given` are options and policies as they were written."""
    chosen = _policy_options(given)
    source = _source(path, changes)
    steps = [_about_decisions(f"fairway sim{source}{chosen}", None if save is None else finished[0].path)]
    steps += _about_policies(path, source, scenario, given)
    metrics = finished[0].metrics
    num_nodes = int(metrics.nodes_used.peak * FEWER)
    is_crowded = scenario.spec.batch is None and (metrics.wait.p50 or 0.0) > LONG
    if scenario.spec.cluster.nodes and is_crowded:
        steps.append(
            (f"fairway sim{source}{chosen} --fewest-nodes 'wait_p95<{LONG}s'", "how many nodes would it take?")
        )
    elif scenario.spec.cluster.nodes and num_nodes:
        fewer = _source(path, {**changes, "nodes": (num_nodes,)})
        steps.append((f"fairway sim{fewer}{chosen}", "would fewer nodes do?"))
    elif _has_chance(scenario):
        other = _source(path, {**changes, "seed": scenario.seed + 1})
        steps.append((f"fairway sim{other}{chosen}", "another day of the same kind"))
    return [f"{command}   # {why}" for command, why in steps]


def _about_decisions(command: str, file: str | None) -> tuple[str, str]:
    if file is None:
        return f"{command} --save run.duckdb", "keep every decision, then ask why"
    from fairway.record import Run

    with Run.open(file) as run:
        waits = "SELECT pod, coalesce(bound_seconds, ?) - created_seconds AS wait FROM pods ORDER BY wait DESC, pod_id"
        longest = next(iter(run.sql(f"{waits} LIMIT 1", run.end_seconds).rows()), None)
    if longest is None:
        return f"fairway status --run {shlex.quote(file)}", "what was free?"
    why = "the pod that waited longest" if longest["wait"] else "why there?"
    return f"{_plugins_found()}fairway why {word(longest['pod'])} --run {shlex.quote(file)}", why


def _plugins_found() -> str:
    """A run names plugins and not where they are: what lets Python find those of other folders than the current one."""
    folders = [os.path.relpath(folder) for folder in FOLDERS.used]
    return f"PYTHONPATH={shlex.quote(os.pathsep.join(folders))} " if folders else ""


def _about_policies(
    path: str | None, source: str, scenario: Scenario, given: Sequence[str]
) -> Iterator[tuple[str, str]]:
    others = [name for name in scenario.policy_names if name not in given]
    compared = given if len(given) > 1 else [*given, *others][:2]
    options = _policy_options(compared)
    if len(compared) < 2:
        yield f"fairway sim{source} --print-scenario", "all that can be changed, policies among it"
    elif path is None:  # compare wants a file
        yield f"fairway sim{source}{options}", "is another policy better?"
    elif _has_chance(scenario):
        yield f"fairway compare{source}{options} --seeds 5 --html report.html", "better, or luck?"
    else:
        yield f"fairway compare{source}{options} --html report.html", "where do they differ?"


def _has_chance(scenario: Scenario) -> bool:
    """Does another seed give another day?"""
    spec = scenario.spec
    return bool(spec.random_faults) or any(source.synthetic is not None for source in spec.workloads)


def _source(path: str | None, changes: Mapping[str, Any]) -> str:
    return ("" if path is None else f" {shlex.quote(path)}") + change_words(changes)


def _policy_options(names: Sequence[str]) -> str:
    return "".join(f" --policy {shlex.quote(name)}" for name in names)
