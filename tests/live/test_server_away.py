"""The API server is away for ten minutes while jobs run and their limits pass: they run on, and nothing is lost.

It is a server of a few lines that does not listen meanwhile; the minutes pass by the clock that the scheduler is given.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import node, play
from tests.live.test_job_clocks import SetClock
from tests.live.test_queue_routes import QUEUES, job, record, with_kinds
from tests.live.test_wall_clock import queue, runs

MINUTE = 60.0


def late_seconds(live: LiveScheduler) -> dict[str, float]:
    """How late limits were carried out: how many, and by how much in all."""
    families = text_string_to_metric_families(live.metrics.render().decode())
    samples = [each for family in families for each in family.samples]
    return {
        each.name.rpartition("_")[2]: each.value
        for each in samples
        if each.name in ("fairway_limit_late_seconds_count", "fairway_limit_late_seconds_sum")
    }


def account(api: FakeApiServer) -> Tree:
    found: Tree = api.objects["accounts.fairway.dev"]["physics"].get("status", {}).get("book", {})
    return found


def test_jobs_run_on_and_limits_that_passed_are_carried_out_in_their_order() -> None:
    clock = SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        for name in ("soon", "later", "on"):
            await runs(api, name)
        port = urlsplit(api.url).port
        assert port is not None
        await api.stop()
        clock.passed = 10 * MINUTE
        assert api.sent("DELETE", "/pods/") == []
        await api.start(port)
        await api.until(lambda: all(record(api, name).get("state") == "Finished" for name in ("soon", "later")))
        deleted = [path for method, path, _ in api.requests if method == "DELETE" and "/pods/" in path]
        assert [path.rpartition("/")[2].partition("?")[0] for path in deleted] == ["soon", "later"]
        assert record(api, "on")["state"] == "Running"
        late = late_seconds(live)
        assert late["count"] == 2
        assert 2 * 10 * MINUTE - (3 + 7) * MINUTE <= late["sum"] < 2 * 10 * MINUTE - (3 + 7) * MINUTE + 2 * MINUTE
        clock.passed += MINUTE  # books are written twice a minute
        await api.until(lambda: all(record(api, name).get("settled") for name in ("soon", "later")))
        charges = [record(api, name)["charge"] for name in ("soon", "later")]
        assert account(api)["settled"] == round(sum(charges) * 1000)
        assert all(10 * MINUTE <= charge < 13 * MINUTE for charge in charges), "for all that they ran"
        assert not any(each.get("uncertain") for name in ("soon", "later") for each in record(api, name)["intervals"])

    physics = {"namespaces": ["default"], "weights": {"cpu": 1}}
    jobs = {"soon": "3m", "later": "7m", "on": "1h"}
    objects = (
        queue(),
        ("accounts.fairway.dev", {"metadata": {"name": "physics"}, "spec": physics}),
        ("nodes", node("n1")),
        *(("pods", job(name, cpu="1", limit=limit)) for name, limit in jobs.items()),
    )
    play(story, *objects, settings=QUEUES, prepare=with_kinds, clock=clock)
