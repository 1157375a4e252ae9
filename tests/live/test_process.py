"""From options to the configuration in force."""

from __future__ import annotations

import pytest

from fairway.live.process import RunOptions, read_configuration


@pytest.mark.parametrize(
    ("name", "served", "lease"),
    [
        pytest.param(None, "default-scheduler", "kube-scheduler", id="in kube-scheduler's place"),
        pytest.param("default-scheduler", "default-scheduler", "kube-scheduler", id="the same, said aloud"),
        pytest.param("fairway", "fairway", "fairway", id="a second scheduler waits for nobody"),
    ],
)
def test_a_second_scheduler_has_a_lease_of_its_own(name: str | None, served: str, lease: str) -> None:
    configuration = read_configuration(RunOptions(scheduler_name=name))
    assert [profile.scheduler_name for profile in configuration.profiles] == [served]
    assert configuration.leader_election.resource_name == lease
