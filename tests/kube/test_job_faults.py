"""Jobs on a real API server when something fails half-way: all start, nobody twice.

What can fail at each of eight places fails for eight jobs at once: one scheduler, one start, one wait.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from tests.kube.api import Api, ApiError, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.jobs import (
    BINDING,
    CONFIGURATION,
    GROUPS,
    PATIENCE,
    bindings,
    bound,
    gang,
    plain,
    proxy_of,
    reasons,
    waits,
)
from tests.kube.processes import wait_until
from tests.kube.test_pod_groups import group, member, node

ELECTION: Final = {"leaderElect": True, "leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture
def namespace(grouping_plane: ControlPlane) -> str:
    name = f"jobs-{secrets.token_hex(4)}"
    grouping_plane.api().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def wide(name: str, cpu: str = "100", **labels: str) -> Json:
    made = node(name)
    amounts = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    made["status"]["allocatable"] = made["status"]["capacity"] = amounts
    made["metadata"]["labels"] |= labels
    return made


def test_bindings_that_are_refused_at_every_place_are_made_good(grouping_plane: ControlPlane, namespace: str) -> None:
    api = grouping_plane.api()
    api.create(wide("a"))
    with proxy_of(grouping_plane) as proxy:
        for place in range(8):
            proxy.add("POST", rf"/pods/t{place}-{place}/binding(\?|$)", "answer", times=1, status=403)
        grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig(url=proxy.url))
        api.create_all(each for place in range(8) for each in gang(f"t{place}", 8, namespace))
        wait_until(lambda: len(bound(api, namespace)) == 64, "all are bound", PATIENCE)
        assert len(proxy.seen("POST", BINDING)) == 64 + 8
        grouping_plane.stop_others()
    assert set(map(tuple, bindings(grouping_plane, namespace).values())) == {(201,)}


def test_a_node_that_goes_before_a_binding_at_every_place_is_replaced(
    grouping_plane: ControlPlane, namespace: str
) -> None:
    """The API server binds pods to nodes that are gone: who asks for it has to look."""
    api = grouping_plane.api()
    api.create(wide("a"))
    for place in range(8):
        api.create(wide(f"old-{place}", pool=str(place)))
    with proxy_of(grouping_plane) as proxy:
        late = r"/pods/t([0-7])-\1/binding(\?|$)"
        busy = proxy.add("POST", late, "answer", status=503, headers={"Retry-After": "1"})
        grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig(url=proxy.url))
        for place in range(8):
            pods = gang(f"t{place}", 8, namespace)
            pods[place]["spec"]["nodeSelector"] = {"pool": str(place)}
            api.create_all(pods)
        wait_until(lambda: len(bound(api, namespace)) == 56, "all others are bound", PATIENCE)
        wait_until(lambda: len({each.path for each in proxy.seen("POST", late)}) == 8, "they are asked for", PATIENCE)
        for place in range(8):
            api.create(wide(f"new-{place}", pool=str(place)))
            api.delete("Node", f"old-{place}")
        busy.times = 0
        wait_until(lambda: len(bound(api, namespace)) == 64, "all are bound", PATIENCE)
        grouping_plane.stop_others()
    nodes = bound(api, namespace)
    assert {nodes[f"t{place}-{place}"] for place in range(8)} == {f"new-{place}" for place in range(8)}
    assert set(map(tuple, bindings(grouping_plane, namespace).values())) == {(201,)}


@contextmanager
def refused(api: Api, namespace: str, expression: str) -> Iterator[None]:
    """Inside, the API server refuses bindings of pods for which that does not hold, as a quota's webhook would."""
    name = f"refused-{secrets.token_hex(4)}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    header = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": chosen},
        "validations": [{"expression": expression, "message": "no quota is left"}],
    }
    api.request("POST", POLICIES, header | {"kind": "ValidatingAdmissionPolicy", "spec": policy})
    used = {"policyName": name, "validationActions": ["Deny"]}
    api.request(
        "POST", f"{POLICIES[:-3]}ybindings", header | {"kind": "ValidatingAdmissionPolicyBinding", "spec": used}
    )
    try:
        yield
    finally:
        api.request("DELETE", f"{POLICIES[:-3]}ybindings/{name}")
        api.request("DELETE", f"{POLICIES}/{name}")


def may_bind(api: Api, name: str, namespace: str) -> bool:
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding?dryRun=All"
    target = {"kind": "Node", "name": "a"}
    try:
        metadata = {"name": name, "namespace": namespace}
        api.request("POST", path, {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target})
    except ApiError as error:
        if error.status not in (403, 422):
            raise
        return False
    return True


def test_jobs_that_a_policy_lets_start_but_for_one_pod_are_finished_when_it_allows(
    grouping_plane: ControlPlane, namespace: str
) -> None:
    api = grouping_plane.api()
    api.create(wide("a"))
    stranger = plain("t0-0-probe", namespace)
    stranger["spec"]["schedulerName"] = "nobody"
    api.create(stranger)
    rule = (
        "request.name.substring(1, 2) != request.name.substring(3, 4)"  # not the first pod of the first job, and so on
    )
    grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    with refused(api, namespace, rule):
        wait_until(lambda: not may_bind(api, "t0-0-probe", namespace), "the policy is in force", PATIENCE)
        api.create_all(each for place in range(8) for each in gang(f"t{place}", 8, namespace))
        wait_until(lambda: len(bound(api, namespace)) == 56, "all others are bound", PATIENCE)
        wait_until(
            lambda: all("no quota is left" in waits(api, f"t{place}-{place}", namespace) for place in range(8)),
            "people are told who refused it",
            PATIENCE,
        )
    wait_until(lambda: len(bound(api, namespace)) == 64, "all are bound", PATIENCE)
    codes = bindings(grouping_plane, namespace)
    assert all(answers.count(201) == 1 for name, answers in codes.items() if name != "t0-0-probe")


def test_jobs_whose_scheduler_is_killed_after_any_number_of_bindings_are_finished_by_the_next(
    grouping_plane: ControlPlane, namespace: str
) -> None:
    api = grouping_plane.api()
    api.create(wide("a"))
    with proxy_of(grouping_plane) as proxy:
        for number in range(9):
            proxy.add("POST", rf"/pods/k{number}-[^/]+/binding(\?|$)", times=number)
        proxy.add("POST", BINDING, "answer", status=503, headers={"Retry-After": "50"})
        first = grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig(url=proxy.url))
        api.create_all(each for number in range(9) for each in gang(f"k{number}", 8, namespace))
        wait_until(lambda: len(bound(api, namespace)) == 36, "so many are bound", PATIENCE)
        first.kill()
    before = bound(api, namespace)
    assert [sum(name.startswith(f"k{number}-") for name in before) for number in range(9)] == list(range(9))
    grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    wait_until(lambda: len(bound(api, namespace)) == 72, "all are bound", PATIENCE)
    assert before.items() <= bound(api, namespace).items()
    assert set(map(tuple, bindings(grouping_plane, namespace).values())) == {(201,)}


@pytest.mark.slow
def test_a_job_whose_leader_loses_its_lease_half_way_is_finished_by_the_next(
    grouping_plane: ControlPlane, namespace: str
) -> None:
    api = grouping_plane.api()
    api.create(wide("a"))
    elected = {**CONFIGURATION, "leaderElection": {**ELECTION, "resourceNamespace": namespace, "resourceName": "one"}}

    def holder() -> str:
        leases = api.items("Lease", namespace)
        return str(leases[0]["spec"].get("holderIdentity", "")) if leases else ""

    with proxy_of(grouping_plane) as proxy:
        first = grouping_plane.start_fairway(elected, kubeconfig=grouping_plane.kubeconfig(url=proxy.url))
        wait_until(lambda: holder() != "", "the first leads", PATIENCE)
        leader = holder()
        grouping_plane.start_fairway(elected, kubeconfig=grouping_plane.kubeconfig())
        proxy.add("POST", BINDING, times=3)
        proxy.add("POST", BINDING, "answer", status=503, headers={"Retry-After": "1"})
        api.create_all(gang("t", 8, namespace))
        wait_until(lambda: len(bound(api, namespace)) == 3, "three are bound", PATIENCE)
        proxy.add("PUT", "/leases/", "answer", status=500)
        wait_until(lambda: holder() not in ("", leader), "the second leads", PATIENCE)
        proxy.clear()  # what the first still asks for would be done
        wait_until(lambda: len(bound(api, namespace)) == 8, "all are bound", PATIENCE)
        assert first.exit_code() != 0
    assert bindings(grouping_plane, namespace) == {f"t-{index}": [201] for index in range(8)}


def test_a_pod_group_that_goes_is_missed_by_those_that_wait_and_by_nobody_else(
    grouping_plane: ControlPlane, namespace: str
) -> None:
    api, groups = grouping_plane.api(), GROUPS.format(namespace)
    api.create(wide("a", cpu="3"))
    fairway = grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    for name, number in (("runs", 2), ("late", 2)):
        api.request("POST", groups, group(name, namespace, number))
        for index in range(number):
            api.create(member(f"{name}-{index}", namespace, name))
        if name == "runs":
            wait_until(lambda: len(bound(api, namespace)) == 2, "the first runs", PATIENCE)
    wait_until(lambda: "1 of 2 members fit" in waits(api, "late-0", namespace), "the second waits", PATIENCE)
    for name in ("runs", "late"):  # they stay, marked, until their pods are gone: the API server protects them
        api.request("DELETE", f"{groups}/{name}")
    words = f"job {namespace}/late is incomplete: PodGroup {namespace}/late is being deleted"
    wait_until(lambda: waits(api, "late-0", namespace) == waits(api, "late-1", namespace) == words, "told", PATIENCE)
    api.create(wide("b"))  # room alone does not help it
    api.create(plain("other", namespace))
    wait_until(lambda: "other" in bound(api, namespace), "others go on", PATIENCE)
    assert set(bound(api, namespace)) == {"runs-0", "runs-1", "other"}
    assert not [each for each in reasons(api, namespace) if each[0] == "GangBroken"]
    assert grouping_plane.metrics(fairway)["fairway_gang_half_started"] == 0
    unprotected: Json = {"metadata": {"finalizers": []}}
    for name in ("runs", "late"):
        api.request("PATCH", f"{groups}/{name}", unprotected, content_type="application/merge-patch+json")
    api.request("POST", groups, group("late", namespace, 2))
    wait_until(lambda: len(bound(api, namespace)) == 5, "the second starts", PATIENCE)
