"""Fairway for people who write Python: a scenario in, an opened run out, which can say why.

In: a scenario (its file, its values, or a `Scenario`), a policy and a seed. Out: a `Run`, whose tables, metrics and
scenario can be read, and which explains any pod of it at any moment (`why`). A run that is not saved lives in a
temporary folder, which goes when the run does. `fairway` offers the functions under its own name, so that
`fairway.simulate(...)` works; called from scripts and notebooks. `fairway.plots` draws runs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairway import record
from fairway.config.plugin_folders import FOLDERS
from fairway.explain.run_answer import RunAnswer, answer
from fairway.model import UserError
from fairway.scenario import simulate as simulation
from fairway.scenario.fields import read_duration
from fairway.scenario.scenario import Scenario, decode_scenario

__all__ = ["Run", "RunAnswer", "open_run", "simulate"]


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
        try:
            moment = None if at is None else float(read_duration(at))
        except ValueError as error:
            raise record.RecordError(f"{at!r} is not a time of a run; allowed: 90 (seconds), 15m, 1h30m") from error
        try:
            with FOLDERS.permission(allow_plugins):
                return answer(self, pod, at=moment, attempt=attempt, node=node, all_nodes=all_nodes)
        except UserError as error:
            raise record.RecordError(str(error)) from error


def simulate(
    scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str],
    *,
    profile: str | None = None,
    seed: int | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: simulation.Progress | None = None,
    allow_plugins: bool = False,
) -> Run:
    """Run a scenario with one of its policies, and open what was recorded.

    Args:
        scenario: A file, the values that such a file would hold (paths in it begin where you are), or a `Scenario`.
        profile: One of the scenario's profiles, by name. Without: the first scheduler's own configuration.
        seed: Instead of the scenario's.
        save: The file to keep the run in; without, it is gone with the `Run`.
        progress: Called now and then with how far it has come.
        allow_plugins: Import plugins that lie beside a scenario of another folder than the current one; they are code.

    Raises:
        ScenarioError: What is wrong with the scenario, field by field.
        RecordError: What is wrong with the file to save to.
    """
    if isinstance(scenario, Mapping):
        scenario = decode_scenario(dict(scenario), "<scenario>")
    if save is not None:
        with FOLDERS.permission(allow_plugins):
            simulation.simulate(scenario, record=save, profile=profile, seed=seed, progress=progress)
        return Run.open(save)
    folder = tempfile.mkdtemp(prefix="fairway-")
    try:
        path = Path(folder) / "run.duckdb"
        with FOLDERS.permission(allow_plugins):
            simulation.simulate(scenario, record=path, profile=profile, seed=seed, progress=progress)
        run = Run.open(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return run


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run that was saved; `RecordError` says what is wrong with a file that is none."""
    return Run.open(path)
