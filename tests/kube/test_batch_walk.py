"""The walk of docs/jobs.md and docs/batch.md ("On a cluster"), step by step, on a real API server.

Two queues, three accounts, ordinary Jobs; a window, an extension, a leader that dies, a node that is lost, the bill.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.kube.api import Api, Json
from tests.kube.batch import batch_kinds, job, node, ours, queue
from tests.kube.control_plane import ControlPlane
from tests.kube.jobs import CONFIGURATION, PATIENCE
from tests.kube.people import Person
from tests.kube.processes import Program, wait_until
from tests.kube.test_stream import start_job_controller

ELECTION: Final = {"leaderElect": True, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}
OUT_OF_SERVICE: Final = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        controller = start_job_controller(control_plane)
        try:
            yield api
        finally:
            controller.kill()


def batch_job(name: str, namespace: str, cpu: str = "4", pods: int = 1, suspend: bool = False, **said: str) -> Json:
    """An ordinary Job that says where it waits."""
    annotations = {f"fairway.dev/{key.replace('_', '-')}": value for key, value in {"queue": "batch", **said}.items()}
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {
            "suspend": suspend,
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 6,
            "template": {"metadata": {}, "spec": spec},
        },
    }


def records(api: Api, namespace: str) -> dict[str, Json]:
    """Statuses by the name of the Job, which is that of the record or of its owner."""
    found = {}
    for each in api.items("JobRecord", namespace):
        owners = [owner["name"] for owner in each["metadata"].get("ownerReferences", ())]
        found[next(iter(owners), each["metadata"]["name"])] = each.get("status", {})
    return found


def stands(api: Api, namespace: str, **wanted: str) -> None:
    """Wait until Jobs stand so."""

    def are_so() -> bool:
        known = records(api, namespace)
        return all(
            state in (known.get(name, {}).get("state"), known.get(name, {}).get("reason"))
            for name, state in wanted.items()
        )

    wait_until(are_so, f"{wanted}", PATIENCE)


def names(api: Api, namespace: str) -> list[str]:
    return [each["metadata"]["name"] for each in api.items("JobRecord", namespace)]


def pods_of(api: Api, namespace: str, name: str) -> list[Json]:
    """Pods of a Job that are not over."""
    found = api.items("Pod", namespace, labelSelector=f"batch.kubernetes.io/job-name={name}")
    return [each for each in found if each.get("status", {}).get("phase") in ("Pending", "Running")]


def lose(api: Api, name: str) -> None:
    """A node does not answer any more, and somebody says that it is out of service."""
    status = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    api.patch("Node", name, None, status, subresource="status")
    api.patch("Node", name, None, {"spec": {"taints": [OUT_OF_SERVICE]}})


def leader(schedulers: list[Program]) -> Program:
    """Who leads, of two."""
    found: list[Program] = []

    def is_known() -> bool:
        found[:] = [each for each in schedulers if "queues of jobs are on" in each.log.read_text()]
        return len(found) == 1

    wait_until(is_known, "one leads", PATIENCE)
    return found[0]


class Walk:
    """A cluster with queues, two schedulers of which one leads, and an operator."""

    def __init__(self, plane: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
        self.plane = plane
        self.admin = Person(plane, capsys)
        configuration = CONFIGURATION | {"leaderElection": ELECTION}
        kubeconfig = plane.kubeconfig()
        self.schedulers = [plane.start_fairway(configuration, kubeconfig=kubeconfig) for _ in range(2)]
        self.first = leader(self.schedulers)
        self.simulate = self.place = ""  # the job of that Job, and its first node

    def run(self, *words: str, code: int = 0) -> str:
        """What a command prints that ends so."""
        printed = self.admin.run(*words)
        assert printed.code == code, printed.out + printed.err
        return printed.out


def set_up(api: Api) -> None:
    """Nodes, accounts and queues."""
    for name in ("a", "b", "c"):
        api.create(node(name, "4"))
    for name in ("physics", "biology", "chemistry"):
        api.create(ours("Account", name, shares=1, weights={"cpu": 1}))
    batch = queue("batch", limits={"default": "1h", "max": "12h"}, failure={"lostAfter": "2s"},
                  accounts={"default": "physics"})  # fmt: skip
    api.create(batch)
    api.create(queue("inter", policy="interactive"))


def submit(api: Api, namespace: str) -> None:
    """Jobs that run: an ordinary one, and a gang of four."""
    api.create(batch_job("simulate", namespace, account="physics", time_limit="2h"))
    stands(api, namespace, simulate="Running")
    api.create(batch_job("mpi", namespace, "2", pods=4, account="biology", start_together="true", time_limit="4h"))
    stands(api, namespace, mpi="Running")


def extend(walk: Walk, api: Api, namespace: str) -> None:
    """A window is announced, and a job extended up to it."""
    (walk.place,) = {each["spec"]["nodeName"] for each in pods_of(api, namespace, "simulate")}
    nodes = ("--selector", f"kubernetes.io/hostname={walk.place}")
    walk.run("maintenance", "add", "--start", "+2h30m", "--for", "2h", *nodes, "--name", "disks", "--mode", "drain")
    walk.simulate = next(each for each in names(api, namespace) if each.startswith("simulate-"))
    refused = walk.run("extend", f"{namespace}/{walk.simulate}", "+4h", code=3)
    assert "refused: 4h would reach into maintenance disks at " in refused
    taken = walk.admin.take(walk.admin.run("extend", f"{namespace}/{walk.simulate}", "+4h").err)
    assert taken.code == 0
    assert records(api, namespace)["simulate"]["limit"] == "9000s", "until the window begins, in whole minutes more"


def submit_more(api: Api, namespace: str) -> None:
    """Others wait: a Job that is suspended, and a notebook."""
    api.create(batch_job("sweep", namespace, pods=2, suspend=True, account="chemistry", time_limit="30m"))
    stands(api, namespace, sweep="Queued")
    api.create(job("notebook", namespace, queue="inter", cpu="1"))
    stands(api, namespace, notebook="Queued")
    assert api.get("Job", "sweep", namespace)["spec"]["suspend"]


def ask(walk: Walk, namespace: str) -> None:
    """Who waits for what, and when would another start?"""
    api = walk.plane.api()
    assert api.columns("JobRecord", namespace)[:4] == ["NAME", "STATE", "REASON", "QUEUE"]
    kinds = api.request("GET", "/apis/fairway.dev/v1alpha1")["resources"]
    assert [kind["shortNames"] for kind in kinds if kind["name"] == "jobrecords"] == [["fjob"]]
    listed = walk.run("jobs", "-n", namespace)
    assert "running 2 · queued 2" in listed
    assert f"{namespace}/sweep is queued for " in walk.run("jobs", f"{namespace}/sweep")
    assert {line.split()[0] for line in walk.run("queue").splitlines()} == {"QUEUE", "batch", "inter"}
    asked = ["--scheduler", walk.first.url, "--insecure-skip-tls-verify"]
    would = walk.run("when", "--cpu", "4", "--limit", "1h", "--queue", "batch", *asked)
    assert "would start likely " in would
    assert "behind 1 job" in would
    assert all(name in walk.run("shares") for name in ("physics", "biology", "chemistry"))
    assert "disks" in walk.run("maintenance")


def lose_leader(walk: Walk, api: Api, namespace: str) -> None:
    """Whoever takes over goes on."""
    walk.schedulers.remove(walk.first)
    walk.first.kill()
    leader(walk.schedulers)
    assert records(api, namespace)["simulate"]["limit"] == "9000s"
    walk.run("hold", f"{namespace}/sweep")
    stands(api, namespace, simulate="Running", mpi="Running", sweep="Held")
    walk.run("release", f"{namespace}/sweep")


def lose_node(walk: Walk, api: Api, namespace: str) -> None:
    """Its job waits again, and starts where there is room."""
    lose(api, walk.place)
    stands(api, namespace, simulate="Queued")
    walk.run("cancel", f"{namespace}/mpi")
    stands(api, namespace, mpi="Cancelled", sweep="Running")
    assert not api.get("Job", "sweep", namespace)["spec"]["suspend"], "its turn has come"
    walk.run("cancel", f"{namespace}/sweep")
    stands(api, namespace, sweep="Cancelled", simulate="Running")
    assert walk.place not in {each["spec"].get("nodeName") for each in pods_of(api, namespace, "simulate")}


def read_bill(walk: Walk, api: Api, namespace: str) -> None:
    """What ended is in the books, and what was lost is given back."""

    def is_settled() -> bool:
        found = records(api, namespace)
        return all(found[name].get("settled") for name in ("mpi", "sweep"))

    wait_until(is_settled, "what ended is in the books", PATIENCE)
    bill = {each["name"]: each for each in json.loads(walk.run("usage", "-o", "json"))["usage"]}
    assert all(bill[name]["used"] > 0 for name in ("physics", "biology", "chemistry"))
    assert bill["physics"]["givenBack"] > 0, "what was lost with the node is not charged"
    assert bill["biology"]["givenBack"] == bill["chemistry"]["givenBack"] == 0
    charges = records(api, namespace)
    assert bill["biology"]["used"] == charges["mpi"]["charge"]
    assert bill["chemistry"]["used"] == charges["sweep"]["charge"]
    finished = walk.run("jobs", "-n", namespace, "--state", "Finished")
    assert f"{namespace}/mpi" in finished
    assert f"{namespace}/{walk.simulate}" not in finished


def test_the_walk(control_plane: ControlPlane, api: Api, namespace: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(api)
    control_plane.start_kubelet()
    walk = Walk(control_plane, capsys)
    submit(api, namespace)
    extend(walk, api, namespace)
    submit_more(api, namespace)
    ask(walk, namespace)
    lose_leader(walk, api, namespace)
    lose_node(walk, api, namespace)
    read_bill(walk, api, namespace)
