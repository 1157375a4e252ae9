"""Cached answers: what the plugins said about one pod class, kept current row by row.

In: a profile's plugins and a class. Out: after `refresh()`, the mask of rows that pass every node-local filter and
the sum of node-local scores, brought up to date by asking only about rows in the cluster's journals. Plugins that
look further than a node are listed for the cycle to ask each time. A `Profile` makes them, `answer_cache` keeps them
within bounds, and all steps of the cycle read them.

A plugin is asked again about a row when something it `reads` changed there: node-local plugins that do not read pods
are asked when the node changes, the others also when a pod comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import WITH_ROWS, Aspect, Cluster, Nodes, PodClass
from fairway.cycle.answer_parts import NamedNodes, Part, judge_pre_filters
from fairway.model.group import GroupKey
from fairway.plugin import MAX_SCORE, PASSES, Locality, Refusal, Restriction, Skip, overrides

if TYPE_CHECKING:
    from fairway.cycle.decision import Preemption
    from fairway.cycle.diagnosis import Diagnosis
    from fairway.cycle.profile import Profile

VERDICTS = (Skip, Refusal, Restriction)
"""What a pre-filter returns instead of a state, changing who takes part or where."""

FEW_CHANGES = 24
"""Up to so many, the rows are read from the journal, and asking about one twice costs less than finding that out; more
are told apart first, or found by comparing all rows' positions in it."""

UNFIT = int(np.iinfo(np.int64).min)
"""In `ranked`: the row does not fit. Less than any total, and weights below zero make totals below zero."""

UNFIT_ARRAY = np.array(UNFIT, np.int64)  # ()
"""Arrays are spared the conversion that a plain number costs each time, and those without dimensions need no stretching
to the length of the others: on a few rows that halves what an operation takes."""


class Circumstances(NamedTuple):
    """Everything that a failure depends on besides the class."""

    ends: tuple[int, ...]  # of the journals, and versions
    makes_room: bool
    group: GroupKey | None  # where it is its group's affair whether it may make room


class LastFailure(NamedTuple):
    """What a pod of the class that fitted nowhere was told, and when: everything that it depended on."""

    circumstances: Circumstances
    diagnosis: Diagnosis
    preemption: Preemption | None
    unschedulable_plugins: frozenset[str]
    among: (
        NDArray[np.bool_] | None
    )  # (num_rows,): the only rows that were looked at: the very array, which nobody writes


class Answers:
    """Everything remembered about one class under one profile."""

    def __init__(self, profile: Profile, pod_class: PodClass) -> None:
        self.profile = profile
        self.cluster: Cluster = profile.cluster
        self.pod_class = pod_class
        self.parts = {plugin: Part(plugin, profile.weights.get(plugin.name, 1)) for plugin in profile.plugins}
        self._reads = 0  # the aspects that any of them reads
        for plugin in profile.plugins:
            self._reads |= int(plugin.reads)
        self.pre_filters = [self.parts[plugin] for plugin in profile.pre_filters]
        self.mask: NDArray[np.bool_] = np.empty(0, bool)  # (capacity,) passes every node-local filter
        self.base: NDArray[np.int64] = np.empty(0, np.int64)  # (capacity,) node-local scores that need no normalising
        self.ranked: NDArray[np.int64] = np.empty(0, np.int64)  # (capacity,) base where mask, else UNFIT; if not lazy
        self._static_mask = self.mask
        self._static_base = self.base
        self._has_static_base = False  # is any of it other than 0?
        self._is_lazy = profile.sampler.strategy == "kube"  # is it only asked about some rows at times?
        self._is_alone = False  # is there one row, so that nothing is to be compared?
        self._asked = self.base  # (capacity,) where the journal of pods stood when a row was last asked about
        self._versions: tuple[int, ...] | None = None
        self._node_position = self._pod_position = -1
        self.filters: list[Part] = []  # active ones, in the profile's order
        self.moving_filters: list[Part] = []  # those whose verdict changes as pods come and go
        self.hooked: list[Part] = []  # those that must be told of imagined pods
        self.fallible: list[Part] = []  # those that may fail on some node instead of judging it
        self.varying: list[Part] = []  # normalised ones that do tell nodes apart
        self.wide_filters: list[Part] = []
        self.scores: list[Part] = []
        self.wide_scores: list[Part] = []
        self.normalized: list[Part] = []  # node-local, to be normalised over the feasible nodes
        self.score_problem = ""  # why nodes can not be told apart; matters only if there are several
        self.constant = 0  # what normalised plugins with nothing to tell apart add to every node
        self._wide_pre_filters = [
            part
            for part in self.pre_filters
            if part.plugin.locality is Locality.CLUSTER and part.plugin.reads & WITH_ROWS
        ]
        self.pre_filter_refusal: tuple[str, Refusal] | None = None
        self.restriction: NamedNodes | None = None
        self.last_failure: LastFailure | None = None  # see pod_cycle.refuse
        self.stopped_at: int | None = None  # index into pre_filters: the ones after it were never asked

    def part_of(self, name: str) -> Part | None:
        """The part of the filter of that name, if it takes any."""
        return next((part for part in self.filters if part.plugin.name == name), None)

    # -- bringing up to date ---------------------------------------------------------------------------------------

    def refresh(self, lazily: bool = False) -> None:
        """Look at what changed since the last time; lazily: but not at pods, for which see `catch_up`."""
        cluster = self.cluster
        now = cluster.versions.now
        if self._versions is None:
            self._rebuild(now)
            return
        if now != self._versions and self._pre_filter_again(now):
            self._rebuild(now)
            return
        node_end, pod_end = cluster.node_journal.end, cluster.pod_journal.end
        if node_end == self._node_position and pod_end == self._pod_position:
            return
        if self._wide_pre_filters and self._ask_wide_pre_filters():
            self._rebuild(now)  # a plugin joined or left the filters
            return
        if node_end != self._node_position:
            rows = cluster.node_journal.since(self._node_position)
            is_other = len(self.mask) != cluster.nodes.capacity or self._is_alone
            if rows is None or is_other or self._has_wide_static_scores:
                self._rebuild(now)
                return
            self._update_static(rows)
            self._update_dynamic(rows)
            self._node_position = node_end
            self._summarise()
        if not lazily:
            self.catch_up()

    def catch_up(self, among: NDArray[np.intp] | None = None) -> None:
        """Look at the pods that came and went on these rows (distinct; None: on all)."""
        journal = self.cluster.pod_journal
        if self._pod_position == journal.end:
            return
        rows: NDArray[np.intp] | None = None
        if among is not None:
            rows = among.take((journal.latest.take(among) > self._asked.take(among)).nonzero()[0])
        elif journal.end - self._pod_position <= FEW_CHANGES:
            rows = journal.entries_since(self._pod_position)
        elif not self._is_lazy:
            rows = journal.since(self._pod_position)
        if rows is None:
            num_rows = self.cluster.nodes.num_rows
            asked = self._asked[:num_rows] if self._is_lazy else self._pod_position
            rows = (journal.latest[:num_rows] > asked).nonzero()[0]
        if len(rows):
            self._update_dynamic(rows)
            if self._is_lazy:
                self._asked[rows] = journal.end
        if among is None:
            self._pod_position = journal.end

    def _rebuild(self, versions: tuple[int, ...]) -> None:
        cluster = self.cluster
        capacity = cluster.nodes.capacity
        self._versions = versions
        self._is_alone = cluster.nodes.num_rows == 1
        self._node_position, self._pod_position = cluster.node_journal.end, cluster.pod_journal.end
        view = Nodes(cluster)
        for part in self.pre_filters:
            part.pre_filtered = part.plugin.pre_filter(self.pod_class, view)
        self._judge_pre_filters()
        self._choose_parts(view)
        self._asked = np.full(capacity, self._pod_position, np.int64)
        self.mask = np.zeros(capacity, bool)
        self.base = np.zeros(capacity, np.int64)
        self.ranked = np.full(capacity, UNFIT, np.int64)
        self._static_mask, self._static_base = self.mask.copy(), self.base.copy()
        self._has_static_base = False
        for part in self.normalized:
            part.raw = np.zeros(capacity, np.int64)
        rows = slice(0, cluster.nodes.num_rows)
        self._update_static(rows)
        self._update_dynamic(rows)
        self._summarise()

    def _choose_parts(self, view: Nodes) -> None:
        profile = self.profile
        self.filters = [
            part
            for plugin in profile.filters
            if not isinstance((part := self.parts[plugin]).pre_filtered, (Skip, Refusal))
        ]
        local = [part for part in self.filters if part.plugin.locality is Locality.NODE]
        self.wide_filters = [part for part in self.filters if part.plugin.locality is Locality.CLUSTER]
        self._static_filters = [part for part in local if not part.plugin.reads & Aspect.PODS]
        self._dynamic_filters = [part for part in local if part.plugin.reads & Aspect.PODS]
        self.moving_filters = [*self._dynamic_filters, *self.wide_filters]
        self.hooked = [part for part in self.filters if overrides(part.plugin, "add_pod")]
        self.fallible = [part for part in self.filters if overrides(part.plugin, "may_fail")]
        self.scores, self.wide_scores, self.normalized = [], [], []
        self._static_scores: list[Part] = []
        self._dynamic_scores: list[Part] = []
        self._has_wide_static_scores = False
        problems: list[str] = []
        for plugin in profile.scores:
            part = self.parts[plugin]
            reads_pods = bool(plugin.reads & Aspect.PODS)
            if plugin.locality is Locality.CLUSTER and reads_pods:
                self.wide_scores.append(part)
                continue
            part.pre_scored = plugin.pre_score(self.pod_class, view)
            if isinstance(part.pre_scored, Refusal) and plugin not in profile.pre_scores:
                words = ", ".join(part.pre_scored.reasons)
                problems.append(f'running Score plugins: plugin "{plugin.name}" failed with: {words}')
            if isinstance(part.pre_scored, (Skip, Refusal)):
                continue
            self.scores.append(part)
            if plugin.locality is Locality.CLUSTER:
                self._has_wide_static_scores = True
            if plugin.normalize != "none":
                self.normalized.append(part)
            (self._dynamic_scores if reads_pods else self._static_scores).append(part)
        self.score_problem = next(iter([*self._pre_score_problems(view), *problems]), "")

    def _pre_score_problems(self, view: Nodes) -> Iterator[str]:
        """Who can not prepare to score, in order; those that only prepare, and never score, are asked here."""
        for plugin in self.profile.pre_scores:
            part = self.parts[plugin]
            if plugin not in self.profile.scores and plugin.locality is Locality.NODE:
                part.pre_scored = plugin.pre_score(self.pod_class, view)
            if isinstance(part.pre_scored, Refusal):
                yield f'running PreScore plugin "{plugin.name}": {", ".join(part.pre_scored.reasons)}'

    def _update_static(self, rows: NDArray[np.intp] | slice) -> None:
        nodes = Nodes(self.cluster, rows)
        mask = self.cluster.nodes.alive[rows].copy()
        for part in self._static_filters:
            mask &= part.plugin.filter(self.pod_class, nodes, part.state)
        self._static_mask[rows] = mask
        base = self._sum_scores(self._static_scores, nodes, rows)
        self._static_base[rows] = 0 if base is None else base
        if base is not None and not self._has_static_base:
            self._has_static_base = bool(base.any())

    def _update_dynamic(self, rows: NDArray[np.intp] | slice) -> None:
        nodes = Nodes(self.cluster, rows)
        mask = self._static_mask[rows] if isinstance(rows, slice) else self._static_mask.take(rows)
        for part in self._dynamic_filters:
            passing = part.plugin.filter(self.pod_class, nodes, part.state)
            if passing is not PASSES:  # by far the most frequent answer of who refuses hardly ever
                mask = mask & passing
        base = self._sum_scores(self._dynamic_scores, nodes, rows)
        if self._has_static_base or base is None:
            static = nodes.of(self._static_base)
            base = static if base is None else base + static
        self.mask[rows] = mask
        self.base[rows] = base
        if not self._is_lazy:
            self.ranked[rows] = np.where(mask, base, UNFIT_ARRAY)

    def _sum_scores(self, parts: list[Part], nodes: Nodes, rows: NDArray[np.intp] | slice) -> NDArray[np.int64] | None:
        """The weighted sum of the scores that need no normalising, None if there are none; the others are kept.

        Nobody asks for that sum where there is one row; as in kube-scheduler, which does not score a node alone.
        """
        total: NDArray[np.int64] | None = None
        for part in parts:
            if self._is_alone and part.plugin.normalize == "none":
                continue
            scores = part.plugin.score(self.pod_class, nodes, part.pre_scored)
            if part.plugin.normalize == "none":
                weighted = scores if part.weight == 1 else scores * part.weight_array
                total = weighted if total is None else total + weighted
            else:
                assert part.raw is not None
                part.raw[rows] = scores
                part.scaled = None
        return total

    def _summarise(self) -> None:
        """Normalised plugins that gave every row 0 tell no nodes apart: what they add is a constant."""
        rows = slice(0, self.cluster.nodes.num_rows)
        self.constant = 0
        self.varying = []
        for part in self.normalized:
            if part.plugin.normalize == "own" or part in self._dynamic_scores or part.raw[rows].any():  # type: ignore[index]
                self.varying.append(part)
            elif part.plugin.normalize == "reverse":
                self.constant += MAX_SCORE * part.weight

    def ranking(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The node-local scores where `mask`, else UNFIT."""
        if mask is self.mask and not self._is_lazy:
            return self.ranked
        return np.where(mask, self.base[: len(mask)], UNFIT_ARRAY)

    def passes_static(self, rows: Any) -> Any:
        """Do these rows pass the filters that do not depend on pods?"""
        return self._static_mask[rows]

    def passes_now(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Do these rows pass all filters with the tables and states as they are, cached or not?"""
        nodes = Nodes(self.cluster, rows)
        mask = nodes.of(self._static_mask)
        for part in self.moving_filters:
            mask = mask & part.plugin.filter(self.pod_class, nodes, part.state)
        return mask

    # -- pre-filters -----------------------------------------------------------------------------------------------

    def _pre_filter_again(self, now: tuple[int, ...]) -> bool:
        """Objects without rows changed: ask the plugins that read them. True if any has something to say."""
        before, self._versions = self._versions, now
        assert before is not None
        if not self.cluster.versions.has_changed(before, self._reads):
            return False
        changed = self.cluster.versions.changed_since(before)
        for plugin in self.profile.plugins:
            part = self.parts[plugin]
            if not plugin.reads & changed:
                continue
            if part in self.pre_filters:
                was = part.pre_filtered
                part.pre_filtered = plugin.pre_filter(self.pod_class, Nodes(self.cluster))
                if isinstance(was, Skip) and isinstance(part.pre_filtered, Skip):
                    continue
            if part in self.filters or part in self.scores or part in self.pre_filters:
                return True
        return False

    def _ask_wide_pre_filters(self) -> bool:
        """Some row changed: ask the plugins that look at more than one. True if the list of filters changed."""
        view = Nodes(self.cluster)
        changed = False
        for part in self._wide_pre_filters:
            before = part.pre_filtered
            part.pre_filtered = now = part.plugin.pre_filter(self.pod_class, view)
            if now is not before and (isinstance(before, VERDICTS) or isinstance(now, VERDICTS)):
                changed = True
        return changed

    def _judge_pre_filters(self) -> None:
        self.pre_filter_refusal, self.restriction, self.stopped_at = judge_pre_filters(self.pre_filters)
