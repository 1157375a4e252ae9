"""Metrics after each arrival, brought to columns by load.

In: for each arrival how much was asked for so far, how much is allocated, how much of the idle is fragmented. Out: for
every percent of load from 0 to 130, or as far as there are arrivals, the mean over the arrivals in its bucket. Rounded
as the published tables are: allocation to two decimals before and after averaging, fragmentation after, the
fragmentation ratio before.
Called by `ordered_cluster` and the commands that read its results.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_LOAD", "LoadColumns", "columns_by_load"]

MAX_LOAD: Final = 130
Floats = NDArray[np.float64]


class LoadColumns(NamedTuple):
    """One value for each percent of load; all in percent. NaN: no arrival came near it."""

    allo: Floats  # (num_loads,) allocated, of all devices
    frag: Floats  # (num_loads,) fragmented, of all devices
    frag_ratio: Floats  # (num_loads,) fragmented, of what is idle


def columns_by_load(arrived: NDArray[np.int64], used: NDArray[np.int64], frag: Floats, capacity: int) -> LoadColumns:
    """The columns of one run; the arrays are (num_arrivals,), in milli."""
    idle = capacity - used
    ratio = np.divide(frag, idle, out=np.zeros(len(frag)), where=idle > 0) * 100
    bucket = np.round(arrived / capacity * 100).astype(np.intp)  # halves go to the even one
    allo = _means(np.round(used / capacity * 100, 2), bucket)
    return LoadColumns(
        np.round(allo, 2),
        np.round(_means(frag / capacity * 100, bucket), 2),
        _means(np.round(ratio, 2), bucket),
    )


def _means(values: Floats, bucket: NDArray[np.intp]) -> Floats:
    """The mean in each bucket; of an empty one, that of its neighbours, the nearest that have anything."""
    size = max(MAX_LOAD, int(bucket.max(initial=0))) + 1
    counts = np.bincount(bucket, minlength=size)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(counts)
    groups = [values[order[end - count : end]] for count, end in zip(counts.tolist(), ends.tolist(), strict=True)]
    means = np.array([group.mean() if len(group) else np.nan for group in groups])
    last = int(np.flatnonzero(counts).max(initial=-1))
    for place in np.flatnonzero(counts[: last + 1] == 0):
        for reach in range(1, size):
            near = slice(max(int(place) - reach, 0), int(place) + reach + 1)
            if counts[near].any():
                means[place] = np.concatenate(groups[near]).mean()
                break
    return means
