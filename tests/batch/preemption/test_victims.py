"""Who has to go for a higher tier: as few as it takes, nobody who is protected, always the same ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.preemption.victims import RunningJob, victims
from fairway.model.batch import PreemptionRules
from fairway.model.duration import Duration


def running(key: str, tier: int = 0, ran: float = 1000.0, can_wait_again: bool = True, **rules: Any) -> RunningJob:
    return RunningJob(key, tier, ran, PreemptionRules(**rules), can_wait_again)


def pool(sizes: dict[str, int], free: int, need: int) -> Callable[[Collection[str]], bool]:
    """One machine: does so much fit once these have gone?"""
    return lambda keys: free + sum(sizes[key] for key in keys) >= need


@pytest.mark.parametrize(
    ("jobs", "keys"),
    [
        pytest.param([running("a", ran=900.0), running("b", ran=700.0)], ("b",), id="least is lost"),
        pytest.param([running("a", tier=1, ran=700.0), running("b", ran=900.0)], ("b",), id="the lowest tier first"),
        pytest.param([running("a", tier=5)], (), id="an equal tier"),
        pytest.param([running("a", tier=6)], (), id="a higher tier"),
        pytest.param([running("a", by="none")], (), id="its queue forbids it"),
        pytest.param([running("a", ran=599.0)], (), id="it has just begun"),
        pytest.param([running("a", ran=5.0, min_runtime=Duration(5))], ("a",), id="it has run for long enough"),
        pytest.param([running("a", can_wait_again=False)], (), id="it would be lost"),
        pytest.param([running("a", can_wait_again=False, mode="cancel")], ("a",), id="that is what the queue says"),
    ],
)
def test_one_has_to_go(jobs: list[RunningJob], keys: tuple[str, ...]) -> None:
    assert victims(5, jobs, pool({"a": 3, "b": 3}, 0, 3)) == keys


def test_nobody_goes_if_there_is_room_or_if_it_is_in_vain() -> None:
    jobs = [running("a"), running("b")]
    assert victims(5, jobs, pool({"a": 1, "b": 1}, 3, 3)) == ()
    assert victims(5, jobs, pool({"a": 1, "b": 1}, 0, 3)) == ()


JOBS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 9), st.integers(1, 4), st.sampled_from(["higherTier", "none"]), st.booleans()
    ),
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(drawn=JOBS, tier=st.integers(0, 3), free=st.integers(0, 4), need=st.integers(1, 9), order=st.randoms())
def test_enough_not_more_nobody_protected_always_the_same(
    drawn: list[tuple[int, int, int, Any, bool]], tier: int, free: int, need: int, order: Any
) -> None:
    jobs = [
        running(f"j{number}", low, float(ran), again, by=by, min_runtime=Duration(3))
        for number, (low, ran, _, by, again) in enumerate(drawn)
    ]
    sizes = {f"j{number}": size for number, (_, _, size, _, _) in enumerate(drawn)}
    fits = pool(sizes, free, need)
    chosen = victims(tier, jobs, fits)
    # By hand: who may go at all, in which order, and until when.
    may_go = [
        job.key
        for job in sorted(jobs, key=lambda job: (job.tier, job.ran, job.key))
        if job.tier < tier and job.ran >= 3 and job.rules.by == "higherTier" and job.can_wait_again
    ]
    assert bool(chosen) == (not fits([]) and fits(may_go))
    assert set(chosen) <= set(may_go)
    if chosen:
        assert fits(chosen)
        for fewer in itertools.combinations(chosen, len(chosen) - 1):
            assert not fits(fewer), "nobody goes without need"
        last = max(may_go.index(key) for key in chosen)
        assert not fits(may_go[:last]), "nobody goes where those before are enough"
    shuffled = list(jobs)
    order.shuffle(shuffled)
    assert victims(tier, shuffled, fits) == chosen
