"""Fairway as an extender: what it answers to a stock kube-scheduler's requests, over HTTP."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import aiohttp
import pytest

from fairway.cluster import Cluster
from fairway.cluster.terms import HUGE
from fairway.cycle import Victims
from fairway.live.extender_service.requests import MAX_NODES
from fairway.live.extender_service.server import Callers, ExtenderServer, reason_words
from fairway.live.extenders.wire import filter_args, preemption_args
from fairway.model import Node, Pod
from fairway.plugin import Plugin
from fairway.testing import cluster, node, pod
from tests.cycle.profiles import profile, scoring


def nodes() -> list[Node]:
    return [node("a", cpu="4"), node("b", cpu="2"), node("c", cpu="4", taints="gpu")]


def busy() -> Cluster:
    return cluster(nodes(), [pod("old", cpu="1", node="b")])


def ask(path: str, body: Any, what: Cluster | None = None, *plugins: str | type[Plugin]) -> tuple[int, Any]:
    async def story() -> tuple[int, Any]:
        chosen = plugins or ("TaintToleration", "NodeResourcesFit")
        made = profile(what or busy(), *chosen)
        server = ExtenderServer({"default-scheduler": made})
        url = f"http://127.0.0.1:{await server.start('127.0.0.1', 0)}{path}"
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, data=io.BytesIO(json.dumps(body).encode())) as answer,
            ):
                found = await answer.json() if answer.content_type == "application/json" else await answer.text()
                return answer.status, found
        finally:
            await server.stop()

    return asyncio.run(story())


def wanting(cpu: str) -> Pod:
    return pod("p", cpu=cpu)


def test_filter_by_name() -> None:
    status, found = ask("/filter", filter_args(wanting("2"), nodes(), names_only=True))
    assert status == 200
    assert found == {
        "Nodes": None,
        "NodeNames": ["a"],
        "FailedNodes": {"b": "Insufficient cpu"},
        "FailedAndUnresolvableNodes": {"c": "node(s) had untolerated taint(s)"},
        "Error": "",
    }


def test_filter_of_whole_nodes_gives_whole_nodes_back() -> None:
    args = filter_args(wanting("2"), nodes(), names_only=False)
    args["Nodes"]["items"][0]["spec"] = {"unheardOf": 1}
    _, found = ask("/filter", args)
    assert found["NodeNames"] is None
    assert [item["metadata"]["name"] for item in found["Nodes"]["items"]] == ["a"]
    assert found["Nodes"]["items"][0]["spec"] == {"unheardOf": 1}


def test_only_the_nodes_asked_about_are_told() -> None:
    _, found = ask("/filter", {**filter_args(wanting("2"), nodes(), names_only=True), "NodeNames": ["b"]})
    assert (found["NodeNames"], set(found["FailedNodes"])) == ([], {"b"})


def test_unknown_node_is_refused() -> None:
    _, found = ask("/filter", {**filter_args(wanting("2"), nodes(), names_only=True), "NodeNames": ["a", "new"]})
    assert found["NodeNames"] == ["a"]
    assert "not known" in found["FailedNodes"]["new"]


def test_pods_already_running_count() -> None:
    what = cluster(nodes(), [pod("old", cpu="3", node="a")])
    _, found = ask("/filter", filter_args(wanting("2"), nodes(), names_only=True), what)
    assert found["FailedNodes"]["a"] == "Insufficient cpu"


def test_a_pod_with_thousands_of_reasons_has_an_answer_of_bounded_size() -> None:
    """Each node lacks each of them: told whole, the answer would have a gigabyte on a few thousand nodes."""
    there = [node(f"n{number}") for number in range(200)]
    amounts = {f"example.com/r{number}": "1" for number in range(5000)}
    asked = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": {"requests": amounts}}]}}
    names = [one.name for one in there]
    status, found = ask("/filter", {"Pod": asked, "NodeNames": names}, cluster(there, []))
    assert status == 200
    words = found["FailedNodes"] | found["FailedAndUnresolvableNodes"]
    assert sorted(words) == sorted(names)
    assert words["n0"].startswith("Insufficient example.com/r0, Insufficient example.com/r")
    shown = words["n0"].count("Insufficient")
    assert words["n0"].endswith(f", and {5000 - shown} more")
    assert max(map(len, words.values())) < 1100


@pytest.mark.parametrize(
    ("reasons", "most", "words"),
    [
        ((), 9, ""),
        (("short",), 9, "short"),
        (("one", "two"), 10, "one, two"),
        (("one", "two"), 9, "one, and 1 more"),
        (("much too long", "two"), 9, "much too ..., and 1 more"),
        (("much too long",), 9, "much too ..."),
    ],
)
def test_reasons_are_as_many_as_there_is_room_for(reasons: tuple[str, ...], most: int, words: str) -> None:
    assert reason_words(reasons, most) == words


def test_prioritize_gives_each_node_its_share_of_ten() -> None:
    green = scoring("PreferGreen", {"a": 100, "b": 55})
    _, found = ask("/prioritize", filter_args(pod("p"), nodes()[:2], names_only=True), None, green)
    assert found == [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 6}]


def test_prioritize_of_several_plugins_is_their_weighted_mean() -> None:
    one, two = scoring("One", {"a": 100}), scoring("Two", {"a": 0, "b": 100})
    _, found = ask("/prioritize", filter_args(pod("p"), nodes()[:2], names_only=True), None, one, two)
    assert found == [{"Host": "a", "Score": 5}, {"Host": "b", "Score": 5}]


def test_node_that_does_not_fit_scores_nothing() -> None:
    score = scoring("S", {"a": 100, "b": 100})
    args = filter_args(wanting("2"), nodes()[:2], names_only=True)
    _, found = ask("/prioritize", args, None, score, "NodeResourcesFit")
    assert found[1] == {"Host": "b", "Score": 0}


@pytest.mark.parametrize("knows", [True, False], ids=["by uid", "in full"])
def test_preempt_strikes_out_nodes_that_no_eviction_helps(knows: bool) -> None:
    victim = pod("v", uid="u1", node="a", cpu="1")
    victims = {name: Victims((victim,), 1) for name in ("a", "b", "c", "new")}
    _, found = ask("/preempt", preemption_args(wanting("2"), victims, knows))
    kept = {"Pods": [{"UID": "u1"}], "NumPDBViolations": 1}
    assert found == {"NodeNameToMetaVictims": {"a": kept, "b": kept}}


def broken() -> type[Plugin]:
    def filter_nodes(*_: Any) -> Any:
        raise RuntimeError("oops")

    return type("Broken", (Plugin,), {"filter": filter_nodes})


def test_broken_plugin_is_an_error_kube_scheduler_understands() -> None:
    status, found = ask("/filter", filter_args(pod("p"), nodes(), names_only=True), None, broken())
    assert status == 200
    assert "Broken" in found["Error"]
    assert "oops" in found["Error"]


def repelled_by(lines: Any, times: int = 1) -> Any:
    terms = [{"topologyKey": "host", "labelSelector": {"matchExpressions": lines}}] * times
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"metadata": {"name": "p"}, "spec": {"affinity": {"podAntiAffinity": required}}}


NONSENSE: dict[str, Any] = {
    "no pod": {},
    "pod is a number": {"Pod": 3},
    "field of another type": {"Pod": {"spec": {"priority": "high"}}},
    "not an object": [],
    "names are numbers": {"Pod": {}, "NodeNames": [1, 2]},
    "names are a text": {"Pod": {}, "NodeNames": "a"},
    "nodes are a text": {"Pod": {}, "Nodes": "a"},
    "items are numbers": {"Pod": {}, "Nodes": {"items": [1]}},
    "node without a name": {"Pod": {}, "Nodes": {"items": [{"metadata": {}}]}},
    "node with a number for a name": {"Pod": {}, "Nodes": {"items": [{"metadata": {"name": 3}}]}},
    "operator that does not exist": {"Pod": repelled_by([{"key": "a", "operator": "Near"}])},
    "no label key, again and again": {"Pod": repelled_by([{"key": "a b", "operator": "Exists"}], HUGE)},
    "very many names": {"Pod": {}, "NodeNames": ["a"] * (MAX_NODES + 1)},
    "very many nodes": {"Pod": {}, "Nodes": {"items": [{"metadata": {"name": "a"}}] * (MAX_NODES + 1)}},
    "huge pod": {"Pod": {"metadata": {"annotations": {"a": "x" * (3 << 20)}}}},
}


@pytest.mark.parametrize("path", ["/filter", "/prioritize"])
@pytest.mark.parametrize("body", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_a_400_with_words(body: Any, path: str) -> None:
    status, found = ask(path, body)
    assert status == 400
    assert found.startswith("fairway: ")


@pytest.mark.parametrize(
    "body",
    [
        {"Pod": {}, "NodeNameToMetaVictims": 3},
        {"Pod": {}, "NodeNameToMetaVictims": {"a": 3}},
        {"Pod": {}, "NodeNameToMetaVictims": {"a": {"Pods": 3}}},
        {"Pod": {}, "NodeNameToMetaVictims": {"a": {"Pods": [3]}}},
        {"Pod": {}, "NodeNameToMetaVictims": {"a": {"NumPDBViolations": "many"}}},
        {"NodeNameToMetaVictims": {}},
    ],
)
def test_nonsense_about_victims_is_a_400_with_words(body: Any) -> None:
    status, found = ask("/preempt", body)
    assert (status, found.startswith("fairway: ")) == (400, True)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000], ids=["empty", "cut", "binary", "deep"])
def test_what_is_no_json_is_a_400(body: bytes) -> None:
    async def story() -> tuple[int, str]:
        server = ExtenderServer({"default-scheduler": profile(busy(), "NodeResourcesFit")})
        url = f"http://127.0.0.1:{await server.start('127.0.0.1', 0)}/filter"
        try:
            async with aiohttp.ClientSession() as session, session.post(url, data=body) as answer:
                return answer.status, await answer.text()
        finally:
            await server.stop()

    status, text = asyncio.run(story())
    assert (status, text.startswith("fairway: ")) == (400, True)


@pytest.mark.parametrize(
    ("sent", "status"), [(None, 401), ("Bearer wrong", 401), ("Bearer é", 401), ("Bearer the-right-one", 200)]
)
def test_where_a_token_is_wanted_nobody_is_answered_without(sent: str | None, status: int) -> None:
    async def story() -> int:
        server = ExtenderServer({"default-scheduler": profile(busy(), "NodeResourcesFit")})
        port = await server.start("127.0.0.1", 0, Callers(token="the-right-one"))
        headers = {} if sent is None else {"Authorization": sent}
        body = filter_args(wanting("2"), nodes(), names_only=True)
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"http://127.0.0.1:{port}/filter", json=body, headers=headers) as answer,
            ):
                return answer.status
        finally:
            await server.stop()

    assert asyncio.run(story()) == status


@pytest.mark.parametrize(
    ("token", "header", "status"),
    [
        ("the-right-one", b"Authorization: Bearer \xff\xfe", b"401"),
        ("", b"Authorization: Bearer \xff\xfe", b"400"),
        ("", b"Content-Encoding: gzip", b"415"),
        ("", b"Transfer-Encoding: chunked", b"400"),
    ],
    ids=["a token that is no text", "one that nobody wants", "compressed", "two lengths"],
)
def test_requests_that_make_no_sense_are_the_callers_fault(token: str, header: bytes, status: bytes) -> None:
    async def story() -> bytes:
        server = ExtenderServer({"default-scheduler": profile(busy(), "NodeResourcesFit")})
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", await server.start("127.0.0.1", 0, Callers(token=token))
        )
        writer.write(b"POST /filter HTTP/1.1\r\nHost: x\r\n" + header + b"\r\nContent-Length: 2\r\n\r\n{}")
        answer = await reader.readline()
        writer.close()
        await server.stop()
        return answer

    assert asyncio.run(story()).split()[1] == status


def test_a_body_that_is_too_large_is_refused() -> None:
    status, _ = ask("/filter", {"Pod": {}, "NodeNames": ["x" * 1_000_000] * 17})
    assert status == 413
