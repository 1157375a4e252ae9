"""An integer program, row by row, and HiGHS, which solves it.

In: variables with bounds and costs, rows with bounds. Out: a `Solution`. Used by `optimum` alone; HiGHS comes with the
extra `quality` and is imported here, when it is needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event, Thread
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairway.model import UserError

__all__ = ["IntegerProgram", "Solution", "load_solver"]

GAP = 1e-6
"""A solution is as good as any if none is better by more."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Values of the variables, None if time ran out before any were found; and a bound: no solution costs less."""

    values: NDArray[np.float64] | None  # (num_variables,)
    bound: float
    is_optimal: bool


class IntegerProgram:
    """Variables from 0 to a bound, to be chosen so that the rows hold and the cost is least."""

    def __init__(self) -> None:
        self._uppers: list[NDArray[np.float64]] = []
        self._costs: list[NDArray[np.float64]] = []
        self._are_integers: list[NDArray[np.bool_]] = []
        self._num_variables = 0
        self._columns: list[int] = []
        self._values: list[float] = []
        self._starts = [0]
        self._row_bounds: list[tuple[float, float]] = []

    def add_variables(self, count: int, *, upper: ArrayLike, cost: ArrayLike, is_integer: bool = True) -> int:
        """Add variables; returns the number of the first."""
        self._uppers.append(np.broadcast_to(np.asarray(upper, np.float64), count))
        self._costs.append(np.broadcast_to(np.asarray(cost, np.float64), count))
        self._are_integers.append(np.full(count, is_integer))
        self._num_variables += count
        return self._num_variables - count

    def add_row(self, factors: Mapping[int, float], *, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Require that the sum of variables times factors lies within bounds."""
        self._columns.extend(factors)
        self._values.extend(factors.values())
        self._starts.append(len(self._columns))
        self._row_bounds.append((lower, upper))

    def solve(self, time_limit_seconds: float, infeasible: str) -> Solution:
        """Find the cheapest solution, or the best within the time; `UserError` says `infeasible` if there is none."""
        if not self._num_variables:
            return Solution(np.zeros(0), 0.0, True)
        highspy = load_solver()
        solver = highspy.Highs()
        options = {
            "output_flag": False,
            "threads": 1,
            "random_seed": 0,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": GAP,
            "time_limit": float(time_limit_seconds),
        }
        for name, value in options.items():
            solver.setOptionValue(name, value)
        solver.passModel(self._model(highspy))
        _run(solver)
        status = solver.getModelStatus()
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            raise UserError(infeasible)
        info = solver.getInfo()
        is_optimal = status == highspy.HighsModelStatus.kOptimal
        if not is_optimal and status != highspy.HighsModelStatus.kTimeLimit:
            raise UserError(f"the solver gave up: {solver.modelStatusToString(status)}")
        bound = info.mip_dual_bound if np.isfinite(info.mip_dual_bound) else -np.inf
        if is_optimal:
            bound = max(bound, info.objective_function_value - GAP)
        elif info.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusFeasible):
            return Solution(None, float(bound), False)
        return Solution(np.array(solver.getSolution().col_value), float(bound), is_optimal)

    def _model(self, highspy: ModuleType) -> object:
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self._num_variables, len(self._row_bounds)
        lp.col_cost_ = np.concatenate(self._costs)
        lp.col_lower_ = np.zeros(self._num_variables)
        lp.col_upper_ = np.concatenate(self._uppers)
        bounds = np.array(self._row_bounds, np.float64).reshape(-1, 2)
        lp.row_lower_, lp.row_upper_ = bounds[:, 0].copy(), bounds[:, 1].copy()
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array(self._starts, np.int32)
        lp.a_matrix_.index_ = np.array(self._columns, np.int32)
        lp.a_matrix_.value_ = np.array(self._values, np.float64)
        kinds = highspy.HighsVarType
        lp.integrality_ = [
            kinds.kInteger if is_integer else kinds.kContinuous
            for is_integer in np.concatenate(self._are_integers).tolist()
        ]
        return lp


def _run(solver: Any) -> None:
    """Let the solver work beside this thread: by itself it hears of no Ctrl-C before its time is up."""
    problems: list[Exception] = []
    ended = Event()  # Thread.join takes a thread for ended if it is interrupted itself

    def work() -> None:
        try:
            solver.run()
        except Exception as error:  # noqa: BLE001 - it is raised below, where somebody can catch it
            problems.append(error)
        finally:
            ended.set()

    solver.HandleUserInterrupt = True  # so that it looks now and then whether it is called off
    Thread(target=work, daemon=True).start()
    try:
        ended.wait()
    except BaseException:
        solver.cancelSolve()
        ended.wait()
        raise
    if problems:
        raise problems[0]


def load_solver() -> ModuleType:
    """HiGHS; `UserError` says how to get it."""
    try:
        return importlib.import_module("highspy")
    except ImportError as error:
        raise UserError("the best possible placement needs a solver", "pip install 'fairway[quality]'") from error
