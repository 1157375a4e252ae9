"""Queues of another Fairway: whoever names one and our scheduler waits in none, until the queue is ours."""

from __future__ import annotations

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, node, play
from tests.live.test_queue_routes import QUEUES, job, record, with_kinds


def paused(scheduler: str) -> Tree:
    return {"metadata": {"name": "batch"}, "spec": {"schedulerName": scheduler, "state": "Paused"}}


def test_a_pod_that_names_the_queue_of_another_scheduler_is_not_held_back() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: bindings(api).get("early"))
        assert record(api, "early") == {}
        api.put("queues.fairway.dev", paused("default-scheduler"))
        await api.until(lambda: live.batch and live.batch.live and live.batch.live.desk.settings.queues)
        api.put("pods", job("late", cpu="1"))
        await api.until(lambda: record(api, "late").get("reason") == "QueueStopped")

    objects = (("queues.fairway.dev", paused("other")), ("nodes", node("n1")), ("pods", job("early", cpu="1")))
    play(story, *objects, settings=QUEUES, prepare=with_kinds)
