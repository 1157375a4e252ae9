"""One plugin asked about one pod, as the cycle asks it, with every answer looked at twice.

In: a plugin and a pod. Out: its answers as plain values by node name; or an `AssertionError` that says what is wrong
with the shape of an answer, for which pod and node, and what to return instead. Called by the rules of `plugin_check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes, PodClass
from fairway.model import Pod
from fairway.plugin import MAX_SCORE, Code, Locality, Plugin, Refusal, Restriction, Skip, overrides

Row = NDArray[np.intp]


@dataclass(frozen=True)
class PluginAnswers:
    """What a plugin says about a pod: `stance` is what became of `pre_filter`; an empty mapping means it has no say."""

    stance: object  # "filters", "skips", a Refusal, or the frozenset of names it confines the pod to
    fits: dict[str, bool]
    scores: dict[str, int]  # raw


def class_of(plugin: Plugin, pod: Pod, apart: bool = False) -> PodClass:
    """The class of a pod as a profile with this plugin alone sees it."""
    plugin.cluster.read_annotations(plugin.annotations)
    extra = ((plugin.name, plugin.class_key(pod)),) if overrides(plugin, "class_key") else ()
    return plugin.cluster.classify(pod, apart=apart or plugin.per_pod, extra=extra)


class Interview:
    """Keeps what `pre_filter` and `pre_score` returned, as the cycle does."""

    def __init__(self, plugin: Plugin, pod: Pod, pod_class: PodClass | None = None) -> None:
        self.plugin = plugin
        self.cluster = plugin.cluster
        self.pod = pod
        self.pod_class = pod_class or class_of(plugin, pod)
        self.stance: object = "filters"
        self.state: Any = None
        self.scoring: Any = None
        self.prepare()

    # -- saying what is wrong ----------------------------------------------------------------------------------------

    def wrong(self, method: str, problem: str, advice: str, node: str = "") -> AssertionError:
        """The plugin does not keep its word."""
        about = f"pod {self.pod.key}" + (f" and node {node}" if node else "")
        return AssertionError(f"{self.plugin.name}.{method} {problem} (for {about}). {advice}")

    def call(self, method: str, *arguments: Any) -> Any:
        """Ask the plugin; whatever it raises is told."""
        try:
            return getattr(self.plugin, method)(*arguments)
        except Exception as error:
            advice = "It is asked about every pod and every row; rows of deleted nodes read as an empty node."
            raise self.wrong(method, f"raised {type(error).__name__}: {error}", advice) from error

    def listed(self, method: str, *arguments: Any) -> list[Any]:
        """Ask for a list, or something that gives its items one by one."""
        try:
            return list(getattr(self.plugin, method)(*arguments))
        except Exception as error:
            advice = "It is asked about any pod that was refused; give nothing where there is nothing to say."
            raise self.wrong(method, f"raised {type(error).__name__}: {error}", advice) from error

    # -- filtering ---------------------------------------------------------------------------------------------------

    @property
    def live_rows(self) -> Row:
        """Rows with a node, in the order of the names."""
        row_of = self.cluster.nodes.row_of
        return np.array([row_of[name] for name in sorted(row_of)], np.intp)

    @property
    def filters(self) -> bool:
        """Would the cycle ask `filter`?"""
        return overrides(self.plugin, "filter") and not isinstance(self.stance, Refusal) and self.stance != "skips"

    def prepare(self) -> None:
        """Ask `pre_filter`, and `pre_score` of a plugin that judges each node by itself."""
        found = self.call("pre_filter", self.pod_class, Nodes(self.cluster))
        self.stance, self.state = "filters", found
        if isinstance(found, Skip):
            self.stance = "skips"
        elif isinstance(found, Refusal):
            self.stance = self._checked_refusal("pre_filter", found)
        elif isinstance(found, Restriction):
            self.stance, self.state = found.names, found.state
            if not isinstance(found.names, frozenset):
                kind = type(found.names).__name__
                raise self.wrong(
                    "pre_filter", f"restricts the pod to a {kind}", "Return Restriction(frozenset(names))."
                )
        if self.plugin.locality is Locality.NODE:
            self.scoring = self.call("pre_score", self.pod_class, Nodes(self.cluster))

    def mask(self, rows: Row | None = None) -> NDArray[np.bool_]:
        """Ask `filter` about these rows, or about all."""
        nodes = Nodes(self.cluster, rows)
        mask = self.call("filter", self.pod_class, nodes, self.state)
        self._check_array("filter", mask, len(nodes))
        if mask.dtype != np.bool_:
            advice = "Return booleans: True where the pod may run."
            raise self.wrong("filter", f"returned an array of {mask.dtype}", advice)
        return np.array(mask)

    def refusals(self, rows: Row) -> list[Refusal]:
        """Ask `explain` about rows that were refused."""
        found = self.call("explain", self.pod_class, Nodes(self.cluster, rows), self.state)
        if isinstance(found, Refusal):
            return [self._checked_refusal("explain", found)] * len(rows)
        names = Nodes(self.cluster, rows).names
        if not isinstance(found, Sequence) or isinstance(found, str):
            advice = "Return a Refusal, or a sequence with one for each node."
            raise self.wrong("explain", f"returned a {type(found).__name__}", advice, names[0])
        if len(found) != len(rows):
            advice = "Return one Refusal for all of them, or exactly one each."
            raise self.wrong("explain", f"returned {len(found)} refusals for {len(rows)} nodes", advice)
        return [self._checked_refusal("explain", refusal, name) for refusal, name in zip(found, names, strict=True)]

    def _checked_refusal(self, method: str, refusal: Any, node: str = "") -> Refusal:
        advice = 'Give the reasons in words, as a tuple: Refusal(("node(s) had no green power",)).'
        if not isinstance(refusal, Refusal):
            raise self.wrong(method, f"returned a {type(refusal).__name__} where a Refusal belongs", advice, node)
        if not isinstance(refusal.reasons, tuple) or not all(isinstance(reason, str) for reason in refusal.reasons):
            raise self.wrong(
                method, f"gave the reasons {refusal.reasons!r}, which are not a tuple of words", advice, node
            )
        if not refusal.reasons or not all(reason.strip() for reason in refusal.reasons):
            raise self.wrong(method, "refused without a reason", advice, node)
        if not isinstance(refusal.code, Code):
            raise self.wrong(method, f"gave the code {refusal.code!r}", "Use one of fairway.plugin.Code.", node)
        return refusal

    # -- scoring -----------------------------------------------------------------------------------------------------

    @property
    def scores(self) -> bool:
        """Would the cycle ask `score`?"""
        return overrides(self.plugin, "score")

    def raw(self, rows: Row | None = None) -> NDArray[np.int64] | None:
        """Ask `score` about these rows, or about all; None where `pre_score` skips."""
        nodes = Nodes(self.cluster, rows)
        if self.plugin.locality is Locality.CLUSTER:
            self.scoring = self.call("pre_score", self.pod_class, nodes)
        if isinstance(self.scoring, Skip):
            return None
        scores = self.call("score", self.pod_class, nodes, self.scoring)
        self._check_array("score", scores, len(nodes))
        if scores.dtype.kind not in "iu":
            advice = "Return integers; round them as you see fit, then .astype(np.int64)."
            raise self.wrong("score", f"returned an array of {scores.dtype}", advice)
        return np.asarray(scores, np.int64)

    def final(self, rows: Row) -> NDArray[np.int64] | None:
        """The scores of these rows, were they the feasible ones, after normalising."""
        raw = self.raw(rows)
        how = self.plugin.normalize
        if raw is None or not len(raw) or how == "none":
            return raw
        if how == "own":
            nodes = Nodes(self.cluster, rows)
            scores = self.call("normalize_scores", self.pod_class, nodes, self.scoring, raw.copy())
            self._check_array("normalize_scores", scores, len(rows))
            if scores.dtype.kind not in "iu":
                advice = "Return integers, one for each of the nodes."
                raise self.wrong("normalize_scores", f"returned an array of {scores.dtype}", advice)
            return np.asarray(scores, np.int64)
        if int(raw.min()) < 0:
            advice = (
                "The normalisations of kube-scheduler need scores from 0 up; shift them, or normalise your own way."
            )
            raise self.wrong("score", f"returned {int(raw.min())} to be normalised", advice)
        highest = max(int(raw.max()), 1)
        shares = MAX_SCORE * raw // highest
        return MAX_SCORE - shares if how == "reverse" else shares

    def _check_array(self, method: str, found: Any, length: int) -> None:
        advice = "Return a NumPy array with one entry for each of `nodes`, in their order."
        if not isinstance(found, np.ndarray):
            raise self.wrong(method, f"returned a {type(found).__name__}", advice)
        if found.shape != (length,):
            raise self.wrong(method, f"returned the shape {found.shape} for {length} nodes", advice)

    # -- all of it ---------------------------------------------------------------------------------------------------

    def answers(self) -> PluginAnswers:
        """Everything about every node, by name."""
        rows = self.live_rows
        names = Nodes(self.cluster, rows).names
        fits = dict(zip(names, self.mask()[rows].tolist(), strict=True)) if self.filters else {}
        raw = self.raw(rows) if self.scores else None
        scores = {} if raw is None else dict(zip(names, raw.tolist(), strict=True))
        return PluginAnswers(self.stance, fits, scores)
