"""Jobs as users of Kueue and of Volcano write them land in queues that know their names, on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from deploy.crds import definitions
from tests.kube.api import Api, Json
from tests.kube.batch import let_go, node, queue, status_of, until
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import VOLCANO, defined
from tests.kube.jobs import CONFIGURATION, plain
from tests.kube.test_stream import start_job_controller

KUEUE: Final = "kueue.x-k8s.io/"


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    api = control_plane.api()
    with defined(api, *definitions(), VOLCANO):
        controller = start_job_controller(control_plane)
        try:
            yield api
        finally:
            controller.kill()
            control_plane.stop_others()
            for each in api.items("JobRecord"):
                let_go(api, each)


def kueue_job(name: str, namespace: str, local_queue: str) -> Json:
    """As Kueue's documentation has it: suspended, with the queue as a label of the Job."""
    labels = {f"{KUEUE}queue-name": local_queue, f"{KUEUE}max-exec-time-seconds": "600"}
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    template = {"metadata": {"annotations": {"fairway.test/runs-for": "2s"}}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"suspend": True, "parallelism": 2, "completions": 2, "template": template},
    }


def test_names_of_kueue_and_of_volcano_are_aliases_of_our_queues(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    api.create(node("a", "4"))
    api.create(queue("batch", aliases={"kueue": ["team-lq"], "volcano": ["default"]}))
    api.create(queue("other", aliases={"kueue": ["other-lq"]}, state="Paused"))
    control_plane.start_kubelet()
    control_plane.start_fairway(CONFIGURATION, kubeconfig=control_plane.kubeconfig())

    api.create(kueue_job("train", namespace, "team-lq"))
    until(api, "train", namespace, "Finished", "Succeeded")
    status = status_of(api, "train", namespace)
    assert (status["queue"], status["limit"]) == ("batch", "600s")
    api.create(kueue_job("waits", namespace, "other-lq"))
    until(api, "waits", namespace, "Queued", "QueueStopped")
    assert api.get("Job", "waits", namespace)["spec"]["suspend"], "nobody resumes it before its turn"
    api.create(kueue_job("stays", namespace, "nobodys-lq"))

    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "tf", "namespace": namespace},
        "spec": {"minMember": 2, "queue": "default"},
    }
    api.request("POST", f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups", group)
    said = {"scheduling.k8s.io/group-name": "tf", "fairway.test/runs-for": "2s"}
    api.create(plain("tf-0", namespace, annotations=said))
    until(api, "tf", namespace, "Queued", "GangIncomplete")
    api.create(plain("tf-1", namespace, annotations=said))
    until(api, "tf", namespace, "Finished", "Succeeded")
    assert status_of(api, "tf", namespace)["queue"] == "batch"
    assert status_of(api, "stays", namespace) == {}, "a queue that none of ours is called is another's affair"
    assert api.get("Job", "stays", namespace)["spec"]["suspend"]
