"""The priority of a job, factor by factor."""

import pytest

from fairway.batch.priority import (
    PriorityFactors,
    PriorityWeights,
    age_factor,
    job_priority,
    relative_factor,
    size_factor,
)


@pytest.mark.parametrize(("wait", "factor"), [(-5, 0.0), (0, 0.0), (30, 0.5), (60, 1.0), (6000, 1.0)])
def test_age_counts_up_to_a_maximum(wait: float, factor: float) -> None:
    assert age_factor(wait, 60) == factor


def test_size_is_the_mean_of_two_parts_or_of_what_is_left_of_them() -> None:
    assert size_factor(0.5, 0.25) == 0.375
    assert size_factor(0.5, 0.25, favor_small=True) == 0.625
    assert size_factor(2.0, 1.0) == 1.0  # nodes went away since


@pytest.mark.parametrize(
    ("value", "largest", "factor"),
    [(10, 40, 0.25), (40, 40, 1.0), (-5, 40, 0.0), (0, 0, 0.0), (5, 0, 0.0), (-1, -1, 0.0)],
)
def test_queues_and_classes_are_measured_by_the_largest(value: float, largest: float, factor: float) -> None:
    assert relative_factor(value, largest) == factor


def test_the_priority_is_rounded_down_once_with_niceness_in_it() -> None:
    weights = PriorityWeights(age=10, size=10, fair_share=10, queue=0, class_=0)
    factors = PriorityFactors(age=0.25, size=0.25, fair_share=0.25, queue=1, class_=1)
    assert job_priority(weights, factors) == 7  # 7.5; part by part it would be 6
    assert job_priority(weights, factors, nice=1) == 6
    assert job_priority(weights, factors, nice=8) == -1
    assert job_priority(weights, PriorityFactors()) == 0
