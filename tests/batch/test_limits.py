"""Limits: what counts, when it is told, how it ends; the same after any restart."""

import itertools
import math
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.actions import DEADLINE, Action, AnnotatePod, DeletePod, SetActiveDeadline, Tell
from fairway.batch.job import BatchJob
from fairway.batch.limits import (
    LimitedJob,
    OwningJob,
    granted_limit,
    limit_actions,
    limit_standing,
    next_instant,
    parse_time_limit,
    time_account,
    time_left,
)
from fairway.model import Pod
from fairway.model.batch import QueueLimits
from fairway.model.duration import Duration
from fairway.model.meta import OwnerReference
from fairway.testing import pod
from tests.batch.jobs import interval, job_of, members

LIMITS = QueueLimits(default=Duration(3600), max=Duration(7200), over_time=Duration(30), warn_before=Duration(300))


def due(limited: LimitedJob, now: float) -> list[Action]:
    return [action for _, action in limit_actions([limited], now)]


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h30m", 5400.0), ("90", 90.0), ("2d", 172800.0), ("0.5s", 0.5), ("3650d", 315360000.0)]
)
def test_what_may_be_asked_for(text: str, seconds: float) -> None:
    assert parse_time_limit(text) == seconds


@pytest.mark.parametrize(
    "text", ["0", "0s", "-1h", "-5", "inf", "Infinity", "nan", "1000000000h", "1e99", "soon", "", "1h 30x", "٣h", "1y"]
)
def test_what_can_not_be_meant_names_the_field_and_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match=r"^spec\.timeLimit: .* allowed is more than 0 and up to ten years") as error:
        parse_time_limit(text, "spec.timeLimit")
    assert repr(text) in str(error.value)


@pytest.mark.parametrize(
    ("asked", "granted", "queue", "limit"),
    [
        pytest.param(None, None, LIMITS, 3600, id="as the queue says"),
        pytest.param(60, None, LIMITS, 60, id="as it asks"),
        pytest.param(60, 90, LIMITS, 90, id="as was granted"),
        pytest.param(None, None, QueueLimits(), math.inf, id="nobody says anything"),
    ],
)
def test_whose_limit_counts(asked: float | None, granted: float | None, queue: QueueLimits, limit: float) -> None:
    assert granted_limit(job_of(limit=asked, granted=granted), queue) == limit


@pytest.mark.parametrize(
    ("job", "word", "detail"),
    [
        pytest.param(job_of(limit=7200), None, None, id="the most that is allowed"),
        pytest.param(job_of(limit=7201), "LimitTooLong", {"asked": 7201, "max": 7200}, id="too long"),
        pytest.param(job_of(limit=math.inf), "LimitTooLong", {"asked": None, "max": 7200}, id="for ever"),
        pytest.param(job_of(granted=9000), None, None, id="granted before the queue changed"),
        pytest.param(job_of(interval(0, 100), limit=100), "TimeUsedUp", {"used": 100, "limit": 100}, id="used up"),
        pytest.param(job_of(interval(0, 99), limit=100), None, None, id="a second is left"),
    ],
)
def test_what_is_refused(job: BatchJob, word: str | None, detail: dict[str, object] | None) -> None:
    standing = limit_standing(job, LIMITS, 500.0)
    assert (standing and standing.reason) == word
    assert (standing and standing.detail) == detail


def test_only_what_it_ran_counts() -> None:
    job = job_of(interval(100, 400), interval(1000), limit=3600)
    account = time_account(job, LIMITS, 1200.0)
    assert (account.used, account.left) == (500, 3100)
    assert (account.deadline, account.warn_at, account.end_at) == (4300, 4000, 4330)
    assert time_left(job, LIMITS, 1200.0) == 3130
    waits = time_account(job_of(interval(100, 400), limit=3600), LIMITS, 1e6)
    assert (waits.left, waits.deadline) == (3300, math.inf), "who waits uses nothing"


@given(
    lengths=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 600), max_size=5),
    now=st.integers(0, 700),
)
def test_restarts_change_nothing(lengths: list[tuple[int, int]], cuts: list[int], now: int) -> None:
    """A record that another process went on with has the same stretch in two parts."""
    borders = list(itertools.accumulate(itertools.chain.from_iterable(lengths)))
    runs = [(borders[at], borders[at + 1]) for at in range(0, len(borders), 2)]
    parts = []
    for start, end in runs:
        edges = sorted({start, end, *(cut for cut in cuts if start < cut < end)})
        parts += [interval(*each) for each in itertools.pairwise(edges)]
    opened = [*(interval(*run) for run in runs[:-1]), interval(runs[-1][0])]  # the last one goes on
    parts[-1] = interval(parts[-1].start)
    first, second = (time_account(job_of(*each, limit=100), LIMITS, now) for each in (opened, parts))
    assert first == second
    assert first.used == sum(max(0, min(end, now) - start) for start, end in [*runs[:-1], (runs[-1][0], 10**6)])


def test_a_job_of_pods_is_warned_and_ended() -> None:
    graces = {"m0": 10, "m1": 600}
    pods = [pod(name, node="n", termination_grace_period_seconds=grace) for name, grace in graces.items()]
    job = job_of(interval(0), limit=3600, members=pods)
    assert due(LimitedJob(job, LIMITS), 3299.0) == []
    assert due(LimitedJob(job, LIMITS), 3300.0) == [
        Tell("ml/train", "TimeLimitNear", "its limit of 1h is reached in 5m"),
        AnnotatePod("default/m0", DEADLINE, "1970-01-01T01:00:00Z"),
        AnnotatePod("default/m1", DEADLINE, "1970-01-01T01:00:00Z"),
    ]
    assert [type(action) for action in due(LimitedJob(job, LIMITS, 3600.0), 3629.0)] == [AnnotatePod, AnnotatePod]
    assert due(LimitedJob(job, LIMITS), 3630.0) == [
        DeletePod("default/m0", 10, "its limit of 1h is reached"),
        DeletePod("default/m1", 30, "its limit of 1h is reached"),
    ]


def test_a_controller_of_kind_job_fails_by_its_own_deadline() -> None:
    owner = OwnerReference(kind="Job", name="train", uid="job-1", controller=True)
    job = job_of(interval(100), limit=3600, members=members(3, node="n", owner=owner))
    controller = OwningJob("job-1", started=90.5)
    limited = LimitedJob(job, LIMITS, 3700.0, {"job-1": controller})
    assert due(limited, 3730.0) == [SetActiveDeadline("job-1", 3639)]
    own = limited._replace(controllers={"job-1": controller._replace(active_deadline=9999)})
    assert due(own, 3730.0) == [SetActiveDeadline("job-1", 3639)], "one of its own that is later"
    done = limited._replace(controllers={"job-1": controller._replace(active_deadline=3639)})
    assert due(done, 3730.0) == due(done, 3731.0) == []


def test_the_deadline_on_pods_stays_current_after_an_extension() -> None:
    marked = members(1, node="n", annotations={DEADLINE: "1970-01-01T01:00:00Z"})
    job = job_of(interval(0), granted=7200, members=marked)
    assert due(LimitedJob(job, LIMITS, 3600.0), 3400.0) == [
        AnnotatePod("default/m0", DEADLINE, "1970-01-01T02:00:00Z")
    ], "at once, and without a warning"
    told = [action for action in due(LimitedJob(job, LIMITS, 3600.0), 6900.0) if isinstance(action, Tell)]
    assert len(told) == 1, "the new deadline is told when it is near"


def test_what_passed_while_nobody_looked_is_carried_out_in_order() -> None:
    jobs = [job_of(interval(start), key=key, limit=60, members=[pod(key)]) for key, start in [("b", 50), ("a", 10)]]
    limited = [LimitedJob(each, LIMITS) for each in jobs]
    assert next_instant(limited, 0.0) == 100.0
    carried = limit_actions(limited, 700.0)
    assert [(when, action.pod) for when, action in carried if isinstance(action, DeletePod)] == [
        (100, "default/a"),
        (140, "default/b"),
    ], "each with when it was due, which says how late it is"


def test_who_has_no_limit_hears_nothing() -> None:
    job = job_of(interval(0), limit=math.inf, members=members(1))
    assert due(LimitedJob(job, LIMITS), 1e9) == []
    assert next_instant([LimitedJob(job, LIMITS)], 0.0) == math.inf


class _World:
    """Carries actions out, one by one."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        self.pods = {each.metadata.uid: each for each in pods}
        self.warned_for: float | None = None
        self.deleted: list[str] = []

    def carry_out(self, action: Action, deadline: float) -> None:
        if isinstance(action, Tell):
            self.warned_for = deadline
        elif isinstance(action, AnnotatePod):
            known = self.pods[action.pod]
            notes = {**known.metadata.annotations, action.key: action.value}
            meta = msgspec.structs.replace(known.metadata, annotations=notes)
            self.pods[action.pod] = msgspec.structs.replace(known, metadata=meta)
        elif isinstance(action, DeletePod):
            self.deleted.append(action.pod)
            self.pods[action.pod] = pod(action.pod.partition("/")[2], terminating=True)


@settings(max_examples=60, deadline=None)
@given(
    looks=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 4)), max_size=8),
    limit=st.integers(1, 4000),
    count=st.integers(1, 3),
)
def test_cut_off_anywhere_everything_happens_once(looks: list[tuple[int, int]], limit: int, count: int) -> None:
    """At each look only the first so many actions are carried out; then the process is another one."""
    world = _World(members(count, node="n"))
    for now, carried in [*sorted(looks), (5001, 99)]:
        job = job_of(interval(0), limit=limit, members=world.pods.values())
        actions = due(LimitedJob(job, LIMITS, world.warned_for), now)
        assert bool(world.deleted) <= (now >= limit + 30)
        for action in actions[:carried]:
            world.carry_out(action, float(limit))
        if carried >= len(actions):
            job = job_of(interval(0), limit=limit, members=world.pods.values())
            assert due(LimitedJob(job, LIMITS, world.warned_for), now) == [], "nothing is left to do"
    assert sorted(world.deleted) == sorted(world.pods)
