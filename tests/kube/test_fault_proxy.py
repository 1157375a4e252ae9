"""What the proxy is told to break, it breaks; everything else passes through it unchanged."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator

import pytest

from tests.kube.api import Api, ApiError
from tests.kube.control_plane import ControlPlane
from tests.kube.fault_proxy import FaultProxy
from tests.kube.test_control_plane import make_node, make_pod

BINDING = r"/pods/pod-1/binding$"


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(control_plane.url, control_plane.ca_file, control_plane.serving_files("proxy")) as proxy:
        yield proxy


@pytest.fixture
def through(control_plane: ControlPlane, proxy: FaultProxy) -> Iterator[Api]:
    """A client that goes through the proxy."""
    api = Api(proxy.url, control_plane.ca_file, token=control_plane.token())
    yield api
    api.close()


@pytest.fixture
def pod(control_plane: ControlPlane, namespace: str) -> str:
    control_plane.api().create(make_node("node-1"))
    control_plane.api().create(make_pod("pod-1", namespace))
    return "pod-1"


def node_of(control_plane: ControlPlane, namespace: str) -> str | None:
    node: str | None = control_plane.api().get("Pod", "pod-1", namespace)["spec"].get("nodeName")
    return node


def test_requests_pass_through(control_plane: ControlPlane, proxy: FaultProxy, through: Api, namespace: str) -> None:
    through.create(make_pod("pod-2", namespace))
    assert through.get("Pod", "pod-2", namespace) == control_plane.api().get("Pod", "pod-2", namespace)
    with pytest.raises(ApiError, match="404"):
        through.get("Pod", "pod-3", namespace)
    assert json.loads(proxy.seen("POST", "/pods$")[0].body)["metadata"]["name"] == "pod-2"


@pytest.mark.parametrize("status", [409, 429, 500])
def test_the_proxy_answers_instead_of_the_server(
    control_plane: ControlPlane, proxy: FaultProxy, through: Api, namespace: str, pod: str, status: int
) -> None:
    fault = proxy.add("POST", BINDING, "answer", status=status, times=1, headers={"Retry-After": "1"})
    with pytest.raises(ApiError, match=f"{status}: made up"):
        through.bind(pod, namespace, "node-1")
    assert (fault.hits, node_of(control_plane, namespace)) == (1, None)
    through.bind(pod, namespace, "node-1")
    assert (fault.hits, node_of(control_plane, namespace)) == (1, "node-1")


@pytest.mark.parametrize(("action", "is_bound"), [("reset", False), ("applied", True)])
def test_connections_are_reset_before_or_after_the_server_acted(
    control_plane: ControlPlane, proxy: FaultProxy, through: Api, namespace: str, pod: str, action: str, is_bound: bool
) -> None:
    proxy.add("POST", BINDING, action)
    with pytest.raises((ConnectionError, http.client.HTTPException, ssl.SSLError)):
        through.bind(pod, namespace, "node-1")
    assert (node_of(control_plane, namespace) == "node-1") is is_bound


def test_an_answer_can_be_kept_back(control_plane: ControlPlane, proxy: FaultProxy, namespace: str, pod: str) -> None:
    proxy.add("POST", BINDING, "swallow")
    connection = connected(control_plane, proxy, seconds=1)
    body = json.dumps({"metadata": {"name": pod}, "target": {"kind": "Node", "name": "node-1"}})
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/binding"
    connection.request("POST", path, body, headers(control_plane) | {"Content-Type": "application/json"})
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    assert node_of(control_plane, namespace) == "node-1"


def test_watches_are_cut(control_plane: ControlPlane, proxy: FaultProxy, namespace: str) -> None:
    connection = connected(control_plane, proxy, seconds=30)
    connection.request("GET", "/api/v1/nodes?watch=true", headers=headers(control_plane))
    response = connection.getresponse()
    control_plane.api().create(make_node("node-1"))
    assert json.loads(response.readline())["object"]["metadata"]["name"] == "node-1"
    assert proxy.cut_watches("/pods") == 0
    control_plane.api().create(make_node("node-2"))
    assert json.loads(response.readline())["object"]["metadata"]["name"] == "node-2"
    assert proxy.cut_watches("/nodes") == 1
    with pytest.raises((OSError, http.client.HTTPException, EOFError)):
        raise_at_the_end(response)
    connection.close()


def test_watches_are_late(control_plane: ControlPlane, proxy: FaultProxy, namespace: str) -> None:
    connection = connected(control_plane, proxy, seconds=1)
    connection.request("GET", "/api/v1/nodes?watch=true", headers=headers(control_plane))
    response = connection.getresponse()
    proxy.hold_watches("/nodes")
    control_plane.api().create(make_node("node-1"))
    with pytest.raises(TimeoutError):
        response.readline()
    connection.close()
    connection = connected(control_plane, proxy, seconds=30)
    connection.request("GET", "/api/v1/nodes?watch=true&resourceVersion=0", headers=headers(control_plane))
    response = connection.getresponse()
    proxy.release_watches()
    assert json.loads(response.readline())["object"]["metadata"]["name"] == "node-1"
    connection.close()


def raise_at_the_end(response: http.client.HTTPResponse) -> None:
    if not response.readline():
        raise EOFError


def connected(control_plane: ControlPlane, proxy: FaultProxy, seconds: float) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(control_plane.ca_file))
    return http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context, timeout=seconds)


def headers(control_plane: ControlPlane) -> dict[str, str]:
    return {"Authorization": f"Bearer {control_plane.token()}"}
