"""An explanation in words: the answer first, then the funnel, then scores, candidates or fixes.

In: an `Explanation`. Out: lines of text, the same on a terminal and in a pipe. What is left out for brevity is
counted, with the option that shows it. Called by `why`.
"""

from __future__ import annotations

from typing import Any

from fairway.cycle import Decision
from fairway.cycle.funnel import funnel_lines
from fairway.explain.explanation import Explanation
from fairway.explain.fixes import fix_line
from fairway.tables import Column, plain_table
from fairway.words import amount_text, amount_texts, nodes_text, plugin_text

__all__ = ["answer_lines", "node_lines", "told_document"]

SHOWN = 5
"""So many nodes are shown unless all are asked for."""

CUT = "(the scheduler had no time to try everything; fairway why --live does)"


def told_document(about: Explanation, rows: list[dict[str, Any]], lines: list[str]) -> dict[str, Any]:
    """For programs: everything, and what people are told."""
    return about.document(rows) | {"headline": _headline(about), "text": lines}


def answer_lines(about: Explanation, all_nodes: bool) -> list[str]:
    """The whole answer."""
    verdict = about.verdict
    lines = [_headline(about)]
    if verdict.result == "ignored":
        return lines
    if verdict.message and verdict.result != "gated":
        lines.append(f"kube-scheduler's words: {verdict.message}")
    if about.funnel or about.inspection.feasible:
        lines += ["", *funnel_lines(about.funnel, about.num_nodes)]
    if verdict.result == "scheduled":
        behind = _reason_lines(about, verdict.node)
        if len(about.inspection.totals) > 1:
            lines += ["", *_score_lines(about, all_nodes), *behind]
        elif behind:
            lines += ["", *behind]
    elif verdict.result == "preempts":
        lines += ["", *_candidate_lines(about, all_nodes)]
    elif verdict.result == "unschedulable":
        lines += ["", *_fix_lines(about)]
    return lines


def node_lines(about: Explanation, node: str) -> list[str]:
    """The answer about one node."""
    row = next(row for row in about.node_rows() if row["node"] == node)
    if row["fits"]:
        lines = [f"{about.pod.key} fits on {node}{' · it goes there' if node == about.verdict.node else ''}"]
        if row["scores"]:
            lines += ["", *_comparison_lines(about, node), *_reason_lines(about, node)]
    else:
        detail = f" ({about.details[node]})" if node in about.details else ""
        lines = [f"{about.pod.key} does not fit on {node} · {row['plugin']}: {', '.join(row['reasons'])}{detail}"]
    amounts = []
    for one in about.amounts.get(node, ()):
        needs, free = amount_texts(one.resource, one.needed, one.free)
        of = amount_text(one.resource, one.allocatable)
        short = "short" if one.needed > one.free else None
        amounts.append({"resource": one.resource, "needs": needs, "free": free, "of": of, "short": short})
    columns = [Column("resource", "RESOURCE")]
    columns += [Column(key, key.upper(), right=True) for key in ("needs", "free", "of")]
    return [*lines, "", *_indented(amounts, [*columns, Column("short", "")])]


def _headline(about: Explanation) -> str:
    verdict, name = about.verdict, about.pod.key
    nowhere = f"{name} fits on none of {nodes_text(about.num_nodes)}"
    match verdict.result:
        case "scheduled" if verdict.decision is not None:
            parts = [f"{name} goes to {verdict.node}", _choice(verdict.decision, len(about.inspection.feasible))]
        case "preempts":
            victims = ", ".join(victim.key for victim in verdict.victims)
            parts = [f"{nowhere} now", f"goes to {verdict.node} after evicting {victims}"]
        case "gated":
            fits = len(about.inspection.feasible)
            where = f"{nodes_text(fits)} would fit now" if fits else "no node would fit now"
            parts = [f"{name} is held back", verdict.message, f"without that, {where}"]
        case "error":
            parts = [f"{name} could not be judged"]
        case "ignored":
            parts = [f"{name} is not scheduled here: {verdict.message}"]
        case _:
            parts = [nowhere]
    return " · ".join(part for part in (*parts, verdict.remark) if part)


def _choice(decision: Decision, num_fitting: int) -> str:
    """Why this node and no other."""
    if decision.via == "nominated":
        return "it was nominated to that node, which fits"
    if decision.via == "single":
        return "the only node that fits"
    text = f"best of {nodes_text(decision.num_feasible)} that fit"
    if decision.num_feasible < num_fitting:
        text = f"best of {nodes_text(decision.num_feasible)} looked at, of {num_fitting} that fit"
    if decision.score is not None:
        text += f", score {decision.score}"
    if decision.num_best > 1:
        text += f", as good as {decision.num_best - 1} other{'s' if decision.num_best > 2 else ''} (the seed decides)"
    return text


def _score_lines(about: Explanation, all_nodes: bool) -> list[str]:
    """Who scored what, where plugins tell nodes apart; the rest in one line."""
    scores, totals, ranked = about.inspection.scores, about.inspection.totals, about.ranked
    telling = [plugin for plugin, by_node in scores.items() if len(set(by_node.values())) > 1]
    shown = ranked if all_nodes else ranked[:SHOWN]
    columns = [Column("node", "NODE"), Column("total", "TOTAL", right=True)]
    columns += [Column(plugin, plugin_text(plugin), right=True) for plugin in telling]
    lines = _indented(
        [
            {"node": node, "total": totals[node], **{plugin: scores[plugin][node] for plugin in telling}}
            for node in shown
        ],
        columns,
    )
    if len(shown) < len(ranked):
        lines.append(f"  and {nodes_text(len(ranked) - len(shown))} more, no better (--all-nodes)")
    decision = about.verdict.decision
    if decision is not None and len(ranked) > 1 and totals[ranked[1]] > totals[ranked[0]]:
        beside = f"scored beside all {len(ranked)} that fit; the decision looked at {decision.num_feasible} of them"
        lines.append(f"  {beside}, so others may score more here")
    alike = {plugin: next(iter(scores[plugin].values())) for plugin in scores if plugin not in telling}
    if any(alike.values()):
        same = ", ".join(f"{plugin_text(plugin)} {score}" for plugin, score in alike.items() if score)
        lines.append(f"  the same on all: {same}")
    return lines


def _candidate_lines(about: Explanation, all_nodes: bool) -> list[str]:
    """The nodes that could be cleared, the chosen one first."""
    decision = about.verdict.decision
    assert decision is not None
    assert decision.preemption is not None
    names = about.cluster.nodes.names
    candidates = sorted(decision.preemption.candidates, key=lambda one: names[one.row] != about.verdict.node)
    shown = candidates if all_nodes else candidates[:SHOWN]
    lines = [
        f"  {nodes_text(len(candidates))} could be cleared; fewest budgets broken, then least important pods, wins:"
    ]
    for one in shown:
        broken = f" (breaks {one.pdb_violations} disruption budgets)" if one.pdb_violations else ""
        victims = ", ".join(f"{victim.key} (priority {victim.priority})" for victim in one.victims)
        lines.append(f"  {names[one.row]} without {victims}{broken}")
    if len(shown) < len(candidates):
        lines.append(f"  and {len(candidates) - len(shown)} more (--all-nodes)")
    return lines


def _fix_lines(about: Explanation) -> list[str]:
    cut = [f"       {CUT}"] if about.is_search_cut else []
    if not about.fixes and cut:
        return ["  fix  none found so far", *cut]
    if not about.fixes:
        return ["  fix  none found: neither giving up one or two of its demands nor more nodes would let it fit now"]
    first, *others = map(fix_line, about.fixes)
    return [f"  fix  {first}", *(f"       {line}" for line in others), *cut]


def _comparison_lines(about: Explanation, node: str) -> list[str]:
    """The node's scores beside those of the chosen one."""
    scores, totals, chosen = about.inspection.scores, about.inspection.totals, about.verdict.node
    columns = [Column("plugin", "SCORE"), Column("here", node, right=True)]
    if chosen in totals and chosen != node:
        columns.append(Column("there", chosen, right=True))
    rows = [
        {"plugin": plugin_text(plugin), "here": by_node[node], "there": by_node.get(chosen)}
        for plugin, by_node in (*scores.items(), ("total", totals))
        if by_node[node] or by_node.get(chosen)
    ]
    return _indented(rows, columns)


def _reason_lines(about: Explanation, node: str) -> list[str]:
    """What plugins say about their score of a node."""
    lines = []
    for plugin, by_node in about.words.items():
        if words := by_node.get(node):
            lines += [f"  {plugin_text(plugin)} on {node}: {words[0]}", *(f"    {line}" for line in words[1:])]
    return lines


def _indented(rows: list[dict[str, Any]], columns: list[Column]) -> list[str]:
    return [f"  {line}" for line in plain_table(rows, columns).splitlines()]
