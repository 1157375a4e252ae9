"""Numbers by row are the same numbers, however they are kept."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster.row_counts import RowCounts

LENGTH = 40


@given(st.lists(st.tuples(st.integers(0, LENGTH - 1), st.integers(0, 3)), max_size=60), st.integers(1, 5))
def test_few_and_many_are_told_alike(changes: list[tuple[int, int]], num_groups: int) -> None:
    counts, expected = RowCounts(LENGTH), np.zeros(LENGTH, np.int64)
    groups = np.arange(LENGTH, dtype=np.intp) % num_groups
    for row, count in changes:
        counts[row] = count
        expected[row] = count
    assert [counts[row] for row in range(LENGTH)] == expected.tolist()
    assert counts.array().tolist() == expected.tolist()
    sums = [int(expected[groups == group].sum()) for group in range(num_groups)]
    assert counts.sums(groups, num_groups).tolist() == sums
    apart = RowCounts(LENGTH, counts.array().copy())
    other = counts.copy()
    other[0] = 9
    counts.grow(2 * LENGTH)
    assert counts.array().tolist() == [*expected.tolist(), *[0] * LENGTH]
    assert apart.array().tolist() == expected.tolist()
    assert other[0] == 9


@given(st.lists(st.tuples(st.integers(0, LENGTH - 1), st.integers(-2, 3)), max_size=60), st.integers(0, 60))
def test_who_catches_up_has_the_same_numbers(changes: list[tuple[int, int]], behind: int) -> None:
    counts, expected = RowCounts(LENGTH), np.zeros(LENGTH, np.int64)
    reader = counts.copy()
    for number, (row, amount) in enumerate(changes):
        if number == behind:
            reader = counts.copy()
        counts.add(row, amount)
        expected[row] += amount
    deltas = expected - reader.array()
    assert [reader.catch_up(counts, row) for row in range(LENGTH)] == deltas.tolist()
    assert reader.array().tolist() == counts.array().tolist() == expected.tolist()
