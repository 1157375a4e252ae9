"""`spec.batch.orders` of a scenario: what operators and owners say about jobs, queues and accounts, and when.

In: orders as they are written, the queues and accounts they may be about. Out: problems with their fields; and
`BatchOrder`s in order of time, in which queues and accounts are as they are from then on: changes of the same one add
up. Whether the jobs ever come is looked up in the workload (`unknown_jobs`). Called by `batch_section` and `scenario`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Meta

from fairway.batch.limits import parse_time_limit
from fairway.config.fields import alternatives, shown
from fairway.model import Pod
from fairway.model.batch import AccountSpec, QueueSpec, account_problems, queue_problems
from fairway.model.batch.queue import QueueState
from fairway.model.duration import Duration
from fairway.model.tenant import group_of
from fairway.scenario.fields import Problem, decode_struct
from fairway.scenario.moments import moment_problems
from fairway.scenario.text import plain_values
from fairway.sim.batch_orders import BatchOrder, JobVerb
from fairway.trace import Workload

__all__ = ["NamedThings", "Order", "merged_values", "order_problems", "planned_orders", "unknown_jobs"]

S = TypeVar("S", QueueSpec, AccountSpec)

JOB_VERBS: Final[tuple[JobVerb, ...]] = get_args(JobVerb)
VERBS: Final = (*JOB_VERBS, "queue", "account", "window", "reservation")
CLOSINGS: Final = ("window", "reservation")
NEEDS: Final = {"extend": "by", "limit": "to", "nice": "to", "move": "to"}
CHANGES: Final = ("state", "change", "deleted")
WAYS: Final = {
    "queue": CHANGES,
    "account": ("change", "deleted"),
    "window": ("deleted",),
    "reservation": ("deleted",),
}
"""How what is no job may be told to be, by what it is."""
OWNERS: Final = ("extend", "limit", "hold", "release", "cancel", "nice")
MOST_NICE: Final = 10_000
MOST_COMPARED: Final = 2000
"""Names that are looked through for the one that was meant."""


class NamedThings(NamedTuple):
    """What orders may be about, but for jobs."""

    queues: Mapping[str, QueueSpec]
    accounts: Mapping[str, AccountSpec]
    windows: Sequence[str] = ()
    reservations: Sequence[str] = ()


class Order(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that is said at a time: exactly one of extend, limit, ..., queue, window, and what that needs."""

    at: Annotated[Duration, Meta(description="When.")]
    extend: Annotated[str, Meta(description="This job shall have more time: by so much.")] = ""
    limit: Annotated[str, Meta(description="This job shall have this limit, more or less than now: to.")] = ""
    hold: Annotated[str, Meta(description="This job does not start until it is released.")] = ""
    release: Annotated[str, Meta(description="This job is held no more.")] = ""
    requeue: Annotated[str, Meta(description="This job ends, and waits again.")] = ""
    cancel: Annotated[str, Meta(description="This job is over.")] = ""
    nice: Annotated[str, Meta(description="So much is taken off this job's priority: to.")] = ""
    move: Annotated[str, Meta(description="This job is in another queue from now on: to.")] = ""
    queue: Annotated[str, Meta(description="This queue is otherwise: state, change or deleted.")] = ""
    account: Annotated[str, Meta(description="This account is otherwise: change or deleted.")] = ""
    window: Annotated[str, Meta(description="This maintenance window is called off: deleted.")] = ""
    reservation: Annotated[str, Meta(description="This reservation is called off: deleted.")] = ""
    by: Annotated[Duration | None, Meta(description="With extend: by how much.")] = None
    to: Annotated[
        str | int | float | None, Meta(description="With limit: a duration; nice: 0 to 10000; move: a queue.")
    ] = None
    state: Annotated[QueueState | None, Meta(description="With queue: its state from then on.")] = None
    until: Annotated[str, Meta(description="With state: when it is Open again, such as 4h; else when told.")] = ""
    change: Annotated[
        dict[str, Any], Meta(description="With queue and account: what of its spec is otherwise; the rest stays.")
    ] = {}
    deleted: Annotated[
        bool | None,
        Meta(description="With queue, account, window, reservation: it is gone; of the first two also false: back."),
    ] = None
    by_owner: Annotated[
        bool, Meta(description="The job's owner says it, by annotations or a deletion, and not an operator.")
    ] = False

    @property
    def verbs(self) -> list[str]:
        """What is to be done."""
        return [verb for verb in VERBS if getattr(self, verb)]

    @property
    def job(self) -> str:
        """Namespace and name of the job that it is about."""
        (verb,) = self.verbs
        name: str = getattr(self, verb)
        return name if "/" in name else f"default/{name}"


# -- what is wrong -----------------------------------------------------------------------------------------------------


def order_problems(orders: Iterable[Order], known: NamedThings, path: str) -> Iterator[Problem]:
    """What can not be meant of orders about these queues, accounts, windows and reservations."""
    numbered = list(enumerate(orders))
    problems: list[Problem] = []
    for number, order in numbered:
        problems += _shape_problems(order, f"{path}[{number}]")
        if not problems:
            problems += _named_problems(order, known, f"{path}[{number}]")
    if not problems:
        for _ in _folded(numbered, known.queues, known.accounts, path, problems):
            pass
    yield from problems


def _shape_problems(order: Order, path: str) -> Iterator[Problem]:
    verbs = order.verbs
    if not verbs:
        yield Problem(path, f"says nothing to do; give one of {', '.join(VERBS)}")
        return
    if len(verbs) > 1:
        yield Problem(path, f"has {' and '.join(verbs)}; make it two orders")
        return
    (verb,) = verbs
    given = [name for name in ("by", "to", *CHANGES) if getattr(order, name) not in (None, {})]
    wanted = WAYS.get(verb, ())
    needed = NEEDS.get(verb)
    for name in given:
        if name != needed and name not in wanted:
            yield Problem(f"{path}.{name}", f"has nothing to do with {verb}; leave it out")
    if needed is not None and needed not in given:
        yield Problem(f"{path}.{needed}", f"missing; {verb} needs it")
    if wanted and len([name for name in given if name in wanted]) != 1:
        yield Problem(path, f"say how {verb} {getattr(order, verb)} shall be: one of {', '.join(wanted)}")
    if order.until and (order.state is None or order.state == "Open"):
        yield Problem(f"{path}.until", "is the end of a queue's state Paused, Draining or Closed; leave it out")
    elif order.until:
        yield from moment_problems(order.until, f"{path}.until")
    if order.by_owner and verb not in OWNERS:
        yield Problem(f"{path}.byOwner", f"{verb} is for operators; owners may {', '.join(OWNERS)}")
    if verb in JOB_VERBS and (order.job.count("/") > 1 or not all(order.job.split("/"))):
        yield Problem(f"{path}.{verb}", f"{shown(getattr(order, verb))} is no job; write NAME or NAMESPACE/NAME")


def _named_problems(order: Order, known: NamedThings, path: str) -> Iterator[Problem]:
    """What it names, and the values of that."""
    (verb,) = order.verbs
    names = {"queue": known.queues, "account": known.accounts, "window": known.windows}
    names["reservation"] = known.reservations
    if verb in names and getattr(order, verb) not in names[verb]:
        yield Problem(f"{path}.{verb}", _no(verb, getattr(order, verb), names[verb]))
    if verb in CLOSINGS and order.deleted is False:
        yield Problem(f"{path}.deleted", f"what is called off is not called back; write another {verb}")
    if verb == "extend" and order.by is not None and order.by <= 0:
        yield Problem(f"{path}.by", "has to be more than 0; for less time write limit: JOB, to: 30m")
    elif verb == "limit":
        try:
            parse_time_limit(str(order.to), "to")
        except ValueError as error:
            yield Problem(f"{path}.to", str(error).removeprefix("to: "))
    elif verb == "nice" and not (type(order.to) is int and 0 <= order.to <= MOST_NICE):
        yield Problem(f"{path}.to", f"must be a whole number from 0 to {MOST_NICE}, not {order.to!r}")
    elif verb == "move" and order.to not in known.queues:
        yield Problem(f"{path}.to", _no("queue", str(order.to), known.queues))


def _no(kind: str, name: str, known: Iterable[str]) -> str:
    return f"no {kind} is called {shown(name)}{alternatives(name[:60], list(known))}"


def unknown_jobs(orders: Iterable[Order], workload: Workload, path: str) -> Iterator[Problem]:
    """Orders about jobs that never come; what a controller of the workload makes has names of its own."""
    about = [(number, order) for number, order in enumerate(orders) if order.verbs[0] in JOB_VERBS]
    if not about:
        return
    names, makers = set(), set()
    for item in (*workload.objects, *(arrival.object for arrival in workload.arrivals)):
        meta = item.metadata
        names.add(f"{meta.namespace}/{meta.name}")
        if not isinstance(item, Pod):
            makers.add(f"{meta.namespace}/{meta.name}-")
        elif (group := group_of(item)) is not None:
            names.add(str(group))
    for number, order in about:
        if order.job not in names and not any(order.job.startswith(maker) for maker in makers):
            close = difflib.get_close_matches(order.job[:60], sorted(names)[:MOST_COMPARED], 1)
            words = f"no job {shown(order.job)} ever comes" + (f"; did you mean {close[0]}?" if close else "")
            yield Problem(f"{path}[{number}].{order.verbs[0]}", words)


# -- what they come to -------------------------------------------------------------------------------------------------


def planned_orders(
    orders: Iterable[Order], queues: Mapping[str, QueueSpec], accounts: Mapping[str, AccountSpec]
) -> list[BatchOrder]:
    """The orders, as a simulation carries them out; they are without problems."""
    return list(_folded(list(enumerate(orders)), queues, accounts, "", []))


def _folded(
    numbered: list[tuple[int, Order]],
    queues: Mapping[str, QueueSpec],
    accounts: Mapping[str, AccountSpec],
    path: str,
    problems: list[Problem],
) -> Iterator[BatchOrder]:
    """In order of time; what is changed of a queue or an account stays so until it is changed again."""
    queues_now, accounts_now = dict(queues), dict(accounts)
    for number, order in sorted(numbered, key=lambda item: item[1].at):
        here = f"{path}[{number}]"
        if order.queue:
            queue = _changed(order, queues_now[order.queue], QueueSpec, here, problems)
            if queue is not None:
                problems += queue_problems(queue, f"{here}.change")
                if queue.state_until and not order.until:
                    problems += moment_problems(queue.state_until, f"{here}.change.stateUntil")
                queues_now[order.queue] = queue
                spec = None if order.deleted else queue.completed()
                yield BatchOrder(float(order.at), "queue", order.queue, spec=spec)
        elif order.account:
            account = _changed(order, accounts_now[order.account], AccountSpec, here, problems)
            if account is not None:
                problems += account_problems(order.account, account, f"{here}.change")
                accounts_now[order.account] = account
                yield BatchOrder(float(order.at), "account", order.account, spec=None if order.deleted else account)
        elif order.window or order.reservation:
            kind: Any = order.verbs[0]
            yield BatchOrder(float(order.at), kind, order.window or order.reservation)
        else:
            yield _job_order(order)


def _changed(order: Order, spec: S, kind: type[S], path: str, problems: list[Problem]) -> S | None:
    changes = {"state": order.state, "stateUntil": order.until} if order.state is not None else order.change
    if not changes:
        return spec
    return decode_struct(merged_values(plain_values(spec), changes), kind, f"{path}.change", problems)


def _job_order(order: Order) -> BatchOrder:
    verb: Any = order.verbs[0]
    at, by_owner = float(order.at), order.by_owner
    if verb == "extend":
        return BatchOrder(at, verb, order.job, seconds=float(order.by or 0), by_owner=by_owner)
    if verb == "limit":
        return BatchOrder(at, verb, order.job, seconds=parse_time_limit(str(order.to)), by_owner=by_owner)
    if verb == "nice":
        return BatchOrder(at, verb, order.job, nice=int(order.to or 0), by_owner=by_owner)
    if verb == "move":
        return BatchOrder(at, verb, order.job, queue=str(order.to))
    return BatchOrder(at, verb, order.job, by_owner=by_owner)


def merged_values(plain: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values with what is said otherwise of them, level by level."""
    whole = dict(plain)
    for key, value in changes.items():
        known = whole.get(key)
        is_both = isinstance(known, Mapping) and isinstance(value, Mapping)
        whole[key] = merged_values(known, value) if is_both else value  # type: ignore[arg-type]
    return whole
