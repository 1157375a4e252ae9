"""The simulator for people who write Python: a scenario in, an opened run out.

In: a scenario (its file, its values, or a `Scenario`), a policy and a seed. Out: a `Run`, whose tables, metrics and
scenario can be read. A run that is not saved lives in a temporary folder, which goes when the run does. `fairway`
offers both functions under its own name, so that `fairway.simulate(...)` works; called from scripts and notebooks.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairway.record import Run
from fairway.sim import simulate as simulation
from fairway.sim.scenario import Scenario, decode_scenario

__all__ = ["open_run", "simulate"]


def simulate(
    scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str],
    *,
    profile: str | None = None,
    seed: int | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: simulation.Progress | None = None,
) -> Run:
    """Run a scenario with one of its policies, and open what was recorded.

    Args:
        scenario: A file, the values that such a file would hold (paths in it begin where you are), or a `Scenario`.
        profile: One of the scenario's profiles, by name. Without: the first scheduler's own configuration.
        seed: Instead of the scenario's.
        save: The file to keep the run in; without, it is gone with the `Run`.
        progress: Called now and then with how far it has come.

    Raises:
        ScenarioError: What is wrong with the scenario, field by field.
        RecordError: What is wrong with the file to save to.
    """
    if isinstance(scenario, Mapping):
        scenario = decode_scenario(dict(scenario), "<scenario>")
    if save is not None:
        return simulation.simulate(scenario, record=save, profile=profile, seed=seed, progress=progress).open()
    folder = tempfile.mkdtemp(prefix="fairway-")
    try:
        path = Path(folder) / "run.duckdb"
        run = simulation.simulate(scenario, record=path, profile=profile, seed=seed, progress=progress).open()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return run


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run that was saved; `RecordError` says what is wrong with a file that is none."""
    return Run.open(path)
