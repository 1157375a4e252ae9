"""Queues of jobs on a real API server: jobs wait, start, end and are paid for, whoever dies meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.crds import definitions
from tests.kube.api import Api, Json
from tests.kube.batch import (
    VERSION,
    batch_kinds,
    events_of,
    job,
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
from tests.kube.jobs import PATIENCE, bound, reasons
from tests.kube.processes import wait_until


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    """Of a server that has our kinds."""
    with batch_kinds(control_plane) as api:
        yield api


def test_a_job_waits_starts_and_ends_and_is_paid_for(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    api.create(node("a", "2"))
    api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}))
    api.create(queue())
    control_plane.start_kubelet()
    start(control_plane)
    api.create(job("first", namespace, cpu="2", runs="4s"))
    until(api, "first", namespace, "Running")
    api.create(job("second", namespace, cpu="2", runs="2s"))
    until(api, "second", namespace, "Queued", "Resources")
    conditions = {each["type"]: each for each in api.get("Pod", "second", namespace)["status"]["conditions"]}
    assert conditions["fairway.dev/Queued"]["status"] == "True"
    assert conditions["fairway.dev/Queued"]["reason"] == "Resources"
    assert conditions["PodScheduled"]["message"].startswith("queue batch: Resources: ")
    assert ("Resources", "Pod", "second") in reasons(api, namespace)
    until(api, "first", namespace, "Finished", "Succeeded")
    until(api, "second", namespace, "Finished", "Succeeded")

    def settled() -> bool:
        records = [status_of(api, name, namespace) for name in ("first", "second")]
        return all(each.get("settled") for each in records)

    wait_until(settled, "both are settled", PATIENCE)
    charges = [status_of(api, name, namespace)["charge"] for name in ("first", "second")]
    wait_until(
        lambda: not api.get("Account", "physics")["status"]["book"].get("settling"), "the account forgot", PATIENCE
    )
    book = api.get("Account", "physics")["status"]["book"]
    assert book["settled"] == round(sum(charges) * 1000)
    assert 7.0 <= charges[0] < 30.0  # two cores for four seconds, and what the kubelet takes
    wait_until(
        lambda: not any("finalizers" in each["metadata"] for each in api.items("JobRecord", namespace)),
        "records may go",
        PATIENCE,
    )


def test_whoever_takes_over_goes_on_where_the_killed_one_was(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    """A job runs, one waits, one is held by an operator; limits go on, and the account has everything once."""
    api.create(node("a", "2"))
    api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}))
    api.create(queue(limits={"killGrace": "1s", "warnBefore": "5s"}))
    control_plane.start_kubelet()
    first = start(control_plane)
    api.create(job("runs", namespace, cpu="2", time_limit="25s"))
    until(api, "runs", namespace, "Running")
    api.create(job("waits", namespace, cpu="2", runs="2s"))
    until(api, "waits", namespace, "Queued", "Resources")
    api.create(job("held", namespace, cpu="1", runs="1s"))
    until(api, "held", namespace, "Queued", "Priority")
    path = f"/apis/{VERSION}/namespaces/{namespace}/jobrecords/held"
    merge = "application/merge-patch+json"
    api.request("PATCH", path, {"spec": {"hold": True}}, content_type=merge)
    until(api, "held", namespace, "Queued", "Held")
    before = status_of(api, "runs", namespace)
    first.kill()

    start(control_plane)
    until(api, "runs", namespace, "Finished", "TimedOut")
    after = status_of(api, "runs", namespace)
    assert after["intervals"][0]["from"] == before["intervals"][0]["from"]
    assert len(after["intervals"]) == 1
    (interval,) = after["ledger"]["state"]["intervals"]
    assert 25.0 <= interval["end"] - interval["start"] < 45.0, "its time went on while nobody led"
    assert events_of(api, namespace, "TimeLimitNear")
    until(api, "waits", namespace, "Finished", "Succeeded")
    assert state_of(api, "held", namespace) == ("Queued", "Held")
    api.request("PATCH", path, {"spec": {"hold": False}}, content_type=merge)
    until(api, "held", namespace, "Finished", "Succeeded")

    names = ("runs", "waits", "held")
    wait_until(
        lambda: all(status_of(api, name, namespace).get("settled") for name in names), "all are settled", PATIENCE
    )
    charges = [status_of(api, name, namespace)["charge"] for name in names]
    assert api.get("Account", "physics")["status"]["book"]["settled"] == round(sum(charges) * 1000)


def test_queues_come_and_go_without_a_restart(control_plane: ControlPlane, namespace: str) -> None:
    api = control_plane.api()
    api.create(node("a", "2"))
    control_plane.start_kubelet()
    scheduler = start(control_plane)
    api.create(job("early", namespace, runs="1s"))
    wait_until(lambda: "early" in bound(api, namespace), "queues mean nothing here", PATIENCE)
    with defined(api, *definitions()):
        try:
            api.create(queue())
            scheduler.wait_until(lambda: "queues of jobs are on" in scheduler.log.read_text(), "queues are on")
            api.create(job("late", namespace, runs="1s"))
            until(api, "late", namespace, "Finished", "Succeeded")
            api.create(job("lost", namespace, queue="bacth"))
            until(api, "lost", namespace, "Refused", "QueueUnknown")
            assert "batch" in status_of(api, "lost", namespace)["message"]
        finally:
            for each in api.items("JobRecord"):
                let_go(api, each)
    wait_until(lambda: "lost" in bound(api, namespace), "without queues it is an ordinary pod again", PATIENCE)
    assert scheduler.log.read_text().count("are not served; they are waited for") >= 1


def test_an_object_that_makes_no_sense_is_told_and_stops_nobody(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    api.create(node("a", "2"))
    api.create(queue("batch", aliases={"kueue": ["lq"]}))
    control_plane.start_kubelet()
    start(control_plane)
    api.create(queue("other", aliases={"kueue": ["lq"]}))

    def condition() -> Json:
        found = api.get("Queue", "other").get("status", {}).get("conditions", [])
        return next(iter(found), {})

    wait_until(lambda: condition().get("status") == "False", "it is told", PATIENCE)
    assert condition()["reason"] == "Invalid"
    assert "spec.aliases.kueue: 'lq' is an alias of an older queue already" in condition()["message"]
    wait_until(lambda: bool(events_of(api, "default", "Invalid")), "by an event as well", PATIENCE)
    api.create(job("ours", namespace, runs="1s"))
    until(api, "ours", namespace, "Finished", "Succeeded")
    change = {"spec": {"aliases": {"kueue": ["rq"]}}}
    path = f"/apis/{VERSION}/queues/other"
    api.request("PATCH", path, change, content_type="application/merge-patch+json")
    wait_until(lambda: condition().get("status") == "True", "it is good now", PATIENCE)
    api.create(job("theirs", namespace, queue="other", runs="1s"))
    until(api, "theirs", namespace, "Finished", "Succeeded")


def test_with_batch_false_queues_mean_nothing(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    api.create(node("a", "2"))
    api.create(queue(state="Closed"))
    start(control_plane, "--batch=false")
    api.create(job("it", namespace))
    wait_until(lambda: "it" in bound(api, namespace), "it is an ordinary pod", PATIENCE)
    assert api.items("JobRecord") == []
