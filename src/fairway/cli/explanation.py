"""All that can be said about one pod of a trial.

In: a trial that has placed the pods before this one. Out: lines for people, rows for every node, a document for
programs. It looks at the cluster first (scores, refusals, fixes) and then places the pod. Called by `why`.
"""

from __future__ import annotations

from typing import Any, Final

from fairway.cli.amounts import amount_text, nodes_text, plugin_text
from fairway.cli.controllers import Wanted
from fairway.cli.fixes import Fix, find_fixes, fix_document, fix_line
from fairway.cli.funnel import Step, funnel_document, funnel_lines, make_funnel
from fairway.cli.output import Column, plain_table
from fairway.cli.trial import Trial
from fairway.cycle import Inspection, Profile
from fairway.model import Pod

__all__ = ["COLUMNS", "Explanation"]

COLUMNS: Final = (
    Column("node", "NODE"),
    Column("fits", "FITS"),
    Column("total", "TOTAL", right=True),
    Column("plugin", "REFUSED BY"),
    Column("reasons", "REASONS"),
    Column("scores", "SCORES", wide=True),
)
SHOWN_NODES = 5
SHOWN_CANDIDATES = 5


class Explanation:
    """One pod at its moment."""

    def __init__(self, trial: Trial, pod: Pod, wanted: Wanted) -> None:
        self.pod = pod
        self.cluster = trial.cluster
        self.num_nodes = trial.manifests.num_nodes
        self.profile = trial.profile_of(pod)
        self.inspection = Inspection(pod, self.num_nodes)
        self.funnel: tuple[Step, ...] = ()
        self.requests: dict[str, int] = {}
        self.free: dict[str, dict[str, tuple[int, int]]] = {}
        if self.profile is not None:
            self._look(self.profile)
        self.verdict = trial.place(pod, wanted)
        self.fixes: list[Fix] = []
        if self.profile is not None and self.verdict.result == "unschedulable" and not self.verdict.victims:
            self.fixes = find_fixes(self.profile, pod, self.inspection)

    def _look(self, profile: Profile) -> None:
        self.inspection = profile.inspect(self.pod)
        pod_class = profile.classify(self.pod)
        self.requests = {"pods": 1, **pod_class.requests}
        self.funnel = make_funnel(profile, pod_class, self.inspection.diagnosis)
        table = self.cluster.nodes
        columns = {name: table.resource_column(name) for name in self.requests}
        self.free = {
            node: {
                name: (int(table.allocatable[row, column] - table.requested[row, column]), int(table.allocatable[row, column]))
                for name, column in columns.items()
            }
            for node, row in table.row_of.items()
        }

    # -- for people --------------------------------------------------------------------------------------------------

    def lines(self, all_nodes: bool) -> list[str]:
        """The answer."""
        lines = [self._headline()]
        if self.verdict.result == "ignored":
            return lines
        if self.verdict.message and self.verdict.result != "gated":
            lines.append(f"kube-scheduler says: {self.verdict.message}")
        if self.funnel or self.inspection.feasible:
            lines += ["", *funnel_lines(self.funnel, self.num_nodes)]
        if self.verdict.result == "scheduled" and self.inspection.scores and len(self.inspection.feasible) > 1:
            lines += ["", *self._score_lines(all_nodes)]
        if self.verdict.result == "preempted":
            lines += ["", *self._candidate_lines(all_nodes)]
        if self.verdict.result == "unschedulable":
            lines += ["", *self._fix_lines()]
        return lines

    def _headline(self) -> str:
        verdict, decision = self.verdict, self.verdict.decision
        name, fits = self.pod.key, len(self.inspection.feasible)
        match verdict.result:
            case "scheduled" if decision is not None:
                return f"{name} goes to {verdict.node} · {self._choice()}" + (f" · {verdict.remark}" if verdict.remark else "")
            case "preempted":
                victims = ", ".join(victim.key for victim in verdict.victims)
                return f"{name} fits on none of {nodes_text(self.num_nodes)} now · goes to {verdict.node} after evicting {victims}"
            case "gated":
                where = f"{nodes_text(fits)} would fit now" if fits else "no node would fit now"
                return f"{name} is held back · {verdict.message} · without that, {where}"
            case "error":
                return f"{name} could not be judged"
            case "ignored":
                return f"{name} is not scheduled here: {verdict.message}"
        return f"{name} fits on none of {nodes_text(self.num_nodes)}" + (f" · {verdict.remark}" if verdict.remark else "")

    def _choice(self) -> str:
        decision = self.verdict.decision
        assert decision is not None
        if decision.via == "nominated":
            return "it was nominated to that node, which fits"
        if decision.via == "single":
            return "the only node that fits"
        text = f"best of {nodes_text(decision.num_feasible)} that fit"
        if decision.score is not None:
            text += f", score {decision.score}"
        if decision.num_best > 1:
            text += f" like {decision.num_best - 1} other{'s' if decision.num_best > 2 else ''} (the seed decides)"
        if decision.num_feasible < len(self.inspection.feasible):
            text += f"; {nodes_text(len(self.inspection.feasible))} fit in all, not every one was looked at"
        return text

    def _ranked(self) -> list[str]:
        """Feasible nodes, the chosen one first, then by total."""
        totals = self.inspection.totals
        return sorted(totals, key=lambda node: (node != self.verdict.node, -totals[node], node))

    def _score_lines(self, all_nodes: bool) -> list[str]:
        """Who scored what, where plugins tell nodes apart; the rest in one line."""
        scores, totals = self.inspection.scores, self.inspection.totals
        telling = [plugin for plugin, by_node in scores.items() if len(set(by_node.values())) > 1]
        ranked = self._ranked()
        shown = ranked if all_nodes else ranked[:SHOWN_NODES]
        columns = [Column("node", "NODE"), Column("total", "TOTAL", right=True)]
        columns += [Column(plugin, plugin_text(plugin), right=True) for plugin in telling]
        rows = [
            {"node": node, "total": totals[node]} | {plugin: scores[plugin][node] for plugin in telling}
            for node in shown
        ]
        lines = [f"  {line}" for line in plain_table(rows, columns).splitlines()]
        if len(shown) < len(ranked):
            lines.append(f"  and {nodes_text(len(ranked) - len(shown))} more with lower or equal totals (--all-nodes)")
        alike = [f"{plugin_text(plugin)} {next(iter(scores[plugin].values()))}" for plugin in scores if plugin not in telling]
        if alike:
            lines.append(f"  the same on all: {', '.join(alike)}")
        return lines

    def _candidate_lines(self, all_nodes: bool) -> list[str]:
        decision = self.verdict.decision
        assert decision is not None
        assert decision.preemption is not None
        names = self.cluster.nodes.names
        candidates = decision.preemption.candidates
        shown = candidates if all_nodes else candidates[:SHOWN_CANDIDATES]
        lines = [f"  {nodes_text(len(candidates))} could be cleared:"]
        for one in shown:
            broken = f", breaking {one.pdb_violations} disruption budgets" if one.pdb_violations else ""
            mark = "→" if names[one.row] == self.verdict.node else " "
            lines.append(f"  {mark} {names[one.row]}: {', '.join(victim.key for victim in one.victims)}{broken}")
        if len(shown) < len(candidates):
            lines.append(f"    and {len(candidates) - len(shown)} more (--all-nodes)")
        return lines

    def _fix_lines(self) -> list[str]:
        if not self.fixes:
            return ["  fix  none found: no one or two of its demands, relaxed, would let it fit now"]
        first, *others = map(fix_line, self.fixes)
        return [f"  fix  {first}", *(f"       {line}" for line in others)]

    def node_lines(self, node: str) -> list[str]:
        """About one node."""
        row = next(row for row in self.node_rows() if row["node"] == node)
        if not row["fits"]:
            lines = [f"{self.pod.key} does not fit on {node} · {row['plugin']}: {', '.join(row['reasons'])}"]
        else:
            chosen = " · it goes there" if node == self.verdict.node else ""
            lines = [f"{self.pod.key} fits on {node}{chosen}"]
            if row["scores"]:
                lines += ["", *self._comparison(node)]
        amounts = [
            {
                "resource": name,
                "needs": amount_text(name, needed),
                "free": amount_text(name, self.free[node][name][0]),
                "of": amount_text(name, self.free[node][name][1]),
                "short": "short" if needed > self.free[node][name][0] else "",
            }
            for name, needed in self.requests.items()
            if needed
        ]
        columns = [Column("resource", "RESOURCE")]
        columns += [Column(key, key.upper(), right=True) for key in ("needs", "free", "of")]
        return [*lines, "", *(f"  {line}" for line in plain_table(amounts, [*columns, Column("short", "")]).splitlines())]

    def _comparison(self, node: str) -> list[str]:
        scores, totals, chosen = self.inspection.scores, self.inspection.totals, self.verdict.node
        columns = [Column("plugin", "SCORE"), Column("here", node, right=True)]
        rows: list[dict[str, Any]] = [{"plugin": plugin_text(plugin), "here": by[node]} for plugin, by in scores.items()]
        rows.append({"plugin": "total", "here": totals[node]})
        if chosen in totals and chosen != node:
            columns.append(Column("there", chosen, right=True))
            for row, by in zip(rows, [*scores.values(), totals], strict=True):
                row["there"] = by[chosen]
        return [f"  {line}" for line in plain_table(rows, columns).splitlines()]

    def other_node(self) -> str | None:
        """A node worth asking about next: the best of those refused last, or the runner-up."""
        if self.verdict.result == "scheduled":
            return next((node for node in self._ranked() if node != self.verdict.node), None)
        rejected = self.inspection.rejected
        return rejected[-1][2][0] if rejected else None

    # -- for programs ------------------------------------------------------------------------------------------------

    def node_rows(self) -> list[dict[str, Any]]:
        """Every node: fits or not, scores or reasons; those that fit first, best first."""
        found, scores = self.inspection, self.inspection.scores
        by_rank = {node: rank for rank, node in enumerate(self._ranked())}
        rows: list[dict[str, Any]] = [
            {
                "node": node,
                "fits": True,
                "total": found.totals.get(node),
                "plugin": None,
                "reasons": [],
                "scores": [f"{plugin_text(plugin)} {by_node[node]}" for plugin, by_node in scores.items()],
            }
            for node in sorted(found.feasible, key=lambda node: by_rank.get(node, 0))
        ]
        refused = {node: (plugin, refusal.reasons) for plugin, refusal, nodes in found.rejected for node in nodes}
        diagnosis = found.diagnosis
        elsewhere = diagnosis.elsewhere if diagnosis is not None else None
        for node in sorted(self.cluster.nodes.row_of):
            if node in found.feasible:
                continue
            default = (elsewhere[0], elsewhere[1].reasons) if elsewhere else ("", ())
            plugin, reasons = refused.get(node, default)
            if not plugin and diagnosis is not None:
                plugin = " ".join(diagnosis.restricted_by)
            rows.append({"node": node, "fits": False, "total": None, "plugin": plugin, "reasons": list(reasons), "scores": []})
        return rows

    def document(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Everything."""
        verdict, decision = self.verdict, self.verdict.decision
        preemption = decision.preemption if decision is not None else None
        names = self.cluster.nodes.names
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
                {"node": names[one.row], "victims": [victim.key for victim in one.victims], "pdbViolations": one.pdb_violations}
                for one in (preemption.candidates if preemption is not None else ())
            ],
            "perNode": [
                {
                    **{key: row[key] for key in ("node", "fits", "total", "plugin", "reasons")},
                    "scores": {plugin: by[row["node"]] for plugin, by in self.inspection.scores.items() if row["fits"]},
                }
                for row in rows
            ],
        }
