"""How a group starts, read from its object or from what its members say.

In: a PodGroup of any of the three kinds, a controller whose pods start together, or the annotations that all members
share (`sayings`: those that matter, as a value that can be compared). Out: a `GroupSpec`, or `Misconfigured`, which
names the object and the field. Called by `cluster.groups`, which knows the objects and counts the sayings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from fairway.model.controllers import Job
from fairway.model.group import (
    FAIRWAY,
    KOORDINATOR,
    MOST_NAMED,
    After,
    AfterMode,
    Disruption,
    GroupKey,
    GroupReading,
    GroupSpec,
    GroupTopology,
    Misconfigured,
    Spelling,
)
from fairway.model.job_set import JobSet
from fairway.model.leader_worker_set import LeaderWorkerSet
from fairway.model.pod import Pod
from fairway.model.pod_group import AnyPodGroup, CoschedulingPodGroup, PodGroup, VolcanoPodGroup
from fairway.model.quantity import Quantity

__all__ = ["GroupController", "Sayings", "controller_spec", "object_spec", "sayings", "told_spec"]

GroupController = Job | JobSet | LeaderWorkerSet
"""Who makes pods that may have to start together."""


Sayings = tuple[tuple[str, str], ...]
"""The annotations of a member that matter to its group, sorted."""

AT_ONCE: Final = "pods that start together have to be made together"
NUMBER: Final = re.compile(r"[0-9]{1,9}")
SECONDS: Final = re.compile(r"([0-9]{1,9})s?")
WORKERS: Final = "leaderworkerset.sigs.k8s.io/size"
CONNECTED: Final = tuple(
    f"{FAIRWAY}{name}" for name in ("gang-topology", "gang-one-per-node", "connect-to", "connect-mode")
)
"""What any member may say, in whichever spelling it belongs to its group."""
AFTER: Final[Mapping[str, AfterMode]] = {mode: mode for mode in get_args(AfterMode)}
OWN: Final[Mapping[Spelling, tuple[str, ...]]] = {
    Spelling.KOORDINATOR: tuple(
        f"{KOORDINATOR}{name}" for name in ("min-available", "total-number", "waiting-time", "mode", "groups")
    ),
    Spelling.FAIRWAY: (f"{FAIRWAY}gang-min", f"{FAIRWAY}gang-size"),
    Spelling.CONTROLLER: (WORKERS,),
}


class _WrongError(ValueError):
    """A field that can not be meant."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem


def sayings(pod: Pod, spelling: Spelling, reading: GroupReading) -> Sayings:
    """What the member says that all members have to say alike."""
    said = pod.metadata.annotations
    if not said:
        return ()
    names = (*OWN.get(spelling, ()), *CONNECTED)
    if spelling is Spelling.PFNET:
        names = (*names, *(f"{p}-{n}" for p in reading.prefixes for n in ("size", "schedule-timeout-seconds")))
    return tuple(sorted((name, said[name]) for name in names if name in said))


# -- from objects ------------------------------------------------------------------------------------------------------


def object_spec(
    key: GroupKey, group: AnyPodGroup, said: Sayings, member: str, priority_of: Callable[[str], int | None]
) -> GroupSpec | Misconfigured:
    """How the pods of a PodGroup start; `priority_of` knows priority classes, `member` is one that says that."""
    try:
        fields = _kube(group) if isinstance(group, PodGroup) else _other(group, priority_of)
    except _WrongError as wrong:
        return Misconfigured(f"PodGroup {key}", wrong.field, wrong.problem)
    return _with_connections(key, fields, said, member)


def controller_spec(
    key: GroupKey, controller: GroupController, said: Sayings, member: str, reading: GroupReading
) -> GroupSpec | Misconfigured:
    """How the pods of a controller start that asks for all of them together."""
    if isinstance(controller, JobSet):
        return _job_set_spec(key, controller, said, member)
    if isinstance(controller, Job):
        return _job_spec(key, controller, said, member)
    if controller.spec.startup_policy == "LeaderReady":
        meta = controller.metadata
        words = f"is LeaderReady, so that workers come when their leader runs; {AT_ONCE}"
        return Misconfigured(f"LeaderWorkerSet {meta.namespace}/{meta.name}", "spec.startupPolicy", words)
    return told_spec(key, said, member, reading)


def _job_set_spec(key: GroupKey, job_set: JobSet, said: Sayings, member: str) -> GroupSpec | Misconfigured:
    subject, number, order = f"JobSet {key}", job_set.num_pods, job_set.order
    if not number:
        return Misconfigured(subject, "spec.replicatedJobs", "make no pods; nothing is there to start")
    if order is not None:
        field, words = order
        return Misconfigured(subject, field, f"{words}, so that some Jobs come when others run; {AT_ONCE}")
    return _with_connections(key, {"min_count": number, "size": number}, said, member)


def _job_spec(key: GroupKey, job: Job, said: Sayings, member: str) -> GroupSpec | Misconfigured:
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    completions = parallelism if job.spec.completions is None else job.spec.completions
    subject = f"Job {key}"
    if parallelism < completions:
        problem = f"is {parallelism} of {completions} completions; pods that start together have to run together"
        return Misconfigured(subject, "spec.parallelism", problem)
    if completions < 1:
        return Misconfigured(subject, "spec.completions", "is 0; nothing is there to start")
    return _with_connections(key, {"min_count": completions, "size": completions}, said, member)


def _kube(group: PodGroup) -> dict[str, Any]:
    spec = group.spec
    gang = spec.scheduling_policy.gang
    if gang is not None and gang.min_count < 1:
        raise _WrongError("spec.schedulingPolicy.gang.minCount", f"is {gang.min_count}; it has to be 1 or more")
    constraints = spec.scheduling_constraints
    keys = tuple(constraint.key for constraint in constraints.topology[:1]) if constraints is not None else ()
    disruption: Disruption = "PodGroup" if spec.disruption_mode == "PodGroup" else "Pod"
    return {
        "min_count": 0 if gang is None else gang.min_count,
        "priority": spec.priority,
        "disruption": disruption,
        "topology": GroupTopology(True, keys) if keys else None,
        "has_constraints": constraints is not None,
    }


def _other(group: CoschedulingPodGroup | VolcanoPodGroup, priority_of: Callable[[str], int | None]) -> dict[str, Any]:
    if group.spec.min_member < 1:
        raise _WrongError("spec.minMember", f"is {group.spec.min_member}; it has to be 1 or more")
    fields: dict[str, Any] = {
        "min_count": group.spec.min_member,
        "min_resources": _amounts(group.spec.min_resources),
    }
    if isinstance(group, CoschedulingPodGroup):
        seconds = group.spec.schedule_timeout_seconds
        return {**fields, "timeout_seconds": None if seconds is None else float(seconds)}
    tasks = group.spec.min_task_member
    if wrong := next((task for task, least in tasks.items() if least < 0), None):
        raise _WrongError(f"spec.minTaskMember[{wrong}]", f"is {tasks[wrong]}; it has to be 0 or more")
    # Volcano's controller puts every task's replicas there, where a Job says nothing of tasks; if that is more than
    # minMember, Volcano looks at minMember alone (JobInfo.CheckTaskReady in scheduler/api/job_info.go, 1.12).
    minimums = {} if sum(tasks.values()) > group.spec.min_member else dict(tasks)
    return {**fields, "task_minimums": minimums, "priority": priority_of(group.spec.priority_class_name)}


def _amounts(resources: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: amount.milli if name == "cpu" else amount.value for name, amount in resources.items()}


# -- from what members say ---------------------------------------------------------------------------------------------


def told_spec(key: GroupKey, said: Sayings, member: str, reading: GroupReading) -> GroupSpec | Misconfigured:
    """How a group starts that has no object: what its members say about it. `member` is one of them, for the words."""
    known = dict(said)
    try:
        if key.spelling is Spelling.KOORDINATOR:
            fields = _koordinator(known, key.namespace)
        elif key.spelling is Spelling.PFNET:
            fields = _pfnet(known, reading)
        elif key.spelling is Spelling.FAIRWAY:
            fields = _fairway(known)
        else:
            size = _number(known, WORKERS)
            fields = {"min_count": size, "size": size}
    except _WrongError as wrong:
        return Misconfigured(f"Pod {member}", wrong.field, wrong.problem)
    return _with_connections(key, fields, said, member)


def _koordinator(said: Mapping[str, str], namespace: str) -> dict[str, Any]:
    least, total = f"{KOORDINATOR}min-available", f"{KOORDINATOR}total-number"
    fields = _counts(said, least, total)
    if waiting := said.get(f"{KOORDINATOR}waiting-time"):
        seconds = SECONDS.fullmatch(waiting)
        if seconds is None:
            raise _WrongError(_place(f"{KOORDINATOR}waiting-time"), f"{waiting!r} is not a number of seconds")
        fields["timeout_seconds"] = float(seconds[1])
    if groups := said.get(f"{KOORDINATOR}groups"):
        names = re.findall(r'"([^"]+)"', groups)
        if not names:
            raise _WrongError(_place(f"{KOORDINATOR}groups"), f'{groups!r} is not a list such as ["ml/a", "ml/b"]')
        _count_named(names, f"{KOORDINATOR}groups")
        fields["together"] = tuple(_job(name, namespace) for name in names)
    return fields


def _pfnet(said: Mapping[str, str], reading: GroupReading) -> dict[str, Any]:
    prefix = next((prefix for prefix in reading.prefixes if f"{prefix}-size" in said), reading.prefixes[0])
    size = _number(said, f"{prefix}-size")
    fields: dict[str, Any] = {"min_count": size, "size": size}
    if f"{prefix}-schedule-timeout-seconds" in said:
        fields["timeout_seconds"] = float(_number(said, f"{prefix}-schedule-timeout-seconds"))
    return fields


def _fairway(said: Mapping[str, str]) -> dict[str, Any]:
    least, total = f"{FAIRWAY}gang-min", f"{FAIRWAY}gang-size"
    return _counts(said, least if least in said else total, total)


def _counts(said: Mapping[str, str], least: str, total: str) -> dict[str, Any]:
    """Of the annotation that says how many start together, and of that which says how many there are."""
    min_count = _number(said, least)
    size = _number(said, total) if total in said else None
    if size is not None and min_count > size:
        raise _WrongError(_place(least), f"{min_count} is more than {total}, which is {size}")
    return {"min_count": min_count, "size": size}


def _number(said: Mapping[str, str], name: str) -> int:
    text = said.get(name)
    if text is None:
        raise _WrongError(_place(name), "is missing; it says how many start together")
    if not NUMBER.fullmatch(text):
        raise _WrongError(_place(name), f"{text!r} is not a number")
    if int(text) == 0:
        raise _WrongError(_place(name), "is 0; it has to be 1 or more")
    return int(text)


def _place(annotation: str) -> str:
    return f"metadata.annotations[{annotation!r}]"


# -- what is said besides ----------------------------------------------------------------------------------------------


def _with_connections(key: GroupKey, fields: dict[str, Any], said: Sayings, member: str) -> GroupSpec | Misconfigured:
    """The spec, with what members say in addition about topology and other jobs."""
    known = dict(said)
    try:
        if (topology := _topology(known)) is not None:
            fields["topology"] = topology
        fields["one_per_node"] = known.get(f"{FAIRWAY}gang-one-per-node") == "true"
        _connect(fields, known, key.namespace)
    except _WrongError as wrong:
        return Misconfigured(f"Pod {member}", wrong.field, wrong.problem)
    return GroupSpec(key=key, **fields)


def _topology(said: Mapping[str, str]) -> GroupTopology | None:
    name = f"{FAIRWAY}gang-topology"
    text = said.get(name)
    if text is None:
        return None
    mode, _, keys = text.partition("=")
    labels = tuple(key.strip() for key in keys.split(","))
    if mode not in ("required", "preferred") or not all(labels) or (mode == "required" and len(labels) > 1):
        raise _WrongError(_place(name), f"{text!r} is neither required=KEY nor preferred=KEY[,KEY...]")
    return GroupTopology(mode == "required", labels)


def _connect(fields: dict[str, Any], said: Mapping[str, str], namespace: str) -> None:
    to, how = f"{FAIRWAY}connect-to", f"{FAIRWAY}connect-mode"
    mode = said.get(how, "together")
    named = [name.strip() for name in said.get(to, "").split(",") if name.strip()]
    if not named:
        return
    _count_named(named, to)
    jobs = tuple(_job(name, namespace) for name in named)
    if mode in ("together", "near"):
        fields[mode] = (*fields.get(mode, ()), *jobs)
    elif mode in AFTER:
        fields["after"] = tuple(After(AFTER[mode], job) for job in jobs)
    else:
        words = "together, near, after-started, after-any or after-ok"
        raise _WrongError(_place(how), f"{mode!r} is none of {words}")


def _count_named(names: Sequence[str], key: str) -> None:
    if len(names) > MOST_NAMED:
        raise _WrongError(_place(key), f"names {len(names)} jobs; at most {MOST_NAMED} may be named")


def _job(name: str, namespace: str) -> str:
    return name if "/" in name else f"{namespace}/{name}"
