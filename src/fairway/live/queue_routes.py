"""The routes about queues of jobs: `/fairway/v1/jobs`, `/plan`, `/queues`, `/shares`, and `/when`, to which one posts.

In: a running `LiveScheduler`, and what makes whoever has the answers (`AskedQueues`) if somebody asks. Out: routes for
`http_server`, which decides who may ask. `jobs` takes `job=NAMESPACE/NAME`, or `queue=`, `user=`, `state=`,
`namespace=`; to `when` a manifest is posted, a size (`{"cpu": "4", "members": 8, "limit": "12h", "queue": "batch"}`) or
`{"job": "NAMESPACE/NAME"}`, with `?queue=` and `?limit=`. JSON; an error has `message`, `why` and `fix`. Nothing is
ever changed by asking. `api_routes` has them among its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from fairway.exit_codes import FAILED, UNREACHABLE, USAGE
from fairway.live.asked_queues import LARGEST_QUESTION, AskedQueues, StartQuestion
from fairway.live.batch.live_desk import LiveDesk
from fairway.live.service import LiveScheduler
from fairway.live.serving.http_server import Routes
from fairway.model import DecodeError, UserError

__all__ = ["queue_routes", "queueing"]

Ask = Callable[[AskedQueues, LiveDesk, web.Request], Awaitable[dict[str, Any]]]


def queue_routes(live: LiveScheduler, queues: Callable[[], AskedQueues] | None) -> Routes:
    """By method and path."""

    def route(ask: Ask) -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            return await _answer(live, queues, ask, request)

        return answer

    return {
        ("GET", "/fairway/v1/jobs"): route(lambda asked, desk, request: asked.jobs(desk, request.query)),
        ("GET", "/fairway/v1/plan"): route(lambda asked, desk, request: asked.plan(desk)),
        ("GET", "/fairway/v1/queues"): route(lambda asked, desk, request: asked.queues(desk)),
        ("GET", "/fairway/v1/shares"): route(lambda asked, desk, request: asked.shares(desk)),
        ("POST", "/fairway/v1/when"): route(_when),
    }


async def queueing(
    live: LiveScheduler, queues: Callable[[], AskedQueues] | None, name: str, uid: str = ""
) -> dict[str, Any] | None:
    """Why a job of a queue waits, by its name or a member's uid; None: no such job does."""
    desk = _desk(live)
    if desk is None or queues is None:
        return None
    job = desk.desk.book.of(uid) if uid else desk.desk.book.find(name)
    return None if job is None else await queues().why(desk, job.key)


async def _when(asked: AskedQueues, desk: LiveDesk, request: web.Request) -> dict[str, Any]:
    body = await request.read()  # which the server has read already
    if len(body) > LARGEST_QUESTION:
        raise web.HTTPRequestEntityTooLarge(LARGEST_QUESTION, len(body))
    if not body.strip():
        raise UserError("of what?", 'post a manifest, {"job": "NAMESPACE/NAME"} or {"cpu": "4"}', USAGE)
    return await asked.when(desk, StartQuestion(body, request.query.get("queue"), request.query.get("limit")))


async def _answer(
    live: LiveScheduler, queues: Callable[[], AskedQueues] | None, ask: Ask, request: web.Request
) -> web.Response:
    desk = _desk(live)
    if desk is None or queues is None:
        return _no_queues(live)
    try:
        return _said(200, await ask(queues(), desk, request))
    except UserError as error:
        return _problem(400, error.what, "", error.hint or "correct the question", error.exit_code)
    except DecodeError as error:
        return _problem(400, "what was posted can not be read", str(error), "correct the manifest", FAILED)
    except web.HTTPRequestEntityTooLarge:
        most = f"{LARGEST_QUESTION // 1024} KiB"
        return _problem(
            413, "that is too large a question", f"at most {most} are read", "post one job at a time", USAGE
        )


def _desk(live: LiveScheduler) -> LiveDesk | None:
    return None if live.batch is None else live.batch.live


def _no_queues(live: LiveScheduler) -> web.Response:
    what = "this scheduler serves no queues of jobs"
    if live.batch is None:
        return _problem(404, what, "it was started with --batch=false", "start it without", FAILED)
    if not live.batch.is_served:
        fix = "install them: kubectl apply -f deploy/manifests/crds.yaml, or the chart with batch.enabled=true"
        return _problem(404, what, "the cluster has no kinds of fairway.dev/v1alpha1", fix, FAILED)
    why = "it is not the leader, or has only just begun"
    return _problem(503, "this scheduler does not plan queues now", why, "ask the leader, or ask again", UNREACHABLE)


def _problem(status: int, message: str, why: str, fix: str, exit_code: int) -> web.Response:
    """What, why, and what to do about it; and how a command ends that asked."""
    return _said(status, {"message": message, "why": why, "fix": fix, "exitCode": exit_code})


def _said(status: int, value: Any) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), content_type="application/json")
