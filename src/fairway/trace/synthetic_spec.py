"""What a synthetic workload is made of, as a scenario file has it.

The mapping under `synthetic:` is decoded into a `SyntheticSpec` as all of a scenario is; `spec_problems` says what is
wrong with it besides, each by the path of its field. A spec is arrivals (when), and classes of pods with weights
(what): sizes, durations, gangs, users, and a pod template for everything else. Called by `synthetic` and by scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from fairway.model import (
    Container,
    DecodeError,
    Pod,
    PodTemplateSpec,
    convert,
    default_pod,
    dns_label_problem,
    dns_subdomain_problem,
    label_key_problem,
    label_value_problem,
    parse_quantity,
    validate_object,
)
from fairway.model.explain import explain
from fairway.model.field_problem import alternatives
from fairway.model.group import AfterMode
from fairway.model.tenant import EXCLUSIVE
from fairway.trace.annotations import check_annotations, parse_seconds
from fairway.trace.arrival_times import ArrivalPattern, pattern_problems
from fairway.trace.distribution import Distributed, Problem, Read, problems_of
from fairway.trace.gang_spelling import GangSpelling

__all__ = [
    "READS",
    "STEPS",
    "AfterClass",
    "DatasetUse",
    "LimitShare",
    "SyntheticClass",
    "SyntheticSpec",
    "read_of",
    "spec_problems",
    "template_pod",
]

ACCOUNT: Final = "fairway.dev/account"
QUEUE: Final = "fairway.dev/queue"
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class DatasetUse(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which datasets pods use: so many of NAME-0, NAME-1, ..., in their namespace."""

    name: str
    count: Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="How many of that name there are.")] = 1
    each: Annotated[Distributed, msgspec.Meta(description="How many of them a pod uses.")] = 1
    skew: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=10,
            description="How unevenly they are used: the k-th has a weight of k to the power of minus this.",
        ),
    ] = 0.0


class LimitShare(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A limit that is so many times as long as the pod runs."""

    factor: Annotated[Distributed, msgspec.Meta(description="How many times; a number, or how to draw one.")]


class AfterClass(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Another class, whose latest job comes first."""

    job: Annotated[str, msgspec.Meta(description="The name of the other class.")] = msgspec.field(name="class")
    mode: Annotated[AfterMode, msgspec.Meta(description="How far that job has to have got.")] = "after-ok"


class SyntheticClass(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Pods of one sort."""

    name: str
    weight: Annotated[float, msgspec.Meta(description="How often it is this one, compared with the others.")] = 1.0
    cpu: Distributed | None = None
    memory: Distributed | None = None
    requests: Annotated[
        dict[str, Distributed], msgspec.Meta(description="Other resources, such as nvidia.com/gpu.")
    ] = {}
    duration: Annotated[Distributed | None, msgspec.Meta(description="How long a pod runs; without, forever.")] = None
    gang: Annotated[Distributed, msgspec.Meta(description="How many pods arrive together, as one job.")] = 1
    gang_spelling: Annotated[
        GangSpelling, msgspec.Meta(description="How a gang is written: as users of which gang scheduler do.")
    ] = "fairway"
    gang_prefix: Annotated[
        str, msgspec.Meta(description="What the annotations of spelling pfnet begin with, as its configuration says.")
    ] = ""
    users: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=1_000_000, description="How many users they are of; without, they are their namespace's."
        ),
    ] = 0
    user_skew: Annotated[
        float,
        msgspec.Meta(
            ge=0, le=10, description="How uneven users are: the k-th has a weight of k to the power of minus this."
        ),
    ] = 0.0
    datasets: Annotated[
        DatasetUse | None, msgspec.Meta(description="Datasets that they read; pods of a gang read the same.")
    ] = None
    queue: Annotated[str, msgspec.Meta(description="The queue that they wait in, of spec.batch.")] = ""
    account: Annotated[str, msgspec.Meta(description="Who pays for them.")] = ""
    limit: Annotated[
        LimitShare | str | int | float | None,
        msgspec.Meta(description="How long they may run: a time, or {factor: ...} times as long as they run."),
    ] = None
    begin: Annotated[
        Distributed | None, msgspec.Meta(description="So long after they came they may begin; without, at once.")
    ] = None
    after: Annotated[
        AfterClass | None,
        msgspec.Meta(description="They come after the latest job of another class that came before, if there is one."),
    ] = None
    exclusive: Annotated[
        Literal["", "node", "user"], msgspec.Meta(description="Whether they have nodes to themselves, or their user.")
    ] = ""
    fail_probability: Share = 0.0
    namespace: str = ""
    labels: dict[str, str] = {}
    priority: Annotated[int, msgspec.Meta(ge=-(2**31), le=1_000_000_000)] | None = None
    template: Annotated[
        dict[str, Any],
        msgspec.Meta(description="A pod template (metadata, spec); what is said above goes into its first container."),
    ] = {}


class SyntheticSpec(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Pods that never were."""

    arrivals: ArrivalPattern
    classes: tuple[SyntheticClass, ...]
    name: Annotated[str, msgspec.Meta(description="Pods are called by it, their class and a number.")] = "pod"
    namespace: str = "default"


def _milli(value: float | str) -> float:
    return float(parse_quantity(value).milli)


def _whole(value: float | str) -> float:
    return float(parse_quantity(value).value)


def _number(value: float | str) -> float:
    number = parse_quantity(value)
    if number.nanos % 10**9 or not 1 <= number.value <= 1_000_000:
        raise ValueError(f"must be a whole number from 1 to 1000000, not {value}")
    return float(number.value)


def _factor(value: float | str) -> float:
    number = float(parse_quantity(value).nanos) / 1e9
    if not 0 < number <= 1_000_000:
        raise ValueError(f"must be more than 0 and at most 1000000, not {value}")
    return number


READS: Final[Mapping[str, Read]] = {
    "cpu": _milli,
    "memory": _whole,
    "duration": parse_seconds,
    "gang": _number,
    "factor": _factor,
}
"""What a value of a field means, as a number; other resources are whole units."""
STEPS: Final[Mapping[str, float]] = {"cpu": 1.0, "memory": float(2**20), "duration": 0.001, "gang": 1.0, "factor": 1e-6}
"""To which multiples drawn values are rounded up, unless a distribution says otherwise."""


def read_of(name: str) -> Read:
    """How values of a field or resource are read."""
    return READS.get(name, _whole)


def spec_problems(spec: SyntheticSpec, field: str = "") -> Iterator[Problem]:
    """Everything that is wrong with a spec, by the paths of the fields; `field` is the path of the spec itself."""
    before = f"{field}." if field else ""
    yield from pattern_problems(spec.arrivals, f"{before}arrivals")
    if problem := dns_label_problem(spec.name):
        yield f"{before}name", problem
    if problem := dns_label_problem(spec.namespace):
        yield f"{before}namespace", problem
    if not spec.classes:
        yield f"{before}classes", "must have at least one class"
    elif all(one.weight == 0 for one in spec.classes):
        yield f"{before}classes", "their weights must not all be 0"
    for index, one in enumerate(spec.classes):
        if one.after is not None and one.after.job not in {other.name for other in spec.classes}:
            names = [other.name for other in spec.classes]
            words = f"{one.after.job!r} is no class of this source{alternatives(one.after.job, names)}"
            yield f"{before}classes[{index}].after.class", words
    seen: dict[str, int] = {}
    for index, one in enumerate(spec.classes):
        path = f"{before}classes[{index}]"
        yield from _class_problems(one, path, spec.namespace)
        if seen.setdefault(one.name, index) != index:
            yield f"{path}.name", f"{one.name!r} is the name of classes[{seen[one.name]}] already"


def _class_problems(one: SyntheticClass, path: str, namespace: str) -> Iterator[Problem]:
    if problem := dns_subdomain_problem(one.name):
        yield f"{path}.name", problem
    if not math.isfinite(one.weight) or one.weight < 0:
        yield f"{path}.weight", f"must be a finite number, not negative: {one.weight}"
    for name in ("cpu", "memory", "duration", "gang"):
        value = getattr(one, name)
        if value is not None:
            yield from problems_of(value, READS[name], f"{path}.{name}")
    yield from _gang_problems(one, path)
    yield from _time_problems(one, path)
    for name, value in one.requests.items():
        if problem := label_key_problem(name):
            yield f"{path}.requests[{name!r}]", problem
        elif name in {"cpu", "memory"}:
            yield f"{path}.requests.{name}", f"belongs into {name} itself, beside requests"
        else:
            yield from problems_of(value, _whole, f"{path}.requests[{name!r}]")
    if one.datasets is not None:
        if problem := dns_subdomain_problem(one.datasets.name):
            yield f"{path}.datasets.name", problem
        yield from problems_of(one.datasets.each, READS["gang"], f"{path}.datasets.each")
    if one.namespace and (problem := dns_label_problem(one.namespace)):
        yield f"{path}.namespace", problem
    labels = ((key, label_key_problem(key) or label_value_problem(text)) for key, text in one.labels.items())
    yield from ((f"{path}.labels[{key!r}]", problem) for key, problem in labels if problem)
    yield from _template_problems(one, path, namespace)


def _time_problems(one: SyntheticClass, path: str) -> Iterator[Problem]:
    if isinstance(one.limit, LimitShare):
        if one.duration is None:
            yield f"{path}.limit.factor", "is of the duration, which is missing; they run for ever"
        yield from problems_of(one.limit.factor, _factor, f"{path}.limit.factor")
    elif one.limit is not None:
        yield from problems_of(one.limit, READS["duration"], f"{path}.limit")
    if one.begin is not None:
        yield from problems_of(one.begin, READS["duration"], f"{path}.begin")
    for name in ("queue", "account"):
        if (value := getattr(one, name)) and (problem := label_value_problem(value)):
            yield f"{path}.{name}", problem


def _gang_problems(one: SyntheticClass, path: str) -> Iterator[Problem]:
    if one.gang_spelling == "pfnet" and not one.gang_prefix:
        yield f"{path}.gangPrefix", "missing; gangs of spelling pfnet are named by an annotation PREFIX-name"
    elif one.gang_prefix and (problem := label_key_problem(f"{one.gang_prefix}-name")):
        yield f"{path}.gangPrefix", problem


def _template_problems(one: SyntheticClass, path: str, namespace: str) -> Iterator[Problem]:
    try:
        pod = template_pod(one, namespace)
    except DecodeError as error:
        yield f"{path}.{error.field}" if error.field else f"{path}.template", error.problem
        return
    # Which priority classes there are is not known here.
    pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=pod.priority))
    for wrong in validate_object(default_pod(pod, {})):
        if not wrong.field.startswith("metadata.name"):  # name and namespace are judged as fields of the class
            yield f"{path}.template.{wrong.field}", wrong.problem


def template_pod(one: SyntheticClass, namespace: str) -> Pod:
    """The pod that the template of a class describes, without sizes; `DecodeError` names the field at fault."""
    try:
        template = convert(one.template, PodTemplateSpec)
    except msgspec.ValidationError as error:
        problem, field = explain(one.template, PodTemplateSpec, error)
        raise DecodeError(problem, field=f"template.{field}" if field else "template") from error
    meta, spec = template.metadata, template.spec
    if one.priority is not None:
        spec = msgspec.structs.replace(spec, priority=one.priority)
    said = {key: value for key, value in ((ACCOUNT, one.account), (EXCLUSIVE, one.exclusive)) if value}
    meta = msgspec.structs.replace(
        meta,
        name=one.name,
        namespace=one.namespace or meta.namespace or namespace,
        labels=meta.labels | ({QUEUE: one.queue} if one.queue else {}) | one.labels,
        annotations=meta.annotations | said,
    )
    spec = msgspec.structs.replace(
        spec,
        restart_policy=spec.restart_policy or "Never",
        containers=spec.containers or (Container(name="main"),),
    )
    pod = Pod(metadata=meta, spec=spec)
    for wrong in check_annotations(pod):
        raise DecodeError(wrong.problem, field=f"template.{wrong.field}")
    return pod
