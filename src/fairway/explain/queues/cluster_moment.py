"""The queues of a live cluster, read once with the caller's own rights.

In: a connection, the kinds of ours that an answer needs and those that it can go without, a namespace or none. Out: a
`ClusterQueues`: a `RecordMoment`, and notes on what could not be seen. Raises `NoQueues` where the cluster does not
serve our kinds, and what else `LiveProblem` there is: the right that is missing is named. Called by the commands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from fairway.batch.accounts import AccountBook
from fairway.batch.job import JobRecord
from fairway.batch.upkeep.closing_status import ClosingKind, ClosingStatus
from fairway.exit_codes import FAILED
from fairway.explain.queues.queue_moment import TimeWords
from fairway.explain.queues.record_moment import RecordMoment
from fairway.live.api.api_server import ApiServer
from fairway.live.api.problems import Forbidden, LiveProblem, Unreachable, problem_of, status_message
from fairway.live.batch.catalogue import DEFAULT_SCHEDULER, read_catalogue
from fairway.live.batch.objects import (
    API_VERSION,
    AccountObject,
    BatchObject,
    JobRecordObject,
    QueueObject,
    ReservationObject,
    WindowObject,
    object_path,
)
from fairway.live.batch.record_codec import read_record
from fairway.live.batch.record_terms import RecordTerms, read_terms
from fairway.model import DecodeError
from fairway.model.nesting import check_nesting

__all__ = ["ClusterQueues", "KindsWanted", "NoQueues", "list_objects", "read_queues", "read_written"]

PAGE: Final = 500
CLOSINGS: Final[dict[type[BatchObject], ClosingKind]] = {
    WindowObject: "maintenance",
    ReservationObject: "reservation",
}
KINDS: Final[dict[str, type[BatchObject]]] = {
    object_path(kind).rpartition("/")[2]: kind
    for kind in (QueueObject, AccountObject, WindowObject, ReservationObject, JobRecordObject)
}
K = TypeVar("K", bound=BatchObject)


class NoQueues(LiveProblem):
    """The cluster does not know what a queue is."""

    exit_code = FAILED

    def __init__(self, url: str) -> None:
        super().__init__(
            f"the cluster at {url} has no queues of jobs",
            f"it does not serve the kinds of {API_VERSION}",
            "install them: kubectl apply -f deploy/manifests/crds.yaml, or the chart with batch.enabled=true "
            "(docs/batch.md)",
        )


class KindsWanted(NamedTuple):
    """What an answer is made of."""

    needed: Collection[str]  # as RBAC calls them: jobrecords
    useful: Collection[str] = ()  # it is told without these where they may not be read


class ClusterQueues(NamedTuple):
    """What was read."""

    moment: RecordMoment
    url: str
    notes: Sequence[str]


async def read_queues(
    api: ApiServer,
    url: str,
    wanted: KindsWanted,
    now: float,
    *,
    namespace: str | None = None,
    home: str | None = None,
    times: TimeWords | None = None,
) -> ClusterQueues:
    """Read them; records of one namespace, or of all. `home`: the namespace to look at where not all may be seen."""
    notes: list[str] = []
    objects: dict[type[BatchObject], list[BatchObject]] = {}
    for plural in (*wanted.needed, *wanted.useful):
        kind = KINDS[plural]
        within = namespace or "" if kind is JobRecordObject else ""
        try:
            objects[kind] = await list_objects(api, url, kind, within)
        except Forbidden as problem:
            if kind is JobRecordObject and namespace is None and home is not None:
                objects[kind] = await list_objects(api, url, kind, home)
                notes.append(f"only jobs of namespace {home} are shown: {problem.what}")
            elif plural in wanted.useful:
                notes.append(f"told without its {_plural(kind)}: {problem.what}")
            else:
                raise
    operated = [thing for kind, found in objects.items() if kind is not JobRecordObject for thing in found]
    catalogue = read_catalogue(operated, {*map(_scheduler, objects.get(QueueObject, ()))})
    notes += [f"{each.object.kind} {each.object.metadata.name} is as good as not there: {each.words}"
              for each in catalogue.problems]  # fmt: skip
    written, unread = read_written(
        each for each in objects.get(JobRecordObject, ()) if isinstance(each, JobRecordObject)
    )
    notes += unread
    moment = RecordMoment(
        now, catalogue.settings, written, _books(objects.get(AccountObject, ())), list(_statuses(operated)), times
    )
    return ClusterQueues(moment, url, notes)


async def list_objects(api: ApiServer, url: str, kind: type[K], namespace: str = "") -> list[K]:
    """All objects of a kind, page by page."""
    path, query, found = object_path(kind, namespace=namespace), dict[str, str | int](limit=PAGE), list[K]()
    while True:
        answer = await api.request("GET", path, query=query)
        if answer.status == 404:
            raise NoQueues(url)
        if (problem := problem_of(url, "GET", path, answer.status, answer.body)) is not None:
            raise problem
        if answer.status != 200:
            raise Unreachable(url, f"{path}: {answer.status} {status_message(answer.body)}")
        try:
            check_nesting(answer.body, "")
            page = msgspec.json.decode(answer.body)
            found += [msgspec.convert(item, kind) for item in page.get("items") or ()]
            token = page["metadata"].get("continue")
        except (DecodeError, msgspec.MsgspecError, AttributeError, KeyError, TypeError, UnicodeDecodeError) as error:
            raise Unreachable(url, f"{path}: what it answers is no list of {_plural(kind)}: {error}") from None
        if not token:
            return found
        query = {"limit": PAGE, "continue": token}


def read_written(records: Iterable[JobRecordObject]) -> tuple[list[tuple[JobRecord, RecordTerms]], list[str]]:
    """Jobs from their records, and notes on those that can not be read."""
    written, notes = [], []
    for thing in records:
        try:
            record, terms = read_record(thing), read_terms(thing.status)
        except ValueError as error:
            notes.append(f"JobRecord {thing.metadata.namespace}/{thing.metadata.name} can not be read: {error}")
            continue
        if record is not None:
            written.append((record, terms))
    return written, notes


def _plural(kind: type[BatchObject]) -> str:
    return object_path(kind).rpartition("/")[2]


def _scheduler(queue: BatchObject) -> str:
    return str(queue.spec.get("schedulerName") or DEFAULT_SCHEDULER)


def _books(accounts: Iterable[BatchObject]) -> Mapping[str, AccountBook]:
    found = {}
    for each in accounts:
        try:
            found[each.metadata.name] = msgspec.convert(each.status.get("book", {}), AccountBook)
        except msgspec.ValidationError:
            continue  # whoever wrote that: nothing is known of it
    return found


def _statuses(objects: Iterable[BatchObject]) -> Iterable[ClosingStatus]:
    """What is written down of windows and reservations; of those that nobody has looked at, when they were made."""
    for thing in objects:
        if (kind := CLOSINGS.get(type(thing))) is None:
            continue
        meta, closing = thing.metadata, thing.status.get("closing")
        created = 0.0 if meta.creation_timestamp is None else meta.creation_timestamp.timestamp()
        known: Any = closing if isinstance(closing, dict) and closing.get("uid") == meta.uid else {}
        try:
            yield msgspec.convert({"kind": kind, "name": meta.name, "uid": meta.uid, "created": created} | known,
                                  ClosingStatus)  # fmt: skip
        except msgspec.ValidationError:
            yield ClosingStatus(kind, meta.name, meta.uid, created)
