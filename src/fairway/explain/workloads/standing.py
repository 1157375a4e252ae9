"""Between what the files ask for and what the cluster has: what is missing, what is to be replaced.

In: the objects of the cluster, and each thing that the files want. Out: the `Wanted` of the pods that are missing; a
`Rollout` for a controller that replaces its pods because its template is another than theirs; notes about pods that
are there already. Called by `manifest_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec

from fairway.explain.workloads.rollout import Rollout
from fairway.explain.workloads.staged_rollout import StagedRollout
from fairway.explain.workloads.there import ROLLING, Fleet, Residents, jobs_left, without_those_there
from fairway.explain.workloads.unread_changes import UnreadChanges
from fairway.kinds.controllers import Wanted
from fairway.model import ApiObject, CronJob, Job, Pod, Source
from fairway.model.controllers import Controller

__all__ = ["StandingObjects"]

Asked = tuple[Pod | Controller, Source]


class StandingObjects:
    """What the cluster has of that which is asked for."""

    def __init__(
        self,
        objects: Sequence[ApiObject],
        notes: list[str],
        unread: UnreadChanges | None = None,
        *,
        is_rollout: bool,
    ) -> None:
        """`notes` hears what people should know; `unread` tells of changes that the objects do not show."""
        placed = [_known(_in_namespace(thing)) for thing in objects]
        self._residents = Residents(placed)
        self._pods = {thing.key: thing for thing in placed if isinstance(thing, Pod)}
        self._notes = notes
        self._unread = unread
        self._is_rollout = is_rollout
        self.rollouts: list[Rollout | StagedRollout] = []
        self.num_pods_there = 0  # pods, asked for by name, that have a node

    def without_pods_there(self, asked: Sequence[Asked]) -> list[Asked]:
        """Without the pods that have a node in the cluster."""
        missing = []
        for thing, source in asked:
            key = f"{thing.metadata.namespace or 'default'}/{thing.metadata.name}"
            there = self._pods.get(key) if isinstance(thing, Pod) else None
            if there is not None and there.spec.node_name and not there.is_finished:
                self._notes.append(f"Pod {key} is there already, on {there.spec.node_name}")
                self.num_pods_there += 1
            else:
                missing.append((thing, source))
        return missing

    def settled(self, thing: Pod | Controller | None, wanted: Wanted) -> Wanted:
        """What is missing of it; `thing` is None for kinds of the table."""
        if isinstance(thing, Pod | CronJob) or (not wanted.num_pods and wanted.remark == "suspended"):
            return wanted
        if isinstance(thing, Job):
            wanted = self._job_left(thing, wanted)
        fleet = self._residents.fleet(thing, wanted) if wanted.num_pods or thing is not None else None
        if fleet is None or not fleet.pods:
            return wanted
        is_rolling = isinstance(thing, ROLLING) or wanted.rolling is not None
        if is_rolling and fleet.present and self._unread is not None and not self._is_rollout:
            fleet = self._unread.judged(wanted, fleet, self._notes)
        if is_rolling and (fleet.former or self._is_rollout):
            self.rollouts.append(self._rollout(thing, wanted, fleet))
            remark = f"{len(fleet.pods)} there already, rolled out below"
            return replace(wanted, num_pods=0, num_there=len(fleet.pods), remark=remark)
        missing = without_those_there(wanted, fleet)
        if fleet.former and not isinstance(thing, Job):
            remark = f"{missing.remark}, {len(fleet.former)} of them of another template, which stay as they are"
            missing = replace(missing, remark=remark)
        return missing

    def _rollout(self, thing: Pod | Controller | None, wanted: Wanted, fleet: Fleet) -> Rollout | StagedRollout:
        if isinstance(thing, ROLLING):
            there = self._residents.owner(wanted.kind, wanted.namespace, wanted.name)
            return Rollout(_in_namespace(thing), wanted, fleet, there)
        assert wanted.rolling is not None
        return StagedRollout(wanted, fleet, wanted.rolling)

    def _job_left(self, job: Job, wanted: Wanted) -> Wanted:
        """Of a job that has begun, what is still to be done."""
        left = jobs_left(_in_namespace(job), self._residents)
        if left is None or left >= wanted.num_pods:
            return wanted
        done = (job.spec.completions or 0) - left
        remark = ", ".join(part for part in (wanted.remark, f"{done} of {job.spec.completions} done already") if part)
        return replace(wanted, num_pods=left, remark=remark)


def _known(thing: ApiObject) -> ApiObject:
    """A pod gets a uid, which files seldom give: the same that `Manifests` gives it."""
    if not isinstance(thing, Pod) or thing.metadata.uid:
        return thing
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, uid=thing.key))


T = TypeVar("T", bound=ApiObject)


def _in_namespace(thing: T) -> T:
    """With the namespace that an API server gives to what names none; of no matter to what has none."""
    meta = thing.metadata
    if meta.namespace:
        return thing
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(meta, namespace="default"))
