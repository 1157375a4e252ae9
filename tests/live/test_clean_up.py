"""What queues have put on a cluster is taken away, and nothing else, also while others write."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from fairway.config.config_file import LeaderElection
from fairway.live.api.connection import Answer
from fairway.live.clean_up import CleanUp, NotClean, StillAtWork, clean_up
from tests.live.api_door import ApiDoor
from tests.live.virtual_loop import LoopClock, run_virtually

RECORDS = "/apis/fairway.dev/v1alpha1/jobrecords"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
NEW_YEAR = 1_767_225_600.0
Json = dict[str, Any]


class Server(ApiDoor):
    """Objects by path; a page has two of them."""

    def __init__(self, *nodes: Json, records: Mapping[str, list[str]] | None = None, lease: Json | None = None) -> None:
        self.objects: dict[str, Json] = {f"/api/v1/nodes/{each['metadata']['name']}": each for each in nodes}
        for name, finalizers in (records or {}).items():
            meta = {"name": name, "namespace": "ns", "finalizers": finalizers}
            self.objects[f"/apis/fairway.dev/v1alpha1/namespaces/ns/jobrecords/{name}"] = {"metadata": meta}
        for number, each in enumerate(self.objects.values()):
            each["metadata"] |= {"uid": f"uid-{number}", "resourceVersion": "1"}
        self.is_served = records is not None
        self.lease = lease
        self.disturbed: set[str] = set()  # paths that somebody else writes to before we do, once
        self.num_patches = 0

    async def answered(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None) -> Answer:
        if method == "GET":
            return self._read(path, query)
        there, change = self.objects[path], json.loads(body or b"")
        if path in self.disturbed:
            self.disturbed.discard(path)
            there["metadata"]["resourceVersion"] = "2"
        if change["metadata"].pop("resourceVersion") != there["metadata"]["resourceVersion"]:
            return Answer(409, {}, b"{}")
        self.num_patches += 1
        self.objects[path] = merged(there, change)
        return Answer(200, {}, b"{}")

    def _read(self, path: str, query: Mapping[str, Any]) -> Answer:
        if path == LEASE:
            return Answer(404, {}, b"{}") if self.lease is None else Answer(200, {}, json.dumps(self.lease).encode())
        if path == RECORDS and not self.is_served:
            return Answer(404, {}, b"{}")
        plural = path.rpartition("/")[2]
        found = [each for key, each in self.objects.items() if key.split("/")[-2] == plural]
        first = int(query.get("continue", 0))
        more = {"continue": str(first + 2)} if len(found) > first + 2 else {}
        return Answer(200, {}, json.dumps({"metadata": more, "items": found[first : first + 2]}).encode())


def merged(there: Any, change: Any) -> Any:
    """RFC 7386."""
    if not isinstance(change, dict):
        return change
    found = dict(there) if isinstance(there, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def node(name: str, *taints: str, cordoned: str = "", annotations: Mapping[str, str] | None = None) -> Json:
    spec: Json = {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]} if taints else {}
    said = dict(annotations or {})
    if cordoned:
        spec["unschedulable"] = True
    if cordoned == "by a window":
        said["fairway.dev/cordoned-by"] = "uid"
    return {"metadata": {"name": name, "annotations": said}, "spec": spec}


def cleaned(server: Server, *, elects: bool = False) -> CleanUp:
    return run_virtually(clean_up(server, LeaderElection(leader_elect=elects), LoopClock()))


def test_everything_of_ours_goes_and_everything_else_stays() -> None:
    server = Server(
        node("closed", cordoned="by a window", annotations={"a": "b"}),
        node("held", "theirs", cordoned="by a person"),
        node("tainted", "theirs", "fairway.dev/queue", "fairway.dev/exclusive"),
        node("both", "fairway.dev/queue", cordoned="by a window"),
        node("plain"),
        records={"one": ["fairway.dev/accounting"], "two": ["x/y", "fairway.dev/accounting"], "three": []},
    )
    before = copy.deepcopy(server.objects)
    assert cleaned(server) == CleanUp(num_records=2, num_cordons=2, num_taints=3)
    found = {path.rpartition("/")[2]: each for path, each in server.objects.items()}
    assert found["closed"]["spec"] == {}
    assert found["closed"]["metadata"]["annotations"] == {"a": "b"}
    assert found["held"] == before["/api/v1/nodes/held"]
    assert [each["key"] for each in found["tainted"]["spec"]["taints"]] == ["theirs"]
    assert found["both"]["spec"] == {}
    assert "finalizers" not in found["one"]["metadata"]
    assert found["two"]["metadata"]["finalizers"] == ["x/y"]
    assert server.num_patches == 5
    assert cleaned(server) == CleanUp()
    assert server.num_patches == 5


def test_who_was_quicker_is_not_overwritten_and_it_is_done_all_the_same() -> None:
    server = Server(node("a", "fairway.dev/queue"), records={"one": ["fairway.dev/accounting"]})
    server.disturbed = set(server.objects)
    assert cleaned(server) == CleanUp(num_records=1, num_taints=1)


def test_who_puts_it_back_all_the_time_is_told_of() -> None:
    """It is not said that everything was taken away."""

    class Contested(Server):
        async def request(self, method: str, path: str, **rest: Any) -> Answer:
            if method == "PATCH":
                self.objects[path]["metadata"]["resourceVersion"] += "0"
            return await super().request(method, path, **rest)

    server = Contested(node("a", "fairway.dev/queue"), node("b"))
    with pytest.raises(NotClean, match="taints removed: 0"):
        run_virtually(clean_up(server, LeaderElection(leader_elect=False), LoopClock()))


def test_without_our_kinds_there_are_no_records() -> None:
    assert cleaned(Server(node("a", "fairway.dev/queue"))) == CleanUp(num_taints=1)


def held(seconds: float, holder: str = "one") -> Json:
    renewed = "2026-01-01T00:00:00.000000Z"
    return {"spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds}}


def test_a_scheduler_that_ends_is_waited_for() -> None:
    clock = LoopClock()
    server = Server(node("a", "fairway.dev/queue"))

    async def story() -> float:
        begun = clock.now()
        server.lease = held(begun - NEW_YEAR + 15.0)
        assert await clean_up(server, LeaderElection(), clock) == CleanUp(num_taints=1)
        return clock.now() - begun

    assert 15.0 <= run_virtually(story()) <= 17.0


def test_nothing_is_taken_away_while_a_scheduler_works() -> None:
    server = Server(node("a", "fairway.dev/queue"), lease=held(1e9))
    with pytest.raises(StillAtWork, match="kube-system/kube-scheduler"):
        cleaned(server, elects=True)
    assert server.num_patches == 0
    server.lease = held(1e9) | {"spec": {"holderIdentity": "one", "renewTime": "when I last looked"}}
    assert cleaned(server, elects=True) == CleanUp(num_taints=1), "nobody renews such a lease"
    server = Server(node("a", "fairway.dev/queue"), lease=held(1e9, holder=""))
    assert cleaned(server, elects=True) == CleanUp(num_taints=1)
