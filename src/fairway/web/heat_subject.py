"""What the rows of a heat map are, and what was held and there of each: the nodes of a run, or its GPU devices.

In: an open run. Out: numbered things with their names and labels, the times at which something was held on each, and
amounts by resource. Nodes count while they are ready, as in `record.load`; `pods` is a resource, too. `heat_map` asks,
and keeps what it is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.record import RecordError, Run
from fairway.record.errors import quoted

__all__ = ["PODS", "HeatSubject", "HeldTimes", "NodeSubject", "ThingAmounts"]

PODS: Final = "pods"
Floats = NDArray[np.float64]


class HeldTimes(NamedTuple):
    """When something was held on what, by which pod."""

    thing: NDArray[np.int32]  # (num_held,)
    begin: Floats  # (num_held,)
    end: Floats  # (num_held,) never before begin
    pod: NDArray[np.int32]  # (num_held,)


class ThingAmounts(NamedTuple):
    """What there was of one resource."""

    thing: NDArray[np.int32]  # (num_spans,)
    begin: Floats  # (num_spans,)
    end: Floats  # (num_spans,)
    amount: Floats  # (num_spans,)


class HeatSubject(Protocol):
    """Things that are the rows of a heat map."""

    @property
    def resources(self) -> Sequence[str]:
        """What can be held on them."""

    @property
    def names(self) -> Sequence[str]:
        """By number; a name may come twice."""

    @property
    def labels(self) -> Sequence[Mapping[str, str]]:
        """By number: the last ones."""

    def held_times(self) -> HeldTimes:
        """When something was held; the same rows, each time, as `held_amounts`."""

    def held_amounts(self, resource: str) -> Floats:
        """How much of it."""

    def there(self, resource: str) -> ThingAmounts:
        """And how much there was."""


class _Metadata(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Metadata


LABELLED: Final = msgspec.json.Decoder(_Labelled)


class NodeSubject:
    """Nodes; one that is deleted and made again is another one."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.resources: Sequence[str] = (*run.resources, PODS)

    @cached_property
    def names(self) -> list[str]:
        """By node_id; a number that no node has is an empty name."""
        rows = self._run.sql("SELECT node_id, any_value(node) AS node FROM nodes GROUP BY node_id").numpy()
        names = [""] * (int(rows["node_id"].max(initial=-1)) + 1)
        for number, name in zip(rows["node_id"].tolist(), rows["node"].tolist(), strict=True):
            names[number] = name
        return names

    @cached_property
    def labels(self) -> list[dict[str, str]]:
        """Those of each node's last state."""
        labels: list[dict[str, str]] = [{} for _ in self.names]
        last = "SELECT node_id, arg_max(manifest, (from_seconds, rowid)) AS manifest FROM nodes GROUP BY node_id"
        try:
            for row in self._run.sql(last).rows():
                labels[row["node_id"]] = LABELLED.decode(row["manifest"]).metadata.labels
        except msgspec.MsgspecError as error:
            text = f"{self._run.path} is no run that Fairway wrote: the manifest of a node is {quoted(error)}"
            raise RecordError(text) from error
        return labels

    def held_times(self) -> HeldTimes:
        """The intervals, in the order in which the file has them."""
        end = self._run.end_seconds
        rows = self._run.sql("SELECT node_id, from_seconds, to_seconds, pod_id FROM occupancy").numpy()
        begin = np.minimum(rows["from_seconds"], end)
        until = np.minimum(np.nan_to_num(rows["to_seconds"], nan=end), end)
        return HeldTimes(
            rows["node_id"].astype(np.int32, copy=False),
            begin,
            np.maximum(begin, until),
            rows["pod_id"].astype(np.int32, copy=False),
        )

    def held_amounts(self, resource: str) -> Floats:
        """A column of the same rows."""
        what = "1" if resource == PODS else f'coalesce("{self._run.resources[resource]}", 0)'
        held: Floats = self._run.sql(f"SELECT {what}::DOUBLE AS amount FROM occupancy").numpy()["amount"]
        return held

    def there(self, resource: str) -> ThingAmounts:
        """What is allocatable while the node is ready."""
        end = self._run.end_seconds
        what = "pods" if resource == PODS else f'coalesce("{self._run.resources[resource]}", 0)'
        rows = self._run.sql(
            f"SELECT node_id, from_seconds, to_seconds, {what}::DOUBLE AS amount FROM nodes WHERE is_ready"
        ).numpy()
        begin = np.minimum(rows["from_seconds"], end)
        until = np.minimum(np.nan_to_num(rows["to_seconds"], nan=end), end)
        node = rows["node_id"].astype(np.int32, copy=False)
        return ThingAmounts(node, begin, np.maximum(begin, until), rows["amount"])
