"""How a job is written down: the status of its JobRecord, for people and for whoever comes after us.

In: a `JobRecord` as the desk has it, with what it is told of its start. Out: the status as plain values: at the top
what people and columns read, times as RFC 3339; below `ledger` the exact state, times as seconds since 1970. Back again
from `ledger` and from the object's spec, which has what operators order. Of pods only name, uid, node and phase are
kept: the rest is in the cluster or gone; but for those that we have to make anew, of which all is. Called by
`record_store`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fairway.batch.accounts.charges import total_charge
from fairway.batch.job import BatchJob, JobLedger, JobOrders, JobRecord, JobWishes, RunInterval
from fairway.batch.limits import parse_time_limit
from fairway.batch.members_alike import size_words
from fairway.batch.order_answer import OrderAnswer
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Reason, Refused
from fairway.live.batch.manifests import former_uid, read_manifest
from fairway.live.batch.objects import JobRecordObject
from fairway.live.batch.record_terms import RecordTerms, written_members
from fairway.model import ObjectMeta, Pod, PodSpec, PodStatus
from fairway.model.batch.job_record import JobPlan, JobRecordStatus, OrderAnswerStatus, RecordedInterval
from fairway.model.group import GroupKey
from fairway.model.seconds import seconds_text
from fairway.plan import StartEstimate

__all__ = ["manifests_of", "moment_text", "orders_of", "read_record", "record_status", "terms_of", "uid_of"]

UNITS_PER_CHARGE: Final = 1000
AS_IT_IS: Final = frozenset((str, int, bool))
REASONS: Final = (Reason, Refused, JobOutcome)
NONE: Final[Mapping[str, str]] = {}


def terms_of(job: BatchJob, account: str, limit: float) -> RecordTerms:
    """Those of a job as it is now."""
    return RecordTerms(account, limit, job.priority)


# -- writing -----------------------------------------------------------------------------------------------------------


def record_status(record: JobRecord, terms: RecordTerms, manifests: Mapping[str, str] = NONE) -> dict[str, Any]:
    """The whole status; `manifests`: of pods that we have to make anew, by the uid of who was there before."""
    ledger, standing = record.ledger, record.standing
    estimate = None if ledger.dates is None or record.started is not None else ledger.dates.last
    running = ledger.intervals[-1] if ledger.intervals and ledger.intervals[-1].end == math.inf else None
    nodes = {pod.spec.node_name for pod in record.members if pod.spec.node_name}
    start = record.started if record.started is not None else math.inf if estimate is None else estimate.likely
    status = JobRecordStatus(
        state=standing.state,
        reason=str(standing.reason or ""),
        message=standing.words,
        detail=_plain(dict(standing.detail)),
        since=_moment(terms.since),
        queue=ledger.queue or ("" if record.wishes is None else record.wishes.queue),
        account=terms.account,
        user="" if record.wishes is None else record.wishes.user,
        size=size_words(terms.whole or terms.members),
        members=written_members(terms.members),
        submitted=moment_text(ledger.submitted),
        started=_moment(record.started),
        ended=_moment(ledger.ended),
        start=_moment(start),
        priority=terms.priority,
        factors=_plain(dict(terms.factors)),
        plan=None if estimate is None else _plan(estimate, terms),
        limit=_length(terms.limit),
        deadline="" if running is None else _moment(_deadline(ledger, running, terms.limit)),
        nodes=len(nodes),
        intervals=tuple(map(_interval, ledger.intervals)),
        requeues=ledger.num_requeues,
        restarts=ledger.num_restarts,
        answer=None if ledger.answer is None else _answer(ledger.answer),
        charge=total_charge(ledger.intervals, math.inf) / UNITS_PER_CHARGE if ledger.is_final else 0.0,
        final=ledger.is_final,
        settled=ledger.is_settled,
    )
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(status))  # lists, as a server has them
    told: dict[str, Any] = {} if terms.since is None else {"since": terms.since}
    if terms.whole and terms.whole != terms.members:
        told["whole"] = msgspec.to_builtins(written_members(terms.whole))
    return plain | {"ledger": _ledger(record) | told | _to_make(record.ledger, manifests)}


def _deadline(ledger: JobLedger, running: RunInterval, limit: float) -> float:
    spent = math.fsum(each.end - each.start for each in ledger.intervals[:-1])
    return running.start + limit - spent


def _ledger(record: JobRecord) -> dict[str, Any]:
    """The exact state, as `read_record` takes it."""
    exact: dict[str, Any] = _plain(
        {
            "uid": record.uid,
            "key": record.key,
            "words": record.standing.words,
            "detail": dict(record.standing.detail),
            "minCount": record.min_count,
            "size": record.size,
            "group": record.group,
            "index": record.index,
            "number": record.number,
            "started": record.started,
            "members": [_pod(pod) for pod in record.members],
            "failed": [_pod(pod) for pod in record.failed],
            "numDone": record.num_done,
            "hasFailed": record.has_failed,
            "wishes": record.wishes,
            "state": msgspec.structs.replace(record.ledger, pods=(), leaving=()),
        }
    )
    return exact


def _to_make(ledger: JobLedger, manifests: Mapping[str, str]) -> dict[str, list[str]]:
    """As text: a server need not understand it, and changes nothing."""
    kinds = {"pods": ledger.pods, "leaving": ledger.leaving}
    return {
        name: [manifests[former] for former in map(former_uid, pods) if former in manifests]
        for name, pods in kinds.items()
        if pods
    }


def _pod(pod: Pod) -> dict[str, str]:
    meta = pod.metadata
    return {"name": meta.name, "uid": meta.uid, "node": pod.spec.node_name, "phase": pod.status.phase}


def _plain(value: Any) -> Any:
    """As JSON has it: infinite times as words, and nothing where there is nothing to say."""
    if type(value) in AS_IT_IS:  # as most are
        return value
    if isinstance(value, float):
        return str(value) if math.isinf(value) else value
    if isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value):
        kind: Any = type(value)
        return _said(value, _defaults(kind))
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple | set | frozenset):
        return ["null" if part is None else _plain(part) for part in value]
    return msgspec.to_builtins(value)


@functools.cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    """What the parts of such a value are where nothing is said; to find that out costs more than to write them."""
    fields: Any = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else dataclasses.fields(kind)
    return {each.name: each.default for each in fields}


def _said(value: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a value that differ from what they are where nothing is said."""
    parts = ((name, getattr(value, name), default) for name, default in defaults.items())
    return {name: _plain(part) for name, part, default in parts if part is not None and part != default}


def _interval(interval: RunInterval) -> RecordedInterval:
    return RecordedInterval(
        from_=moment_text(interval.start),
        to=_moment(interval.end),
        rate=interval.rate,
        nodes=interval.nodes,
        refund=interval.refund,
        uncertain=interval.is_uncertain,
    )


def _plan(estimate: StartEstimate, terms: RecordTerms) -> JobPlan:
    return JobPlan(
        as_of=_moment(estimate.as_of),
        likely=_moment(estimate.likely),
        safe=_moment(estimate.safe),
        by_limits=_moment(estimate.by_limits),
        is_promised=estimate.is_promised,
        is_rough=terms.is_rough,
        basis=str(estimate.basis.way),
        ahead={"jobs": estimate.ahead_jobs, "cpu": estimate.ahead_cpu, "gpu": estimate.ahead_gpu},
        nodes=terms.nodes,
    )


def _answer(answer: OrderAnswer) -> OrderAnswerStatus:
    is_limit = answer.about == "timeLimit"
    return OrderAnswerStatus(
        about=answer.about,
        asked=_length(answer.asked) if is_limit else _moment(answer.asked),
        granted=answer.is_granted,
        by_owner=answer.by_owner,
        message=answer.words,
        longest=_length(answer.longest),
        time=moment_text(answer.time),
    )


def _length(seconds: float) -> str:
    return "" if seconds == math.inf else f"{seconds_text(seconds)}s"


def moment_text(seconds: float) -> str:
    """RFC 3339, to the second: for people."""
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(seconds: float | None) -> str:
    return "" if seconds is None or not math.isfinite(seconds) else moment_text(seconds)


# -- reading -----------------------------------------------------------------------------------------------------------


def uid_of(thing: JobRecordObject) -> str:
    """The job that the record is of; "": nothing is written yet."""
    ledger = thing.status.get("ledger")
    return str(ledger.get("uid", "")) if isinstance(ledger, dict) else ""


def manifests_of(thing: JobRecordObject, record: JobRecord) -> dict[str, str]:
    """Of pods that we have to make anew, by the uid of who was there before."""
    written, ledger = thing.status["ledger"], record.ledger
    texts = (*written.get("pods", ()), *written.get("leaving", ()))
    return dict(zip(map(former_uid, (*ledger.pods, *ledger.leaving)), texts, strict=True))


def read_record(thing: JobRecordObject) -> JobRecord | None:
    """The record as the desk takes it; None: nothing is written yet. `ValueError` says what can not be read."""
    written = thing.status.get("ledger")
    if not written:
        return None
    if not isinstance(written, dict):
        raise ValueError("status.ledger is no mapping")
    namespace = thing.metadata.namespace
    try:
        state = JobState(thing.status.get("state", ""))
        word = thing.status.get("reason", "")
        reason = next((kind(word) for kind in REASONS if word in set(kind)), None)
        return JobRecord(
            key=str(written["key"]),
            uid=str(written["uid"]),
            standing=JobStanding(state, reason, written.get("detail", {}), written.get("words", "")),
            ledger=msgspec.structs.replace(
                _convert(written["state"], JobLedger),
                pods=tuple(map(read_manifest, written.get("pods", ()))),
                leaving=tuple(map(read_manifest, written.get("leaving", ()))),
            ),
            min_count=int(written.get("minCount", 1)),
            size=written.get("size"),
            orders=orders_of(thing),
            group=_convert(written["group"], GroupKey) if "group" in written else None,
            wishes=_convert(written["wishes"], JobWishes),
            index=written.get("index"),
            number=int(written.get("number", 0)),
            started=None if "started" not in written else float(written["started"]),
            members=tuple(_read_pod(each, namespace) for each in written.get("members", ())),
            num_done=int(written.get("numDone", 0)),
            has_failed=bool(written.get("hasFailed", False)),
            failed=tuple(_read_pod(each, namespace) for each in written.get("failed", ())),
        )
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ValueError(f"status.ledger: {error}") from error


def _convert(value: Any, kind: Any) -> Any:
    return msgspec.convert(value, kind, strict=False, dec_hook=_refuse)


def _refuse(kind: type, value: Any) -> Any:
    raise ValueError(f"no way to read a {kind.__name__}")


def _read_pod(value: Mapping[str, str], namespace: str) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=value["name"], namespace=namespace, uid=value["uid"]),
        spec=PodSpec(node_name=value.get("node", "")),
        status=PodStatus(phase=value.get("phase", "")),
    )


def orders_of(thing: JobRecordObject) -> JobOrders:
    """What operators want of the job; what makes no sense, nobody wants."""
    spec = thing.spec
    limit, before = str(spec.get("timeLimit", "")), str(spec.get("requeueBefore", ""))
    try:
        time_limit = parse_time_limit(limit) if limit else None
    except ValueError:
        time_limit = None
    try:
        requeue = dt.datetime.fromisoformat(before).timestamp() if before else -math.inf
    except ValueError:
        requeue = -math.inf
    return JobOrders(
        hold=bool(spec.get("hold", False)),
        nice=int(spec.get("nice", 0)),
        time_limit=time_limit,
        queue=str(spec.get("queue", "")),
        cancel=bool(spec.get("cancel", False)),
        requeue_before=requeue,
    )
