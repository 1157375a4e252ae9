"""What somebody posts to ask when it would start: a size, manifests, or the name of a job that waits.

In: bytes that anybody may have written, as many as the route lets in. Out: a name, or `PostedJob`s, each of which is
one job: what one controller or pod of the manifests wants to run. `UserError` and `DecodeError` say what is wrong.
Called by `queue_answers`, outside of the scheduler's loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from fairway.exit_codes import USAGE
from fairway.explain.queues.asked_jobs import pod_of_size
from fairway.kinds.controllers import Wanted, wanted_by
from fairway.kinds.expansion import expand
from fairway.kinds.kind_table import open_table
from fairway.live.asked_queues import StartQuestion
from fairway.model import Pod, Skipped, UserError, load_yaml
from fairway.model.controllers import Controller
from fairway.model.nesting import check_nesting
from fairway.model.seconds import parse_seconds

__all__ = ["MOST_MEMBERS", "PostedJob", "posted_jobs"]

FILE: Final = "the manifest"
MOST_MEMBERS: Final = 1_000
MOST_JOBS: Final = 4
"""That are asked about at once."""


class JobSize(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A job by what it asks for."""

    cpu: str | float | None = None
    memory: str | float | None = None
    gpu: int = 0
    members: int = 1
    limit: str | None = None
    queue: str | None = None
    user: str | None = None
    job: str | None = None  # one that waits


class PostedJob(NamedTuple):
    """A job that somebody might submit."""

    name: str
    pod: Pod | JobSize  # each of its members
    num_members: int
    queue: str | None = None
    limit: float | None = None
    said: Sequence[Mapping[str, str]] = ()  # annotations and labels of its controller

    def pods(self, profile: str) -> list[Pod]:
        """Its members; of a size, for this scheduler."""
        pod = self.pod
        if isinstance(pod, JobSize):
            cpu, memory = (None if each is None else str(each) for each in (pod.cpu, pod.memory))
            pod = pod_of_size(profile, cpu, memory, pod.gpu, pod.user)
        return [pod] * self.num_members


def posted_jobs(question: StartQuestion) -> str | list[PostedJob]:
    """What is asked about; a text is the name of a job."""
    limit = None if question.limit is None else _seconds(question.limit)
    size = _size(question.body)
    if size is not None:
        if size.job is not None:
            return size.job
        if size.cpu is None and size.memory is None and not size.gpu:
            raise UserError("of what? it asks for nothing", 'post a manifest, {"job": ...} or {"cpu": "4"}', USAGE)
        if limit is None and size.limit is not None:
            limit = _seconds(size.limit)
        return [PostedJob("it", size, _checked(size.members, "it"), size.queue, limit)]
    skipped: list[Skipped] = []
    loaded = load_yaml(question.body, FILE, skipped)
    expansion = expand(skipped, open_table((), skipped))
    found: list[PostedJob] = []
    for one in (*loaded, *expansion.loaded):
        thing = one.object
        if isinstance(thing, Pod | Controller):
            meta = thing.metadata
            found += _of_wanted(wanted_by(thing, one.source, ()), limit, (meta.annotations, meta.labels))
    for wanted in expansion.wanted:
        found += _of_wanted(wanted, limit, ())
    if not found:
        raise UserError("nothing in it makes pods", "post a Pod, a Job, or another kind that makes pods", USAGE)
    if len(found) > MOST_JOBS:
        raise UserError(f"{len(found)} jobs are too many to ask about at once", f"post {MOST_JOBS} at most", USAGE)
    return found


def _of_wanted(wanted: Wanted, limit: float | None, said: Sequence[Mapping[str, str]]) -> list[PostedJob]:
    if not wanted.num_pods:
        return []
    pod, _ = wanted.make(0)
    name = f"{wanted.namespace}/{wanted.name}"
    return [PostedJob(name, pod, _checked(wanted.num_pods, name), None, limit, said)]


def _checked(members: int, name: str) -> int:
    if not 0 < members <= MOST_MEMBERS:
        raise UserError(f"{name} has {members} members", f"1 to {MOST_MEMBERS} can be asked about", USAGE)
    return members


def _size(body: bytes) -> JobSize | None:
    """A job by its size; None: it is no JSON, or an object of Kubernetes."""
    try:
        check_nesting(body, FILE)
        plain: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(plain, dict) or "kind" in plain or "apiVersion" in plain:
        return None
    try:
        return msgspec.convert(plain, JobSize)
    except msgspec.ValidationError as error:
        fields = ", ".join(JobSize.__struct_fields__)
        raise UserError(f"that is no size of a job: {error}", f"fields are {fields}", USAGE) from error


def _seconds(text: str) -> float:
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UserError(f"limit: {error}", "write 90s, 15m or 12h", USAGE) from error
    if not seconds > 0:
        raise UserError(f"limit: {text!r} is not more than 0", "write 90s, 15m or 12h", USAGE)
    return seconds
