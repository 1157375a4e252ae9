"""Do the GPU policies give the published results? The runs behind `fairway conformance --openb DATA --expected DIR`.

In: what is expected (`openb_expected`), the data, and how many processes. Out: a `OpenbReport`: for each table the
number of runs, the largest deviation and the runs beyond tolerance; for each placement file the first arrival that
differs; and which runs could not be made, and why. Random's own draws cannot be reproduced: each of its orders is run
several times, and the means over all seeds of a trace are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.gpus.typical_pods import TypicalPods
from fairway.experiments.gpu_policies import POLICIES, policy_profile
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.openb_expected import TABLES, Expected, read_placements
from fairway.experiments.ordered_cluster import OrderRun, RunKey, run_in_order
from fairway.pool import run_all

__all__ = ["OpenbReport", "PlacementResult", "TableResult", "check"]

TOLERANCE: Final = 0.01  # percentage points
RANDOM: Final = "Random"
RANDOM_TOLERANCE: Final = 0.3  # percentage points, of the mean over the seeds of a trace
STANDARD_ERRORS: Final = 3.0
"""Of the published mean: where chance alone makes more than the tolerance, so much of it is allowed for."""

RANDOM_DRAWS: Final = 4
"""How often each of Random's orders is run, with other draws, so that chance on our side hardly counts."""

OTHER_SEEDS: Final = 1_000_003  # so far apart are the seeds of an order's draws
EPSILON: Final = 1e-9  # two numbers of two decimals that differ by one hundredth do so only nearly
COSTS: Final = {"FGD": 2.0}  # how long a run takes, compared with others

Floats = NDArray[np.float64]


@dataclass
class TableResult:
    """How a table compares."""

    table: str
    of: str  # which runs: `runs`, or the means of Random
    tolerance: float
    num_runs: int = 0
    largest: float = 0.0  # deviation in percentage points
    largest_at: str = ""
    beyond: list[dict[str, Any]] = field(default_factory=list)
    by_chance: list[dict[str, Any]] = field(default_factory=list)  # beyond the tolerance, as chance makes it

    def add(self, name: str, expected: dict[int, float], got: Floats, errors: dict[int, float] | None = None) -> None:
        """Take one row into account; `errors` are standard errors of what is expected, where it is a mean."""
        loads = [load for load in sorted(expected) if load < len(got)]
        deviations = np.abs(np.array([expected[load] for load in loads]) - got[loads])
        deviations = np.where(np.isnan(deviations), np.inf, deviations)  # nothing where there should be something
        if not len(deviations):
            return
        worst = int(deviations.argmax())
        if deviations[worst] > self.largest or not self.largest_at:
            self.largest, self.largest_at = float(deviations[worst]), f"{name}, load {loads[worst]} %"
        allowed = np.array([STANDARD_ERRORS * errors[load] if errors else 0.0 for load in loads])
        over = deviations - np.maximum(allowed, self.tolerance) - EPSILON
        for places, kept in (
            (over > 0, self.beyond),
            ((over <= 0) & (deviations > self.tolerance + EPSILON), self.by_chance),
        ):
            if places.any():
                place = int(np.where(places, deviations, -1.0).argmax())
                load = loads[place]
                values = {"expected": expected[load], "got": float(got[load]), "deviation": float(deviations[place])}
                kept.append({"run": name, "load": load, "loads": int(places.sum()), **values})


class PlacementResult(NamedTuple):
    """How a placement file compares."""

    file: str
    num_arrivals: int  # in the file
    difference: dict[str, Any] | None  # the first arrival that is not as expected
    frag_deviation: float  # largest, in milli


class _Piece(NamedTuple):
    """A run to make, in another process."""

    data: str
    key: RunKey
    draw: int
    placements: str


class _Outcome(NamedTuple):
    columns: dict[str, Floats]
    placements: PlacementResult | None


@dataclass
class OpenbReport:
    """Everything that was found."""

    tables: list[TableResult]
    placements: list[PlacementResult]
    not_run: list[tuple[str, str]]  # runs, and why they were not made
    notes: list[str]
    num_runs: int

    @property
    def passes(self) -> bool:
        """Is all as expected, and was everything run?"""
        alike = not any(table.beyond for table in self.tables)
        return alike and not any(each.difference for each in self.placements) and not self.not_run

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "passes": self.passes,
            "runs": self.num_runs,
            "tables": [
                {
                    "table": table.table,
                    "of": table.of,
                    "runs": table.num_runs,
                    "tolerance": table.tolerance,
                    "largest_deviation": table.largest,
                    "largest_at": table.largest_at,
                    "beyond": table.beyond,
                    "beyond_within_chance": table.by_chance,
                }
                for table in self.tables
            ],
            "placements": [
                {
                    "file": each.file,
                    "arrivals": each.num_arrivals,
                    "first_difference": each.difference,
                    "largest_frag_deviation_milli": each.frag_deviation,
                }
                for each in self.placements
            ],
            "not_run": [{"run": run, "why": why} for run, why in self.not_run],
            "notes": self.notes,
        }


Tell = Callable[[float], None]


def cost(policy: str) -> float:
    """How long a run takes, compared with others."""
    return COSTS.get(policy, 1.0)


def plan(data: OpenbData, expected: Expected) -> tuple[list[_Piece], list[tuple[str, str]]]:
    """The runs to make, the long ones first, and those that cannot be made."""
    pieces, not_run = [], []
    for key in expected.keys():  # noqa: SIM118 - no mapping
        if key.policy not in POLICIES:
            not_run.append((str(key), f"{key.policy} is no policy we know; there are {', '.join(POLICIES)}"))
        elif why := data.missing(key.trace, key.seed):
            not_run.append((str(key), why))
        else:
            path = expected.placements.get(key)
            draws = range(RANDOM_DRAWS if key.policy == RANDOM else 1)
            pieces += [_Piece(str(data.folder), key, draw, str(path) if path else "") for draw in draws]
    not_run += [(text, "") for table in expected.tables for text in table.other_loads]
    pieces.sort(key=lambda piece: (-cost(piece.key.policy), piece.key.trace, piece.key.seed))
    return pieces, not_run


def check(
    pieces: Sequence[_Piece], not_run: list[tuple[str, str]], expected: Expected, jobs: int, tell: Tell
) -> OpenbReport:
    """Make the runs, and compare."""
    columns: dict[RunKey, list[dict[str, Floats]]] = {}
    placements = []
    for number, outcome in run_all(_run, pieces, jobs):
        key = pieces[number].key
        columns.setdefault(key, []).append(outcome.columns)
        if outcome.placements is not None:
            placements.append(outcome.placements)
        tell(cost(key.policy))
    placements.sort(key=lambda each: each.file)
    notes = [f"{name} is not understood" for name in expected.ignored]
    notes += [
        f"{path.name}: the draws of {RANDOM} cannot be reproduced, so its placements are not compared"
        for key, path in expected.placements.items()
        if key.policy == RANDOM
    ]
    return OpenbReport(list(_compare(expected, columns)), placements, not_run, notes, len(pieces))


def _compare(expected: Expected, columns: dict[RunKey, list[dict[str, Floats]]]) -> Iterator[TableResult]:
    for name in TABLES:
        rows = expected.table(name)
        if not rows:
            continue
        exact = TableResult(name, "runs", TOLERANCE)
        drawn: dict[str, list[RunKey]] = {}
        for key in sorted(rows):
            if key not in columns:
                continue
            if key.policy == RANDOM:
                drawn.setdefault(key.trace, []).append(key)
            else:
                exact.num_runs += 1
                exact.add(str(key), rows[key], columns[key][0][name])
        yield exact
        if drawn:
            means = TableResult(name, f"means of {RANDOM}", RANDOM_TOLERANCE)
            for trace, keys in drawn.items():
                loads = sorted(set.intersection(*(set(rows[key]) for key in keys)))
                values = np.array([[rows[key][load] for load in loads] for key in keys])  # (num_seeds, num_loads)
                wanted = dict(zip(loads, values.mean(axis=0).tolist(), strict=True))
                spread = values.std(axis=0, ddof=1) / len(keys) ** 0.5 if len(keys) > 1 else np.zeros(len(loads))
                ours = [np.mean([each[name] for each in columns[key]], axis=0) for key in keys]
                shortest = min(map(len, ours))
                got = np.mean([row[:shortest] for row in ours], axis=0)
                means.num_runs += len(keys)
                errors = dict(zip(loads, spread.tolist(), strict=True))
                means.add(f"{trace} {RANDOM}, mean of {len(keys)} seeds", wanted, got, errors)
            yield means


# -- in a process of its own -------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _data(folder: str) -> OpenbData:
    return OpenbData(folder)


@lru_cache(maxsize=4)
def _typical(folder: str, trace: str) -> TypicalPods:
    return TypicalPods.of_pods(_data(folder).pods(trace))


def _run(piece: _Piece) -> _Outcome:
    key = piece.key
    workload = _data(piece.data).recorded(key.trace, key.seed)
    seed = key.seed + piece.draw * OTHER_SEEDS if key.policy == RANDOM else 0
    run = run_in_order(workload, policy_profile(key.policy, seed), _typical(piece.data, key.trace))
    compared = None
    if piece.placements and key.policy != RANDOM:
        compared = compare_placements(Path(piece.placements), run)
    return _Outcome(dict(run.columns._asdict()), compared)


def compare_placements(path: Path, run: OrderRun) -> PlacementResult:
    """Pod by pod, device by device."""
    number, deviation = 0, 0.0
    difference: dict[str, Any] | None = None
    ours = list(run.placements())
    for number, row in enumerate(read_placements(path), 1):
        if number > len(ours):
            difference = difference or {"arrival": row.number, "pod": row.pod, "expected": row.pod, "got": "no arrival"}
            break
        name, node, devices = ours[number - 1]
        if row.frag_milli is not None:
            deviation = max(deviation, abs(row.frag_milli - float(run.frag[number - 1])))
        if difference is None and (name, node, devices) != (row.pod, row.node, row.devices):
            difference = {
                "arrival": row.number,
                "pod": row.pod,
                "expected": _words(row.pod, row.node, row.devices),
                "got": _words(name, node, devices),
            }
    if difference is None and number < len(ours):
        name, node, devices = ours[number]
        difference = {"arrival": number, "pod": name, "expected": "no arrival", "got": _words(name, node, devices)}
    return PlacementResult(path.name, number, difference, deviation)


def _words(pod: str, node: str, devices: str) -> str:
    where = f"{node} device {devices}" if devices else node
    return f"{pod} on {where}" if node else f"{pod} turned away"
