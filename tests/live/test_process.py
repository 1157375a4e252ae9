"""From options to the configuration in force."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.exit_codes import USAGE
from fairway.live.process import DeletesUnasked, RunOptions, read_configuration


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


def test_gangs_are_deleted_together_only_where_that_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{fairway: {gangs: {mode: pfnet, prefix: gang.example.com%s}}}]
"""
    file.write_text(text % "")
    with pytest.raises(DeletesUnasked, match="mode pfnet without deleteTogether") as refused:
        read_configuration(RunOptions(config=str(file)))
    assert refused.value.exit_code == USAGE
    read_configuration(RunOptions(config=str(file), shadow=True))  # which writes nothing
    file.write_text(text % ", deleteTogether: true")
    read_configuration(RunOptions(config=str(file)))
