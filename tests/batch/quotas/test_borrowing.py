"""Quotas: who may borrow, and who gives back."""

import itertools
from collections.abc import Callable, Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.quotas.borrowing import BorrowedJob, QueueUse, is_within, may_borrow, taken_back


@pytest.mark.parametrize(
    ("quota", "used", "more", "fits"),
    [
        ({"cpu": 10}, {"cpu": 8}, {"cpu": 2}, True),
        ({"cpu": 10}, {"cpu": 8}, {"cpu": 3}, False),
        ({"cpu": 10}, {"cpu": 12}, {"gpu": 1}, True),  # it needs nothing of what is used up
        ({"cpu": 10}, {}, {"gpu": 99}, True),  # not limited
        ({}, {}, {"cpu": 99}, True),
    ],
)
def test_within(quota: dict[str, int], used: dict[str, int], more: dict[str, int], fits: bool) -> None:
    assert is_within(quota, used, more) == fits


@pytest.mark.parametrize(
    ("other", "may"),
    [
        pytest.param(QueueUse("b", {"cpu": 10}, {"cpu": 4}), True, id="nobody waits there"),
        pytest.param(QueueUse("b", {"cpu": 10}, {"cpu": 4}, [{"cpu": 6}]), False, id="it could start within its quota"),
        pytest.param(QueueUse("b", {"cpu": 10}, {"cpu": 4}, [{"cpu": 7}]), True, id="it would have to borrow itself"),
        pytest.param(QueueUse("b", {"cpu": 10}, {"cpu": 4}, [{"cpu": 7}, {"cpu": 1}]), False, id="another one could"),
        pytest.param(QueueUse("b", {}, {}, [{"cpu": 1}]), True, id="a queue without a quota lends nothing"),
        pytest.param(QueueUse("a", {"cpu": 10}, {}, [{"cpu": 1}]), True, id="its own jobs"),
    ],
)
def test_who_may_borrow(other: QueueUse, may: bool) -> None:
    assert may_borrow("a", [other]) == may


BORROWER = QueueUse("borrower", {"cpu": 10}, {"cpu": 16})
LENDER = QueueUse("lender", {"cpu": 10}, {"cpu": 4})


def borrowed(key: str, cpu: int, ran: float, **more: object) -> BorrowedJob:
    return BorrowedJob(key, "borrower", {"cpu": cpu}, ran, **more)  # type: ignore[arg-type]


def pool(jobs: Collection[BorrowedJob], free: int, need: int) -> Callable[[Collection[str]], bool]:
    """One machine: does so much fit once these have gone?"""
    sizes = {job.key: job.amounts["cpu"] for job in jobs}
    return lambda keys: free + sum(sizes[key] for key in keys) >= need


@pytest.mark.parametrize(
    ("jobs", "need", "keys"),
    [
        pytest.param([borrowed("a", 3, 900.0), borrowed("b", 3, 100.0)], 3, ("b",), id="least is lost"),
        pytest.param([borrowed("a", 3, 900.0), borrowed("b", 3, 100.0)], 6, ("b", "a"), id="as many as it takes"),
        pytest.param([borrowed("a", 3, 100.0, min_runtime=600.0)], 3, (), id="it has just begun"),
        pytest.param([borrowed("a", 3, 900.0, may_be_taken=False)], 3, (), id="its queue forbids it"),
        pytest.param([borrowed("a", 9, 900.0)], 7, (), id="never more than its quota"),
        pytest.param([borrowed("a", 1, 100.0), borrowed("b", 6, 200.0)], 6, ("b",), id="who is not needed is left"),
        pytest.param([borrowed("a", 1, 100.0), borrowed("b", 1, 200.0)], 6, (), id="in vain: nobody ends"),
        pytest.param(
            [borrowed("a", 6, 100.0), borrowed("b", 6, 200.0)], 6, ("a",), id="no more once nothing is borrowed"
        ),
    ],
)
def test_what_is_taken_back(jobs: list[BorrowedJob], need: int, keys: tuple[str, ...]) -> None:
    queues = {"borrower": BORROWER, "lender": LENDER}
    assert taken_back(LENDER, {"cpu": need}, queues, jobs, pool(jobs, 0, need)) == keys


def test_a_queue_within_its_quota_gives_nothing_back() -> None:
    jobs = [borrowed("a", 6, 100.0)]
    queues = {"borrower": QueueUse("borrower", {"cpu": 10}, {"cpu": 10}), "lender": LENDER}
    assert taken_back(LENDER, {"cpu": 6}, queues, jobs, pool(jobs, 0, 6)) == ()
    of_gpus = {"borrower": QueueUse("borrower", {"cpu": 10, "gpu": 2}, {"cpu": 10, "gpu": 4}), "lender": LENDER}
    assert taken_back(LENDER, {"cpu": 6}, of_gpus, jobs, pool(jobs, 0, 6)) == (), "it borrows what is not needed"


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.sampled_from(["x", "y"]), st.integers(1, 4), st.integers(0, 9)), max_size=5),
    quotas=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    lent=st.integers(0, 8),
    need=st.integers(1, 8),
    free=st.integers(0, 3),
)
def test_it_is_enough_not_more_and_never_beyond_the_quota(
    sizes: list[tuple[str, int, int]], quotas: tuple[int, int], lent: int, need: int, free: int
) -> None:
    jobs = [
        BorrowedJob(f"j{number}", queue, {"cpu": cpu}, float(ran), 3.0)
        for number, (queue, cpu, ran) in enumerate(sizes)
    ]
    queues = {
        name: QueueUse(name, {"cpu": quota}, {"cpu": sum(job.amounts["cpu"] for job in jobs if job.queue == name)})
        for name, quota in zip("xy", quotas, strict=True)
    }
    lender = QueueUse("lender", {"cpu": 8}, {"cpu": lent})
    fits = pool(jobs, free, need)
    taken = taken_back(lender, {"cpu": need}, queues, jobs, fits)
    # By hand: go through them by what they lose, take from whoever still has more than its quota.
    used = {name: queue.used["cpu"] for name, queue in queues.items()}
    candidates = []
    for job in sorted(jobs, key=lambda job: (job.ran, job.key)):
        if job.ran >= 3 and used[job.queue] > queues[job.queue].quota["cpu"]:
            used[job.queue] -= job.amounts["cpu"]
            candidates.append(job.key)
    possible = lent + need <= 8 and fits(candidates)
    assert bool(taken) == (possible and not fits([]))
    if taken:
        assert fits(taken)
        assert set(taken) <= set(candidates)
        for fewer in itertools.combinations(taken, len(taken) - 1):
            assert not fits(fewer)
        longest = max(candidates.index(key) for key in taken)
        assert not fits(candidates[:longest]), "nobody who loses more while those who lose less would do"
