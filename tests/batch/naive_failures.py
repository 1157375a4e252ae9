"""The rules for failures said again, as one goes through them by hand: one verdict, in words."""

from collections.abc import Sequence
from typing import NamedTuple

from fairway.batch.failures import Incident, LostNode
from fairway.model.batch import FailureRule


class Case(NamedTuple):
    is_gang: bool
    comes_again: bool
    recreates: bool
    may_requeue: bool
    min_count: int
    num_running: int
    is_starting: bool
    since: float
    num_restarts: int
    num_requeues: int
    incidents: Sequence[Incident]
    lost: Sequence[LostNode]
    lost_members: dict[str, int]
    rules: Sequence[FailureRule]
    retries: int
    requeues: int
    broken_after: float
    lost_after: float
    node_loss: str
    now: float


def verdict(case: Case) -> str:
    """`RestartJob`, `RestartJob, counted`, `FailJob`, … or nothing."""
    happened = list(case.incidents)
    gone = [node for node in case.lost if node.is_certain or case.now >= node.since + case.lost_after]
    for node in gone:
        happened += [Incident("NodeLost", node.since, is_excused=True)] * case.lost_members[node.name]
    if case.is_starting and case.num_running < case.min_count and case.now >= case.since + 1800:
        happened.append(Incident("NeverStarted", case.since + 1800))
    for rule in case.rules:
        hits = [incident for incident in happened if _is_hit(rule, incident, case.now)]
        if hits and (said := _said(case, rule, hits)) != "Ignore":
            return said
        happened = [incident for incident in happened if incident not in hits]
    kinds = [incident.kind for incident in happened]
    if "NodeLost" in kinds:
        return _without_node(case, gone)
    if "NeverStarted" in kinds:
        return _again(case, "Requeue", excused=True)
    if case.is_starting or case.num_running >= case.min_count:
        return ""
    return _too_few(case, [incident for incident in happened if incident.kind in ("PodFailed", "PodEvicted")])


def _is_hit(rule: FailureRule, incident: Incident, now: float) -> bool:
    if now < incident.since + rule.after or (rule.task and rule.task != incident.task):
        return False
    if rule.on == "exitCodes":
        return incident.kind == "PodFailed" and incident.exit_code in rule.codes
    return rule.on == incident.kind


def _said(case: Case, rule: FailureRule, hits: Sequence[Incident]) -> str:
    spent = {"Ignore": len(hits) - 1, "Requeue": case.num_requeues}.get(rule.do, case.num_restarts)
    if rule.max is not None and spent >= rule.max and rule.do not in ("FailJob", "CompleteJob"):
        return "FailJob"
    return rule.do if rule.do == "Ignore" else _again(case, rule.do, excused=all(hit.is_excused for hit in hits))


def _without_node(case: Case, gone: Sequence[LostNode]) -> str:
    if case.node_loss == "fail":
        return "FailJob"
    if case.node_loss == "shrink" and case.num_running >= case.min_count:
        return "Shrink"
    if case.node_loss == "wait" and not any(node.is_certain or case.now >= node.since + 3600 for node in gone):
        return ""
    return "FailJob" if case.num_requeues >= case.requeues else _again(case, "Requeue", excused=True)


def _too_few(case: Case, failures: Sequence[Incident]) -> str:
    if not case.is_gang and not (failures and case.recreates):
        return "FailJob" if failures and not case.comes_again else ""
    if case.is_gang and case.now < case.since + case.broken_after:
        return ""
    if failures and all(failure.is_excused for failure in failures):
        return _again(case, "RestartJob", excused=True)
    return "FailJob" if case.num_restarts >= case.retries else _again(case, "RestartJob", excused=False)


def _again(case: Case, do: str, *, excused: bool) -> str:
    if do in ("FailJob", "CompleteJob"):
        return do
    if not case.comes_again or (do == "Requeue" and not case.may_requeue):
        return "FailJob"
    return do if excused and do != "Requeue" else f"{do}, counted"
