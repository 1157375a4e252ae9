from __future__ import annotations

import pytest

from fairway.queue import QueueSettings


def test_defaults_are_those_of_kube_scheduler() -> None:
    settings = QueueSettings()
    assert (settings.initial_backoff_seconds, settings.max_backoff_seconds) == (1, 10)
    assert (settings.max_unschedulable_seconds, settings.flush_interval_seconds) == (300, 30)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        pytest.param((-1, 10, 300, 30), "initial_backoff_seconds", id="negative backoff"),
        pytest.param((11, 10, 300, 30), "max_backoff_seconds", id="more than the maximum"),
        pytest.param((1, 10, -1, 30), "max_unschedulable_seconds", id="negative wait"),
        pytest.param((1, 10, 300, 0), "flush_interval_seconds", id="no interval"),
    ],
)
def test_nonsense_is_refused_by_name(numbers: tuple[float, float, float, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        QueueSettings(*numbers)
