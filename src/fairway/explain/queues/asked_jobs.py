"""Jobs that somebody asks about and nobody has submitted: of pods, or of a size.

In: pods of a manifest, or amounts; the queues there are. Out: an `AskedJob`, as the desk would see it if it came now.
`UserError` says what can not be meant. Called by whatever asks `start_answer`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fairway.batch.job import BatchJob, JobLedger, JobWishes
from fairway.batch.wishes import QUEUE, read_wishes
from fairway.exit_codes import USAGE
from fairway.explain.queues.run_queues import check_name, few
from fairway.explain.queues.start_plan import StartPlan
from fairway.model import Pod, UserError, convert
from fairway.model.quantity import parse_quantity

__all__ = ["AskedJob", "asked_of_pods", "pod_asking", "pod_of_size"]


@dataclass(frozen=True, slots=True)
class AskedJob:
    """A job that somebody might submit."""

    name: str
    queue: str
    job: BatchJob
    limit: float


def asked_of_pods(
    plan: StartPlan,
    name: str,
    pods: Sequence[Pod],
    queue: str | None,
    limit: float | None,
    more_said: Sequence[Mapping[str, str]] = (),
) -> AskedJob:
    """A job of these pods, in the queue that they name unless said otherwise; `more_said`: what their controller says.

    That counts for the whole job where it names the queue.
    """
    first = pods[0]
    said: list[Mapping[str, str]] = [first.metadata.annotations, first.metadata.labels]
    if any(QUEUE in each for each in more_said):
        said = [*more_said]
    named = queue or next((each[QUEUE] for each in said if QUEUE in each), None)
    if named is None and len(plan.settings.queues) == 1:
        (named,) = plan.settings.queues
    if named is None:
        known = sorted(plan.settings.queues)
        raise UserError(f"{name} names no queue; there are {few(known)}", f"--queue {known[0]}", USAGE)
    check_name("queue", named, plan.settings.queues, "--queue")
    wishes: JobWishes = read_wishes(said, first, named, plan.at)
    if wishes.problem:
        raise UserError(f"{name}: {wishes.problem}", "correct that annotation")
    if limit is not None:
        wishes = replace(wishes, limit=limit)
    job = BatchJob(name, f"asked/{name}", None, wishes, JobLedger(plan.at), min_count=len(pods))
    job.members = {f"asked/{name}/{number}": pod for number, pod in enumerate(pods)}
    job.priority_class = max(pod.priority for pod in pods)
    default = plan.settings.queues[named].limits.default
    asked = wishes.limit if wishes.limit is not None else math.inf if default is None else float(default)
    return AskedJob(name, named, job, asked)


def pod_of_size(scheduler: str, cpu: str | None, memory: str | None, gpu: int, user: str | None) -> Pod:
    """A pod that asks for so much; `UserError` for what is no amount."""
    asked = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": str(gpu) if gpu else None}
    amounts = {name: amount for name, amount in asked.items() if amount is not None}
    try:
        for name, amount in amounts.items():
            if parse_quantity(amount).milli < 0:
                raise ValueError(f"{name} of {amount} is less than 0")
        return pod_asking(scheduler, amounts, user)
    except ValueError as error:
        raise UserError(f"that is no amount: {error}", "write 4 or 500m of cpu, 16Gi of memory", USAGE) from error


def pod_asking(scheduler: str, amounts: dict[str, str], user: str | None) -> Pod:
    """A pod that asks for these amounts."""
    container = {"name": "job", "image": "job", "resources": {"requests": amounts}}
    metadata = {"name": "it", "namespace": "default", "annotations": {"fairway.dev/user": user} if user else {}}
    return convert({"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": [container]}}, Pod)
