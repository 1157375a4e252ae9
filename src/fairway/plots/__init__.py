"""Runs as pictures, for notebooks and papers; needs matplotlib (`pip install 'fairway[plots]'`).

In: runs, as `fairway.simulate` and `fairway.open_run` give them. Out: matplotlib axes, new ones or those given, so that
whoever calls can lay out, label and save as they like:

    import fairway.plots
    fairway.plots.utilisation(run)
    fairway.plots.waits({"default": one, "packed": other})
    fairway.plots.held({"coscheduling": one, "fairway": other})
    fairway.plots.nodes(run, "cpu").figure.savefig("nodes.png")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fairway.plots.axes import line_style, new_axes
from fairway.plots.node_rows import node_rows
from fairway.record import RecordError, Run
from fairway.record.curves import WAIT_TICKS, lowest_share, node_shares, utilisation_curve, wait_seconds, wait_shares
from fairway.record.job_metrics import held_nodes
from fairway.record.load import load_history

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["held", "nodes", "reads", "utilisation", "waits"]

NUM_POINTS = 480
HOUR = 3600.0
MINUTE = 60.0

Runs = Run | Mapping[str, Run]


def utilisation(runs: Runs, resource: str | None = None, *, axes: Axes | None = None) -> Axes:
    """What share of the ready nodes' resources pods held, over time.

    Of one run every resource unless one is named; of several runs, by name, the resource named (or cpu).
    """
    axes = axes or new_axes()
    lines: list[tuple[str, Run, str]] = []
    for name, run in _named(runs).items():
        wanted = [resource or "cpu"] if isinstance(runs, Mapping) or resource else list(run.resources)
        lines += [(name or each, run, each) for each in wanted]
    for number, (label, run, each) in enumerate(lines):
        history = load_history(run)
        _check_resource(run, each)
        if not history.there.integral()[history.resources.index(each)] > 0:
            continue  # nodes have none of it
        times, shares = utilisation_curve(history, each, NUM_POINTS)
        axes.plot(times / HOUR, shares, linestyle=line_style(number), label=label)
    axes.set(xlabel="time (h)", ylabel="utilisation", ylim=(0, None), title=resource or "")
    axes.yaxis.set_major_formatter(_percent)
    axes.margins(x=0)
    axes.legend()
    return axes


def waits(runs: Runs, *, axes: Axes | None = None) -> Axes:
    """What share of the pods waited at most so long for a node; pods that never got one wait longer."""
    axes = axes or new_axes()
    named = _named(runs)
    curves = {name: wait_shares(wait_seconds(run), NUM_POINTS) for name, run in named.items()}
    for number, (name, (seconds, shares)) in enumerate(curves.items()):
        axes.step(seconds, shares, where="post", linestyle=line_style(number), label=name or None)
    axes.set_xscale("symlog", linthresh=1.0)
    longest = max(axes.get_xlim()[1], 1.0)
    ticks = [(seconds, words) for seconds, words in WAIT_TICKS if seconds <= longest]
    axes.set_xticks([seconds for seconds, _ in ticks], [words for _, words in ticks])
    axes.minorticks_off()
    axes.set(
        xlabel="waited at most", ylabel="share of pods", xlim=(0, None), ylim=(lowest_share(curves.values()), 1.001)
    )
    axes.yaxis.set_major_formatter(_percent)
    if any(named):
        axes.legend(loc="lower right")
    return axes


def reads(runs: Runs, *, axes: Axes | None = None) -> Axes:
    """From how far pods read their datasets: a bar for each run, of shares by distance, the nearest first."""
    axes = axes or new_axes()
    shares = {name: {} if (data := run.metrics().data) is None else data.share for name, run in _named(runs).items()}
    rungs = dict.fromkeys(rung for share in shares.values() for rung in share)
    rungs = {rung: None for rung in rungs if any(share.get(rung) for share in shares.values())}
    if not rungs:
        raise RecordError("no pod has read a dataset in these runs")
    before = np.zeros(len(shares))
    for number, rung in enumerate(rungs):
        lengths = np.array([share.get(rung, 0.0) for share in shares.values()])
        shade = str(0.25 + 0.65 * number / max(len(rungs) - 1, 1))  # the nearest is darkest
        axes.barh(list(shares), lengths, left=before, color=shade, label=rung)
        before += lengths
    axes.set(xlabel="share of reads", xlim=(0, 1))
    axes.xaxis.set_major_formatter(_percent)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(rungs))
    return axes


def held(runs: Runs, *, axes: Axes | None = None) -> Axes:
    """How many nodes were kept, at each time, for members of jobs that had not started."""
    axes = axes or new_axes()
    for number, (name, run) in enumerate(_named(runs).items()):
        if not run.knows_jobs:
            raise RecordError(f"{run.path} does not say which pods belong together")
        times, counts = held_nodes(run)
        axes.step(times / MINUTE, counts, where="post", linestyle=line_style(number), label=name or None)
    axes.set(xlabel="time (min)", ylabel="nodes held in part", ylim=(0, None))
    axes.margins(x=0)
    if isinstance(runs, Mapping):
        axes.legend()
    return axes


def nodes(run: Run, resource: str = "cpu", *, axes: Axes | None = None) -> Axes:
    """A heat map: a row a node, pools together; how full it was, on average over each column. Grey: not there.

    Rows have the names of their nodes, or, where there are too many, of their pools.
    """
    _check_resource(run, resource)
    axes = axes or new_axes()
    history = load_history(run)
    rows = node_rows(run)
    _, shares = node_shares(history, resource, NUM_POINTS)
    axes.set_facecolor("0.85")
    axes.grid(visible=False)
    image = axes.imshow(
        np.ma.masked_invalid(shares[:, rows.node_ids].T),
        aspect="auto",
        interpolation="nearest",
        origin="upper",
        vmin=0,
        vmax=1,
        cmap="viridis",
        extent=(history.begin / HOUR, max(history.end, history.begin + 1e-9) / HOUR, len(rows.names), 0),
    )
    places, words = rows.ticks()
    axes.set_yticks(places, words, parse_math=False)
    for pool in rows.pools[1:]:
        axes.axhline(pool.begin, color="white", linewidth=1.5)
    absent = "; grey: not there" if np.isnan(shares).any() else ""
    axes.set(xlabel="time (h)", title=f"{resource} held on each node{absent}")
    bar = axes.figure.colorbar(image, ax=axes)
    bar.ax.yaxis.set_major_formatter(_percent)
    return axes


def _named(runs: Runs) -> dict[str, Run]:
    return {"": runs} if isinstance(runs, Run) else dict(runs)


def _check_resource(run: Run, resource: str) -> None:
    if resource not in run.resources:
        raise RecordError(f"{run.path} has no resource {resource}; it has {', '.join(run.resources)}")


def _percent(share: float, _: float) -> str:
    return f"{share:.0%}"
