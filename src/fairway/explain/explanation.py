"""All that is known about one pod of a trial.

In: a trial that has placed the pods before this one, or the profile of a running scheduler. Out: what the cycle says
about every node, the funnel, the fixes, and the verdict; as rows of nodes and as a document for programs. It looks at
the cluster first; then the pod is placed (`of_trial`), or only judged (`scheduler_answer`). Called by `why`; the words
for people are in `explanation_text`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Self

from fairway.cluster import Cluster
from fairway.cycle import Inspection, Profile
from fairway.cycle.funnel import Step, funnel_document, funnel_places, make_funnel, single_words
from fairway.explain.fixes import Fix, find_fixes, fix_document
from fairway.explain.trial import Trial, Verdict
from fairway.kinds.controllers import Wanted
from fairway.model import Pod
from fairway.tables import Column
from fairway.words import plugin_text

__all__ = ["COLUMNS", "Amount", "Explanation"]

COLUMNS: Final = (
    Column("node", "NODE"),
    Column("fits", "FITS"),
    Column("total", "TOTAL", right=True),
    Column("plugin", "REFUSED BY"),
    Column("reasons", "REASONS"),
    Column("scores", "SCORES", wide=True),
)


class Amount(NamedTuple):
    """Of one resource: what the pod needs, what a node has left, what it has in all."""

    resource: str
    needed: int
    free: int
    allocatable: int


class Explanation:
    """One pod at its moment."""

    def __init__(self, cluster: Cluster, num_nodes: int, pod: Pod, profile: Profile | None) -> None:
        """Look at the cluster as it is; the verdict and the fixes are for the caller to add."""
        self.pod = pod
        self.cluster = cluster
        self.num_nodes = num_nodes
        self.inspection = Inspection(pod, num_nodes)
        self.funnel: tuple[Step, ...] = ()
        self.places: dict[str, tuple[int, int]] = {}  # by node that was refused: at which step, in which group
        self.amounts: dict[str, list[Amount]] = {}  # by node
        self.details: dict[str, str] = {}  # by node that does not fit: what its plugin has to say about just that one
        self.words: dict[str, dict[str, tuple[str, ...]]] = {}  # what lies behind scores: plugin -> node -> lines
        self.fixes: list[Fix] = []
        self.is_search_cut = False  # there was no time to try everything
        self.verdict: Verdict
        if profile is not None:
            self._look(profile)

    @classmethod
    def of_trial(cls, trial: Trial, pod: Pod, wanted: Wanted) -> Self:
        """One pod of a trial, which is placed."""
        profile = trial.profile_of(pod)
        about = cls(trial.cluster, trial.manifests.num_nodes, pod, profile)
        about.verdict = trial.place(pod, wanted)
        if profile is not None and about.wants_fixes:
            about.fixes = find_fixes(trial, profile, pod, wanted, about.inspection)
        return about

    @property
    def wants_fixes(self) -> bool:
        """Does it fit nowhere, and nobody could make room?"""
        return self.verdict.result == "unschedulable" and not self.verdict.victims

    def _look(self, profile: Profile) -> None:
        self.inspection = profile.inspect(self.pod)
        self.words = profile.score_words(self.pod)
        pod_class = profile.classify(self.pod)
        self.funnel = make_funnel(profile, pod_class, self.inspection.diagnosis)
        self.places = funnel_places(profile, pod_class, self.inspection.diagnosis)
        self.details = single_words(profile, pod_class, self.inspection)
        table = self.cluster.nodes
        needs = {"pods": 1, **{name: amount for name, amount in pod_class.requests.items() if amount}}
        columns = [table.resource_column(name) for name in needs]
        for node, row in table.row_of.items():
            has, taken = table.allocatable[row, columns].tolist(), table.requested[row, columns].tolist()
            parts = zip(needs.items(), has, taken, strict=True)
            self.amounts[node] = [Amount(name, needed, all_ - used, all_) for (name, needed), all_, used in parts]

    @property
    def ranked(self) -> list[str]:
        """Nodes that fit and were scored, the chosen one first, then by total."""
        totals = self.inspection.totals
        return sorted(totals, key=lambda node: (node != self.verdict.node, -totals[node], node))

    def other_node(self) -> str | None:
        """A node worth asking about next: the runner-up, or one that was refused last."""
        if self.verdict.result == "scheduled":
            return next((node for node in self.ranked if node != self.verdict.node), None)
        rejected = self.inspection.rejected
        return rejected[-1][2][0] if rejected else None

    def node_rows(self) -> list[dict[str, Any]]:
        """Every node: scores or reasons; those that fit first, best first."""
        inspection = self.inspection
        place = {node: rank for rank, node in enumerate(self.ranked)}
        rows: list[dict[str, Any]] = [
            {
                "node": node,
                "fits": True,
                "total": inspection.totals.get(node),
                "plugin": None,
                "reasons": [],
                "scores": [f"{plugin_text(plugin)} {by_node[node]}" for plugin, by_node in inspection.scores.items()],
            }
            for node in sorted(inspection.feasible, key=lambda node: place.get(node, 0))
        ]
        refusals = {node: (plugin, refusal) for plugin, refusal, nodes in inspection.rejected for node in nodes}
        diagnosis = inspection.diagnosis
        for node in sorted(set(self.cluster.nodes.row_of) - set(inspection.feasible), key=str.encode):
            plugin, refusal = refusals.get(node) or (diagnosis and diagnosis.elsewhere) or ("", None)
            rows.append(
                {
                    "node": node,
                    "fits": False,
                    "total": None,
                    "plugin": plugin or " ".join(diagnosis.restricted_by if diagnosis else ()),
                    "reasons": list(refusal.reasons if refusal else ()),
                    "scores": [],
                }
            )
        return rows

    def _score_reasons(self, node: str) -> dict[str, Any]:
        """What plugins say about their scores of a node, where any of them has words for that."""
        words = {plugin: list(by_node[node]) for plugin, by_node in self.words.items() if node in by_node}
        return {"scoreReasons": words} if words else {}

    def document(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Everything, with these of the nodes' rows."""
        verdict, decision = self.verdict, self.verdict.decision
        preemption = decision.preemption if decision is not None else None
        scores = self.inspection.scores
        return {
            "pod": self.pod.key,
            "from": verdict.wanted.title,
            "priority": self.pod.priority,
            "result": verdict.result,
            "node": verdict.node or None,
            "via": decision.via if decision is not None and verdict.result == "scheduled" else None,
            "message": verdict.message or None,
            "remark": verdict.remark or None,
            "nodes": self.num_nodes,
            "feasible": len(self.inspection.feasible),
            "funnel": funnel_document(self.funnel),
            "fixes": [fix_document(fix) for fix in self.fixes],
            "evicts": [victim.key for victim in verdict.victims],
            "candidates": [
                {
                    "node": self.cluster.nodes.names[one.row],
                    "victims": [victim.key for victim in one.victims],
                    "pdbViolations": one.pdb_violations,
                }
                for one in (preemption.candidates if preemption is not None else ())
            ],
            "perNode": [
                {
                    **{key: row[key] for key in ("node", "fits", "total", "plugin", "reasons")},
                    "group": self.places.get(row["node"]),
                    "scores": {plugin: by[row["node"]] for plugin, by in scores.items() if row["fits"]},
                    **self._score_reasons(row["node"]),
                    "resources": [
                        {"name": one.resource, "needed": one.needed, "free": one.free, "allocatable": one.allocatable}
                        for one in self.amounts.get(row["node"], ())
                    ],
                }
                for row in rows
            ],
        }
