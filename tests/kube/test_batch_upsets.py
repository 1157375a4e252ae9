"""Queues of jobs on a real API server while the ground moves: the server is away, clocks are set, our kinds are deleted
and come again, two schedulers have a queue each, and operators change queues and accounts while jobs run.

Ten minutes pass in a moment: the scheduler is a process whose clocks jump when it is told so (`tests.chaos`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.crds import definitions
from tests.chaos.jumping_clock import jump
from tests.kube.api import Api, ApiError, Json
from tests.kube.batch import (
    CONFIGURATION,
    MERGE,
    VERSION,
    batch_kinds,
    events_of,
    job,
    later,
    let_go,
    node,
    ours,
    queue,
    start,
    state_of,
    status_of,
    until,
)
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import defined
from tests.kube.jobs import PATIENCE, bound
from tests.kube.processes import Program, wait_until

MINUTE = 60.0
PHYSICS = ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1})


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        yield api


def start_jumping(plane: ControlPlane) -> Program:
    module = ("tests.chaos.jumping_clock", str(plane.directory))
    return plane.start_fairway(CONFIGURATION, kubeconfig=plane.kubeconfig(), module=module)


def change(api: Api, path: str, **spec: object) -> None:
    api.request("PATCH", f"/apis/{VERSION}/{path}", {"spec": spec}, content_type=MERGE)


def serves(api: Api) -> bool:
    """A server that has just begun knows its own kinds before it does ours."""
    try:
        return all(api.items(kind) is not None for kind in ("JobRecord", "Account", "Queue"))
    except ApiError as error:
        if error.status not in (404, 429, 503):
            raise
        return False


def deleted_pods(plane: ControlPlane, namespace: str) -> list[str]:
    """In the order in which the server was asked to; whoever asked again for one that is going is left out."""
    about = (each["objectRef"] for each in plane.audit_records() if each["verb"] == "delete")
    names = [each["name"] for each in about if (each["resource"], each.get("namespace")) == ("pods", namespace)]
    return list(dict.fromkeys(names))


def test_the_server_is_away_for_ten_minutes(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    """Jobs run on; limits that passed are carried out in their order when it is back, and no charge is lost."""
    api.create(node("a", "4"))
    api.create(PHYSICS)
    api.create(queue(limits={"killGrace": "1s"}))
    control_plane.start_kubelet()
    scheduler = start_jumping(control_plane)
    for name, limit in (("soon", "3m"), ("later", "7m"), ("on", "1h")):
        api.create(job(name, namespace, time_limit=limit))
        until(api, name, namespace, "Running")
    assert control_plane.api_server is not None
    control_plane.api_server.kill()
    jump(scheduler, control_plane.directory, wall=10 * MINUTE, slept=10 * MINUTE)
    control_plane.start_api_server()
    wait_until(lambda: serves(api), "the server has our kinds again", PATIENCE)

    for name in ("soon", "later"):
        until(api, name, namespace, "Finished", "TimedOut")
    assert set(bound(api, namespace)) == {"on"}
    wait_until(lambda: deleted_pods(control_plane, namespace) == ["soon", "later"], "in their order", PATIENCE)
    metrics = control_plane.metrics(scheduler)
    assert metrics["fairway_limit_late_seconds_count"] == 2
    late = metrics["fairway_limit_late_seconds_sum"]
    assert 10 * MINUTE <= late <= 10 * MINUTE + 2 * MINUTE, "seven minutes, and three"
    jump(scheduler, control_plane.directory, wall=11 * MINUTE, slept=MINUTE)  # books are written twice a minute

    def are_settled() -> bool:
        return all(status_of(api, name, namespace).get("settled") for name in ("soon", "later"))

    wait_until(are_settled, "both are settled", PATIENCE)
    charges = [status_of(api, name, namespace)["charge"] for name in ("soon", "later")]
    assert all(10 * MINUTE <= charge <= 13 * MINUTE for charge in charges), "for all that they ran"
    assert api.get("Account", "physics")["status"]["book"]["settled"] == round(sum(charges) * 1000)
    assert state_of(api, "on", namespace) == ("Running", "")
    assert scheduler.is_running


def test_a_clock_is_set_and_windows_follow_it(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    """What runs does not feel it."""
    api.create(node("a", "2"))
    api.create(queue(limits={"default": "40m"}))
    window = {"duration": "10m", "mode": "avoid", "drainLead": "30s"}
    made = api.create(ours("MaintenanceWindow", "disks", start=later(50 * MINUTE), **window))
    control_plane.start_kubelet()
    scheduler = start_jumping(control_plane)
    api.create(job("it", namespace))
    until(api, "it", namespace, "Running")
    before = status_of(api, "it", namespace)["ledger"]["state"]["intervals"]

    def closed_by() -> str:
        found = api.get("Node", "a")
        said: str = found["metadata"].get("annotations", {}).get("fairway.dev/cordoned-by", "")
        return said if found["spec"].get("unschedulable") else ""

    def phase() -> str:
        found: str = api.get("MaintenanceWindow", "disks").get("status", {}).get("phase", "")
        return found

    wait_until(lambda: phase() == "Announced", "it is announced", PATIENCE)
    jump(scheduler, control_plane.directory, wall=55 * MINUTE)
    wait_until(lambda: closed_by() == made["metadata"]["uid"], "it has begun", PATIENCE)
    assert phase() == "Active"
    jump(scheduler, control_plane.directory, wall=0.0)
    wait_until(lambda: phase() == "Announced" and not closed_by(), "it has not", PATIENCE)
    wait_until(lambda: bool(events_of(api, "default", "ClockStepped")), "operators are told", PATIENCE)
    assert all(f"machine was set {way} by 55m" in scheduler.output() for way in ("forward", "back"))
    assert status_of(api, "it", namespace)["ledger"]["state"]["intervals"] == before
    assert state_of(api, "it", namespace) == ("Running", "")
    assert not events_of(api, namespace, "TimeLimitNear")


def test_our_kinds_are_deleted_and_come_again_while_a_job_runs(control_plane: ControlPlane, namespace: str) -> None:
    """It runs on as an ordinary pod; of what it used before, nobody knows any more."""
    api = control_plane.api()
    api.create(node("a", "2"))
    control_plane.start_kubelet()
    scheduler = start(control_plane)

    def records_may_go() -> None:
        for each in api.items("JobRecord"):
            let_go(api, each)

    with defined(api, *definitions()):
        api.create(queue())
        api.create(job("it", namespace))
        until(api, "it", namespace, "Running")
        before = status_of(api, "it", namespace)["intervals"]
        records_may_go()
    scheduler.wait_until(lambda: "there are no queues of jobs any more" in scheduler.output(), "queues are off")
    assert set(bound(api, namespace)) == {"it"}
    with defined(api, *definitions()):
        try:
            api.create(queue())
            until(api, "it", namespace, "Running")
            (interval,) = status_of(api, "it", namespace)["intervals"]
            assert interval["uncertain"]
            assert interval["from"] > before[0]["from"]
            assert scheduler.is_running
        finally:
            control_plane.stop_others()
            records_may_go()


def test_two_schedulers_have_a_queue_each(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    """Each serves its own; a pod that names the other's queue is nobody's, waits for nothing, and is told so."""

    def of_other(made: Json) -> Json:
        made["spec"]["schedulerName"] = "other"
        return made

    api.create(node("a", "4"))
    api.create(queue("day"))
    api.create(ours("Queue", "night", schedulerName="other", state="Paused"))
    control_plane.start_kubelet()
    start(control_plane)
    control_plane.start_fairway(
        {"profiles": [{"schedulerName": "other"}]}, kubeconfig=control_plane.kubeconfig(), flags=()
    )
    api.create(job("mine", namespace, queue="day"))
    api.create(of_other(job("theirs", namespace, queue="night")))
    api.create(job("stranger", namespace, queue="night"))
    until(api, "mine", namespace, "Running")
    until(api, "theirs", namespace, "Queued", "QueueStopped")
    wait_until(lambda: "stranger" in bound(api, namespace), "it waits in no queue", PATIENCE)
    change(api, "queues/night", state="Open")
    until(api, "theirs", namespace, "Running")
    assert {each["metadata"]["name"] for each in api.items("JobRecord", namespace)} == {"mine", "theirs"}
    for name in ("mine", "theirs"):
        assert len(status_of(api, name, namespace)["intervals"]) == 1


def test_what_operators_change_while_jobs_run_is_for_what_comes(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    """Limits of what runs stay; from that instant on it costs what is said now."""
    api.create(node("a", "4"))
    api.create(PHYSICS)
    api.create(queue(limits={"default": "20m", "max": "1h"}))
    control_plane.start_kubelet()
    start(control_plane)
    api.create(job("first", namespace, cpu="2"))
    until(api, "first", namespace, "Running")
    change(api, "queues/batch", limits={"default": "5m", "max": "10m"})
    change(api, "accounts/physics", weights={"cpu": 3})
    wait_until(lambda: len(status_of(api, "first", namespace)["intervals"]) == 2, "the interval is cut", PATIENCE)
    before, after = status_of(api, "first", namespace)["ledger"]["state"]["intervals"]
    assert (before["rate"], after["rate"]) == (2.0, 6.0)
    assert before["end"] == after["start"] > before["start"]
    api.create(job("second", namespace, cpu="2"))
    until(api, "second", namespace, "Running")
    assert status_of(api, "second", namespace)["limit"] == "300s"
    assert status_of(api, "first", namespace)["limit"] == "1200s"
    api.create(job("third", namespace, time_limit="30m"))
    until(api, "third", namespace, "Refused", "LimitTooLong")
    assert state_of(api, "first", namespace) == ("Running", "")
