"""Who makes a pod anew tells so once, about its job, however late the server's answer comes."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import pytest

from fairway.batch.actions import MADE_FROM, Tell
from fairway.live.api.connection import Answer
from fairway.live.api.problems import LiveProblem
from fairway.live.batch.manifests import PodManifests
from fairway.live.batch.pod_making import PodMaker
from fairway.model import Pod
from fairway.testing import pod

FORMER: Final = "former"


class Server:
    """Makes the pod; everybody has heard of it before whoever asked is answered, if at all."""

    def __init__(self, *faults: int | None) -> None:
        """`faults`: what the first requests to make it are answered once it is made; None: nothing."""
        self.faults = list(faults)
        self.made: dict[str, Any] | None = None
        self.job = "default/it"
        self.is_hidden = False

    async def request(self, method: str, path: str, *, body: bytes = b"", content_type: str = "") -> Answer:
        if method == "GET" and self.is_hidden:
            return Answer(403, {}, b'{"kind": "Status", "message": "not allowed"}')
        if method == "GET":
            return Answer(200, {}, json.dumps(self.made).encode())
        if self.made is not None:
            return Answer(409, {}, b"{}")
        self.made = {"metadata": {"uid": "new", "annotations": {MADE_FROM: FORMER}}}
        self.job = ""  # its job has the new pod now, and no longer the former one
        if not self.faults:
            return Answer(201, {}, b"{}")
        if (fault := self.faults.pop(0)) is None:
            raise LiveProblem("the request", "no answer", "ask again")
        return Answer(fault, {}, b"{}")


class Manifests(PodManifests):
    """They know how it was made."""

    def text(self, uid: str) -> str | None:
        return "{}"


def told_of(server: Server) -> list[Tell]:
    told = list[Tell]()
    maker = PodMaker(server, Manifests(), lambda pod: server.job, told.append)  # type: ignore[arg-type]

    async def make() -> None:
        for _ in range(3):
            if await maker.make(wanted()):
                return
        pytest.fail("it is tried for ever")

    asyncio.run(make())
    asyncio.run(make())  # the desk asks once more, before it has heard
    return told


def wanted() -> Pod:
    return pod("it", annotations={MADE_FROM: FORMER})


@pytest.mark.parametrize(
    "faults", [(), (None,), (504,)], ids=["answered late", "not answered", "given up by the server"]
)
def test_it_is_told_once_about_the_job(faults: tuple[int | None, ...]) -> None:
    assert told_of(Server(*faults)) == [
        Tell("default/it", "PodMadeAnew", "pod it is made anew, in the place of that of uid former")
    ]


def test_what_may_not_be_looked_at_holds_up_nobody() -> None:
    server = Server()
    server.made, server.is_hidden = {}, True
    assert told_of(server) == [
        Tell(
            "default/it", "PodNotMade", "pod it is not made anew, and will be tried again: not allowed", is_warning=True
        )
    ]
