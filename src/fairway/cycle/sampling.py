"""Which of the feasible nodes are scored, and which of the best is taken.

In: the rows that fit. Out: the rows to score, and the choice among those with the highest total. `all` scores every
feasible node; `kube` stops as kube-scheduler does once enough were found, scanning a zone-interleaved list from where
the last scan ended; `two-choices` scores two feasible nodes drawn at random. Randomness comes from a seeded generator
only.
"""

from __future__ import annotations

import random  # noqa: TID251 - the type of the seeded generator that is passed in
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Cluster
from fairway.config.config_file import Sampling

if TYPE_CHECKING:
    from fairway.cycle.answers import Answers

TieBreak = Literal["first", "listed", "random"]
"""`first`: by name. `listed`: whoever joined the cluster first."""

MIN_FEASIBLE = 100
MIN_PERCENTAGE = 5
REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
"""The old labels come first in kube-scheduler (GetZoneKey in component-helpers/node/topology, 1.36)."""


def num_feasible_to_find(num_nodes: int, percentage: int) -> int:
    """How many feasible nodes are enough for kube-scheduler; `percentage` 0 means its adaptive rule."""
    if num_nodes < MIN_FEASIBLE or percentage >= 100:
        return num_nodes
    if percentage == 0:
        percentage = max(50 - num_nodes // 125, MIN_PERCENTAGE)
    return max(num_nodes * percentage // 100, MIN_FEASIBLE)


class Sampler:
    """Picks the nodes to score."""

    def __init__(
        self, cluster: Cluster, strategy: Sampling, percentage: int, generator: random.Random, scores: bool = True
    ) -> None:
        """`scores`: are there plugins that score? Without any, kube-scheduler takes the first node that fits."""
        self.strategy = strategy
        self._cluster = cluster
        self._percentage = percentage
        self._scores = scores
        self._random = generator
        self.start = 0  # where kube's next scan begins
        self._order: NDArray[np.intp] = np.empty(0, np.intp)  # (num_alive,)
        self._twice = self._order  # (2 × num_alive,): a scan from anywhere is one stretch of it
        self._order_version = -1

    @property
    def takes_all(self) -> bool:
        """Will every feasible node be scored, whatever happens?"""
        return self.strategy == "all" or (
            self.strategy == "kube"
            and self._scores
            and num_feasible_to_find(self._cluster.nodes.num_alive, self._percentage) >= self._cluster.nodes.num_alive
        )

    def first_enough(self, answers: Answers) -> NDArray[np.bool_] | None:
        """What `reduce` would leave of the answers' mask, if some rows tell; then only they are caught up."""
        if self.strategy != "kube":
            return None
        enough = num_feasible_to_find(self._cluster.nodes.num_alive, self._percentage) if self._scores else 1
        scanned = self._stretch(enough + enough // 4)
        answers.catch_up(scanned)
        return self._cut(answers.mask, scanned, enough)

    def reduce(
        self, mask: NDArray[np.bool_], num_looked_at: int, among: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """The feasible rows that are scored, of `num_looked_at` nodes that could be scanned (all, or these rows)."""
        if self.strategy == "all":
            return mask
        if self.strategy == "two-choices":
            return self._draw_two(mask)
        enough = num_feasible_to_find(num_looked_at, self._percentage) if self._scores else 1
        if among is not None:
            return self._reduce_among(mask, enough, among)
        for length in (2 * enough, len(mask)):  # as a rule the first stretch has enough
            chosen = self._cut(mask, self._stretch(length), enough)
            if chosen is not None:
                return chosen
        return mask  # all were scanned

    def _reduce_among(self, mask: NDArray[np.bool_], enough: int, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The same where only some rows are scanned: the list that the scan goes round is theirs."""
        order = self._scan_order()
        order = order[among[order]]
        self.start %= len(order)
        scanned = np.roll(order, -self.start)
        hits = mask.take(scanned).nonzero()[0]
        if len(hits) <= enough:
            return mask
        self.start = (self.start + int(hits[enough])) % len(order)
        chosen = np.zeros_like(mask)
        chosen[scanned.take(hits[:enough])] = True
        return chosen

    def _stretch(self, length: int) -> NDArray[np.intp]:
        """So many rows (but none twice) in the order of the scan, from where the last one ended."""
        order = self._scan_order()
        self.start %= len(order)
        return self._twice[self.start : self.start + min(length, len(order))]

    def _cut(self, mask: NDArray[np.bool_], scanned: NDArray[np.intp], enough: int) -> NDArray[np.bool_] | None:
        """The first feasible rows of a stretch, if there are more than enough; the next scan goes on after them."""
        hits = mask.take(scanned).nonzero()[0]
        if len(hits) <= enough:
            return None
        self.start = (self.start + int(hits[enough])) % len(self._order)
        chosen = np.zeros(self._cluster.nodes.num_rows, bool)
        chosen[scanned.take(hits[:enough])] = True
        return chosen

    def _draw_two(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        rows = np.flatnonzero(mask)
        if len(rows) <= 2:
            return mask
        chosen = np.zeros_like(mask)
        chosen[rows[self._random.sample(range(len(rows)), 2)]] = True
        return chosen

    def listed_rows(self) -> list[int]:
        """All nodes in the order in which kube-scheduler lists them."""
        return [int(row) for row in self._scan_order()]

    def _scan_order(self) -> NDArray[np.intp]:
        """Nodes one zone at a time in turn, as kube-scheduler's node tree lists them."""
        cluster = self._cluster
        if self._order_version != cluster.node_journal.end:
            zones: dict[str, list[int]] = {}
            for row in cluster.nodes.row_of.values():
                zones.setdefault(_zone(cluster, row), []).append(row)
            order: list[int] = []
            queues = [list(reversed(rows)) for rows in zones.values()]
            while queues:
                order.extend(rows.pop() for rows in queues)
                queues = [rows for rows in queues if rows]
            self._order = np.array(order, np.intp)
            self._twice = np.concatenate((self._order, self._order))
            self._order_version = cluster.node_journal.end
        return self._order


def _zone(cluster: Cluster, row: int) -> str:
    node = cluster.nodes.objects[row]
    labels = node.metadata.labels if node is not None else {}
    region = next((labels[key] for key in REGION_LABELS if key in labels), "")
    zone = next((labels[key] for key in ZONE_LABELS if key in labels), "")
    return f"{region}:\x00:{zone}" if region or zone else ""


class TieBreaker:
    """Chooses one row among equals."""

    def __init__(self, cluster: Cluster, rule: TieBreak, generator: random.Random) -> None:
        self._cluster = cluster
        self._rule = rule
        self._random = generator

    @property
    def is_by_name(self) -> bool:
        """Does the first by name win, rather than any?"""
        return self._rule == "first"

    def choose(self, rows: NDArray[np.intp]) -> int:
        """One of the rows, which ascend: the first by name, the first of all, or any."""
        if len(rows) == 1 or self._rule == "listed":
            return int(rows[0])
        if self._rule == "first":
            return int(rows[self._cluster.nodes.name_ranks()[rows].argmin()])
        return int(rows[self._random.randrange(len(rows))])
