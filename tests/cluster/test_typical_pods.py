"""Typical pods: the most frequent shapes, in order, with their shares."""

from __future__ import annotations

import pytest

from fairway.cluster import Shape, TypicalPods
from fairway.testing import pod
from tests.plugins.gpu_world import gpu_pod

BIG, SMALL, PLAIN, RARE = (
    Shape(8000, 1000, 1, ""),
    Shape(2000, 500, 1, ""),
    Shape(1000, 0, 0, ""),
    Shape(1, 1000, 8, ""),
)


def test_shapes_leave_memory_out_and_keep_models() -> None:
    assert Shape.of_pod(gpu_pod(milli=500, cpu=2, memory="1Gi", models="T4|P100")) == Shape(2000, 500, 1, "T4|P100")
    assert Shape.of_pod(gpu_pod(count=4, cpu="500m")) == Shape(500, 1000, 4, "")
    assert Shape.of_pod(pod(memory="4Gi")) == Shape(0, 0, 0, "")
    assert Shape(3152, 810, 1, "").text == "3.152 CPU, 810m of a GPU"
    assert Shape(500, 1000, 2, "T4|P100").text == "0.5 CPU, 2 GPUs T4|P100"
    assert PLAIN.text == "1 CPU, no GPU"


def test_so_many_shapes_that_they_stand_for_the_threshold() -> None:
    counts = {PLAIN: 40, BIG: 40, SMALL: 15, RARE: 5}
    typical = TypicalPods.of_counts(counts)
    assert typical.shapes == (BIG, PLAIN, SMALL)  # of equals the larger comes first
    assert typical.shares == pytest.approx((40 / 95, 40 / 95, 15 / 95))
    assert TypicalPods.of_counts(counts, threshold=96).shapes == (BIG, PLAIN, SMALL, RARE)
    assert TypicalPods.of_counts(counts, threshold=40).shapes == (BIG,)
    assert TypicalPods.of_counts(counts, threshold=40, step=3).shapes == (BIG, PLAIN, SMALL)
    heavy = TypicalPods.of_counts(counts, threshold=30, gpu_weight=2.0)
    assert heavy.shapes == (BIG,)  # counts 40 × 3; RARE 5 × 17
    assert TypicalPods.of_counts(counts, threshold=78, gpu_weight=2.0).shapes == (BIG, RARE)


def test_the_last_bits_of_a_share_are_those_of_the_published_runs() -> None:
    typical = TypicalPods.of_counts({BIG: 7, SMALL: 3, PLAIN: 3}, threshold=75)
    assert typical.shares == ((7 / 13) / (10 / 13), (3 / 13) / (10 / 13))


@pytest.mark.parametrize(
    "options",
    [{"threshold": 0}, {"threshold": 101}, {"step": 0}, {"gpu_weight": -1}],
    ids=lambda each: next(iter(each)),
)
def test_rules_that_make_no_sense(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="threshold is from"):
        TypicalPods.of_counts({BIG: 1}, **options)  # type: ignore[arg-type]


def test_there_is_at_least_one_typical_pod() -> None:
    with pytest.raises(ValueError, match="at least one shape"):
        TypicalPods.of_pods([])
    with pytest.raises(ValueError, match="more than 0"):
        TypicalPods((BIG,), (0.0,))
