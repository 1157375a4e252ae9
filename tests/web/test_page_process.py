"""Pages that a process beside the scheduler serves: who sees them, what they are told, what comes after its end."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from fairway.live.api.certificates import self_signed
from fairway.live.followers import Home
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.serving.authorization import Asked, NoAccess, User
from fairway.queue import Place
from fairway.record import Recorder
from fairway.record.vocabulary import PodEnd
from fairway.stream.address import Address
from fairway.stream.serving.serving_process import ServedKind
from fairway.testing import node, pod
from fairway.web.live.web_follower import PAGES, WebFollower
from fairway.web.openapi import BASE
from tests.kube.processes import wait_until
from tests.record.runs import placed

SCHEDULER = "fairway"
MOST_MESSAGES = 300  # one a second at least
EVERYTHING = f"{BASE}/*"


class Cluster:
    """Who may see what; and what was asked about that."""

    def __init__(self) -> None:
        self.rights = {"viewer": EVERYTHING, "stranger": ""}
        self.asked: Counter[str] = Counter()
        self.leads = True
        self.closed = False

    async def admitted(self, asked: Asked) -> User | NoAccess:
        self.asked[asked.path] += 1
        if not asked.token:
            return NoAccess(403, f'forbidden: User "system:anonymous" cannot get path "{asked.path}"')
        if asked.token not in self.rights:
            return NoAccess(401, "Unauthorized")
        right = self.rights[asked.token]
        if asked.path == right or (right.endswith("*") and asked.path.startswith(right[:-1])):
            return User(asked.token)
        return NoAccess(403, f'forbidden: User "{asked.token}" cannot get path "{asked.path}"')

    async def why(self, name: str, node: str | None, all_nodes: bool) -> tuple[int, dict[str, Any]]:
        if name != "default/b":
            return 404, {"message": f"there is no pod {name!r}"}
        return 200, {"node": None, "queue": None, "answer": {"document": {"about": [name, node, all_nodes]}}}

    async def refusal(self, token: str) -> NoAccess | None:
        return None

    async def explain(self, name: str) -> bytes | None:
        return None

    async def close(self) -> None:
        self.closed = True

    def home(self, metrics: SchedulerMetrics) -> Home:
        certificate = self_signed()
        return Home(
            origin=1_700_000_000_000_000_000,
            refusal=self.refusal,
            admission=lambda is_loopback: self.admitted,
            certificate=lambda doing: lambda: certificate,
            metrics=metrics,
            close=self.close,
            is_leading=lambda: self.leads,
            explain=self.explain,
            why=self.why,
        )


class Answer(NamedTuple):
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Pages:
    """A follower, and somebody who looks at what it serves."""

    def __init__(self, cluster: Cluster, kind: ServedKind = PAGES) -> None:
        self.cluster, self.metrics = cluster, SchedulerMetrics()
        self.follower = WebFollower(Address("127.0.0.1", 0), "s", "fairway", 3600.0, lambda: 0, kind)
        self.follower.start(cluster.home(self.metrics))

    @property
    def recorder(self) -> Recorder:
        return self.follower.recorder

    @property
    def pid(self) -> int:
        assert self.follower.pid is not None
        return self.follower.pid

    def connected(self) -> http.client.HTTPSConnection:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.follower.port, timeout=60, context=context)

    def ask(self, path: str, token: str = "viewer") -> Answer:
        connection = self.connected()
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request("GET", path if path.startswith("/fairway") else BASE + path, headers=headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read())
        finally:
            connection.close()

    def run(self) -> Any:
        return self.ask("/runs").json["runs"][0]

    @contextmanager
    def stream(self, query: str = "") -> Iterator[Iterator[tuple[str, str, Any]]]:
        """Messages as they come: name, id and data."""
        connection = self.connected()
        try:
            connection.request("GET", f"{BASE}/stream{query}", headers={"Authorization": "Bearer viewer"})
            answer = connection.getresponse()
            assert answer.status == 200

            def messages() -> Iterator[tuple[str, str, Any]]:
                fields: dict[str, str] = {}
                while line := answer.readline().decode():
                    if line != "\n":
                        name, _, value = line.rstrip("\n").partition(": ")
                        fields[name] = value
                    elif "event" in fields:
                        yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
                        fields = {}

            yield messages()
        finally:
            connection.close()


@contextmanager
def pages_of(cluster: Cluster, kind: ServedKind = PAGES) -> Iterator[Pages]:
    pages = Pages(cluster, kind)
    try:
        yield pages
    finally:
        pages.follower.stop()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def pages(cluster: Cluster) -> Iterator[Pages]:
    with pages_of(cluster) as found:
        yield found


def begin(recorder: Recorder) -> None:
    """One node with a pod, and one that waits."""
    recorder.node_added(0.0, node("n1", uid="u1", cpu=4))
    recorder.pod_created(1.0, pod("a", uid="a", cpu=1), SCHEDULER)
    recorder.decided(2.0, SCHEDULER, 1, placed(pod("a", uid="a", cpu=1), "n1"), 0.5)
    recorder.bound(3.0, "a", "n1")
    recorder.pod_created(4.0, pod("b", uid="b", cpu=8), SCHEDULER)
    recorder.queue_moved(4.0, SCHEDULER, "b", None, Place.ACTIVE, "PodAdd")


def states(pages: Pages) -> dict[str, str]:
    columns = pages.ask("/runs/live/pods").json["columns"]
    return dict(zip(columns["pod"], columns["state"], strict=True))


def is_known(pages: Pages, number: int) -> bool:
    return bool(pages.run()["pods"] == number)


def test_whoever_may_sees_what_the_scheduler_sees(pages: Pages) -> None:
    begin(pages.recorder)
    wait_until(lambda: is_known(pages, 2), "two pods are known")
    run = pages.run()
    assert (run["id"], run["state"], run["nodes"], run["began"]) == ("live", "live", 1, 1_700_000_000.0)
    assert states(pages) == {"default/a": "running", "default/b": "waiting"}
    assert pages.ask("/runs/live/why/default/b?node=n1").json["about"] == ["default/b", "n1", False]
    missing = pages.ask("/runs/live/why/default/a")
    assert (missing.status, missing.json["error"]["code"]) == (404, "no_such_pod")


def test_files_are_open_and_nothing_else_is(pages: Pages) -> None:
    assert pages.ask("/fairway/ui/", token="").status == 200
    for token in ("", "nonsense"):
        refused = pages.ask("/runs", token)
        assert (refused.status, refused.json["error"]["code"]) == (401, "unauthorized")
        assert "kubectl create token" in refused.json["error"]["hint"]
    refused = pages.ask("/runs", "stranger")
    assert refused.status == 403
    assert refused.json["error"]["message"] == f'forbidden: User "stranger" cannot get path "{BASE}/runs"'
    assert refused.json["error"]["hint"].split(" && ") == [
        "kubectl create clusterrole see-fairway --verb=get --non-resource-url='/fairway/api/v1/*'",
        "kubectl create clusterrolebinding see-fairway --clusterrole=see-fairway --user=stranger",
    ]
    assert pages.ask("/stream", "stranger").status == 403


def test_each_path_is_asked_about_and_all_tiles_of_a_resource_are_one(pages: Pages, cluster: Cluster) -> None:
    begin(pages.recorder)
    wait_until(lambda: is_known(pages, 2), "two pods are known")
    for x in range(3):
        assert pages.ask(f"/runs/live/heat/cpu/0/0/{x}/0?order=name").status == 200
    assert cluster.asked[f"{BASE}/runs/live/heat/cpu"] == 3
    cluster.rights["viewer"] = f"{BASE}/runs"
    assert pages.ask("/runs").status == 200
    assert pages.ask("/runs/live/pods").status == 403
    assert cluster.asked[f"{BASE}/runs/live/pods"] == 1


def test_who_does_not_lead_says_so(pages: Pages, cluster: Cluster) -> None:
    cluster.leads = False
    refused = pages.ask("/runs")
    assert (refused.status, refused.json["error"]["code"]) == (503, "not_leading")
    cluster.leads = True
    assert pages.ask("/runs").status == 200


def test_a_port_that_is_taken_is_an_error_that_names_it(pages: Pages, cluster: Cluster) -> None:
    other = WebFollower(Address("127.0.0.1", pages.follower.port), "t", "fairway", 3600.0, lambda: 0)
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{pages.follower.port}: Address already in use"):
        other.start(cluster.home(SchedulerMetrics()))


def test_one_that_is_killed_comes_back_on_its_port_and_knows_how_things_stand(pages: Pages) -> None:
    begin(pages.recorder)
    wait_until(lambda: is_known(pages, 2), "two pods are known")
    before, port = pages.pid, pages.follower.port
    os.kill(before, signal.SIGKILL)

    def is_back() -> bool:
        try:
            return pages.follower.pid not in (before, None) and is_known(pages, 2)
        except OSError:
            return False

    wait_until(is_back, "another one serves")
    assert pages.follower.port == port
    run = pages.run()
    assert any("is not kept" in note for note in run["notes"]), run["notes"]
    pages.recorder.ended(9.0, "a", PodEnd.SUCCEEDED)
    wait_until(lambda: states(pages)["default/a"] == "ended", "what happens next")


def attempts(messages: Iterator[tuple[str, str, Any]], last: int) -> tuple[list[int], list[int], int]:
    """Of decisions until that one: attempts, what gaps said was lost, and how many more there were."""
    read: list[int] = []
    lost: list[int] = []
    more = 0
    for name, _, data in itertools.islice(messages, MOST_MESSAGES):
        if name == "gap":
            lost.append(data["lost"])
        if name == "decisions":
            read += data["columns"]["attempt"]
            more += data["more"]
            if read and read[-1] == last:
                return read, lost, more
    raise AssertionError(f"attempt {last} was never told")


def test_a_full_buffer_gives_exactly_one_counted_gap_and_the_truth_behind_it() -> None:
    with pages_of(Cluster(), PAGES._replace(most_waiting=1000)) as pages, pages.stream() as messages:
        begin(pages.recorder)
        wait_until(lambda: is_known(pages, 2), "two pods are known")
        os.kill(pages.pid, signal.SIGSTOP)
        first, stubborn = 10, placed(pod("b", uid="b", cpu=8), "n1")
        for start in range(first, first + 12_000, 200):  # more than the socket, and what may wait for it, hold
            for number in range(start, start + 200):
                pages.recorder.decided(5.0, SCHEDULER, number, stubborn, 0.5)
            wait_until(lambda: not pages.follower.num_notes, "they were taken")
        pages.recorder.ended(6.0, "a", PodEnd.SUCCEEDED)
        wait_until(lambda: not pages.follower.num_notes, "it was taken")
        os.kill(pages.pid, signal.SIGCONT)
        nothing = b'fairway_stream_lost_total{why="pages behind"} 0'
        wait_until(lambda: nothing not in pages.metrics.render(), "how much is missing is counted")
        pages.recorder.decided(7.0, SCHEDULER, 99_999, stubborn, 0.5)
        read, lost, more = attempts(messages, 99_999)
        assert len(lost) == 1, "one gap"
        assert read == sorted(set(read)), "in order, none twice"
        assert len(read) + more + lost[0] == 1 + 12_000 + 1 + 1, "one attempt before, these, an end, and the last"
        wait_until(lambda: states(pages)["default/a"] == "ended", "it has ended, though nothing was told of it")
        assert [note for note in pages.run()["notes"] if "missing" in note] == [
            f"{lost[0]} events are missing between 00:00:05 and 00:00:06: slow reader"
        ]


def test_whoever_resumes_has_everything_once(pages: Pages) -> None:
    stubborn = placed(pod("b", uid="b", cpu=8), "n1")
    begin(pages.recorder)
    read: list[int] = []
    query, number = "", 1
    for _ in range(4):
        with pages.stream(query) as messages:
            for _ in range(150):
                number += 1
                pages.recorder.decided(5.0, SCHEDULER, number, stubborn, 0.5)
            for name, token, data in itertools.islice(messages, MOST_MESSAGES):
                assert name != "gap"
                if name == "decisions":
                    assert not data["more"]
                    read += data["columns"]["attempt"]
                    query = f"?after={token}"
                if read and read[-1] == number:
                    break
    assert read[-600:] == list(range(2, number + 1))


def test_one_that_takes_nothing_for_long_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    with pages_of(Cluster(), PAGES._replace(most_looks=3)) as pages:
        begin(pages.recorder)
        wait_until(lambda: is_known(pages, 2), "two pods are known")
        before = pages.pid
        os.kill(before, signal.SIGSTOP)

        def is_other() -> bool:
            for _ in range(1000):
                pages.recorder.node_added(8.0, node("n1", uid="u1", cpu=4))
            return pages.follower.pid not in (before, None)

        wait_until(is_other, "another one serves")
        assert "the pages' process is replaced, and readers have to begin anew: it takes nothing" in caplog.text


def test_the_connection_for_reviews_is_closed_in_the_end(cluster: Cluster) -> None:
    with pages_of(cluster):
        assert not cluster.closed
    assert cluster.closed
