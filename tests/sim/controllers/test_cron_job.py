"""CronJobs: a job whenever the schedule says so. Simulations begin at midnight, on Tuesday, 1 January 2030."""

from typing import Any

import pytest

from fairway.model import CronJob, ObjectMeta
from fairway.model.controllers import CronJobSpec, JobSpec, JobTemplateSpec
from tests.sim.controllers.world import World, template

MINUTE = 60.0
FIRST = 31_557_600  # minutes from 1970 to the beginning


def cron_job(schedule: str = "*/10 * * * *", duration: str = "60", **spec: Any) -> CronJob:
    jobs = JobTemplateSpec(spec=JobSpec(template=template(duration=duration)))
    fields: dict[str, Any] = {"schedule": schedule, "job_template": jobs} | spec
    return CronJob(metadata=ObjectMeta(name="nightly", namespace="default"), spec=CronJobSpec(**fields))


def minutes(world: World) -> list[int]:
    """The minutes since the beginning for which there are jobs."""
    return [int(name.removeprefix("nightly-")) - FIRST for name in world.jobs()]


def test_jobs_come_when_they_are_due() -> None:
    world = World()
    world.create(cron_job())
    world.run(9 * MINUTE)
    assert minutes(world) == []
    world.run(10 * MINUTE)
    assert minutes(world) == [10]
    world.run(25 * MINUTE)
    assert minutes(world) == [10, 20]
    job = world.api.objects("Job")[0]
    assert job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] == "2030-01-01T00:10:00Z"
    assert job.metadata.controller.name == "nightly"
    assert world.num_created == 2


def test_a_schedule_may_be_by_the_clocks_of_a_place() -> None:
    world = World()
    made = world.create(cron_job("0 9 * * *", time_zone="Europe/Berlin"))
    world.run(23 * 60 * MINUTE)
    assert minutes(world) == [8 * 60]  # nine there is eight in UTC
    world.change(made, time_zone="Asia/Tokyo")
    world.run(25 * 60 * MINUTE)
    assert minutes(world) == [8 * 60, 24 * 60]


def test_a_place_that_nobody_knows_is_reported() -> None:
    world = World()
    world.create(cron_job(time_zone="Mars/Olympus"))
    world.run(60 * MINUTE)
    assert world.jobs() == []
    assert world.reports[0][2:] == ("UnparseableSchedule", "unparseable schedule: unknown time zone 'Mars/Olympus'")


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        pytest.param({}, [30, 40, 50], id="three by default"),
        pytest.param({"successful_jobs_history_limit": 1}, [50], id="one"),
        pytest.param({"successful_jobs_history_limit": 0}, [], id="none"),
    ],
)
def test_finished_jobs_are_history(limits: dict[str, Any], kept: list[int]) -> None:
    world = World()
    world.create(cron_job(**limits))
    world.run(59 * MINUTE)
    assert minutes(world) == kept


def test_failed_jobs_have_a_history_of_their_own() -> None:
    world = World()
    jobs = JobTemplateSpec(spec=JobSpec(template=template(fail_after="5"), backoff_limit=0))
    world.create(cron_job(job_template=jobs))
    world.run(59 * MINUTE)
    assert minutes(world) == [50]


@pytest.mark.parametrize(
    ("policy", "expected", "living"),
    [
        pytest.param("Allow", [10, 20, 30], 3, id="Allow"),
        pytest.param("Forbid", [10], 1, id="Forbid"),
        pytest.param("Replace", [30], 1, id="Replace"),
    ],
)
def test_what_happens_while_an_earlier_job_runs(policy: str, expected: list[int], living: int) -> None:
    world = World()
    world.create(cron_job(duration="1h", concurrency_policy=policy))
    world.run(35 * MINUTE)
    assert (minutes(world), world.count()) == (expected, living)


@pytest.mark.parametrize(
    ("deadline", "expected"),
    [
        pytest.param(None, [10, 20], id="no deadline"),
        pytest.param(600, [10, 20], id="in time"),
        pytest.param(60, [10], id="too late"),
    ],
)
def test_a_missed_start_is_made_up_for(deadline: int | None, expected: list[int]) -> None:
    world = World()
    # The first job runs from minute 10 to minute 25 or so.
    world.create(cron_job(duration="15m", concurrency_policy="Forbid", starting_deadline_seconds=deadline))
    world.run(27 * MINUTE)
    assert minutes(world) == expected


def test_a_suspended_cron_job_starts_nothing() -> None:
    world = World()
    made = world.create(cron_job(suspend=True))
    world.run(35 * MINUTE)
    assert minutes(world) == []
    world.change(made, suspend=False)
    world.run(36 * MINUTE)
    assert minutes(world) == [30]  # of what was missed, the latest
    world.change(made, suspend=True)
    world.run(100 * MINUTE)
    assert minutes(world) == [30]


def test_another_schedule_counts_from_now_on() -> None:
    world = World()
    made = world.create(cron_job("@hourly"))
    world.run(5 * MINUTE)
    world.change(made, schedule="7 * * * *")
    world.run(70 * MINUTE)
    assert minutes(world) == [7, 67]


def test_a_schedule_that_makes_no_sense_is_reported() -> None:
    world = World()
    world.create(cron_job("every day"))
    world.run(100 * MINUTE)
    assert minutes(world) == []
    assert [words[:3] for words in world.reports] == [("CronJob", "default/nightly", "UnparseableSchedule")]


def test_everything_goes_with_it() -> None:
    world = World()
    made = world.create(cron_job(duration="1h"))
    world.run(15 * MINUTE)
    assert world.count() == 1
    world.api.remove(made)
    world.run(120 * MINUTE)
    assert (world.jobs(), world.pods, world.num_created) == ([], [], 1)


def test_waiting_for_the_next_job_is_no_work() -> None:
    world = World()
    world.create(cron_job("@yearly"))
    world.run(1)
    assert world.timeline.num_busy == 0
