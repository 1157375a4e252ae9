"""What limits a queue besides its nodes: allowances of the plan, and words."""

import itertools

import numpy as np

from fairway.batch.quotas.queue_allowances import JOBS, allowances_of, exceeded_standing, over_maximum
from fairway.model.batch import QueueSpec, UserLimits
from fairway.model.quantity import parse_quantity
from fairway.plan import Calendar, MemberClass, SmallestRest, WaitingJob, member_need


def queue(**fields: dict[str, str]) -> QueueSpec:
    amounts = {name: {key: parse_quantity(text) for key, text in each.items()} for name, each in fields.items()}
    return QueueSpec(quota=amounts.get("quota", {}), max=amounts.get("max", {}))


def calendar() -> Calendar:
    """Two nodes of ten cores."""
    return Calendar(np.array([[10_000]] * 2), 0.0, SmallestRest(np.array([1.0, 0.0]), np.arange(2)))


def test_what_limits_a_queue() -> None:
    first = queue(quota={"cpu": "4", "gpu": "2"}, max={"cpu": "6"})
    second = QueueSpec(per_user=UserLimits(running=2, resources={"cpu": parse_quantity("500m")}))
    found = [
        *allowances_of("a", first, "ada"),
        *allowances_of("b", second, "ada"),
        *allowances_of("c", QueueSpec(), ""),
    ]
    assert [(each.kind, each.queue, each.user, dict(zip(each.columns, each.most, strict=True))) for each in found] == [
        ("max", "a", "", {"cpu": 6000}),
        ("quota", "a", "", {"cpu": 4000, "gpu": 2}),
        ("perUser", "b", "ada", {"cpu": 500, JOBS: 2}),
    ]


def test_a_job_fits_its_nodes_and_its_quota() -> None:
    plan = calendar()
    allowances = allowances_of("a", queue(quota={"cpu": "4"}, max={"cpu": "8"}), "ada")
    for each in allowances:
        plan.allowances.allow(each.name, each.most)
    plan.occupy("there", np.array([0]), member_need([3000]), 50.0)
    plan.allowances.take("there", [each.share({"cpu": 3000}) for each in allowances], 0.0, 50.0)
    starts = {}
    for borrows, cpu in itertools.product((False, True), (1000, 4000, 6000)):
        plan.borrowers = frozenset("a") if borrows else frozenset()
        shares = tuple(each.share({"cpu": cpu}) for each in allowances)
        job = WaitingJob("j", (MemberClass(member_need([cpu])),), 10.0, "a", shares=shares)
        slot = plan.search_now(job) or plan.search(job)
        starts[borrows, cpu] = slot.start if slot else None
    assert starts == {
        (False, 1000): 0.0,
        (False, 4000): 50.0,
        (False, 6000): None,  # more than its quota: it starts on loan, or not at all
        (True, 1000): 0.0,
        (True, 4000): 0.0,
        (True, 6000): None,  # and with those who are there it is more than the queue may have
    }


def test_who_borrows_takes_nothing_that_its_own_queue_was_promised() -> None:
    plan = calendar()
    (quota,) = allowances_of("a", queue(quota={"cpu": "4"}), "ada")
    plan.allowances.allow(quota.name, quota.most)
    plan.allowances.take("there", [quota.share({"cpu": 4000})], 0.0, 20.0)
    promised = WaitingJob("p", (MemberClass(member_need([4000])),), 10.0, "a", shares=(quota.share({"cpu": 4000}),))
    slot = plan.search(promised)
    assert slot is not None
    plan.book(promised, slot)
    assert slot.start == 20.0
    plan.borrowers = frozenset("a")
    short, long = (
        WaitingJob("j", (MemberClass(member_need([1000])),), duration, "a", shares=(quota.share({"cpu": 1000}),))
        for duration in (20.0, 21.0)
    )
    assert plan.search_now(short) is not None
    assert plan.search_now(long) is None


def test_so_many_jobs_of_a_user_at_a_time() -> None:
    plan, spec = calendar(), QueueSpec(per_user=UserLimits(running=1))
    starts = {}
    for user in ("ada", "bob"):
        for each in allowances_of("a", spec, user):
            plan.allowances.allow(each.name, each.most)
    plan.allowances.take("there", [each.share({}) for each in allowances_of("a", spec, "ada")], 0.0, 70.0)
    for user in ("ada", "bob"):
        shares = tuple(each.share({"cpu": 1}) for each in allowances_of("a", spec, user))
        slot = plan.search(WaitingJob("j", (MemberClass(member_need([1])),), 10.0, "a", shares=shares))
        starts[user] = slot.start if slot else None
    assert starts == {"ada": 70.0, "bob": 0.0}


def test_what_is_allowed_may_change() -> None:
    plan = calendar()
    (quota,) = allowances_of("a", queue(quota={"cpu": "4"}), "ada")
    plan.allowances.allow(quota.name, quota.most)
    plan.allowances.take("there", [quota.share({"cpu": 3000})], 0.0, 70.0)
    job = WaitingJob("j", (MemberClass(member_need([2000])),), 10.0, "a", shares=(quota.share({"cpu": 2000}),))
    assert plan.search(job).start == 70.0  # type: ignore[union-attr]
    plan.allowances.allow(quota.name, (5000,))
    assert plan.search(job).start == 0.0  # type: ignore[union-attr]
    plan.copy().allowances.give("there")
    plan.allowances.allow(quota.name, (4000,))
    assert plan.search(job).start == 70.0  # type: ignore[union-attr]
    plan.shorten({"there": 30.0})
    assert plan.search(job).start == 30.0  # type: ignore[union-attr]


def test_words() -> None:
    most, quota = allowances_of("a", queue(quota={"cpu": "4"}, max={"cpu": "6"}), "ada")
    assert over_maximum(quota, {"cpu": 9000}) is None, "beyond its quota a queue may borrow"
    assert over_maximum(most, {"cpu": 6000}) is None
    refused = over_maximum(most, {"cpu": 9000})
    assert refused is not None
    assert (refused.reason, refused.words) == ("OverMaximum", "asks for 9 of cpu, max of queue a is 6")
    waits = exceeded_standing(quota, [3500], {"cpu": 1000})
    assert waits is not None
    assert (waits.reason, waits.detail["used"]) == ("QuotaExceeded", 3500)
    assert waits.words == "quota of queue a: 3500m of 4 cpu used, 1 more needed"
    assert exceeded_standing(quota, [3000], {"cpu": 1000}) is None
