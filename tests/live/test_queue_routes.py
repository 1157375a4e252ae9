"""The routes about queues of a scheduler that plans some: what they say, and that a question changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from aiohttp import ClientSession, web

from fairway.explain.queues.queue_answers import QueueAnswers
from fairway.live.api_routes import api_routes
from fairway.live.batch.objects import API_VERSION, BATCH_KINDS
from fairway.live.service import LiveScheduler, ServiceSettings
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, node, play, pod

QUEUES = ServiceSettings(has_queues=True)


class Said(NamedTuple):
    status: int
    body: Any


def with_kinds(api: FakeApiServer) -> None:
    """The definitions of our kinds are there."""
    group = API_VERSION.partition("/")[0]
    for kind in BATCH_KINDS:
        is_namespaced = kind.plural == "jobrecords"
        api.serve(f"{kind.plural}.{group}", kind.kind().kind, is_namespaced=is_namespaced)


def job(name: str, cpu: str = "4", limit: str = "1h", **said: str) -> Tree:
    tree = pod(name, cpu=cpu)
    tree["metadata"]["labels"] = {"fairway.dev/queue": "batch"}
    tree["metadata"]["annotations"] = {"fairway.dev/time-limit": limit, **said}
    return tree


def record(api: FakeApiServer, name: str) -> Tree:
    found = api.objects.get("jobrecords.fairway.dev", {}).get(f"default/{name}", {})
    status: Tree = found.get("status", {})
    return status


async def asked(live: LiveScheduler, *questions: tuple[str, str, bytes | None]) -> list[Said]:
    """Serve the routes and ask them."""
    app = web.Application()
    for (method, path), handler in api_routes(live, None, QueueAnswers).items():
        app.router.add_route(method, path, handler)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    answers = []
    async with ClientSession() as session:
        for method, path, body in questions:
            async with session.request(method, f"http://127.0.0.1:{port}/fairway/v1/{path}", data=body) as answer:
                answers.append(Said(answer.status, await answer.json()))
    await runner.cleanup()
    return answers


def a_day(ask: Callable[[FakeApiServer, LiveScheduler], Awaitable[None]]) -> FakeApiServer:
    """One job runs on the only node, a second waits for it."""

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api).get("first"))
        running = api.pod("first") | {"status": {"phase": "Running"}}
        api.put("pods", running)
        await api.until(lambda: record(api, "first").get("state") == "Running")
        api.put("pods", job("second"))
        await api.until(
            lambda: record(api, "second").get("reason") == "Resources" and record(api, "second").get("plan")
        )
        await ask(api, live)

    objects = (
        ("queues.fairway.dev", {"metadata": {"name": "batch"}, "spec": {"schedulerName": "default-scheduler"}}),
        ("nodes", node("n1")),
        ("pods", job("first")),
    )
    return play(story, *objects, settings=QUEUES, prepare=with_kinds)


def test_what_is_planned_is_told_and_nothing_changes() -> None:
    told: list[Said] = []
    plans: list[Any] = []

    async def ask(api: FakeApiServer, live: LiveScheduler) -> None:
        assert live.batch is not None
        assert live.batch.live is not None
        calendar = live.batch.live.desk.machine.calendar
        before = (dict(calendar.promises), calendar.timeline.free.tolist(), dict(api.objects["pods"]))
        size = json.dumps({"cpu": "2", "limit": "10m", "queue": "batch"}).encode()
        manifest = json.dumps(job("new", cpu="2") | {"apiVersion": "v1", "kind": "Pod"}).encode()
        told.extend(
            await asked(
                live,
                ("GET", "jobs", None),
                ("GET", "jobs?job=default/second", None),
                ("GET", "plan", None),
                ("GET", "queues", None),
                ("GET", "shares", None),
                ("POST", "when", size),
                ("POST", "when?limit=5m", manifest),
                ("POST", "when", b'{"job": "default/second"}'),
                ("GET", "why?job=default/second", None),
            )
        )
        after = (dict(calendar.promises), calendar.timeline.free.tolist(), dict(api.objects["pods"]))
        plans.append((before, after))

    a_day(ask)
    ((before, after),) = plans
    assert before == after
    assert {each.status for each in told} == {200}
    jobs, second, plan, queues, shares, sized, posted, waiting, why = (each.body for each in told)
    assert [(each["job"], each["state"]) for each in jobs["jobs"]] == [
        ("default/first", "Running"),
        ("default/second", "Queued"),
    ]
    assert second["reason"] == "Resources"
    (planned,) = plan["waiting"]
    assert (planned["job"], planned["booked"]["nodes"]) == ("default/second", ["n1"])
    (queue,) = queues["queues"]
    assert (queue["waiting"], queue["running"], queue["light"]) == (1, 1, "full")
    assert [(each["name"], each["parent"], each["isUser"]) for each in shares["shares"]] == [("/default", "", True)]
    assert [each["startsNow"] for each in sized["jobs"]] == [False]
    assert posted["jobs"][0]["limitSeconds"] == 300.0
    assert posted["jobs"][0]["dates"]["ahead"]["jobs"] == 1
    assert waiting["jobs"][0]["dates"] == second["dates"]
    (holder,) = why["queueing"]["holders"]
    assert (holder["job"], holder["node"]) == ("default/first", "n1")


NONSENSE = {
    "nothing": (b"", 400, "of what?"),
    "too much": (b"{" * 70000, 413, "too large"),
    "no such queue": (b'{"cpu": "4", "queue": "bacth"}', 400, "no queue “bacth”"),
    "no such field": (b'{"cpus": "4"}', 400, "cpus"),
    "no amount": (b'{"cpu": "lots", "queue": "batch"}', 400, "no amount"),
    "too many members": (b'{"cpu": "4", "members": 1000000000}', 400, "members"),
    "no time": (b'{"cpu": "4", "limit": "soon"}', 400, "limit"),
    "no such job": (b'{"job": "default/nobody"}', 400, "no job of a queue"),
    "nothing of anything": (b'{"limit": "1h"}', 400, "asks for nothing"),
    "not text": (b"\xff\xfe\x00", 400, "can not be read"),
    "not YAML": (b"a: [", 400, "can not be read"),
    "no pods": (b"kind: Service\napiVersion: v1\nmetadata: {name: a}\n", 400, "makes pods"),
    "a Job without end": (
        b"kind: Job\napiVersion: batch/v1\nmetadata: {name: a}\nspec: {parallelism: 2000000000, completions: "
        b"2000000000, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n",
        400,
        "too many to try",
    ),
}


def test_questions_that_make_no_sense_are_told_so() -> None:
    told: list[Said] = []

    async def ask(api: FakeApiServer, live: LiveScheduler) -> None:
        told.extend(await asked(live, *(("POST", "when", body) for body, _, _ in NONSENSE.values())))
        told.extend(await asked(live, ("GET", "jobs?colour=red", None), ("GET", "jobs?state=Asleep", None)))

    a_day(ask)
    *answers, colour, asleep = told
    for (name, (_, status, words)), answer in zip(NONSENSE.items(), answers, strict=True):
        said = answer.body
        assert answer.status == status, (name, said)
        assert words in f"{said['message']} {said['why']} {said['fix']}", name
        assert said["fix"], name
    assert (colour.status, asleep.status) == (400, 400)


def test_where_there_are_no_queues_the_routes_say_so() -> None:
    told: list[Said] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: live.is_synced)
        told.extend(await asked(live, ("GET", "jobs", None), ("POST", "when", b'{"cpu": "1"}')))

    play(story, ("nodes", node("n1")), settings=QUEUES)
    assert {each.status for each in told} == {404}
    assert all("serves no queues" in each.body["message"] and "crds.yaml" in each.body["fix"] for each in told)


def test_the_loop_goes_on_while_an_answer_is_worked_out() -> None:
    """A question is worked out aside: between its steps the scheduler's loop has had its turns."""
    turns: list[int] = []

    async def ask(api: FakeApiServer, live: LiveScheduler) -> None:
        async def count() -> None:
            turns.append(0)
            while True:
                turns[0] += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        await asked(live, ("POST", "when", b'{"cpu": "4", "queue": "batch"}'))
        counting.cancel()

    a_day(ask)
    assert turns[0] > 10
