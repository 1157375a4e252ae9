"""Exclusive nodes beside a real kube-scheduler: it keeps off them, and finds them again when they are free.

Whatever dies in between, taints agree with pods once a scheduler of ours is at work.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.fault_proxy import FaultProxy
from tests.kube.processes import wait_until
from tests.kube.test_control_plane import make_node, make_pod
from tests.kube.test_deploy import install

pytestmark = pytest.mark.slow
KEY = "fairway.dev/exclusive"
OWN = {"exclusive": True, "exclusiveGuard": "taint"}
CONFIGURATION = {"profiles": [{"schedulerName": "fairway", "fairway": OWN}], "podMaxBackoffSeconds": 1}
PATIENCE = 120.0


def member(name: str, namespace: str) -> Json:
    annotations = {KEY: "node", "fairway.dev/gang": "train"}
    return make_pod(name, namespace, annotations, schedulerName="fairway", terminationGracePeriodSeconds=0)


class Watched:
    """Taints of the nodes and places of the pods."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.api = control_plane.api()
        self.namespace = namespace

    def taints(self, node: str) -> list[Json]:
        found: list[Json] = self.api.get("Node", node)["spec"].get("taints", [])
        return [taint for taint in found if taint["key"] == KEY]

    def node_of(self, pod: str) -> str:
        return str(self.api.get("Pod", pod, self.namespace)["spec"].get("nodeName", ""))

    def waits(self, pod: str) -> str:
        """Why it waits, in its scheduler's words."""
        conditions = self.api.get("Pod", pod, self.namespace)["status"].get("conditions", [])
        return next((str(one.get("message", "")) for one in conditions if one["status"] == "False"), "")

    def until_bound(self, *pods: str) -> None:
        wait_until(lambda: all(self.node_of(pod) for pod in pods), f"{', '.join(pods)} bound", PATIENCE, every=0.2)

    def until_free(self, node: str) -> None:
        wait_until(lambda: not self.taints(node), f"node {node} has no taint of ours", PATIENCE, every=0.2)


@pytest.fixture
def watched(control_plane: ControlPlane, namespace: str) -> Watched:
    return Watched(control_plane, namespace)


def test_another_scheduler_keeps_off_until_the_last_member_is_gone(
    control_plane: ControlPlane, namespace: str, watched: Watched
) -> None:
    api = control_plane.api()
    other = {"key": "team", "value": "x", "effect": "PreferNoSchedule"}
    api.create(make_node("a") | {"spec": {"taints": [other]}})
    control_plane.start_kube_scheduler()
    fairway = control_plane.start_fairway(CONFIGURATION, kubeconfig=control_plane.kubeconfig())
    for number in range(3):
        api.create(member(f"m-{number}", namespace))
    watched.until_bound("m-0", "m-1", "m-2")
    (taint,) = watched.taints("a")
    assert taint["effect"] == "NoSchedule"
    api.create(make_pod("stranger", namespace))  # for kube-scheduler
    wait_until(lambda: "untolerated taint" in watched.waits("stranger"), "kube-scheduler keeps off", PATIENCE)
    # Nobody of ours is there when the job ends.
    fairway.kill()
    for number in range(3):
        api.delete("Pod", f"m-{number}", namespace)
    wait_until(lambda: len(api.items("Pod", namespace)) == 1, "the job is gone", PATIENCE)
    assert watched.taints("a") == [taint]
    control_plane.start_fairway(CONFIGURATION, kubeconfig=control_plane.kubeconfig())
    watched.until_free("a")
    watched.until_bound("stranger")
    assert [each["key"] for each in api.get("Node", "a")["spec"]["taints"]] == ["team"]
    # And while it is at work, the taint goes by itself.
    api.create(make_node("b"))
    api.create(member("late", namespace))
    watched.until_bound("late")
    assert watched.node_of("late") == "b"
    assert watched.taints("b")
    api.delete("Pod", "late", namespace)
    watched.until_free("b")


def test_killed_between_the_taint_and_the_binding(
    control_plane: ControlPlane, namespace: str, watched: Watched
) -> None:
    api = control_plane.api()
    api.create(make_node("a"))
    with FaultProxy(control_plane.url, control_plane.ca_file, control_plane.serving_files("proxy")) as proxy:
        proxy.add("POST", r"/pods/[^/]+/binding(\?|$)", "answer", status=503)
        first = control_plane.start_fairway(CONFIGURATION, kubeconfig=control_plane.kubeconfig(url=proxy.url))
        api.create(member("m", namespace))
        wait_until(lambda: bool(watched.taints("a")), "the node is guarded", PATIENCE)
        first.kill()
    assert watched.node_of("m") == ""
    (taint,) = watched.taints("a")
    control_plane.start_fairway(CONFIGURATION, kubeconfig=control_plane.kubeconfig())
    watched.until_bound("m")
    wait_until(lambda: watched.taints("a") == [taint], "the node is guarded for the same job", PATIENCE)


def test_who_gets_there_all_the_same_is_told_of(control_plane: ControlPlane, namespace: str, watched: Watched) -> None:
    api = control_plane.api()
    api.create(make_node("a"))
    control_plane.start_fairway(CONFIGURATION, kubeconfig=control_plane.kubeconfig())
    api.create(member("m", namespace))
    watched.until_bound("m")
    api.create(make_pod("stranger", namespace, nodeName="a"))

    def broken() -> list[Json]:
        return [event for event in api.items("Event", namespace) if event["reason"] == "ExclusivityBroken"]

    wait_until(lambda: bool(broken()), "people are told", PATIENCE)
    (event,) = broken()
    assert (event["type"], event["regarding"]["name"]) == ("Warning", "m")
    assert event["note"] == (
        f"pod {namespace}/stranger of default-scheduler is on node a too, which {namespace}/train has exclusively"
    )
    assert watched.node_of("stranger") == "a"


def test_the_charts_rights_are_enough(
    control_plane: ControlPlane, namespace: str, watched: Watched, tmp_path: Path
) -> None:
    api = control_plane.api()
    api.create(make_node("a"))
    values = {"exclusiveGuard.enabled": True, "config": CONFIGURATION}
    with install(control_plane, namespace, tmp_path, values) as installed:
        api.create(member("m", namespace))
        watched.until_bound("m")
        assert watched.taints("a")
        api.delete("Pod", "m", namespace)
        watched.until_free("a")
        assert installed.program.stop() == 0
        asked = installed.asked()
    assert asked["", "nodes", "patch"] == {200}
    assert {right: codes for right, codes in asked.items() if codes & {401, 403}} == {}
