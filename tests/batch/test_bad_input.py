"""Bad input and faults in a simulation, as far as no other file here has them: what never comes, or is too much."""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.batch.reasons import Reason
from fairway.model import Pod
from fairway.testing import pod
from tests.batch.room import Room, job

DAY = 86_400.0


def test_who_waits_for_a_job_that_never_comes_is_warned_once_after_a_day() -> None:
    said: dict[str, Any] = {"connect_to": "other", "connect_mode": "after-any"}
    keep = [(time, job(f"j{time:.0f}", 1, 5.0, 9.0)) for time in (DAY - 60.0, DAY + 60.0, 2 * DAY)]
    room = Room(
        [(10.0, job("waits", **said)), (20.0, job("meets", connect_to="j86340", connect_mode="after-any")), *keep]
    )
    room.until(3 * DAY)
    warned = [(time, about) for time, about, reason, _ in room.told if reason == "DependencyMissing"]
    assert warned == [(DAY + 10.0, "default/waits")]
    assert room.find("waits").standing.reason is Reason.DEPENDENCY


def test_a_plugin_that_refuses_for_ever_holds_nobody_else_up() -> None:
    """The plan knows nothing of anti-affinity between pods: there is room by amounts, and the cycle says no."""

    def near(name: str, run: float = 20.0) -> Pod:
        return _in_queue(pod(name, cpu=1, labels={"app": "a"}, anti_affinity="node"), run)

    room = Room([(0.0, near("first", run=500.0)), (1.0, near("apart")), (2.0, job("other", 1, 10.0, 20.0))])
    room.until(400.0)
    assert set(room.starts) == {"first", "other"}
    assert room.starts["other"] == 2.0
    assert room.find("apart").standing.reason is Reason.PLACEMENT
    attempts = room.find("apart").num_vain
    assert 0 < attempts < 40, "one attempt a periodic pass, and one after each change"
    room.until(1000.0)
    assert room.starts["apart"] == 500.0


def _in_queue(it: Pod, run: float) -> Pod:
    labels = {**it.metadata.labels, "fairway.dev/queue": "q"}
    annotations = {"fairway.dev/time-limit": "900", "fairway.dev/duration": f"{run}"}
    metadata = msgspec.structs.replace(it.metadata, labels=labels, annotations=annotations)
    return msgspec.structs.replace(it, metadata=metadata)


def test_ten_thousand_jobs_in_a_second_are_judged_in_it_and_the_first_start() -> None:
    """A thousand each tenth of it; each lets others pass as much as it says. There is room for 1,500."""
    room = Room(
        [
            (number // 1000 / 10, job(f"j{number}", 1, 100.0, 200.0, nice=str((number * 7) % 9973)))
            for number in range(10_000)
        ],
        cpus=(50,) * 30,
    )
    room.until(1.0)
    reasons = {each.standing.reason for each in room.desk.book if each.started is None}
    assert len(room.desk.book.jobs) == 10_000
    assert reasons == {Reason.RESOURCES, Reason.PRIORITY}
    second = sorted((number * 7 % 9973, number) for number in range(1000, 2000))[:500]
    assert {name for name, start in room.starts.items() if start == 0.0} == {f"j{number}" for number in range(1000)}
    assert {name for name, start in room.starts.items() if start > 0.0} == {f"j{number}" for _, number in second}


def test_of_more_jobs_than_a_pass_takes_the_first_are_taken_and_all_run_in_their_order() -> None:
    room = Room([(0.0, job(f"j{number:02}", 2, 10.0, 10.0)) for number in range(20)], max_jobs=4)
    room.until(1000.0)
    assert list(room.starts) == [f"j{number:02}" for number in range(20)]
    assert list(room.starts.values()) == [10.0 * (number // 2) for number in range(20)]
