"""Trials on the cluster of a run.

In: a run, and a moment of it. Out: a `Trial` whose cluster is the run's at that moment and whose configuration is that
of the run's schedulers: for a pod of the run (`pod_trial`), to explain an attempt again, or for pods from files
(`files_trial`). Called by `why` and `try`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from fairway.config import Configuration
from fairway.explain.manifest_files import load_manifests
from fairway.explain.manifests import Manifests
from fairway.explain.run_moment import Moment, objects_seen
from fairway.explain.run_schedulers import merged_configuration, plugin_notes, run_schedulers, scheduler_of
from fairway.explain.run_time import check_time, run_notes
from fairway.explain.trial import Trial, Verdict, read_configuration
from fairway.explain.workloads.inputs import Inputs
from fairway.kinds.controllers import Wanted
from fairway.model import Loaded, Node, Pod, Source, UserError
from fairway.record import Run
from fairway.words import time_text

__all__ = ["files_trial", "open_run_trial", "pod_trial"]


class RunTrial(Trial):
    """A trial of one attempt. What was left to chance is taken from the run."""

    def __init__(
        self,
        manifests: Manifests,
        configuration: Configuration,
        decision: dict[str, Any] | None,
        notes: Sequence[str],
        time: float,
    ) -> None:
        super().__init__(manifests, configuration, None, time)
        self._others = [one for one in manifests.objects if isinstance(one, Pod) and not one.spec.node_name]
        self._recorded = decision
        self.notes = notes  # about the schedulers of the run

    def place(self, pod: Pod, wanted: Wanted, *, evict: bool = True) -> Verdict:
        """As it was recorded; if that can not be, it says so."""
        profile = self.profile_of(pod)
        if profile is not None and profile.gangs is not None:  # others of its job wait as well
            for one in (*self._others, pod):
                self.cluster.groups.observe(one)
        verdict = super().place(pod, wanted, evict=evict)
        row, decision = self._recorded, verdict.decision
        if row is None:
            return verdict
        node = row["node"]
        if verdict.result == "scheduled" and node in self.cluster.nodes.row_of and decision is not None:
            known = {name: row[name] for name in ("node", "via", "num_feasible", "score", "num_best")}
            chosen = replace(decision, row=self.cluster.nodes.row_of[node], **known)
            return replace(verdict, node=node, decision=chosen)
        was = _recorded_words(row)
        if was != _words(verdict):
            verdict.remark = ", ".join(part for part in (verdict.remark, f"in the run it {was}") if part)
        return verdict


def pod_trial(run: Run, row: dict[str, Any], moment: Moment) -> tuple[RunTrial, Pod, Wanted]:
    """The moment at which a pod of the run (its row of `pods`) was looked at, or could have been."""
    schedulers = run_schedulers(run)
    scheduler = scheduler_of(schedulers, row["scheduler"])
    seen = objects_seen(run, moment, None if scheduler is None else scheduler.recorded)
    pod = next((one for one in seen if isinstance(one, Pod) and one.metadata.uid == row["uid"]), None)
    if pod is None:
        when = f"there is no pod {row['pod']} at {time_text(moment.at)}"
        raise UserError(when, f"it was there from {time_text(row['created_seconds'])} on")
    spec = msgspec.structs.replace(pod.spec, node_name="")
    pod = msgspec.structs.replace(pod, spec=spec)
    source = Source(str(run.path))
    name = row["pod"].removeprefix(f"{row['namespace']}/")
    kind, _, owner = (row["owner"] or f"Pod/{name}").partition("/")
    wanted = Wanted(kind, row["namespace"], owner, source, 1, lambda index: (pod, ()))
    others = [Loaded(thing, source) for thing in seen if getattr(thing.metadata, "uid", "") != row["uid"]]
    configuration = merged_configuration(schedulers) if scheduler is None else scheduler.configuration
    manifests = Manifests(others, [wanted], [])
    time = run.began + moment.at
    return RunTrial(manifests, configuration, moment.decision, plugin_notes(schedulers), time), pod, wanted


def open_run_trial(
    path: str, at: float | None, files: Inputs, config: str | None, seed: int
) -> tuple[Trial, str, list[str]]:
    """`files_trial` on the run in that file, at that time or its end; the options that name both, for hints; notes."""
    with Run.open(path) as run:
        time = check_time(run, at)
        trial = files_trial(run, time, files, config, seed)
        notes = run_notes(run) + ([] if config is not None else plugin_notes(run_schedulers(run)))
    return trial, f" --run {shlex.quote(path)} --at {shlex.quote(time_text(time))}", notes


def files_trial(run: Run, at: float, files: Inputs, config: str | None, seed: int) -> Trial:
    """Pods from files on the run's cluster; its schedulers decide, unless there is another configuration."""
    source = Source(str(run.path))
    given = [Loaded(thing, source) for thing in objects_seen(run, Moment(at))]
    if not any(isinstance(one.object, Node) for one in given):
        raise UserError(f"there is no node at {time_text(at)}", "give --at another time of the run")
    configuration = merged_configuration(run_schedulers(run)) if config is None else read_configuration(config)
    return Trial(load_manifests(files, (), given), configuration, seed, run.began + at)


def _recorded_words(row: dict[str, Any]) -> str:
    if row["node"]:
        return f"went to {row['node']}"
    return f"made room on {row['nominated_node']}" if row["nominated_node"] else f"was {row['outcome']}"


def _words(verdict: Verdict) -> str:
    if verdict.result == "scheduled":
        return f"went to {verdict.node}"
    return f"made room on {verdict.node}" if verdict.result == "preempts" else f"was {verdict.result}"
