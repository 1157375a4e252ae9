from __future__ import annotations

import msgspec
import pytest

from fairway.live.api.problems import (
    BrokenKubeconfig,
    Forbidden,
    LiveProblem,
    NoKubeconfig,
    Unauthorized,
    Unreachable,
    UnsupportedServer,
    check_version,
    problem_of,
    status_message,
    target_of,
)

URL = "https://10.0.0.1:6443"


def status(message: str, code: int) -> bytes:
    return msgspec.json.encode({"kind": "Status", "message": message, "code": code})


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("GET", "/api/v1/pods", "list pods in all namespaces"),
        ("GET", "/api/v1/pods?watch=true", "watch pods in all namespaces"),
        ("GET", "/api/v1/namespaces/a/pods/p", "get pods in namespace a"),
        ("GET", "/api/v1/namespaces", "list namespaces in all namespaces"),
        ("GET", "/api/v1/namespaces/a", "get namespaces in all namespaces"),
        ("POST", "/api/v1/namespaces/a/pods/p/binding", "create pods/binding in namespace a"),
        ("PATCH", "/api/v1/namespaces/a/pods/p/status", "patch pods/status in namespace a"),
        ("DELETE", "/api/v1/namespaces/a/pods/p", "delete pods in namespace a"),
        ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection pods in namespace a"),
        ("POST", "/apis/events.k8s.io/v1/namespaces/a/events", "create events.events.k8s.io in namespace a"),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler",
            "update leases.coordination.k8s.io in namespace kube-system",
        ),
        (
            "PUT",
            "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/c/status",
            "update resourceclaims.resource.k8s.io/status in namespace a",
        ),
        ("GET", "/version", "get /version"),
    ],
)
def test_request_is_named_in_the_words_of_rbac(method: str, path: str, words: str) -> None:
    assert str(target_of(method, path)) == words


def test_forbidden_names_who_what_and_how_to_allow_it() -> None:
    message = 'pods is forbidden: User "system:serviceaccount:a:b" cannot list resource "pods"'
    problem = problem_of(URL, "GET", "/api/v1/pods", 403, status(message, 403))
    assert isinstance(problem, Forbidden)
    text = str(problem)
    assert text.splitlines()[0] == "not allowed: system:serviceaccount:a:b may not list pods in all namespaces"
    assert "kubectl create clusterrole NAME --verb=list,watch --resource=pods" in text
    assert problem.exit_code == 4


def test_forbidden_in_a_namespace_asks_for_a_role_with_group_and_subresource() -> None:
    path = "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/c/status"
    problem = problem_of(URL, "PUT", path, 403, b"no")
    assert "kubectl create role NAME --verb=update --resource=resourceclaims.resource.k8s.io/status" in str(problem)


def test_unauthorized_says_that_credentials_are_no_good() -> None:
    problem = problem_of(URL, "GET", "/api/v1/pods", 401, status("Unauthorized", 401))
    assert isinstance(problem, Unauthorized)
    assert "expired" in str(problem)
    assert URL in str(problem)


@pytest.mark.parametrize("code", [200, 404, 409, 500])
def test_other_answers_are_no_problem_of_access(code: int) -> None:
    assert problem_of(URL, "GET", "/api/v1/pods", code, b"{}") is None


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (NoKubeconfig("~/.kube/config"), ("~/.kube/config", "--kubeconfig")),
        (BrokenKubeconfig("f", "no such context: x", ("a", "b")), ("no such context: x", "a, b")),
        (Unreachable(URL, "connection refused"), (URL, "connection refused")),
        (Unreachable(URL, "certificate verify failed"), ("certificate-authority",)),
        (UnsupportedServer(URL, "v1.20.3"), ("v1.20.3", "1.30")),
    ],
    ids=["no kubeconfig", "broken kubeconfig", "unreachable", "certificate", "version"],
)
def test_every_problem_has_three_lines_and_the_exit_code(problem: LiveProblem, words: tuple[str, ...]) -> None:
    text = str(problem)
    assert len(text.splitlines()) == 3
    assert all(word in text for word in words)
    assert problem.exit_code == 4


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ({"major": "1", "minor": "36", "gitVersion": "v1.36.4"}, (1, 36)),
        ({"major": "1", "minor": "30+", "gitVersion": "v1.30.1-gke.5"}, (1, 30)),
    ],
    ids=["plain", "cloud"],
)
def test_supported_versions(body: dict[str, str], version: tuple[int, int]) -> None:
    assert check_version(URL, msgspec.json.encode(body)) == version


@pytest.mark.parametrize(
    "body",
    [
        b'{"major":"1","minor":"29","gitVersion":"v1.29.0"}',
        b"<html>",
        b"[" * 100_000,
        b"[]",
        b'{"minor":""}',
        b'{"major":"1","minor":1}',
    ],
    ids=["too old", "no JSON", "deep", "no object", "incomplete", "not text"],
)
def test_unsupported_versions(body: bytes) -> None:
    with pytest.raises(UnsupportedServer):
        check_version(URL, body)


@pytest.mark.parametrize(
    ("body", "message"),
    [(status("gone", 410), "gone"), (b"upstream broke", "upstream broke"), (b"[]", ""), (b"\xff\xfe", "��")],
    ids=["status", "text", "list", "bytes"],
)
def test_message_of_an_answer(body: bytes, message: str) -> None:
    assert status_message(body) == message
