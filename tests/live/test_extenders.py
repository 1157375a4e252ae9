"""Extenders over real HTTP: the bodies that travel, and what is made of answers and of failures."""

from __future__ import annotations

import msgspec
import pytest

from fairway.config.config_file import Extender, ExtenderManagedResource, ExtenderTLSConfig
from fairway.cycle import ExtenderError, Filtered, Victims
from fairway.live.api.certificates import as_file, self_signed, serving_context
from fairway.live.extenders.http_extender import HttpExtender, bind_through, http_extenders
from fairway.model import Container, ResourceRequirements
from fairway.model.quantity import parse_quantity
from fairway.testing import node, pod
from tests.live.extender_service import Service, extender_service

NODES = (node("n2", cpu="2"), node("n1", cpu="1"))
VERBS = {"filter_verb": "filter", "prioritize_verb": "prioritize", "preempt_verb": "preempt", "bind_verb": "bind"}


def extender(service: Service, **options: object) -> HttpExtender:
    config = {"url_prefix": service.url("/ext"), "weight": 2, "node_cache_capable": True, **VERBS, **options}
    return opened(service, Extender(**config))  # type: ignore[arg-type]


def opened(service: Service, config: Extender) -> HttpExtender:
    made = HttpExtender(config)
    service.to_close.append(made)
    return made


def test_filter_of_an_extender_that_knows_the_nodes() -> None:
    with extender_service() as service:
        service.answers["/ext/filter"] = (
            200,
            {
                "Nodes": None,
                "NodeNames": ["n1"],
                "FailedNodes": {"n2": "why"},
                "FailedAndUnresolvableNodes": {"n3": "never"},
                "Error": "",
            },
        )
        found = extender(service).ask_filter(pod("p", cpu="1"), NODES)
        assert found == Filtered(("n1",), {"n2": "why"}, {"n3": "never"})
        ((path, headers, body),) = service.requests
    assert path == "/ext/filter"
    assert headers["Content-Type"] == "application/json"
    assert list(body) == ["Pod", "Nodes", "NodeNames"]
    assert body["Nodes"] is None
    assert body["NodeNames"] == ["n2", "n1"]
    assert body["Pod"]["metadata"]["name"] == "p"
    assert body["Pod"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    assert not {"apiVersion", "kind"} & set(body["Pod"])


def test_filter_of_an_extender_that_does_not() -> None:
    with extender_service() as service:
        service.answers["/ext/filter"] = 200, {"Nodes": {"items": [{"metadata": {"name": "n1"}}]}}
        found = extender(service, node_cache_capable=False).ask_filter(pod(), NODES)
        ((_, _, body),) = service.requests
    assert found.names == ("n1",)
    assert body["NodeNames"] is None
    assert body["Nodes"]["metadata"] == {}
    assert [item["metadata"]["name"] for item in body["Nodes"]["items"]] == ["n2", "n1"]
    assert body["Nodes"]["items"][0]["status"]["allocatable"]["cpu"] == "2"
    assert not {"apiVersion", "kind"} & set(body["Nodes"]["items"][0])


class Kept:
    """Objects as an API server gave them."""

    def raw_pod(self, uid: str) -> bytes | None:
        return msgspec.json.encode(
            {"kind": "Pod", "metadata": {"name": "p", "managedFields": [1]}, "spec": {"dnsPolicy": "Default"}}
        )

    def raw_node(self, name: str) -> bytes | None:
        return msgspec.json.encode({"kind": "Node", "metadata": {"name": name, "managedFields": [2]}, "spec": {"x": 1}})


def test_whole_objects_are_sent_where_they_were_kept() -> None:
    with extender_service() as service:
        service.answers["/ext/filter"] = 200, {"Nodes": {"items": []}}
        config = Extender(url_prefix=service.url("/ext"), filter_verb="filter")
        (made,) = http_extenders([config], Kept())
        service.to_close.append(made)
        made.ask_filter(pod("p"), NODES[:1])
        ((_, _, body),) = service.requests
    assert body["Pod"] == {"metadata": {"name": "p"}, "spec": {"dnsPolicy": "Default"}}
    assert body["Nodes"]["items"] == [{"metadata": {"name": "n2", "managedFields": [2]}, "spec": {"x": 1}}]


def test_prioritize_weighs_and_scales() -> None:
    with extender_service() as service:
        service.answers["/ext/prioritize"] = 200, [{"Host": "n1", "Score": 10}, {"host": "n2", "score": 3}]
        assert extender(service).ask_prioritize(pod(), NODES) == {"n1": 200, "n2": 60}


@pytest.mark.parametrize("knows", [True, False], ids=["by uid", "in full"])
def test_preempt(knows: bool) -> None:
    victims = {"n1": Victims((pod("v", uid="u1", node="n1"),), 1)}
    with extender_service() as service:
        answer = {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u1"}], "NumPDBViolations": 1}}}
        service.answers["/ext/preempt"] = 200, answer
        found = extender(service, node_cache_capable=knows).ask_preempt(pod("p"), victims)
        ((_, _, body),) = service.requests
    assert found == {"n1": (("u1",), 1)}
    assert list(body) == ["Pod", "NodeNameToVictims", "NodeNameToMetaVictims"]
    filled, empty = ("NodeNameToMetaVictims", "NodeNameToVictims")[:: 1 if knows else -1]
    assert body[empty] is None
    assert body[filled]["n1"]["NumPDBViolations"] == 1
    (sent,) = body[filled]["n1"]["Pods"]
    assert sent == {"UID": "u1"} if knows else sent["metadata"]["uid"] == "u1"


def test_bind() -> None:
    with extender_service() as service:
        service.answers["/ext/bind"] = 200, {"Error": ""}
        assert bind_through([extender(service)], pod("p", uid="u1"), "n1")
        ((_, _, body),) = service.requests
    assert body == {"PodName": "p", "PodNamespace": "default", "PodUID": "u1", "Node": "n1"}


def test_bind_goes_to_the_first_that_binds_and_cares() -> None:
    with extender_service() as service:
        uninterested = extender(service, managed_resources=(ExtenderManagedResource(name="example.com/gpu"),))
        assert not bind_through([extender(service, bind_verb=""), uninterested], pod(), "n1")
        assert service.requests == []


def test_bind_failure_is_told_unless_ignorable() -> None:
    with extender_service() as service:
        service.answers["/ext/bind"] = 200, {"Error": "boom"}
        with pytest.raises(ExtenderError, match=r"^boom$"):
            bind_through([extender(service)], pod(), "n1")
        assert not bind_through([extender(service, ignorable=True)], pod(), "n1")


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (500, {}, "failed filter with extender at URL {url}/ext/filter, code 500"),
        (404, {}, "failed filter with extender at URL {url}/ext/filter, code 404"),
        (200, {"Error": "boom"}, "boom"),
        (
            200,
            {"NodeNames": ["n9"]},
            'extender "{url}/ext" claims a filtered node "n9" which is not found in the input node list',
        ),
        (200, [], "something that is not an object but list"),
    ],
    ids=["500", "404", "error", "unknown node", "no object"],
)
def test_failures_have_kube_schedulers_words(status: int, answer: object, words: str) -> None:
    with extender_service() as service:
        service.answers["/ext/filter"] = status, answer
        with pytest.raises(ExtenderError) as caught:
            extender(service).ask_filter(pod(), NODES)
        assert str(caught.value) == words.format(url=service.url())


@pytest.mark.parametrize("answer", [b"<html>", b"[" * 100_000], ids=["HTML", "deep"])
def test_answer_that_is_no_json_is_told(answer: bytes) -> None:
    with extender_service() as service:
        service.raw = answer
        with pytest.raises(ExtenderError, match="not JSON"):
            extender(service).ask_filter(pod(), NODES)


def test_silent_extender_is_left_after_its_timeout() -> None:
    with extender_service() as service:
        service.release.clear()
        with pytest.raises(ExtenderError, match=r"no answer within 0\.2 seconds"):
            extender(service, http_timeout=0.2).ask_filter(pod(), NODES)


def test_unreachable_extender_is_told() -> None:
    with extender_service() as service:
        gone = extender(service)
    with pytest.raises(ExtenderError, match=r'Post "http://127\.0\.0\.1:\d+/ext/filter": connection refused'):
        gone.ask_filter(pod(), NODES)


def test_connection_is_kept_and_made_anew_when_the_other_side_closed_it() -> None:
    with extender_service() as service:
        service.answers["/ext/filter"] = 200, {"NodeNames": ["n1"]}
        kept = extender(service)
        for _ in range(3):
            kept.ask_filter(pod(), NODES)
        assert service.connections == 1
        service.hang_up = True
        for _ in range(3):
            assert kept.ask_filter(pod(), NODES).names == ("n1",)
        assert len(service.requests) == 6


def test_extender_speaks_again_after_a_failure() -> None:
    with extender_service() as service:
        service.answers["/ext/filter"] = 500, {}
        one = extender(service)
        with pytest.raises(ExtenderError):
            one.ask_filter(pod(), NODES)
        service.answers["/ext/filter"] = 200, {"NodeNames": []}
        assert one.ask_filter(pod(), NODES).names == ()


@pytest.mark.parametrize(
    ("where", "interested"),
    [("requests", True), ("limits", True), ("init", True), ("", False)],
)
def test_extender_of_a_resource_cares_for_pods_that_ask_for_it(where: str, interested: bool) -> None:
    amount = {"example.com/gpu": parse_quantity("1")}
    resources = ResourceRequirements(limits=amount) if where == "limits" else ResourceRequirements(requests=amount)
    asking = Container(resources=resources)
    asked = {"init_containers": asking} if where == "init" else {"images": asking} if where else {}
    managed = (ExtenderManagedResource(name="example.com/gpu"),)
    made = HttpExtender(Extender(url_prefix="http://x", managed_resources=managed))
    assert made.is_interested(pod("p", **asked)) is interested  # type: ignore[arg-type]
    assert HttpExtender(Extender(url_prefix="http://x")).is_interested(pod())


def test_https_with_the_extenders_own_authority_and_name() -> None:
    certificate, key = self_signed(("extender.example",))
    with as_file(certificate) as cert_file, as_file(key) as key_file:
        context = serving_context(cert_file, key_file)
    with extender_service(context) as service:
        service.answers["/filter"] = 200, {"NodeNames": ["n1"]}

        def ask(**tls: object) -> Filtered:
            config = Extender(
                url_prefix=f"https://127.0.0.1:{service.port}",
                filter_verb="filter",
                node_cache_capable=True,
                tls_config=ExtenderTLSConfig(**tls),  # type: ignore[arg-type]
            )
            return opened(service, config).ask_filter(pod(), NODES)

        assert ask(ca_data=certificate, server_name="extender.example").names == ("n1",)
        assert ask(insecure=True).names == ("n1",)
        with pytest.raises(ExtenderError, match="certificate"):
            ask(ca_data=certificate, server_name="other.example")
        with pytest.raises(ExtenderError, match="certificate"):
            ask()


def test_https_without_an_authority_trusts_anybody_when_enabled_as_kube_scheduler_does() -> None:
    with extender_service(serving_context()) as service:
        service.answers["/filter"] = 200, {"NodeNames": []}
        config = Extender(url_prefix=f"https://127.0.0.1:{service.port}", filter_verb="filter", enable_https=True)
        assert opened(service, config).ask_filter(pod(), NODES).names == ()
