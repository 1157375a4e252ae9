"""Is there room for the usual? The light of a queue.

In: a `StartPlan` and a queue. Out: free, busy or full. What has to be looked up in the cluster itself (`prepare_light`)
is apart from what the plan alone says (`light`). Called by `fairway queue`.
"""

from __future__ import annotations

import math
from collections import Counter

from fairway.batch.members_alike import MembersAlike
from fairway.explain.queues.asked_jobs import asked_of_pods, pod_asking
from fairway.explain.queues.start_plan import StartPlan
from fairway.plan import WaitingJob

__all__ = ["light", "prepare_light"]


def light(plan: StartPlan, queue: str, prepared: WaitingJob | None = None) -> str:
    """Is there room for the usual? Two jobs of the queue's usual limit and smallest common size are tried.

    free: both would start now, busy: one, full: none. `prepared`: that job, by `prepare_light`.
    """
    spec = plan.settings.queues[queue]
    if not spec.starts_jobs or not spec.takes_jobs:
        return "full"
    place = plan.place_of(queue, -math.inf, plan.at, math.inf)
    return ("full", "busy", "free")[len(plan.starts_now(prepared or prepare_light(plan, queue), place, copies=2))]


def prepare_light(plan: StartPlan, queue: str) -> WaitingJob:
    """The usual job of a queue, as the plan sees it."""
    members = _smallest_common(plan, queue)
    amounts = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in members.amounts.items()}
    pod = pod_asking(plan.profile, amounts, None)
    asked = asked_of_pods(plan, "light", [pod] * members.count, queue, None)
    return plan.plan_job(asked.job, None)


def _smallest_common(plan: StartPlan, queue: str) -> MembersAlike:
    """The smallest size that at least a tenth of its jobs have had; one CPU if it has had none."""
    sizes = [job.members[0] for job in plan.jobs if job.queue == queue and len(job.members) == 1]
    if not sizes:
        return MembersAlike(1, {"cpu": 1000})
    counts = Counter((each.count, tuple(sorted(each.amounts.items()))) for each in sizes)
    common = [size for size, count in counts.items() if count * 10 >= len(sizes)] or list(counts)
    count, amounts = min(common, key=lambda size: (size[0] * sum(amount for _, amount in size[1]), size))
    return MembersAlike(count, dict(amounts))
