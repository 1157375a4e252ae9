"""Books that somebody has tampered with are told, in an event of the account, and are left as they are."""

from __future__ import annotations

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, node, play
from tests.live.test_jobs import events
from tests.live.test_queue_routes import QUEUES, job, with_kinds
from tests.live.test_wall_clock import queue


def physics(**book: object) -> tuple[str, Tree]:
    spec = {"namespaces": ["default"], "weights": {"cpu": 1}}
    return "accounts.fairway.dev", {"metadata": {"name": "physics"}, "spec": spec, "status": {"book": book}}


def book(api: FakeApiServer) -> Tree:
    found: Tree = api.objects["accounts.fairway.dev"]["physics"]["status"]["book"]
    return found


def test_books_that_do_not_balance_are_told_with_both_numbers_and_not_mended() -> None:
    """Somebody gave ada a present, and the account nothing."""

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: events(api, "BooksDiffer"))
        api.put("pods", job("it", cpu="1"))
        await api.until(lambda: bindings(api).get("it"))

    objects = (queue(), physics(settled=5000, users={"ada": {"settled": 3000}}), ("nodes", node("n1")))
    api = play(story, *objects, settings=QUEUES, prepare=with_kinds)
    (event,) = events(api, "BooksDiffer")
    assert (event["regarding"]["kind"], event["regarding"]["name"], event["type"]) == ("Account", "physics", "Warning")
    assert event["note"] == "account physics: settled is not the sum of its users: 5, should be 3"
    assert book(api)["settled"] == 5000
    assert book(api)["users"]["ada"]["settled"] == 3000
