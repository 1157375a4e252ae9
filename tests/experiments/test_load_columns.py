"""Metrics by load, rounded as published."""

import numpy as np
import pytest

from fairway.experiments.load_columns import columns_by_load


def test_means_of_buckets() -> None:
    arrived = np.array([0, 4, 6, 10, 16, 1300])
    used = np.array([0, 4, 6, 10, 10, 900])
    frag = np.array([200.0, 190.123, 188.0, 185.0, 180.0, 100.0])
    columns = columns_by_load(arrived, used, frag, 1000)
    # 0 and 0.4 % go to 0; 0.6 % and 1 % to 1; 1.6 % to 2; nobody comes between 2 and 130.
    assert columns.allo[:3].tolist() == [0.2, 0.8, 1.0]
    assert columns.frag[:3].tolist() == [19.51, 18.65, 18.0]
    ratios = [(20.0 + 19.09) / 2, (18.91 + 18.69) / 2, 18.18]
    assert columns.frag_ratio[:3].tolist() == pytest.approx(ratios, abs=1e-12)
    assert columns.allo[130] == 90.0
    assert columns.frag_ratio[130] == 100.0


def test_halves_go_to_the_even_bucket() -> None:
    columns = columns_by_load(np.array([5, 15, 25]), np.array([1, 2, 3]), np.zeros(3), 1000)
    assert columns.allo[:3].tolist() == [0.1, 0.2, 0.25]  # 0.5 % to 0; 1.5 and 2.5 % to 2; 1 is empty


def test_empty_buckets_take_their_neighbours() -> None:
    columns = columns_by_load(np.array([0, 20, 50]), np.array([0, 100, 400]), np.zeros(3), 1000)
    assert columns.allo[:6].tolist() == [0, 5.0, 10.0, 10.0, 40.0, 40.0]
    assert np.isnan(columns.allo[6:]).all()


def test_a_full_cluster_has_no_idle_devices() -> None:
    columns = columns_by_load(np.array([1000]), np.array([1000]), np.array([0.0]), 1000)
    assert columns.frag_ratio[100] == 0.0
