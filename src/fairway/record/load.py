"""Who held how much, and how much there was, as arrays over time.

In: a run's `occupancy` and `nodes`. Out: a `LoadHistory`, from which metrics, plots and pages take integrals, curves
and node-by-node loads. A node counts while it is ready; cordoned nodes count, for what they have is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairway.record.run import Run

__all__ = ["Curve", "LoadHistory", "Spans", "load_history"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spans:
    """Amounts that hold from one time to another, each on a node."""

    node: NDArray[np.int32]  # (num_spans,) number of the node
    begin: Floats  # (num_spans,)
    end: Floats  # (num_spans,) never before begin
    amounts: Floats  # (num_spans, num_resources) whole numbers; exact below 2**53

    def integral(self, mask: NDArray[np.bool_] | None = None) -> Floats:
        """Amounts times seconds, summed over all spans or those of the mask: (num_resources,)."""
        seconds = self.end - self.begin
        if mask is not None:
            seconds = np.where(mask, seconds, 0.0)
        total: Floats = (seconds[:, None] * self.amounts).sum(axis=0)
        return total

    def sums_at(self, instants: Floats, num_nodes: int, column: int | None) -> Floats:
        """One resource's sum by instant and node, or the number of spans: (num_instants, num_nodes)."""
        weights = np.ones(len(self.node)) if column is None else self.amounts[:, column]
        shape = len(instants) + 1, num_nodes
        # A span counts at instants in [begin, end): the first such instant opens it, the first one past it closes it.
        opened = np.searchsorted(instants, self.begin) * num_nodes + self.node
        closed = np.searchsorted(instants, self.end) * num_nodes + self.node
        cells = np.concatenate([opened, closed])
        changes = np.bincount(cells, np.concatenate([weights, -weights]), minlength=shape[0] * shape[1])
        sums: Floats = changes.astype(np.float64, copy=False).reshape(shape)[:-1]
        return np.cumsum(sums, axis=0, out=sums)

    def integrals_between(self, edges: Floats, num_nodes: int, column: int) -> Floats:
        """One resource's amounts times seconds, by stretch between edges and node: (num_edges - 1, num_nodes).

        From where a span begins it adds the rest of that stretch and all of the later ones; from where it ends it takes
        the same away. What remains is what it held, however short it was.
        """
        widths, last = np.diff(edges), len(edges) - 2
        rests, rates = np.zeros(len(widths) * num_nodes), np.zeros((len(widths) + 1) * num_nodes)
        for times, amounts in ((self.begin, self.amounts[:, column]), (self.end, -self.amounts[:, column])):
            inside = np.clip(times, edges[0], edges[-1])
            stretch = np.clip(np.searchsorted(edges, inside, "right") - 1, 0, last)
            rest = amounts * (edges[stretch + 1] - inside)
            rests += np.bincount(stretch * num_nodes + self.node, rest, minlength=len(rests))
            rates += np.bincount((stretch + 1) * num_nodes + self.node, amounts, minlength=len(rates))
        whole = np.cumsum(rates.reshape(-1, num_nodes), axis=0)[:-1] * widths[:, None]
        integrals: Floats = rests.reshape(-1, num_nodes) + whole
        # What begins and what ends may differ in the last digits where nothing is held.
        negligible = np.abs(self.amounts[:, column]).max(initial=0.0) * widths[:, None] * 1e-12
        return np.where(integrals <= negligible, 0.0, integrals)


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity that is constant between changes: `values[i]` holds from `times[i]` to the next time."""

    times: Floats  # (num_times,)
    values: Floats  # (num_times,)


@dataclass(frozen=True, slots=True)
class LoadHistory:
    """What was held and what there was, from `begin` to `end`."""

    resources: tuple[str, ...]  # names, in the order of columns
    num_nodes: int
    begin: float
    end: float
    held: Spans
    there: Spans

    @property
    def change_times(self) -> Floats:
        """When anything changed, in order; the first is `begin`."""
        spans = self.held, self.there
        times = np.unique(np.concatenate([[self.begin], *(one.begin for one in spans), *(one.end for one in spans)]))
        return times[(times >= self.begin) & (times < self.end)]

    def curve(self, spans: Spans, resource: str | None) -> Curve:
        """The sum over all nodes of a resource held or there, or the number of pods or nodes."""
        weights = np.ones(len(spans.node)) if resource is None else spans.amounts[:, self.resources.index(resource)]
        times = np.concatenate([[self.begin], spans.begin, spans.end])
        changes = np.concatenate([[0.0], weights, -weights])
        order = np.argsort(times, kind="stable")
        times, sums = times[order], np.cumsum(changes[order])
        last = np.append(times[1:] != times[:-1], True)  # of changes at one time the sum after all of them counts
        return Curve(times[last], sums[last])

    def instants(self, num_cells: int) -> tuple[Floats, Floats]:
        """Times to look at all nodes, with weights that sum to 1.

        Every change, weighted by how long it lasted, if there are at most `num_cells` nodes times changes; or else the
        middles of as many equal parts of the run.
        """
        times = self.change_times
        length = self.end - self.begin
        if length <= 0 or not self.num_nodes:
            return np.zeros(0), np.zeros(0)
        if len(times) * self.num_nodes <= num_cells:
            return times, np.diff(times, append=self.end) / length
        count = max(1, num_cells // self.num_nodes)
        return self.begin + (np.arange(count) + 0.5) * length / count, np.full(count, 1 / count)


def load_history(run: Run) -> LoadHistory:
    """Read a run's occupancy and nodes."""
    end = run.end_seconds
    columns = tuple(run.resources.values())
    held = _spans(run.occupancy.numpy("node_id", "from_seconds", "to_seconds", *columns), columns, end)
    ready = run.nodes.where("is_ready").numpy("node_id", "from_seconds", "to_seconds", *columns)
    there = _spans(ready, columns, end)
    first = run.sql("SELECT min(from_seconds) AS begin, max(node_id) + 1 AS num_nodes FROM nodes").numpy()
    num_nodes = int(np.ma.filled(first["num_nodes"], 0)[0])
    begin = float(np.nan_to_num(first["begin"], nan=end)[0])
    return LoadHistory(tuple(run.resources), num_nodes, begin, end, held, there)


def _spans(arrays: dict[str, NDArray[np.float64]], columns: tuple[str, ...], end: float) -> Spans:
    begin = np.minimum(arrays["from_seconds"], end)
    until = np.minimum(np.nan_to_num(arrays["to_seconds"], nan=end), end)
    amounts = np.empty((len(begin), len(columns)))
    for number, column in enumerate(columns):
        amounts[:, number] = arrays[column]
    return Spans(arrays["node_id"].astype(np.int32), begin, np.maximum(begin, until), amounts)
