"""Synthetic workloads: arrivals, sizes, durations and classes, all from a seed.

In: a `SyntheticSpec` and a seed. Out: a `Workload` whose pods are drawn while they are asked for, a few thousand at a
time, and the same whenever they are. Pods of one class and size share one spec. Called by scenarios and by users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.model import DecodeError, Pod, PriorityClass, Quantity, ResourceRequirements, parse_quantity
from fairway.model.data_need import DATA
from fairway.trace.annotations import DURATION, FAIL_PROBABILITY, GANG, GANG_SIZE, TIME_LIMIT, USER, seconds_text
from fairway.trace.arrival_times import arrival_times
from fairway.trace.distribution import Distributed, NumberSampler, choose
from fairway.trace.gang_spelling import WITH_OBJECT, group_object, spelled
from fairway.trace.synthetic_spec import (
    STEPS,
    DatasetUse,
    LimitShare,
    SyntheticClass,
    SyntheticSpec,
    read_of,
    spec_problems,
    template_pod,
)
from fairway.trace.template import Template, memory_quantity, milli_quantity
from fairway.trace.workload import Arrival, Arrivals, Workload

__all__ = ["synthetic"]

MAX_GANG = 1_000_000
BEGIN = "fairway.dev/begin"
CONNECT_TO = "fairway.dev/connect-to"
CONNECT_MODE = "fairway.dev/connect-mode"
TEMPLATES = 4096  # kept at once; sizes that are drawn freely may be more


def synthetic(
    spec: SyntheticSpec, seed: int, *, priority_classes: Mapping[str, PriorityClass] | None = None
) -> Workload:
    """Make a workload; `DecodeError` names the field of a spec that makes none.

    A template may name one of the priority classes given.
    """
    for field, problem in spec_problems(spec):
        raise DecodeError(problem, field=field)
    classes = [_Class(one, spec, priority_classes or {}, index) for index, one in enumerate(spec.classes)]
    num_pods = _known_number(spec)
    if num_pods is None:
        written = np.array([one.spelling in WITH_OBJECT for one in classes])
        num_pods = sum(
            int(batch.gangs.sum() + np.count_nonzero((batch.gangs > 1) & written[batch.classes]))
            for batch in _batches(spec, classes, seed)
        )
    return Workload(
        name=spec.name,
        arrivals=Arrivals(lambda: _arrivals(spec, classes, seed)),
        num_arrivals=num_pods,
    )


def _known_number(spec: SyntheticSpec) -> int | None:
    """How many pods arrive, where that is no matter of chance; drawing millions to count them takes a while."""
    count, gangs = spec.arrivals.count, {one.gang for one in spec.classes if isinstance(one.gang, int)}
    is_exact = count is not None and (spec.arrivals.rate is None or spec.arrivals.over is None)
    is_drawn = any(not isinstance(one.gang, int) for one in spec.classes)
    has_objects = any(one.gang_spelling in WITH_OBJECT for one in spec.classes)
    if count is None or not is_exact or len(gangs) != 1 or is_drawn or has_objects:
        return None
    return count * min(max(gangs.pop(), 1), MAX_GANG)


class _Class:
    """One class of pods, ready to be drawn."""

    def __init__(
        self, one: SyntheticClass, spec: SyntheticSpec, priorities: Mapping[str, PriorityClass], index: int
    ) -> None:
        self.prefix = f"{spec.name}-{one.name}"
        self.has_duration = one.duration is not None
        self.constant = {FAIL_PROBABILITY: str(one.fail_probability)} if one.fail_probability else {}
        sizes = {"cpu": one.cpu, "memory": one.memory, **one.requests}
        drawn = {name: value for name, value in sizes.items() if value is not None}
        self.samplers = [NumberSampler(value, read_of(name), STEPS.get(name, 1.0)) for name, value in drawn.items()]
        self.duration = NumberSampler(one.duration or 0, read_of("duration"), STEPS["duration"])
        self.spelling = one.gang_spelling
        self.prefix_of_gangs = one.gang_prefix
        self.gang = NumberSampler(one.gang, read_of("gang"), STEPS["gang"])
        self.user_weights = tuple(float(rank) ** -one.user_skew for rank in range(1, one.users + 1))
        self.limit = _Limit(one.limit)
        self.begin = None if one.begin is None else NumberSampler(one.begin, read_of("duration"), STEPS["duration"])
        self.after = one.after
        self.datasets = None if one.datasets is None else _Datasets(one.datasets)
        pod = template_pod(one, spec.namespace)

        @lru_cache(maxsize=TEMPLATES)
        def template(sizes: tuple[float, ...]) -> Template:
            amounts = {name: _quantity(name, int(size)) for name, size in zip(drawn, sizes, strict=True)}
            return Template(_sized(pod, amounts), priorities)

        self.template: Callable[[tuple[float, ...]], Template] = template
        try:
            template(tuple(float(sampler.draw(np.random.default_rng(0), 1)[0]) for sampler in self.samplers))
        except DecodeError as error:
            raise DecodeError(error.problem, field=f"classes[{index}].template.{error.field}") from error


class _Batch(NamedTuple):
    """Some thousand arrivals; what does not depend on the class is in arrays over them."""

    times: NDArray[np.float64]  # (num_jobs,)
    classes: NDArray[np.intp]  # (num_jobs,)
    gangs: NDArray[np.int64]  # (num_jobs,) how many pods each
    durations: NDArray[np.float64]  # (num_jobs,)
    users: NDArray[np.intp]  # (num_jobs,)
    limits: NDArray[np.float64]  # (num_jobs,) 0: none
    begins: NDArray[np.float64]  # (num_jobs,) 0: at once
    datasets: list[str]  # (num_jobs,) as an annotation has them
    sizes: list[tuple[float, ...]]


class _Limit:
    """How long jobs of a class may run."""

    def __init__(self, limit: LimitShare | str | float | None) -> None:
        self._is_share = isinstance(limit, LimitShare)
        kind = "factor" if self._is_share else "duration"
        value: Distributed | None = limit.factor if isinstance(limit, LimitShare) else limit
        self._sampler = None if value is None else NumberSampler(value, read_of(kind), STEPS[kind])

    def draw(self, chance: np.random.Generator, durations: NDArray[np.float64]) -> NDArray[np.float64]:
        """For jobs that run so long, (num_jobs,): seconds; 0: they say none."""
        if self._sampler is None:
            return np.zeros(len(durations))
        drawn = self._sampler.draw(chance, len(durations))
        # A limit of 0 could not be meant: the shortest of all jobs has a second.
        return np.maximum(drawn * durations if self._is_share else drawn, 1.0)


class _Datasets:
    """The datasets that pods of a class choose from."""

    def __init__(self, use: DatasetUse) -> None:
        self._names = [f"{use.name}-{number}" for number in range(use.count)]
        self._each = NumberSampler(use.each, read_of("gang"), STEPS["gang"])
        weights = np.arange(1, use.count + 1, dtype=np.float64) ** -use.skew
        self._shares = weights / weights.sum()  # (num_datasets,)

    def draw(self, chance: np.random.Generator, number: int) -> list[str]:
        """For so many pods, which they use: different ones, in the order of their numbers."""
        drawn = []
        for each in self._each.draw(chance, number).tolist():
            wanted = min(int(each), len(self._names))
            rows = chance.choice(len(self._names), wanted, replace=False, p=self._shares)
            drawn.append(",".join(self._names[row] for row in sorted(rows.tolist())))
        return drawn


def _batches(spec: SyntheticSpec, classes: list[_Class], seed: int) -> Iterator[_Batch]:
    moments, picks = np.random.default_rng(seed).spawn(2)
    weights = tuple(one.weight for one in spec.classes)
    for times in arrival_times(spec.arrivals, moments):
        number = len(times)
        chosen = choose(picks, weights, number)
        gangs = np.ones(number, np.int64)
        durations = np.zeros(number)
        users = np.zeros(number, np.intp)
        limits, begins = np.zeros(number), np.zeros(number)
        datasets = [""] * number
        sizes: list[tuple[float, ...]] = [()] * number
        for index, one in enumerate(classes):
            rows = np.flatnonzero(chosen == index)
            num_rows = len(rows)
            drawn = [sampler.draw(picks, num_rows).tolist() for sampler in one.samplers]
            for row, size in zip(rows.tolist(), zip(*drawn, strict=True), strict=bool(drawn)):
                sizes[row] = size
            durations[rows] = one.duration.draw(picks, num_rows)
            gangs[rows] = np.clip(one.gang.draw(picks, num_rows), 1, MAX_GANG)
            if one.user_weights:
                users[rows] = choose(picks, one.user_weights, num_rows)
            limits[rows] = one.limit.draw(picks, durations[rows])
            if one.begin is not None:
                begins[rows] = one.begin.draw(picks, num_rows)
            if one.datasets is not None:
                for row, names in zip(rows.tolist(), one.datasets.draw(picks, num_rows), strict=True):
                    datasets[row] = names
        yield _Batch(times, chosen, gangs, durations, users, limits, begins, datasets, sizes)


def _arrivals(spec: SyntheticSpec, classes: list[_Class], seed: int) -> Iterator[Arrival]:
    number = 0
    latest: dict[str, str] = {}  # by class: its last job
    for batch in _batches(spec, classes, seed):
        columns = (column.tolist() for column in batch[:7])
        for time, chosen, gang, seconds, user, limit, begin, datasets, sizes in zip(
            *columns, batch.datasets, batch.sizes, strict=True
        ):
            one = classes[chosen]
            name = f"{one.prefix}-{number}"
            number += 1
            said: dict[str, Any] = dict(one.constant)
            if one.has_duration:
                said[DURATION] = seconds_text(seconds)
            if one.user_weights:
                said[USER] = f"user-{user + 1}"
            if datasets:
                said[DATA] = datasets
            if limit:
                said[TIME_LIMIT] = seconds_text(limit)
            if begin:
                said[BEGIN] = f"+{seconds_text(begin)}"
            if one.after is not None and (before := latest.get(one.after.job)) is not None:
                said |= {CONNECT_TO: before, CONNECT_MODE: one.after.mode}
            latest[spec.classes[chosen].name] = name
            template = one.template(sizes)
            if gang == 1:
                yield Arrival(time, template.pod(name, said))
                continue
            said |= {GANG: name, GANG_SIZE: str(gang)} if one.spelling == "fairway" else {}
            for member in range(gang):
                pod = template.pod(f"{name}-{member}", said)
                if one.spelling != "fairway":
                    group = group_object(name, pod.metadata.namespace, gang, one.spelling) if member == 0 else None
                    if group is not None:
                        yield Arrival(time, group)
                    pod = spelled(pod, name, gang, one.spelling, one.prefix_of_gangs)
                yield Arrival(time, pod)


def _quantity(name: str, amount: int) -> Quantity:
    if name == "cpu":
        return milli_quantity(amount)
    return memory_quantity(amount) if name == "memory" else parse_quantity(amount)


def _sized(pod: Pod, amounts: Mapping[str, Quantity]) -> Pod:
    """The pod with these requests in its first container; amounts of extended resources are limits too."""
    first, *others = pod.spec.containers
    own = first.resources
    extended = {name: amount for name, amount in amounts.items() if "/" in name}
    resources = ResourceRequirements(
        requests={**own.requests, **amounts}, limits={**own.limits, **extended}, claims=own.claims
    )
    container = msgspec.structs.replace(first, resources=resources)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, containers=(container, *others)))
