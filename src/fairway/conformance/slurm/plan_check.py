"""A recorded plan beside Fairway's, job by job and as a whole.

In: a `PlanCase`. Out: a `PlanFindings`. Job by job (`_conditional`), everything that Slurm started and every slot that
it booked for higher priorities is taken as given, and only this job is planned: its start does not depend on which
nodes anybody chose, so it has to be Slurm's. As a whole, Fairway plans the case for itself: the plan has to be valid,
and is held against Slurm's in what starts at once, when jobs start on average, what is refused and which reason each
job is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from fairway.conformance.slurm.cases import PlanCase, SlurmPlanned
from fairway.conformance.slurm.planned_case import CaseRoom, OwnPlan, own_plan, start_all
from fairway.conformance.slurm.validity import PlannedStart, violations
from fairway.plan import BookingMode, Obstacles, ready_time

__all__ = ["PlanFindings", "check_plan"]

TOLERANCE: Final = {"conservative": 5.0, "easy": 5.0, "stock": 61.0}
"""Seconds; stock Slurm plans in whole minutes."""

ALIKE: Final = 15.0
"""Seconds by which dates of a whole plan may differ to be told as the same."""

SLURM_WORDS: Final = ("Priority", "Resources", "Dependency", "BeginTime", "ReqNodeNotAvail")
"""The reasons that are compared; what follows the last one in Slurm's text are details."""
NOT_EXAMINED: Final = ("Dependency", "BeginTime")
"""Slurm gives jobs no date while they wait for this."""


@dataclass(slots=True)
class PlanFindings:
    """What came out of one case."""

    case: str
    tight: int = 0
    tight_other: list[str] = field(default_factory=list)  # in words
    amounts_later: list[str] = field(default_factory=list)
    starts_same: bool = False
    starts_difference: str = ""
    dated: int = 0  # jobs that both gave a date
    dated_alike: int = 0
    own_starts_all: float = 0.0  # sums over these
    slurm_starts_all: float = 0.0
    own_starts: float = 0.0  # the same without slots in windows
    slurm_starts: float = 0.0
    invalid: list[str] = field(default_factory=list)
    undated: list[str] = field(default_factory=list)
    refused_same: bool = False
    refused_difference: str = ""
    reasons: int = 0
    reasons_other: list[str] = field(default_factory=list)
    in_window: int = 0
    in_window_copied: list[str] = field(default_factory=list)


def check_plan(case: PlanCase) -> PlanFindings:
    """Compare everything."""
    findings = PlanFindings(case.id)
    room = CaseRoom(case)
    for entry in case.expected.planned:
        if entry.tight and entry.start is not None:
            _conditional(room, entry, entry.start, findings)
    plan = own_plan(room)
    _compare_sets(case, plan, findings)
    _compare_dates(room, plan, findings)
    _judge(room, plan, findings)
    _compare_reasons(room, plan, findings)
    return findings


def _conditional(room: CaseRoom, entry: SlurmPlanned, expected: float, findings: PlanFindings) -> None:
    findings.tight += 1
    tolerance = TOLERANCE[room.case.mode]
    starts = {mode: _start_given_slurm(room, entry.id, mode) for mode in BookingMode}
    whole, amounts = starts[BookingMode.NODES], starts[BookingMode.AMOUNTS]
    if whole is None or abs(whole - expected) > tolerance:
        findings.tight_other.append(f"{entry.id}: Slurm {expected:g}, here {_told(whole)}")
    if amounts is None or amounts > expected + tolerance:
        findings.amounts_later.append(f"{entry.id}: Slurm {expected:g}, here {_told(amounts)}")


def _start_given_slurm(room: CaseRoom, key: str, mode: BookingMode) -> float | None:
    """The earliest start beside what Slurm started and what it booked for higher priorities."""
    answer = room.case.expected
    priorities = {job.id: job.priority for job in room.case.pending}
    calendar = room.calendar(mode)
    for started in answer.started:
        calendar.start(room.jobs[started.id], room.slot(started.id, started.at, started.nodes))
    for other in answer.planned:
        if other.start is not None and priorities[other.id] > priorities[key]:
            calendar.book(room.jobs[other.id], room.slot(other.id, other.start, other.nodes))
    slot = calendar.search(room.jobs[key])
    return None if slot is None else slot.start


def _compare_sets(case: PlanCase, plan: OwnPlan, findings: PlanFindings) -> None:
    theirs = {started.id for started in case.expected.started}
    findings.starts_same = theirs == plan.started.keys()
    findings.starts_difference = _difference(theirs, set(plan.started))
    refused = {entry.id for entry in case.expected.refused}
    findings.refused_same = refused == set(plan.refused)
    findings.refused_difference = _difference(refused, set(plan.refused))


def _compare_dates(room: CaseRoom, plan: OwnPlan, findings: PlanFindings) -> None:
    """Sums of starts, of the jobs that both gave a date: all as they stand, and without slots in windows.

    Under EASY a date is a start or the one promise; what is dated beyond that is no part of the discipline.
    """
    answer = room.case.expected
    theirs = {started.id: started.at for started in answer.started}
    theirs |= {entry.id: entry.start for entry in answer.planned if entry.start is not None}
    ours = plan.started | plan.promised if room.case.mode == "easy" else plan.slots
    in_window = {entry.id for entry in answer.planned if entry.in_window}
    for key in theirs.keys() & ours.keys():
        findings.dated += 1
        findings.dated_alike += abs(ours[key].start - theirs[key]) <= ALIKE
        findings.own_starts_all += ours[key].start
        findings.slurm_starts_all += theirs[key]
        if key not in in_window:
            findings.own_starts += ours[key].start
            findings.slurm_starts += theirs[key]


def _judge(room: CaseRoom, plan: OwnPlan, findings: PlanFindings) -> None:
    """Could the plan be carried out, and is anybody forgotten?"""
    starts = {
        key: PlannedStart(slot.start, [room.names[row] for row in slot.placements[0].rows.tolist()])
        for key, slot in plan.slots.items()
    }
    findings.invalid.extend(violations(room.case, starts))
    times = room.times | {key: (slot.start, slot.end) for key, slot in plan.slots.items()}
    empty = room.calendar(BookingMode.NODES, empty=True)
    for key, job in room.jobs.items():
        is_forgotten = key not in starts and key not in plan.refused and ready_time(job, times) is not None
        # What does not fit on the empty machine, for nodes are down, has no date for a reason.
        if is_forgotten and empty.search(job) is not None:
            findings.undated.append(key)
    for entry in room.case.expected.planned:
        if entry.in_window and entry.start is not None:
            findings.in_window += 1
            if any(violations(room.case, {entry.id: starts[entry.id]} if entry.id in starts else {})):
                findings.in_window_copied.append(entry.id)


def _compare_reasons(room: CaseRoom, plan: OwnPlan, findings: PlanFindings) -> None:
    ours = _reasons(room, plan)
    words = _slurm_words(room, ours)
    for entry in room.case.expected.planned:
        expected = next((word for word in SLURM_WORDS if entry.reason.startswith(word)), None)
        if expected is None:
            continue
        findings.reasons += 1
        if words.get(entry.id) != expected:
            findings.reasons_other.append(f"{entry.id}: Slurm {entry.reason}, here {ours.get(entry.id, 'starts now')}")


def _slurm_words(room: CaseRoom, reasons: Mapping[str, str]) -> dict[str, str]:
    """The reasons as Slurm would say them.

    Slurm tells of windows and of lost nodes only where these leave no node that the job could have, be the machine
    ever so empty; other jobs that they stop are told what all are told: the first one Resources, those behind it
    Priority.
    """
    empty = room.calendar(BookingMode.NODES, empty=True)
    words: dict[str, str] = {}
    for key, reason in reasons.items():
        (members,) = room.jobs[key].classes
        one_node = replace(room.jobs[key], classes=(replace(members, count=1),))
        if reason in NOT_EXAMINED:
            words[key] = reason
        elif reason in room.causes and empty.search_now(one_node) is None:
            words[key] = "ReqNodeNotAvail"
        else:
            words[key] = "Priority" if "Resources" in words.values() else "Resources"
    return words


def _reasons(room: CaseRoom, plan: OwnPlan) -> dict[str, str]:
    """Why each job waits: the first reason that holds."""
    jobs = [room.jobs[job.id] for job in room.ordered if job.id not in plan.refused]
    obstacles = Obstacles(
        room.calendar(BookingMode.NODES),
        room.calendar(BookingMode.NODES, empty=True),
        room.causes,
        lambda calendar: start_all(room, calendar, jobs),
    )
    times = room.times | {key: (slot.start, slot.end) for key, slot in plan.started.items()}
    reasons: dict[str, str] = {}
    for job in room.ordered:
        waiting = room.jobs[job.id]
        if job.id in plan.started or job.id in plan.refused:
            continue
        ready = ready_time(waiting, times)
        if ready is None or ready > max(plan.calendar.now, waiting.begin):
            reasons[job.id] = "Dependency"
        elif waiting.begin > plan.calendar.now:
            reasons[job.id] = "BeginTime"
        elif cause := obstacles.cause(waiting):
            reasons[job.id] = cause
        else:
            reasons[job.id] = "Priority" if "Resources" in reasons.values() else "Resources"
    return reasons


def _difference(theirs: set[str], ours: set[str]) -> str:
    only = {"Slurm": theirs - ours, "here": ours - theirs}
    return "; ".join(f"only {who}: {', '.join(sorted(keys))}" for who, keys in only.items() if keys)


def _told(start: float | None) -> str:
    return "no date" if start is None else f"{start:g}"
