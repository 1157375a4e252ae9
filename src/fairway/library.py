"""Fairway for people who write Python: what the commands answer, as objects.

In: what the commands are given: scenarios (files, their values, or a `Scenario`), manifests, runs. Out: a `Run`
(tables, metrics, `why`), a `TryAnswer`, a `WhyAnswer` or `RunAnswer`, a `CompareAnswer`; each prints as its command
does, and in a notebook. A run that is not saved lives in a temporary folder, which goes when the run does. `fairway`
offers the functions under its own name, so that `fairway.simulate(...)` works; called from scripts and notebooks.
`fairway.plots` draws runs.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fairway import record
from fairway.compare.answer import CompareAnswer, compare_scenario
from fairway.compare.policies import read_policies
from fairway.config.plugin_folders import FOLDERS
from fairway.explain.run_answer import RunAnswer, answer
from fairway.explain.run_trial import open_run_trial
from fairway.explain.trial import Trial, open_trial
from fairway.explain.try_answer import TryAnswer, try_all
from fairway.explain.why_answer import WhyAnswer, why_pod
from fairway.explain.workloads.inputs import Inputs
from fairway.live.api.clock import SystemClock
from fairway.model import UserError
from fairway.rehearsal.claims import ClaimKeeper
from fairway.rehearsal.rollout_play import play_rollouts
from fairway.rehearsal.rollout_text import played
from fairway.scenario import simulate as simulation
from fairway.scenario.fields import read_duration
from fairway.scenario.scenario import Scenario, decode_scenario, load_scenario

__all__ = [
    "CompareAnswer",
    "Run",
    "RunAnswer",
    "TryAnswer",
    "WhyAnswer",
    "compare",
    "open_run",
    "simulate",
    "try_",
    "why",
]

T = TypeVar("T")
PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike]


class Run(record.Run):
    """A run: tables, metrics, and the reasons for every decision."""

    def why(
        self,
        pod: str,
        *,
        attempt: int | None = None,
        at: float | str | None = None,
        node: str | None = None,
        all_nodes: bool = False,
        allow_plugins: bool = False,
    ) -> RunAnswer:
        """Why is this pod where it is, or nowhere, and what would fix it?

        Args:
            pod: Its name, with the namespace where the name alone is not clear.
            attempt: Explain this attempt to place it, from 1.
            at: Or this moment, in seconds or as text such as "1h30m". Without both: the attempt that placed the pod,
                or the end of the run if it waits.
            node: Explain this node only.
            all_nodes: Give the reason, or the scores, of every node.
            allow_plugins: Import plugins that the run names and that are not installed; they are code.

        Raises:
            RecordError: The run has no such pod, attempt, moment or node; the text says what there is.
        """
        moment = _seconds(at)
        try:
            with FOLDERS.permission(allow_plugins):
                return answer(self, pod, at=moment, attempt=attempt, node=node, all_nodes=all_nodes)
        except UserError as error:
            raise record.RecordError(str(error)) from error


def simulate(
    scenario: Scenario | Mapping[str, Any] | PathLike,
    *,
    policy: str | None = None,
    seed: int | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: simulation.Progress | None = None,
    allow_plugins: bool = False,
    profile: str | None = None,
) -> Run:
    """Run a scenario with one of its policies, and open what was recorded.

    Args:
        scenario: A file, the values that such a file would hold (paths in it begin where you are), or a `Scenario`.
        policy: One of the scenario's policies, by name. Without: the first scheduler's own configuration.
        seed: Instead of the scenario's.
        save: The file to keep the run in; without, it is gone with the `Run`.
        progress: Called now and then with how far it has come.
        allow_plugins: Import plugins that lie beside a scenario of another folder than the current one; they are code.
        profile: What `policy` was called before.

    Raises:
        ScenarioError: What is wrong with the scenario, field by field.
        RecordError: What is wrong with the file to save to.
    """
    if profile is not None:
        policy = _renamed("profile", profile, "policy", policy)
    with FOLDERS.permission(allow_plugins):
        scenario = _scenario(scenario)
    if save is not None:
        with FOLDERS.permission(allow_plugins):
            simulation.simulate(scenario, record=save, policy=policy, seed=seed, progress=progress)
        return Run.open(save)
    folder = tempfile.mkdtemp(prefix="fairway-")
    try:
        path = Path(folder) / "run.duckdb"
        with FOLDERS.permission(allow_plugins):
            simulation.simulate(scenario, record=path, policy=policy, seed=seed, progress=progress)
        run = Run.open(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return run


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run that was saved; `RecordError` says what is wrong with a file that is none."""
    return Run.open(path)


def try_(  # noqa: PLR0913 - the options of the command, each by name
    files: Paths,
    *,
    cluster: Paths = (),
    run: PathLike | None = None,
    at: float | str | None = None,
    config: PathLike | None = None,
    seed: int = 0,
    clock: dt.datetime | None = None,
    allow_plugins: bool = False,
) -> TryAnswer:
    """Would these pods fit, and where, and does what they replace get out of their way? Nothing but memory changes.

    Args:
        files: Manifests with the pods, Deployments, Jobs, ... to place; a file, a folder or several.
        cluster: Manifests with nodes, and with pods that are there.
        run: Or the cluster of this run, whose schedulers decide unless there is a `config`.
        at: At this moment of the run, in seconds or as text such as "1h30m"; without, its end.
        config: A KubeSchedulerConfiguration instead of kube-scheduler's defaults.
        seed: What ties between equally good nodes follow from.
        clock: The date for plugins that go by the clock, with its zone; without, it is now.
        allow_plugins: Import plugins that lie beside a configuration of another folder; they are code.

    Raises:
        UserError: What is wrong with the question.
        DecodeError: What is wrong with a file.
        RecordError: What is wrong with the run.
    """
    with FOLDERS.permission(allow_plugins):
        trial, notes = _trial(files, cluster, run, at, config, seed, clock)
        answered = try_all(trial)
        played_rollouts = play_rollouts(trial, answered.verdicts)
    answered.rollouts = [played(one, answered.num_nodes) for one in played_rollouts]
    answered.notes += notes
    return answered


def why(  # noqa: PLR0913 - the options of the command, each by name
    pod: str,
    *,
    files: Paths = (),
    cluster: Paths = (),
    run: PathLike | None = None,
    at: float | str | None = None,
    attempt: int | None = None,
    node: str | None = None,
    all_nodes: bool = False,
    config: PathLike | None = None,
    seed: int = 0,
    clock: dt.datetime | None = None,
    allow_plugins: bool = False,
) -> WhyAnswer | RunAnswer:
    """Why does this pod go where it goes, or nowhere, and what would fix it?

    Args:
        pod: Its name, with the namespace where the name alone is not clear.
        files: Manifests that have the pod, as for `try_`; without them, it is a pod of the run.
        cluster: Manifests with nodes, and with pods that are there.
        run: Or the cluster of this run.
        at: At this moment of the run, in seconds or as text such as "1h30m".
        attempt: Explain this attempt of the run to place the pod, from 1.
        node: Explain this node only.
        all_nodes: Give the reason, or the scores, of every node.
        config: A KubeSchedulerConfiguration; without, kube-scheduler's defaults, or the run's schedulers.
        seed: What ties between equally good nodes follow from.
        clock: The date for plugins that go by the clock, with its zone; without, it is now.
        allow_plugins: Import plugins that lie beside a file of another folder; they are code.

    Raises:
        UserError: What is wrong with the question.
        DecodeError: What is wrong with a file.
        RecordError: What is wrong with the run, or what it does not have.
    """
    if not _paths(files):
        if run is None:
            raise UserError("there is nothing to ask", "give files with the pod, or a run")
        with Run.open(run) as opened:
            return opened.why(pod, attempt=attempt, at=at, node=node, all_nodes=all_nodes, allow_plugins=allow_plugins)
    if attempt is not None:
        raise UserError("an attempt is one of a pod of a run, not of files", "leave out attempt, or files")
    with FOLDERS.permission(allow_plugins):
        trial, notes = _trial(files, cluster, run, at, config, seed, clock)
        answered = why_pod(trial, pod, node=node, all_nodes=all_nodes)
    answered.notes += notes
    return answered


def compare(
    *sources: Scenario | Mapping[str, Any] | PathLike,
    policies: Sequence[str] = (),
    seeds: int = 1,
    processes: int | None = None,
    save: PathLike | None = None,
    allow_plugins: bool = False,
    profiles: Sequence[str] = (),
) -> CompareAnswer:
    """Which policy is better, and where do they differ?

    Args:
        sources: Runs (their files), or one scenario, which is run with each policy and seed.
        policies: Policies of the scenario, by name; without, all of them. The first is what others are compared with.
        seeds: So many seeds, counted up from the scenario's.
        processes: How many simulations run at once; without, as many as there are CPUs.
        save: A folder to keep the runs in.
        allow_plugins: Import plugins that lie beside a scenario of another folder; they are code.
        profiles: What `policies` was called before.

    Raises:
        ScenarioError: What is wrong with the scenario, field by field.
        RecordError: What is wrong with a run.
        UserError: What is wrong with the question.
    """
    if profiles:
        policies = _renamed("profiles", profiles, "policies", policies)
    if not sources:
        raise UserError("there is nothing to compare", "give runs, or one scenario")
    if len(sources) > 1 or _is_run(sources[0]):
        if policies or seeds != 1 or save is not None:
            raise UserError("runs are what they are", "policies, seeds and save are for a scenario")
        return CompareAnswer(read_policies([_path_of(source) for source in sources]))
    (source,) = sources
    with FOLDERS.permission(allow_plugins):
        scenario = _scenario(source)
        folder = None if save is None else Path(save)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        return compare_scenario(scenario, policies or scenario.policy_names, seeds, processes, folder)


# -- what people give ------------------------------------------------------------------------------------------------


def _scenario(source: Scenario | Mapping[str, Any] | PathLike) -> Scenario:
    if isinstance(source, Scenario):
        return source
    scenario = decode_scenario(dict(source), "<scenario>") if isinstance(source, Mapping) else load_scenario(source)
    for note in scenario.notes:
        warnings.warn(f"{scenario.source}: {note}", DeprecationWarning, stacklevel=3)
    return scenario


def _renamed(former: str, value: T, name: str, given: object) -> T:
    """The value of an argument that was given by its former name."""
    if given:
        raise TypeError(f"{former} is called {name} now; give {name} alone")
    warnings.warn(f"{former} is called {name} now", DeprecationWarning, stacklevel=3)
    return value


def _trial(
    files: Paths,
    cluster: Paths,
    run: PathLike | None,
    at: float | str | None,
    config: PathLike | None,
    seed: int,
    clock: dt.datetime | None,
) -> tuple[Trial, list[str]]:
    """The trial of pods from files, and notes about the run it is made on."""
    configured = None if config is None else os.fspath(config)
    if clock is not None and clock.tzinfo is None:
        raise UserError(f"{clock} has no zone", "give one: dt.datetime(2030, 1, 1, 22, tzinfo=dt.UTC)")
    time = SystemClock().now() if clock is None else clock.timestamp()
    inputs = Inputs(_paths(files), claim_binder=ClaimKeeper, time=time)
    if run is None:
        if at is not None:
            raise UserError("a moment is one of a run", "leave out at, or give the run")
        return open_trial(inputs, _paths(cluster), configured, seed), []
    if _paths(cluster):
        raise UserError("the cluster is that of files or that of a run", "leave out cluster, or run")
    trial, _, notes = open_run_trial(os.fspath(run), _seconds(at), inputs, configured, seed)
    return trial, notes


def _paths(given: Paths) -> list[str]:
    if isinstance(given, str | os.PathLike):
        return [os.fspath(given)]
    return [os.fspath(path) for path in given]


def _path_of(source: Scenario | Mapping[str, Any] | PathLike) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    raise UserError("several sources are runs, by their files", "compare one scenario, or several runs")


def _is_run(source: Scenario | Mapping[str, Any] | PathLike) -> bool:
    if not isinstance(source, str | os.PathLike):
        return False
    try:
        with Path(source).open("rb") as stream:
            return stream.read(12)[8:] == b"DUCK"
    except OSError:
        return os.fspath(source).endswith((".duckdb", ".db"))


def _seconds(at: float | str | None) -> float | None:
    try:
        return None if at is None else float(read_duration(at))
    except ValueError as error:
        raise record.RecordError(f"{at!r} is not a time of a run; allowed: 90 (seconds), 15m, 1h30m") from error
