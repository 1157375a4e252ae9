from __future__ import annotations

import asyncio

import pytest

from fairway.live.serving.authorization import Asked, DelegatedAccess, LoopbackAccess, NoAccess
from tests.live.review_server import ReviewServer
from tests.live.virtual_clock import VirtualClock


def ask(access: DelegatedAccess | LoopbackAccess, path: str, token: str = "", host: str = "") -> NoAccess | None:
    return asyncio.run(access.refusal(Asked(path, "get", host, token)))


@pytest.mark.parametrize(
    ("token", "path", "status", "message"),
    [
        ("", "/metrics", 403, 'forbidden: User "system:anonymous" cannot get path "/metrics"'),
        ("viewer-token", "/metrics", None, ""),
        ("viewer-token", "/configz", 403, 'forbidden: User "viewer" cannot get path "/configz"'),
        ("nobody-token", "/metrics", 403, 'forbidden: User "nobody" cannot get path "/metrics"'),
        ("admin-token", "/anything", None, ""),
        ("unknown-token", "/metrics", 401, "Unauthorized"),
        ("\udcff\udcfe", "/metrics", 401, "Unauthorized"),
        ("tök", "/metrics", 401, "Unauthorized"),
    ],
)
def test_the_api_server_decides(token: str, path: str, status: int | None, message: str) -> None:
    server = ReviewServer({"viewer": {"/metrics"}})
    refused = ask(DelegatedAccess(server, VirtualClock()), path, token)
    assert (refused and refused.status, refused.message if refused else "") == (status, message)


def test_access_review_says_who_and_what() -> None:
    server = ReviewServer()
    ask(DelegatedAccess(server, VirtualClock()), "/metrics", "viewer-token")
    assert server.reviews[0] == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": "viewer-token"},
    }
    assert server.reviews[1]["spec"] == {
        "user": "viewer",
        "groups": ["system:authenticated"],
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        "uid": "u1",
    }


def test_members_of_system_masters_are_not_reviewed() -> None:
    server = ReviewServer()
    ask(DelegatedAccess(server, VirtualClock()), "/metrics", "admin-token")
    assert [review["kind"] for review in server.reviews] == ["TokenReview"]


def test_answers_are_good_for_ten_seconds() -> None:
    server = ReviewServer({"viewer": {"/metrics"}})
    clock = VirtualClock()
    access = DelegatedAccess(server, clock)
    for _ in range(3):
        assert ask(access, "/metrics", "viewer-token") is None
    assert len(server.reviews) == 2
    server.allowed = {}
    clock.jump(9.9)
    assert ask(access, "/metrics", "viewer-token") is None
    clock.jump(0.2)
    refused = ask(access, "/metrics", "viewer-token")
    assert refused is not None
    assert refused.status == 403
    assert len(server.reviews) == 4


def test_another_token_is_another_person() -> None:
    access = DelegatedAccess(ReviewServer({"viewer": {"/metrics"}}), VirtualClock())
    assert ask(access, "/metrics", "viewer-token") is None
    assert ask(access, "/metrics", "nobody-token") is not None


@pytest.mark.parametrize("fault", ["silent", "500", "403"])
def test_no_answer_is_no_access(fault: str) -> None:
    server = ReviewServer({"viewer": {"/metrics"}})
    if fault == "silent":
        server.silent = True
    else:
        server.status = int(fault)
    refused = ask(DelegatedAccess(server, VirtualClock()), "/metrics", "viewer-token")
    assert refused is not None
    assert refused.status == 500
    assert "viewer-token" not in refused.message


def test_failed_reviews_are_not_remembered() -> None:
    server = ReviewServer({"viewer": {"/metrics"}})
    access = DelegatedAccess(server, VirtualClock())
    server.silent = True
    assert ask(access, "/metrics", "viewer-token") is not None
    server.silent = False
    assert ask(access, "/metrics", "viewer-token") is None


def test_what_is_asked_does_not_show_the_token() -> None:
    assert "viewer-token" not in repr(Asked("/metrics", "get", "", "viewer-token"))


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:10259", True),
        ("127.0.0.1:10259", True),
        ("[::1]:10259", True),
        ("[::1]", True),
        ("localhost", True),
        ("evil.example:10259", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_loopback_is_for_this_machines_names(host: str, allowed: bool) -> None:
    assert (ask(LoopbackAccess(), "/metrics", host=host) is None) is allowed


def test_strangers_can_not_make_us_ask_without_end() -> None:
    server, clock = ReviewServer(), VirtualClock()
    access = DelegatedAccess(server, clock)
    found = [ask(access, f"/path-{number}") for number in range(500)]
    assert len(server.reviews) == 40
    assert [refused.status for refused in found if refused is not None] == [403] * 40 + [429] * 460
    clock.jump(1.0)
    for number in range(500, 1000):
        ask(access, f"/path-{number}")
    assert len(server.reviews) == 60


def test_those_who_were_let_in_lately_have_turns_of_their_own() -> None:
    server, clock = ReviewServer({"viewer": {"/metrics"}}), VirtualClock()
    access = DelegatedAccess(server, clock)
    assert ask(access, "/metrics", "viewer-token") is None
    clock.jump(60.0)  # what was answered is forgotten by now
    for number in range(500):
        ask(access, "/metrics", f"made-up-{number}")
    assert ask(access, "/metrics", "viewer-token") is None
