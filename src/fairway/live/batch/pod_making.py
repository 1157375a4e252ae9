"""A bare pod is made anew: of its name there is one again, once.

In: how the pod was made (`manifests`), after that is in its job's record on the server. Out: on the server, a pod that
says in whose place it came. Names make sure that there are never two of them: as long as the former pod is there,
nothing is made; one that has ended is deleted first, one that is still ending is waited for. A pod that says that it
came in the same place is ours, whoever of us made it. What the server refuses is told, and asked for again by the desk.
Called by `job_actions`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairway.batch.actions import MADE_FROM, Tell
from fairway.live.api.api_server import ApiServer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.batch.manifests import PodManifests, former_uid
from fairway.live.watches.watched_kinds import pod_path
from fairway.model import Pod

__all__ = ["PodMaker"]

logger = logging.getLogger(__name__)

CREATED, NOT_FOUND, CONFLICT, BUSY, SERVER_ERRORS = 201, 404, 409, 429, 500
ENDED: Final = ("Succeeded", "Failed")


class PodMaker:
    """Makes pods."""

    def __init__(
        self, api: ApiServer, manifests: PodManifests, job_of: Callable[[Pod], str], tell: Callable[[Tell], None]
    ) -> None:
        """`job_of`: the key of the job that such a pod is of, for events about it."""
        self._api = api
        self._manifests = manifests
        self._job_of = job_of
        self._tell = tell
        self._told: dict[str, str] = {}  # by uid of who was there before: what was refused
        self._unanswered: dict[str, str] = {}  # by that uid: the job, of pods that may be there

    async def make(self, pod: Pod) -> bool:
        """One attempt; False: it has to be tried again soon. True also where nothing can be done now."""
        former = former_uid(pod)
        text = self._manifests.text(former)
        if text is None:
            self._unanswered.pop(former, None)
            return True  # nobody wants it any more
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods"
        job = self._unanswered.get(former) or self._job_of(pod)  # it forgets who was there before, once the pod is seen
        try:
            answer = await self._api.request("POST", path, body=text.encode())
        except LiveProblem as problem:
            logger.info("pod %s was not made: %s; trying again", pod.key, problem.why)
            self._unanswered[former] = job
            return False
        if answer.status == CONFLICT:
            try:
                return await self._look(pod, former)
            except LiveProblem as problem:
                logger.info("pod %s was not looked at: %s; trying again", pod.key, problem.why)
                return False
        if answer.status == CREATED:
            self._made(pod, former, job)
            return True
        if answer.status == BUSY or answer.status >= SERVER_ERRORS:
            self._unanswered[former] = job
            return False
        self._refuse(pod, former, status_message(answer.body))
        return True

    def _made(self, pod: Pod, former: str, job: str) -> None:
        self._told.pop(former, None)
        self._unanswered.pop(former, None)
        why = f"pod {pod.metadata.name} is made anew, in the place of that of uid {former}"
        self._tell(Tell(job, "PodMadeAnew", why))

    async def _look(self, pod: Pod, former: str) -> bool:
        """Somebody has its name."""
        answer = await self._api.request("GET", pod_path(pod))
        if answer.status != 200:
            if answer.status in (NOT_FOUND, BUSY) or answer.status >= SERVER_ERRORS:
                return False
            self._refuse(pod, former, status_message(answer.body))
            return True
        there: dict[str, Any] = msgspec.json.decode(answer.body)
        meta = there["metadata"]
        if (meta.get("annotations") or {}).get(MADE_FROM) == former:
            if former in self._unanswered:
                self._made(pod, former, self._unanswered[former])
            return True
        if meta["uid"] != former:
            self._refuse(pod, former, "another pod has its name")
            return True
        if "deletionTimestamp" in meta or there.get("status", {}).get("phase") not in ENDED:
            return True  # it is still ending
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": former}}
        answer = await self._api.request("DELETE", pod_path(pod), body=msgspec.json.encode(options))
        if answer.status >= 300 and answer.status not in (NOT_FOUND, CONFLICT, BUSY) and answer.status < SERVER_ERRORS:
            self._refuse(pod, former, status_message(answer.body))
            return True
        return False

    def _refuse(self, pod: Pod, former: str, why: str) -> None:
        if self._told.get(former) != why:
            self._told[former] = why
            logger.warning("pod %s is not made anew: %s", pod.key, why)
            words = f"pod {pod.metadata.name} is not made anew, and will be tried again: {why}"
            self._tell(Tell(self._job_of(pod), "PodNotMade", words, is_warning=True))
