"""May a job run for longer than was said? All or nothing, with the longest that would be granted.

In: a job that runs, as the calendar holds it (`RunningUse`), the limit that is asked for, the rules of its queue, what
its account can pay, and the calendar. Out: an `ExtensionAnswer`. Checked in this order: the queue's `limits.max` and
`extension.max`; the budget; windows and reservations on its rows; promises. The first that stops it is told. Nothing is
changed by asking; `carry_out` changes the calendar of whoever grants it. Called by the desk when an owner raises
`time-limit` or an operator sets the record's, and by the command `extend`, which only asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.batch.closings import Closing
from fairway.model.batch import ExtensionRules, QueueLimits
from fairway.plan import Calendar, Promise, Share
from fairway.words import length_text, time_text

__all__ = [
    "ExtensionAnswer",
    "ExtensionRequest",
    "ExtensionTerms",
    "Hindrance",
    "RunningUse",
    "carry_out",
    "judge_extension",
    "refusal_reason",
]

MINUTE: Final = 60.0

HindranceKind = Literal["not allowed", "limits.max", "extension.max", "budget", "maintenance", "reservation", "promise"]
SENTENCES: Final = {
    "not allowed": "its queue lets operators alone extend jobs",
    "limits.max": "its queue allows no longer limit",
    "extension.max": "its queue extends no job by more in all",
    "budget": "its account can not pay for it",
}


class RunningUse(NamedTuple):
    """What a job takes, as it stands in the calendar: the arguments of each `occupy`."""

    key: str
    takings: Sequence[
        tuple[NDArray[np.intp], NDArray[np.int64]]
    ]  # rows; amounts with access, one for all or a row each
    end: float  # its deadline and the queue's overTime
    shares: Sequence[Share] = ()  # of allowances: what its queue or its user may use


@dataclass(frozen=True, slots=True, eq=False)
class ExtensionRequest:
    """What is asked for, and by whom."""

    use: RunningUse
    limit: float  # as granted now
    asked: float  # the new limit
    consumed: float
    first_limit: float  # with which it started: `extension.max` counts from there
    priority: int = 0
    by_owner: bool = False
    may_enter: Collection[
        str
    ] = ()  # keys in the calendar that do not stop it: its own reservations, nodes that are down


@dataclass(frozen=True, slots=True, eq=False)
class ExtensionTerms:
    """What decides about it."""

    limits: QueueLimits
    rules: ExtensionRules
    affordable: Callable[[], float] = lambda: math.inf  # for how many seconds more its account can pay
    closings: Sequence[Closing] = ()
    priorities: Mapping[str, int] = field(default_factory=dict)  # of the jobs that have promises, by key
    show_time: Callable[[float], str] = time_text  # the world's clock, for people


class Hindrance(NamedTuple):
    """What stops an extension."""

    kind: HindranceKind
    name: str = ""  # of the window, the reservation, the job that was promised the room
    at: float = math.inf  # when it would be in the way; of other kinds: none


@dataclass(frozen=True, slots=True)
class ExtensionAnswer:
    """Yes or no."""

    is_granted: bool
    limit: float  # from now on
    longest: float  # the longest limit that would be granted, by whole minutes more than now
    stopped_by: Hindrance | None = None
    delayed: tuple[str, ...] = ()  # promises that give way
    words: str = ""


class _Bound(NamedTuple):
    most: float  # the longest limit by it
    hindrance: Hindrance


def judge_extension(calendar: Calendar, request: ExtensionRequest, terms: ExtensionTerms) -> ExtensionAnswer:
    """Judge it; the calendar stays as it is."""
    if request.asked <= request.limit:
        return _lowered(request)
    bounds = _bounds(calendar, request, terms)
    most = min((bound.most for bound in bounds), default=math.inf)
    # By whole minutes, so that it can be typed; and never less than what it has.
    longest = request.limit + max((most - request.limit) // MINUTE, 0.0) * MINUTE if most < math.inf else math.inf
    stopped = next((bound.hindrance for bound in bounds if request.asked > bound.most), None)
    if stopped is not None:
        words = _refusal_words(request, longest, stopped, terms.show_time)
        return ExtensionAnswer(False, request.limit, longest, stopped, (), words)
    delayed = _delayed(calendar, request, terms)
    words = f"granted: its limit is {length_text(request.asked)} from now on"
    words += f"; {', '.join(delayed)} may start later" if delayed else ""
    return ExtensionAnswer(True, request.asked, max(longest, request.asked), None, delayed, words)


def carry_out(calendar: Calendar, request: ExtensionRequest, answer: ExtensionAnswer) -> None:
    """Let the calendar have it: the job until its new end, and no promise that gives way. The next pass plans anew."""
    use = request.use
    calendar.remove(use.key)
    for key in answer.delayed:
        calendar.remove(key)
    end = _end_by(request, answer.limit, calendar.now)
    for rows, amounts in use.takings:
        calendar.occupy(use.key, rows, amounts, end)
    calendar.allowances.take(use.key, use.shares, calendar.now, end)


def _end_by(request: ExtensionRequest, limit: float, now: float) -> float:
    """When the job ends by a limit; one that had no end yet has used what it has used."""
    if request.use.end == math.inf:
        return now + (limit - request.consumed)
    return request.use.end + (limit - request.limit)


def _lowered(request: ExtensionRequest) -> ExtensionAnswer:
    limit = max(request.asked, min(request.consumed + MINUTE, request.limit))
    words = f"granted: its limit is {length_text(limit)} from now on"
    words += f", not less: it has run for {length_text(request.consumed)}" if limit > request.asked else ""
    return ExtensionAnswer(True, limit, request.limit, None, (), words)


def _bounds(calendar: Calendar, request: ExtensionRequest, terms: ExtensionTerms) -> list[_Bound]:
    """The longest limit by each rule, in the order in which they are told."""
    bounds = []
    if request.by_owner and not terms.rules.by_owner:
        bounds.append(_Bound(request.limit, Hindrance("not allowed")))
    if terms.limits.max is not None:
        bounds.append(_Bound(float(terms.limits.max), Hindrance("limits.max")))
    bounds.append(_Bound(request.first_limit + terms.rules.max, Hindrance("extension.max")))
    bounds.append(_Bound(request.limit + terms.affordable(), Hindrance("budget")))
    rows, _ = _together(request.use)
    until = request.use.end - request.limit  # what a limit of 0 would end at
    for closing in sorted(terms.closings, key=lambda closing: closing.start):
        is_open = closing.key in request.may_enter or closing.end <= request.use.end
        if not is_open and np.isin(rows, closing.rows).any():
            start = max(closing.start, request.use.end)  # where it is already, it gets nothing more
            bounds.append(_Bound(start - until, Hindrance(closing.kind, closing.name, closing.start)))
    if (collision := _first_collision(calendar, request, terms)) is not None:
        bounds.append(_Bound(collision[0] - until, Hindrance("promise", collision[1], collision[0])))
    return bounds


def _binding(calendar: Calendar, request: ExtensionRequest, terms: ExtensionTerms) -> set[str]:
    """The promises that must not move."""
    least = {"none": -math.inf, "lower": request.priority, "any": math.inf}[terms.rules.delays]
    return {key for key in calendar.promises if terms.priorities.get(key, 0) >= least}


def _first_collision(calendar: Calendar, request: ExtensionRequest, terms: ExtensionTerms) -> tuple[float, str] | None:
    """When the job would first be in the way of a promise that binds, from its present end on, and whose."""
    binding = _binding(calendar, request, terms)
    trial = calendar.without([*request.may_enter, *(key for key in calendar.promises if key not in binding)])
    rows, amounts = _together(request.use)
    starts = {key: trial.promises[key].slot.start for key in binding if trial.promises[key].slot.end > request.use.end}
    # Only a promise takes room later than somebody who is there; so these are all the times to look at.
    for time in sorted({max(start, request.use.end) for start in starts.values()}):
        free = trial.timeline.free[:, trial.timeline.stretches_at(rows, time)].T
        short = (free < amounts) & (amounts > 0)
        if short.any():
            lacking = rows[short.any(axis=1)]
            if there := [key for key in starts if _is_there(trial.promises[key], lacking, time)]:
                return time, min(there, key=lambda key: (-starts[key], key))  # who came there last
        if there := _short_of_shares(trial, request.use, starts, time):
            return time, min(there, key=lambda key: (-starts[key], key))
    return None


def _short_of_shares(trial: Calendar, use: RunningUse, keys: Iterable[str], time: float) -> list[str]:
    """Those whose promise counts on what the job would still use then, of what a queue or a user may use."""
    just_then = math.nextafter(time, math.inf)
    lacking = {share.name for share in use.shares if trial.allowances.lacks(share, time, just_then)}
    return [
        key
        for key in keys
        if (promise := trial.promises[key]).slot.start <= time < promise.slot.end
        and any(share.name in lacking and (share.amounts > 0).any() for share in promise.job.shares)
    ]


def _delayed(calendar: Calendar, request: ExtensionRequest, terms: ExtensionTerms) -> tuple[str, ...]:
    """The promises that give way to the extension, as few as there can be by their order."""
    binding = _binding(calendar, request, terms)
    free_to_move = [key for key in calendar.promises if key not in binding]
    trial = calendar.without([*free_to_move, *request.may_enter, request.use.key])
    own_rows, _ = _together(request.use)
    end = _end_by(request, request.asked, calendar.now)
    for rows, amounts in request.use.takings:
        trial.occupy(request.use.key, rows, amounts, end)
    trial.allowances.take(request.use.key, request.use.shares, calendar.now, end)
    used = {share.name for share in request.use.shares}
    delayed = []
    for key in sorted(free_to_move, key=lambda key: (-terms.priorities.get(key, 0), key)):
        promise = calendar.promises[key]
        trial.book(promise.job, promise.slot)
        if _is_short(trial, promise, own_rows, end) or any(
            share.name in used and trial.allowances.is_overdrawn(share.name, promise.slot.start, promise.slot.end)
            for share in promise.job.shares
        ):
            trial.remove(key)
            delayed.append(key)
    return tuple(delayed)


def _is_short(trial: Calendar, promise: Promise, rows: NDArray[np.intp], end: float) -> bool:
    """Is more taken of those of the promise's rows that are among these than there is, before `end`?"""
    start, end = max(promise.slot.start, trial.now), min(promise.slot.end, end)
    for placement, members in zip(promise.slot.placements, promise.job.classes, strict=True):
        shared = np.intersect1d(placement.rows, rows)
        if end > start and (trial.timeline.least_free(shared, start, end)[:, members.need > 0] < 0).any():
            return True
    return False


def _is_there(promise: Promise, rows: NDArray[np.intp], time: float) -> bool:
    within = promise.slot.start <= time < promise.slot.end
    return within and any(np.isin(placement.rows, rows).any() for placement in promise.slot.placements)


def _together(use: RunningUse) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """All rows of the job, each once, with what it takes of them, (num_rows,) and (num_rows, num_columns)."""
    all_rows = np.concatenate([rows for rows, _ in use.takings])
    amounts = np.concatenate([np.broadcast_to(taken, (len(rows), np.shape(taken)[-1])) for rows, taken in use.takings])
    rows, where = np.unique(all_rows, return_inverse=True)
    total = np.zeros((len(rows), amounts.shape[1]), np.int64)
    np.add.at(total, where, amounts)
    return rows, total


def refusal_reason(more: float, stopped: Hindrance, show: Callable[[float], str]) -> str:
    """Why so many seconds more are not granted; `show`: a moment, for people."""
    if stopped.kind in SENTENCES:
        return SENTENCES[stopped.kind]
    if stopped.kind == "promise":
        return f"{length_text(more)} would delay {stopped.name}, which was promised room at {show(stopped.at)}"
    return f"{length_text(more)} would reach into {stopped.kind} {stopped.name} at {show(stopped.at)}"


def _refusal_words(request: ExtensionRequest, longest: float, stopped: Hindrance, show: Callable[[float], str]) -> str:
    why = refusal_reason(request.asked - request.limit, stopped, show)
    if longest <= request.limit:
        return f"refused: {why}; no minute more is possible"
    until = show(request.use.end + (longest - request.limit))
    return f"refused: {why}; longest possible: +{length_text(longest - request.limit)} (until {until})"
