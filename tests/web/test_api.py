"""The API, route by route: what is answered is what is described, and what is asked wrongly is told."""

from __future__ import annotations

import importlib
import io
import itertools
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from fairway.record import Run
from fairway.web.heat_map import HeatView
from fairway.web.openapi import ARROW, BASE
from fairway.web.routes import ROUTES
from fairway.web.server import HEADERS, PageLimits
from tests.web.conftest import HOSTILE
from tests.web.served import Served, at, schema_problems

HUGE = ("default", "never-huge-0")
EXAMPLES: dict[str, list[str]] = {
    "/runs": ["/runs"],
    "/runs/{run}/metrics": ["/runs/busy/metrics", "/runs/gpu/metrics"],
    "/runs/{run}/waits": ["/runs/busy/waits", "/runs/busy/waits?at=600&state=waiting", "/runs/busy/waits?text=nobody"],
    "/runs/{run}/curves/{what}": [
        "/runs/busy/curves/utilisation",
        "/runs/busy/curves/waiting?from=100&to=1000&points=7",
        "/runs/busy/curves/queue?by=scheduler",
        "/runs/busy/curves/moves?by=event",
        "/runs/busy/curves/nodes-used?points=1",
        "/runs/busy/curves/decisions?by=scheduler",
        "/runs/busy/curves/refusals?by=reason",
        "/runs/gpu/curves/plugin-time?by=both",
        "/runs/gpu/curves/gpu-causes",
    ],
    "/runs/{run}/nodes": [
        "/runs/busy/nodes?at=600&order=load&limit=2",
        "/runs/busy/nodes?resource=memory&order=label:topology.kubernetes.io/zone&filter=topology.kubernetes.io/zone%3Dzone-0",
    ],
    "/runs/{run}/heat/{resource}/cell": ["/runs/busy/heat/cpu/cell?time=610&node=2&z=4&k=0&order=name"],
    "/runs/{run}/heat/{resource}/{z}/{k}/{x}/{y}": ["/runs/busy/heat/cpu/-3/1/3/0?stat=max"],
    "/runs/{run}/heat/{resource}/rows": [
        "/runs/busy/heat/cpu/rows?order=label:topology.kubernetes.io/zone&first=1&count=3"
    ],
    "/runs/{run}/lanes": ["/runs/busy/lanes?node=n-0&node=n-1&from=100&to=900", "/runs/gpu/lanes?node=openb-node-0001"],
    "/runs/{run}/devices": ["/runs/gpu/devices?order=label:model&limit=3"],
    "/runs/{run}/devices/heat/cell": ["/runs/gpu/devices/heat/cell?time=100&node=1&z=6&k=1"],
    "/runs/{run}/devices/heat/rows": ["/runs/gpu/devices/heat/rows?order=label:model&count=400"],
    "/runs/{run}/devices/heat/{z}/{k}/{x}/{y}": ["/runs/gpu/devices/heat/6/0/0/0"],
    "/runs/{run}/pods": ["/runs/busy/pods?sort=-wait&limit=5", "/runs/gpu/pods?state=ended&text=pod"],
    "/runs/{run}/pods/{namespace}/{name}": [at("runs", "busy", "pods", *HUGE)],
    "/runs/{run}/why/{namespace}/{name}": [at("runs", "busy", "why", *HUGE)],
    "/runs/{run}/decisions": [
        "/runs/busy/decisions?from=100&outcome=unschedulable&limit=3",
        "/runs/gpu/decisions?sort=-cycle&limit=3",
    ],
    "/runs/{run}/decisions/{id}": ["/runs/gpu/decisions/3"],
    "/runs/{run}/queue": ["/runs/busy/queue?at=900"],
    "/runs/{run}/waiting": ["/runs/busy/waiting?at=900", "/runs/queues/waiting?at=5400"],
    "/runs/{run}/jobs": ["/runs/queues/jobs?at=5400"],
    "/runs/{run}/jobs/{namespace}/{name}": [],  # of the first that waits: below
    "/runs/{run}/shares": ["/runs/queues/shares?at=5400"],
    "/runs/{run}/plugins": ["/runs/gpu/plugins"],
    "/runs/{run}/search": ["/runs/busy/search?text=n-"],
    "/compare": ["/compare?run=busy&run=slow", "/compare?run=busy&run=gpu&run=queues"],
    "/compare/pods": ["/compare/pods?run=busy&run=slow&limit=3", "/compare/pods?run=busy&run=gpu"],
    "/stream": [],  # of a scheduler at work: test_event_stream
}
CASES = [pytest.param(path, url, id=url) for path, urls in EXAMPLES.items() for url in urls]


@pytest.fixture(scope="module")
def described(api: Served) -> Any:
    return api.ask("/openapi.json").json


def problems_of(described: Any, path: str, value: Any) -> list[str]:
    content = described["paths"][path]["get"]["responses"]["200"]["content"]
    return schema_problems(value, content["application/json"]["schema"], described["components"]["schemas"])


def test_every_route_has_an_example() -> None:
    assert EXAMPLES.keys() == {route.path for route in ROUTES}


@pytest.mark.parametrize(("path", "url"), CASES)
def test_every_route_answers_as_it_is_described(api: Served, described: Any, path: str, url: str) -> None:
    reply = api.ask(url)
    assert reply.status == 200, reply.body
    assert {name: reply.headers[name] for name in HEADERS} == HEADERS
    assert reply.headers["Cache-Control"] == "no-store"
    if "application/json" not in described["paths"][path]["get"]["responses"]["200"]["content"]:
        assert (reply.headers["Content-Type"], len(reply.body)) == ("application/octet-stream", 65_536)
        return
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"
    assert problems_of(described, path, reply.json) == []
    assert reply.json, "an example that says nothing"


def test_the_description_is_held_against_something_that_can_differ(described: Any) -> None:
    assert described["openapi"] == "3.1.0"
    assert problems_of(described, "/runs", {"runs": [{"id": 1}]}) != []
    assert problems_of(described, "/runs", {"runs": [], "more": 1}) != []
    parameters = described["paths"]["/runs/{run}/pods"]["get"]["parameters"]
    assert {one["name"]: one["in"] for one in parameters}["refused-by"] == "query"
    assert [one["name"] for one in parameters if one["required"]] == ["run"]


FAILURES = [
    ("/runs/none/pods", 404, "no_such_run", "there are: busy, slow, queues, gpu, hostile"),
    ("/none", 404, "no_such_route", "openapi.json"),
    ("/stream", 404, "not_live", "fairway ui --scheduler URL"),
    ("/stream?after=", 400, "bad_parameter", ""),
    ("/runs/busy/../busy/pods", 404, "no_such_route", ""),
    ("/runs/busy/pods/..%2F..%2F..%2Fetc/passwd", 404, "no_such_pod", ""),
    ("/runs/busy%ff/pods", 404, "no_such_route", ""),
    ("/runs/busy/pods?colour=red", 400, "unknown_parameter", "there are: at, limit, namespace, next, node"),
    ("/runs/busy/pods?limits=3", 400, "unknown_parameter", "did you mean limit?"),
    ("/runs/busy/pods?run=gpu", 400, "unknown_parameter", ""),
    ("/runs/busy/pods?limit=1001", 400, "bad_parameter", ""),
    ("/runs/busy/pods?limit=many", 400, "bad_parameter", ""),
    ("/runs/busy/pods?limit=1&limit=2", 400, "bad_parameter", "give it once"),
    ("/runs/busy/pods?limit", 400, "bad_parameter", ""),
    ("/runs/busy/pods?sort=colour", 400, "bad_parameter", "there are: pod, owner"),
    ("/runs/busy/pods?next=xyz", 400, "bad_cursor", ""),
    ("/runs/busy/nodes?at=nan", 400, "bad_parameter", ""),
    ("/runs/busy/nodes?at=1801", 400, "bad_parameter", "it ended at 1800 s"),
    ("/runs/busy/nodes?order=colour", 400, "bad_parameter", ""),
    ("/runs/busy/nodes?filter=a%3D%3D%3Db", 400, "bad_parameter", ""),
    ("/runs/busy/heat/gold/0/0/0/0", 404, "no_such_resource", "there are: cpu, memory, pods"),
    ("/runs/busy/heat/cpu/21/0/0/0", 400, "bad_parameter", ""),
    ("/runs/busy/heat/cpu/0/0/0/-1", 400, "bad_parameter", ""),
    ("/runs/busy/heat/cpu/0/0/0/0?v=old", 404, "other_version", ""),
    ("/runs/busy/heat/cpu/cell?time=1&node=5&z=0&k=0", 404, "no_such_row", "there are 5"),
    ("/runs/busy/lanes", 400, "bad_parameter", ""),
    ("/runs/busy/lanes?node=n-9", 404, "no_such_node", "did you mean"),
    ("/runs/busy/lanes?node=n-1&from=9&to=8", 400, "bad_parameter", ""),
    ("/runs/busy/curves/waiting?by=pod", 400, "bad_parameter", "leave it out"),
    ("/runs/busy/curves/queue?by=colour", 400, "bad_parameter", "there are: place, scheduler"),
    ("/runs/busy/curves/plugin-time", 404, "not_recorded", "--plugin-times"),
    ("/runs/busy/plugins", 404, "not_recorded", "--plugin-times"),
    ("/runs/busy/devices", 404, "no_devices", ""),
    ("/runs/busy/jobs", 404, "no_queues", "spec.batch"),
    ("/runs/queues/jobs?queue=none", 400, "no_answer", ""),
    ("/runs/busy/decisions/99999", 404, "no_such_decision", ""),
    ("/runs/busy/pods/default/never-huge-1", 404, "no_such_pod", "did you mean default/never-huge-0"),
    ("/runs/busy/why/default/never-huge-1", 404, "no_such_pod", "did you mean default/never-huge-0"),
    ("/runs/busy/why/default/never-huge-0?attempt=9999", 404, "no_such_attempt", "it has: 1, 2"),
    ("/runs/busy/why/default/never-huge-0?node=n-9", 404, "no_such_node", ""),
    ("/runs/busy/why/default/never-huge-0?at=1", 400, "no_answer", "it was created at"),
    ("/runs/busy/why/default/never-huge-0?at=100&attempt=1", 400, "bad_parameter", ""),
    ("/compare?run=busy", 400, "bad_parameter", ""),
    ("/compare?run=busy&run=busy", 400, "bad_parameter", "leave one of them out"),
    ("/compare/pods?run=busy&run=busy", 400, "bad_parameter", "leave one of them out"),
    ("/compare/pods?run=busy&run=slow&run=gpu", 400, "bad_parameter", ""),
    ("/compare/pods?run=busy&run=slow&sort=colour", 400, "bad_parameter", ""),
    ("/runs?" + "a" * PageLimits().url_bytes, 414, "too_long", ""),
]


@pytest.mark.parametrize(("url", "status", "code", "hint"), FAILURES, ids=[case[0][:70] for case in FAILURES])
def test_what_is_wrong_is_told(api: Served, described: Any, url: str, status: int, code: str, hint: str) -> None:
    reply = api.ask(url)
    assert (reply.status, reply.code) == (status, code)
    assert hint in reply.json["error"]["hint"]
    assert {name: reply.headers[name] for name in HEADERS} == HEADERS
    schemas = described["components"]["schemas"]
    assert schema_problems(reply.json, {"$ref": "#/components/schemas/FailureAnswer"}, schemas) == []


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"Authorization": None}, 401, "no_token"),
        ({"Authorization": "Bearer wrong"}, 401, "no_token"),
        ({"Authorization": "Bearer"}, 401, "no_token"),
        ({"Authorization": "Basic x"}, 401, "no_token"),
        ({"Host": "evil.example"}, 403, "other_host"),
        ({"Host": "127.0.0.1"}, 403, "other_host"),
        ({"Host": "127.0.0.1.evil.example:80", "Authorization": None}, 403, "other_host"),
    ],
)
def test_nobody_else_is_answered(api: Served, given: dict[str, Any], status: int, code: str) -> None:
    for path in ("/runs", "/openapi.json", "/none"):
        reply = api.ask(path, **given)
        assert (reply.status, reply.code) == (status, code)
        assert reply.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
        assert "Set-Cookie" not in reply.headers


def test_other_names_of_this_machine_are_answered(api: Served) -> None:
    assert api.ask("/runs", Host=f"localhost:{api.port}").status == 200
    assert api.ask("/runs", Host=f"[::1]:{api.port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_nothing_can_be_changed(api: Served, method: str) -> None:
    reply = api.ask("/runs", method=method)
    assert (reply.status, reply.headers["Allow"]) == (405, "GET")


def test_paths_outside_the_api_lead_nowhere(api: Served) -> None:
    for path in ("/", "/fairway/api/v1", "/api/v1/runs", f"{BASE}/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"):
        assert (api.raw(path).status, api.raw(path, Authorization=None).status) == (404, 401)


def pages(api: Served, url: str, limit: int) -> Iterator[Any]:
    """All pages of a table."""
    more = None
    while True:
        reply = api.ask(f"{url}{'&' if '?' in url else '?'}limit={limit}" + (f"&next={more}" if more else ""))
        assert reply.status == 200, reply.body
        yield reply.json
        more = reply.json["next"]
        if more is None:
            return


@pytest.mark.parametrize(
    ("url", "key", "count"),
    [
        ("/runs/busy/pods", "pod_id", "SELECT count(*) AS n FROM pods"),
        ("/runs/busy/pods?sort=-attempts", "pod_id", "SELECT count(*) AS n FROM pods"),
        ("/runs/busy/pods?sort=node", "pod_id", "SELECT count(*) AS n FROM pods"),
        ("/runs/busy/pods?state=ended&sort=-wait", "pod_id", "SELECT count(*) AS n FROM pods WHERE ended_seconds >= 0"),
        ("/runs/busy/decisions", "decision_id", "SELECT count(*) AS n FROM decisions"),
        (
            "/runs/busy/decisions?refused-by=NodeResourcesFit&after=20",
            "decision_id",
            "SELECT count(DISTINCT decision_id) AS n FROM filter_counts "
            "WHERE plugin = 'NodeResourcesFit' AND decision_id > 20",
        ),
        ("/runs/busy/decisions?sort=-cycle", "decision_id", "SELECT count(*) AS n FROM decisions"),
        ("/runs/busy/nodes?order=load", "node_id", "SELECT 5 AS n"),
        ("/runs/busy/queue?at=900", "pod_id", "SELECT count(*) AS n FROM pods WHERE created_seconds <= 900 "
         "AND coalesce(bound_seconds, 1e9) > 900 AND coalesce(ended_seconds, 1e9) > 900"),
    ],
)  # fmt: skip
def test_cursors_give_each_row_once(api: Served, url: str, key: str, count: str) -> None:
    (row,) = api.sources.find("busy").rows(count)
    for limit in (1, 7, 1000) if row["n"] < 100 else (7, 1000):
        found = list(pages(api, url, limit))
        keys = [one for page in found for one in page["columns"][key]]
        assert len(keys) == len(set(keys)) == row["n"] == found[0]["total"]
        assert [page["num_rows"] for page in found] == [len(page["columns"][key]) for page in found]
    assert row["n"] > 0


def test_a_cursor_is_of_no_use_for_another_question(api: Served) -> None:
    word = api.ask("/runs/busy/pods?limit=5").json["next"]
    assert api.ask(f"/runs/busy/pods?limit=9&next={word}").status == 200, "pages may have other sizes"
    for url in ("/runs/busy/pods?sort=pod", "/runs/slow/pods?limit=5", "/runs/busy/decisions?limit=5"):
        assert api.ask(f"{url}&next={word}").code == "bad_cursor"


def test_pods_are_sorted_and_filtered(api: Served) -> None:
    found = api.ask("/runs/busy/pods?sort=-wait&limit=1000").columns
    assert found["wait_seconds"] == sorted(found["wait_seconds"], reverse=True)
    assert found["pod"][0] == "default/never-huge-0"
    assert (found["refused_by"][0], found["refusal"][0]) == ("NodeResourcesFit", "Insufficient cpu")
    assert api.ask("/runs/busy/pods?refused-by=NodeResourcesFit").json["total"] > 1
    assert api.ask("/runs/busy/pods?refused-by=nobody").json["total"] == 0
    assert api.ask("/runs/busy/pods?text=HUGE").columns["pod"] == ["default/never-huge-0"]
    on = api.ask("/runs/busy/pods?node=n-1&limit=1000").columns
    assert set(on["node"]) == {"n-1"}
    states = {
        state: api.ask(f"/runs/busy/pods?state={state}").json["total"] for state in ("waiting", "running", "ended")
    }
    assert sum(states.values()) == 69
    assert states["waiting"] == 1


@pytest.mark.parametrize(("run", "times"), [("busy", range(0, 1801, 300)), ("queues", range(0, 3600, 600))])
def test_pods_at_a_time_are_those_that_waited_ran_and_had_ended(api: Served, run: str, times: range) -> None:
    for time in times:
        source = api.sources.find(run)
        moment = min(time, source.end)
        (then,) = source.rows(
            """
            SELECT count(*) FILTER (ended_seconds <= $at) AS ended,
                count(*) FILTER (bound_seconds <= $at AND coalesce(ended_seconds, 1e9) > $at) AS running,
                count(*) FILTER (coalesce(bound_seconds, 1e9) > $at AND coalesce(ended_seconds, 1e9) > $at) AS waiting
            FROM pods WHERE created_seconds <= $at
            """,
            at=moment,
        )
        for state, number in then.items():
            found = api.ask(f"/runs/{run}/pods?at={moment}&state={state}&limit=1000").json
            assert found["total"] == number
            assert set(found["columns"]["state"]) <= {state}
            if state == "waiting":
                assert found["columns"]["node"] == [None] * number
        groups = api.ask(f"/runs/{run}/waiting?at={moment}").columns
        for reason, number in zip(groups["reason"], groups["pods"], strict=True):
            found = api.ask(at("runs", run, "pods", **{"at": moment, "state": "waiting", "refused-by": reason})).json
            assert found["total"] == number, reason
    assert api.ask(f"/runs/{run}/pods?at={source.end}").json["total"] == api.ask(f"/runs/{run}/pods").json["total"]


def test_waits_are_counted_by_how_long_they_were(api: Served) -> None:
    found = api.ask("/runs/busy/waits").json
    rows = api.ask("/runs/busy/pods?limit=1000").columns
    edges = [-1.0, *found["up_to"]]
    for is_placed, counted in ((True, found["placed"]), (False, found["unplaced"])):
        waits = [
            wait
            for wait, bound in zip(rows["wait_seconds"], rows["bound_seconds"], strict=True)
            if (bound is not None) == is_placed
        ]
        expected = [sum(low < wait <= high for wait in waits) for low, high in itertools.pairwise(edges)]
        assert counted == expected
    assert sum(found["placed"]) + sum(found["unplaced"]) == 69
    some = api.ask("/runs/busy/waits?text=high").json
    assert sum(some["placed"]) == 8
    assert api.ask("/runs/busy/waits?text=nobody").json["placed"] == [0]


@pytest.mark.parametrize("options", [{}, {"attempt": 2}, {"at": 600.0}, {"attempt": 1, "node": "n-2"}], ids=str)
def test_why_is_what_the_command_prints(
    api: Served, capsys: pytest.CaptureFixture[str], options: dict[str, object]
) -> None:
    reply = api.ask(at("runs", "busy", "why", *HUGE, **options))
    assert reply.status == 200, reply.body
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    main(["why", "/".join(HUGE), "--run", api.sources.find("busy").path, "-o", "json", *flags])
    assert reply.json == json.loads(capsys.readouterr().out)


def test_the_numbers_of_funnels_add_up(api: Served) -> None:
    story = api.ask(at("runs", "busy", "pods", *HUGE)).json
    failed = [one for one in story["attempts"] if one["funnel"]]
    assert len(failed) > 3
    for attempt in failed:
        refused = sum(group["nodes"] for step in attempt["funnel"] for group in step["reasons"])
        assert refused == attempt["nodes"] == 5
    found = api.ask("/runs/busy/decisions?outcome=unschedulable&limit=1000").columns
    for number, num_nodes in list(zip(found["decision_id"], found["num_nodes"], strict=True))[::10]:
        one = api.ask(f"/runs/busy/decisions/{number}").json
        assert sum(count["num_nodes"] for count in one["filter_counts"]) == num_nodes


def test_a_tile_is_compressed_and_kept_for_its_version_only(api: Served) -> None:
    source = api.sources.find("busy")
    url = "/runs/busy/heat/memory/3/1/0/0?order=load"
    plain = api.ask(url)
    assert plain.body == source.nodes.tile(HeatView("memory", "load"), 3, 1, 0, 0).codes
    assert len(set(plain.body)) > 10
    packed = api.ask(url, Accept_Encoding="gzip, deflate")
    assert (packed.headers["Content-Encoding"], zlib.decompress(packed.body)) == ("deflate", plain.body)
    kept = api.ask(f"{url}&v={source.version}")
    assert kept.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert (kept.body, plain.headers["Cache-Control"]) == (plain.body, "no-store")
    assert api.ask("/runs").json["runs"][0]["version"] == source.version


def test_tables_are_arrow_for_those_who_ask(api: Served) -> None:
    url = "/runs/busy/pods?limit=9&sort=-wait"
    reply = api.ask(url, Accept=ARROW)
    assert (reply.status, reply.headers["Content-Type"]) == (200, ARROW)
    arrow: Any = importlib.import_module("pyarrow")
    with arrow.ipc.open_stream(io.BytesIO(reply.body)) as stream:
        assert stream.read_all().to_pydict() == api.ask(url).columns
    refused = api.ask("/runs/busy/metrics", Accept=ARROW)
    assert (refused.status, refused.code) == (406, "not_acceptable")
    assert api.ask(url, Accept="text/csv").status == 406


def test_names_come_letter_for_letter(api: Served) -> None:
    found = api.ask("/runs/hostile/pods?sort=created").columns
    assert found["pod"] == [f"default/{name}" for name in HOSTILE]
    assert api.ask("/runs/hostile/nodes").columns["node"] == list(HOSTILE)
    for name in HOSTILE:
        assert api.ask(at("runs", "hostile", "pods", "default", name)).json["pod"] == f"default/{name}"
        assert api.ask(at("runs", "hostile", "lanes", node=name)).json["lanes"]["pod"] == [f"default/{name}"]
        assert api.ask(at("runs", "hostile", "pods", node=name)).json["total"] == 1
        assert api.ask(at("runs", "hostile", "search", text=name[:9])).json["name"][0].endswith(name)
        for word in ("owner", "namespace", "user", "text", "refused-by"):
            assert api.ask(at("runs", "hostile", "pods", **{word: name})).status == 200
    assert api.ask("/runs/hostile/pods").json["total"] == len(HOSTILE), "all of them are still there"


def test_a_pod_of_the_queue_is_where_its_last_move_put_it(api: Served) -> None:
    for moment in (0.0, 333.0, 900.0, 1800.0):
        last: dict[int, str | None] = {}
        for row in Run.open(api.sources.find("busy").path).queue_moves:
            if row["time_seconds"] <= moment:
                last[row["pod_id"]] = row["place"]
        waiting = {number: place for number, place in last.items() if place is not None}
        answer = api.ask(f"/runs/busy/queue?at={moment}&limit=1000").json
        assert dict(zip(answer["columns"]["pod_id"], answer["columns"]["place"], strict=True)) == waiting
        assert sum(answer["places"].values()) == len(waiting) == answer["total"]


def test_a_pod_name_that_was_used_twice_needs_a_uid(tmp_path: Path) -> None:
    from fairway.testing import node, pod  # noqa: PLC0415 - of this test alone
    from tests.record.runs import lives  # noqa: PLC0415
    from tests.web.served import served  # noqa: PLC0415

    path = tmp_path / "twice.duckdb"
    rows = [
        (pod("same", cpu=1, uid=uid), "a", begin, begin, begin + 1.0) for uid, begin in (("u-1", 0.0), ("u-2", 5.0))
    ]
    lives(path, [node("a", cpu=4)], *rows, end=10.0).close()
    with served([str(path)]) as server:
        reply = server.ask("/runs/twice/pods/default/same")
        assert (reply.status, reply.code) == (409, "several_pods")
        assert "uid=u-1 created 00:00:00; uid=u-2 created 00:00:05" in reply.json["error"]["hint"]
        assert server.ask("/runs/twice/pods/default/same?uid=u-1").json["createdSeconds"] == 0.0
        assert server.ask("/runs/twice/why/default/same?uid=u-3").code == "no_such_pod"
