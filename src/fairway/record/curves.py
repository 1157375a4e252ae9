"""A run as curves: what plots, reports and pages draw.

In: a run, or its `LoadHistory`. Out: arrays of a size that can be drawn, however long the run: utilisation over time,
how long pods waited, how full each node was. Called by `fairway.plots` and the report of `compare`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fairway.record.load import Curve, LoadHistory
from fairway.record.run import Run

__all__ = [
    "WAIT_TICKS",
    "Floats",
    "lowest_share",
    "means_between",
    "node_shares",
    "nodes_used_curve",
    "utilisation_curve",
    "wait_seconds",
    "wait_shares",
    "waiting_curve",
]

Floats = NDArray[np.float64]

WAIT_TICKS = ((0, "0"), (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (36_000, "10 h"))
"""Seconds to mark on an axis of waits, which is best a logarithmic one."""

ENOUGH = 0.5
"""If more than that never wait, the axis of shares does not begin at 0."""


def utilisation_curve(history: LoadHistory, resource: str, num_points: int) -> tuple[Floats, Floats]:
    """Times and shares, (num_points,) each.

    They are means over equal stretches of time: what is drawn has the same area as what happened.
    """
    edges = np.linspace(history.begin, max(history.end, history.begin + 1e-9), num_points + 1)
    held = means_between(history.curve(history.held, resource), edges)
    there = means_between(history.curve(history.there, resource), edges)
    share = np.divide(held, there, out=np.zeros_like(held), where=there > 0)
    return (edges[:-1] + edges[1:]) / 2, share


def means_between(curve: Curve, edges: Floats) -> Floats:
    """The mean of a step function between edges: (num_edges - 1,)."""
    widths = np.diff(curve.times)
    integral = np.concatenate([[0.0], np.cumsum(widths * curve.values[:-1])])
    place = np.maximum(np.searchsorted(curve.times, edges, "right") - 1, 0)
    whole = integral[place] + (edges - curve.times[place]) * curve.values[place]
    means: Floats = np.diff(whole) / np.diff(edges)
    return means


def wait_seconds(run: Run) -> Floats:
    """The waits of all pods that a scheduler was to place, in order, infinite where it did not: (num_pods,)."""
    pods = run.pods.where("attempts > 0 OR bound_seconds IS NULL").numpy("created_seconds", "bound_seconds")
    return np.sort(np.nan_to_num(pods["bound_seconds"] - pods["created_seconds"], nan=np.inf))


def wait_shares(waits: Floats, num_points: int) -> tuple[Floats, Floats]:
    """From sorted waits: seconds, and the share of pods that waited no longer; the first are those who did not wait."""
    if not len(waits) or not np.isfinite(waits[0]):
        return np.zeros(1), np.zeros(1)
    places = np.unique(np.linspace(0, len(waits) - 1, num_points).astype(np.intp))
    places = places[np.isfinite(waits[places])]
    shares = np.searchsorted(waits, waits[places], "right") / len(waits)
    at_once = np.searchsorted(waits, 0.0, "right") / len(waits)
    return np.concatenate([[0.0], waits[places]]), np.concatenate([[at_once], shares])


def lowest_share(curves: Iterable[tuple[Floats, Floats]]) -> float:
    """Where an axis of shares should begin, so that curves that begin high are told apart."""
    first = min((float(shares[0]) for _, shares in curves), default=0.0)
    return 0.0 if first < ENOUGH else math.floor(first * 20 - 1e-9) / 20


def node_shares(history: LoadHistory, resource: str, num_columns: int) -> tuple[Floats, Floats]:
    """Middles of equal stretches, (num_columns,), and what share of each node was held: (num_columns, num_nodes).

    What was held over the stretch of what was there, each by how long it was, so that a pod that is shorter than a
    stretch counts for what it held. NaN where a node was not there, not ready, or has none of the resource.
    """
    edges = np.linspace(history.begin, max(history.end, history.begin + 1e-9), num_columns + 1)
    column = history.resources.index(resource)
    held = history.held.integrals_between(edges, history.num_nodes, column)
    there = history.there.integrals_between(edges, history.num_nodes, column)
    shares = np.divide(held, there, out=np.full_like(held, np.nan), where=there > 0)
    return (edges[:-1] + edges[1:]) / 2, shares


def waiting_curve(run: Run, num_points: int) -> tuple[Floats, Floats]:
    """Times, and how many pods had no node, on average over each stretch of time: (num_points,) each."""
    pods = run.pods.numpy("created_seconds", "bound_seconds", "ended_seconds")
    begin, end = pods["created_seconds"], run.end_seconds
    over = np.where(np.isnan(pods["bound_seconds"]), pods["ended_seconds"], pods["bound_seconds"])
    over = np.maximum(np.nan_to_num(over, nan=end), begin)
    edges = np.linspace(0.0, max(end, 1e-9), num_points + 1)
    times = np.concatenate([[0.0], begin, over])
    changes = np.concatenate([[0.0], np.ones(len(begin)), -np.ones(len(over))])
    order = np.argsort(times, kind="stable")
    return (edges[:-1] + edges[1:]) / 2, means_between(Curve(times[order], np.cumsum(changes[order])), edges)


def nodes_used_curve(history: LoadHistory, num_points: int) -> tuple[Floats, Floats]:
    """Times, and how many nodes had at least one pod then: (num_points,) each."""
    edges = np.linspace(history.begin, max(history.end, history.begin + 1e-9), num_points + 1)
    instants = (edges[:-1] + edges[1:]) / 2
    return instants, (history.held.sums_at(instants, history.num_nodes, None) > 0).sum(axis=1).astype(np.float64)
