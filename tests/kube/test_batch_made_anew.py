"""A bare pod that fails is made anew, once, whichever request its scheduler is killed at, on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from tests.kube.api import Api, Json
from tests.kube.batch import MERGE, batch_kinds, events_of, job, node, queue, start, status_of, until
from tests.kube.control_plane import ControlPlane
from tests.kube.cuts import Cut, killed_at
from tests.kube.jobs import PATIENCE
from tests.kube.processes import wait_until

RECORD: Final = r"/jobrecords/it/status(\?|$)"
MARK: Final = "fairway.dev/made-anew-from"


CUTS: Final = (
    Cut("before it is written down how the pod was made", "PUT", RECORD, MARK, "reset"),
    Cut("after it is written down how the pod was made", "PUT", RECORD, MARK),
    Cut("before the failed pod is deleted", "DELETE", r"/pods/it(\?|$)", action="reset"),
    Cut("after the failed pod is deleted", "DELETE", r"/pods/it(\?|$)"),
    Cut("before the pod is made", "POST", r"/pods(\?|$)", MARK, "reset"),
    Cut("after the pod is made", "POST", r"/pods(\?|$)", f"{MARK}(?s:.*)"),
    Cut("after its record forgot it", "PUT", RECORD, rf'"num_restarts":1(?!.*{MARK})'),
)


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        api.create(node("a", "2"))
        api.create(queue(failure={"brokenAfter": "1s"}))
        control_plane.start_kubelet()
        yield api


def submitted(namespace: str) -> Json:
    """As its user makes it, with what a server would refuse if it were sent again as it was worked out."""
    made = job("it", namespace, cpu="1", requeue="recreate", time_limit="10m")
    made["metadata"]["labels"] = {"app": "it"}
    made["spec"]["priorityClassName"] = "system-node-critical"
    made["spec"]["containers"][0]["env"] = [{"name": "SEED", "value": "7"}]
    return made


def end(api: Api, namespace: str, phase: str) -> str:
    """The pod ends when it runs; returns its uid."""
    path = f"/api/v1/namespaces/{namespace}/pods/it"
    wait_until(lambda: api.get("Pod", "it", namespace)["status"]["phase"] == "Running", "it runs", PATIENCE)
    ended = api.request("PATCH", f"{path}/status", {"status": {"phase": phase}}, content_type=MERGE)
    uid: str = ended["metadata"]["uid"]
    return uid


def is_made_anew(api: Api, namespace: str, former: str) -> bool:
    found = [each for each in api.items("Pod", namespace) if each["metadata"]["name"] == "it"]
    return any(each["metadata"]["annotations"].get(MARK) == former for each in found)


def check_second_life(api: Api, namespace: str, former: str) -> None:
    """It is made anew, runs, and is over with its second pod; nobody makes a third one."""
    wait_until(lambda: is_made_anew(api, namespace, former), "it is made anew", PATIENCE)
    second = api.get("Pod", "it", namespace)
    assert second["spec"]["containers"][0]["env"] == [{"name": "SEED", "value": "7"}]
    assert second["metadata"]["labels"] == {"app": "it"}
    assert end(api, namespace, "Succeeded") == second["metadata"]["uid"] != former
    until(api, "it", namespace, "Finished", "Succeeded")
    assert status_of(api, "it", namespace)["restarts"] == 1
    assert api.get("Pod", "it", namespace)["metadata"]["uid"] == second["metadata"]["uid"]


def test_a_bare_pod_that_failed_is_made_anew(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    start(control_plane)
    api.create(submitted(namespace))
    former = end(api, namespace, "Failed")
    check_second_life(api, namespace, former)
    wait_until(lambda: bool(events_of(api, namespace, "PodMadeAnew")), "it is told", PATIENCE)
    assert len(events_of(api, namespace, "PodMadeAnew")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.title)
def test_it_is_made_anew_once_whenever_its_scheduler_is_killed(
    control_plane: ControlPlane, api: Api, namespace: str, cut: Cut
) -> None:
    with killed_at(control_plane, cut):
        api.create(submitted(namespace))
        former = end(api, namespace, "Failed")
    start(control_plane)
    check_second_life(api, namespace, former)
