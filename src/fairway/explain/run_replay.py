"""Every attempt of a run, made once more: do its schedulers decide the same?

In: an open run, simulated or recorded live, anonymous or not. Out: a `Replay`: how many decisions come out the same,
and which do not and why. Each scheduler walks through the run (`run_walk`) with the configuration that the run keeps;
before each attempt its cluster is as it was then; whatever it decides now, the walk goes on with what was recorded, so
that one difference does not lead to others. Chance repeats itself, because attempts are made in their order and the
seeds are kept; where it does not (a recording that began later than its scheduler), any of the best nodes is as good.
Called by `sim --replay` and the library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import groupby
from typing import Any, Final

import msgspec

from fairway.cluster import Event, Verb
from fairway.cycle import Decision, Outcome, Profile
from fairway.cycle.decision import Stop
from fairway.cycle.placing import settle
from fairway.explain.jobs.job_replay import group_of, repeat_attempt, waiting_members
from fairway.explain.replayed import Replayed, Result, compare_decision, recorded_words
from fairway.explain.run_schedulers import RunScheduler, plugin_notes, run_schedulers
from fairway.explain.run_time import run_notes
from fairway.explain.run_walk import RunWalk
from fairway.model import Pod, UserError
from fairway.model.group import GroupSpec
from fairway.record import Run
from fairway.record.schema import SCHEMA_VERSION
from fairway.words import count_text

__all__ = ["Replay", "replay_run"]

SHOWN: Final = 10
STILL_LEAVING: Final = "not eligible due to a terminating pod"


@dataclass(slots=True)
class Replay:
    """What came of all attempts. Prints as `fairway sim --replay` does."""

    path: str
    origin: str
    is_anonymous: bool
    counts: Counter[Result] = field(default_factory=Counter)
    unlike: list[Replayed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def num_decisions(self) -> int:
        """Attempts that the run has."""
        return sum(self.counts.values())

    @property
    def is_same(self) -> bool:
        """Did everything come out the same, but for chance?"""
        return not self.unlike

    def lines(self) -> list[str]:
        """For people."""
        what = f"{'an anonymous run' if self.is_anonymous else 'a run'}"
        source = "of a live cluster" if self.origin == "live" else "of a simulation"
        lines = [f"{self.path} is {what} {source}: each attempt was made again, on the cluster as it was"]
        counts, made = self.counts, self.num_decisions - self.counts["error"]
        if self.is_same:
            lines.append(f"the same: {count_text(made)} decisions")
        else:
            lines.append(f"not the same: {count_text(counts['unlike'])} of {count_text(made)} decisions")
        words = {
            "lot": "by lot: another of several equally good nodes",
            "sample": "by lot: another of the nodes that were looked at",
            "error": "not made again: they ended in an error, or are of jobs that start with others",
        }
        lines += [f"  {count_text(counts[result])} {text}" for result, text in words.items() if counts[result]]  # type: ignore[index]
        lines += [f"  {one.sentence()}" for one in self.unlike[:SHOWN]]
        if len(self.unlike) > SHOWN:
            lines.append(f"  and {count_text(len(self.unlike) - SHOWN)} more")
        return lines

    def document(self) -> dict[str, Any]:
        """For programs."""
        unlike = [
            {
                "decision": one.recorded["decision_id"],
                "pod": one.recorded["pod"],
                "attempt": one.recorded["attempt"],
                "atSeconds": one.recorded["time_seconds"],
                "recorded": recorded_words(one.recorded),
                "replayed": one.words,
                "why": one.why,
            }
            for one in self.unlike
        ]
        counts = {result: self.counts[result] for result in ("same", "lot", "sample", "error", "unlike")}
        about = {"run": self.path, "origin": self.origin, "anonymous": self.is_anonymous, "same": self.is_same}
        return about | {"decisions": self.num_decisions, "counts": counts, "unlike": unlike}

    def __str__(self) -> str:
        return "\n".join(self.lines())


def replay_run(run: Run) -> Replay:
    """Make every attempt of the run again; `UserError` if it kept none."""
    if not len(run.decisions):
        why = "somebody else scheduled this cluster" if run.origin == "live" else "it kept none, or nothing was decided"
        raise UserError(f"{run.path} has no decisions to make again: {why}", "fairway status --run shows what it has")
    schedulers = run_schedulers(run)
    replay = Replay(str(run.path), run.origin, run.is_anonymous)
    replay.notes = [*run_notes(run), *plugin_notes(schedulers)]
    if any(scheduler.configuration.extenders for scheduler in schedulers):
        replay.notes.append("extenders were asked in the run, and are not asked now")
    version = run.meta["schema_version"]
    if version < SCHEMA_VERSION:
        writer = run.meta.get("fairway_version", "?")
        replay.notes.append(
            f"a run of an older schema (version {version}), written by Fairway {writer}: not all that decides is in it"
        )
    kept = run.meta["options"].get("decisions")
    if kept != "all":
        replay.notes.append(f"the run kept {kept} decisions, so chance may fall otherwise")
    for scheduler in schedulers:
        for one in _Repetition(run, scheduler).attempts():
            replay.counts[one.result] += 1
            if one.result == "unlike":
                replay.unlike.append(one)
    replay.unlike.sort(key=lambda one: int(one.recorded["decision_id"]))
    return replay


class _Repetition:
    """One scheduler, once more."""

    def __init__(self, run: Run, scheduler: RunScheduler) -> None:
        self._run = run
        self._scheduler = scheduler
        self._walk = RunWalk(run, scheduler)
        self._profiles = {
            profile.scheduler_name: Profile(profile, self._walk.cluster) for profile in scheduler.configuration.profiles
        }
        self._failures: list[tuple[float, str]] = []  # bindings that will fail: when, and of which pod
        self._assumed: dict[str, tuple[Profile, Decision]] = {}
        self._jobs = {row["job_id"]: row for row in run.jobs.rows()}
        self._job_decisions = {row["job_decision_id"]: row for row in run.job_decisions.rows()}
        self._numbers = {row["uid"]: number for number, row in self._walk.pods.items()}
        self._first_tried: dict[str, float] = {}  # by uid of a member: when

    def attempts(self) -> Iterator[Replayed]:
        """All of its attempts, in their order."""
        names = [self._scheduler.recorded.name] if self._run.origin == "simulated" else list(self._profiles)
        marks = ", ".join("?" * len(names))
        rows = list(self._run.decisions.where(f"scheduler IN ({marks}) AND pod_id IS NOT NULL", *names).rows())
        failures = self._failed_bindings(rows)
        for _, part in groupby(rows, key=_attempt_key):
            together = list(part)
            first = together[0]
            self._take_back(first["time_seconds"])
            self._walk.hear(first["time_seconds"], first["decision_id"])
            self._walk.cluster.clock.advance(self._run.began + first["time_seconds"])
            if first.get("job_decision_id") is None:
                yield self._attempt(first, failures.get(first["decision_id"]))
            else:
                yield from self._job_attempt(together, failures)

    def _attempt(self, row: dict[str, Any], fails_at: float | None) -> Replayed:
        pod = self._walk.pod(row["pod_id"], row["time_seconds"])
        pod = _waiting(pod, self._walk.cluster.nominations.node_of(pod.metadata.uid) or "")
        profile = self._profiles.get(pod.spec.scheduler_name)
        if profile is None:
            return Replayed(row, "unlike", "has no scheduler", f"none is called {pod.spec.scheduler_name}")
        if row["outcome"] == "error":
            self._walk.cluster.nominations.remove(pod.metadata.uid)
            return Replayed(row, "error")
        already = self._walk.cluster.pods.by_uid.get(pod.metadata.uid)  # the run contradicts itself
        if already is not None:
            self._walk.cluster.apply(Event(Verb.DELETED, already.pod))
        decision = profile.decide(pod)
        replayed = compare_decision(row, profile, decision)
        if row["outcome"] == "scheduled":
            self._place(row["node"], profile, decision, fails_at)
        else:
            self._fail(row, decision)
            if already is not None:
                self._walk.cluster.apply(Event(Verb.MODIFIED, already.pod))
        return replayed

    def _job_attempt(self, rows: list[dict[str, Any]], failures: dict[int, float]) -> Iterator[Replayed]:
        """An attempt for a whole job."""
        about = self._job_decisions[rows[0]["job_decision_id"]]
        time, pods = about["time_seconds"], self._walk.pods
        for row in rows:
            row["uid"] = pods[row["pod_id"]]["uid"]
        group = group_of(self._walk.cluster, self._jobs[about["job_id"]]) if about["job_id"] is not None else None
        profile = self._profiles.get(pods[rows[0]["pod_id"]]["scheduler"])
        spec = None if group is None else self._walk.cluster.groups.spec_of(group)
        is_alone = isinstance(spec, GroupSpec) and not spec.together
        if about["outcome"] == "error" or group is None or profile is None or not is_alone:
            yield from (Replayed(row, "error") for row in rows)
            return
        uids = waiting_members(group, rows, self._first_tried)
        for uid in uids:
            self._first_tried.setdefault(uid, time)
        nominations = self._walk.cluster.nominations
        members = [_waiting(self._walk.pod(self._numbers[uid], time), nominations.node_of(uid) or "") for uid in uids]
        already = self._take_away(members)
        attempt = repeat_attempt(about, rows, profile, group, members)
        yield from attempt.replayed
        made = {member.pod.metadata.uid: member for member in attempt.decision.members}
        for row in rows if about["outcome"] == "scheduled" else ():
            if row["node"] and row["uid"] in made:
                self._place(row["node"], profile, made[row["uid"]], failures.get(row["decision_id"]))
        if about["outcome"] != "scheduled":
            self._promise(attempt.decision.members)
            for pod in already:
                self._walk.cluster.apply(Event(Verb.MODIFIED, pod))

    def _take_away(self, members: Sequence[Pod]) -> list[Pod]:
        """Members that have a node by now, where the run contradicts itself: as if they had none."""
        cluster = self._walk.cluster
        found = [(pod, cluster.pods.by_uid.get(pod.metadata.uid)) for pod in members]
        already = [(pod, placed.pod) for pod, placed in found if placed is not None]
        for pod, there in already:
            cluster.apply(Event(Verb.DELETED, there))
            cluster.groups.observe(pod)
        return [there for _, there in already]

    def _promise(self, members: Sequence[Decision]) -> None:
        """What members of a job that has to wait are promised, or no longer."""
        nominations = self._walk.cluster.nominations
        for member in members:
            if member.nomination:
                nominations.add(member.pod, member.nomination)
            elif member.nomination == "":
                nominations.remove(member.pod.metadata.uid)

    # -- what was recorded is what happens ----------------------------------------------------------------------------

    def _place(self, node: str, profile: Profile, decision: Decision, fails_at: float | None) -> None:
        pod, cluster = decision.pod, self._walk.cluster
        cluster.nominations.remove(pod.metadata.uid)
        if decision.outcome is Outcome.SCHEDULED and decision.node == node:
            if isinstance(settle(profile, decision), Stop):
                return
            self._assumed[pod.metadata.uid] = (profile, decision)
        elif node in cluster.nodes.row_of:
            spec = msgspec.structs.replace(pod.spec, node_name=node)
            cluster.apply(Event(Verb.MODIFIED, msgspec.structs.replace(pod, spec=spec)))
        if fails_at is not None:
            heappush(self._failures, (fails_at, pod.metadata.uid))

    def _take_back(self, time: float) -> None:
        """Bindings that have failed by then."""
        cluster = self._walk.cluster
        while self._failures and self._failures[0][0] <= time:
            _, uid = heappop(self._failures)
            if uid in cluster.pods.by_uid:
                profile, decision = self._assumed.pop(uid, (None, None))
                if profile is not None and decision is not None:
                    profile.release(decision.pod, decision.pod_class, decision.row)
                else:
                    cluster.apply(Event(Verb.DELETED, cluster.pods.by_uid[uid].pod))

    def _fail(self, row: dict[str, Any], decision: Decision) -> None:
        """Promises of nodes, as the scheduler makes them and takes them back when no node fits."""
        nominations, uid = self._walk.cluster.nominations, decision.pod.metadata.uid
        if row["nominated_node"]:
            nominations.add(decision.pod, row["nominated_node"])
            preemption = decision.preemption
            for other in preemption.cleared if preemption is not None else ():
                nominations.remove(other.metadata.uid)
        elif STILL_LEAVING not in (row["message"] or ""):
            nominations.remove(uid)

    def _failed_bindings(self, rows: list[dict[str, Any]]) -> dict[int, float]:
        """Decisions whose pod was never bound there: when that was known, by number."""
        recorded, pods = self._scheduler.recorded, self._walk.pods
        latency = recorded.decision_latency + recorded.bind_latency
        later: dict[int, dict[str, Any]] = {}  # the next attempt for the pod
        failed = {}
        for row in reversed(rows):
            pod, again = pods[row["pod_id"]], later.get(row["pod_id"])
            later[row["pod_id"]] = row
            if row["outcome"] != "scheduled":
                continue
            is_bound = pod["bound_seconds"] is not None and pod["node"] == row["node"]
            if is_bound and (again is None or pod["bound_seconds"] <= again["time_seconds"]):
                continue
            known = row["time_seconds"] + latency if self._run.origin == "simulated" else self._back_at(row, again)
            if known is not None:
                failed[row["decision_id"]] = known
        return failed

    def _back_at(self, row: dict[str, Any], again: dict[str, Any] | None) -> float | None:
        """When a live scheduler had the pod back in its queue."""
        moves = self._run.queue_moves.where(
            "pod_id = ? AND time_seconds > ? AND place IS NOT NULL", row["pod_id"], row["time_seconds"]
        )
        times = [move["time_seconds"] for move in moves.rows()]
        return min(times, default=None if again is None else again["time_seconds"])


def _attempt_key(row: dict[str, Any]) -> tuple[bool, int]:
    """Rows of one attempt for a job stand together; any other row is an attempt by itself."""
    whole = row.get("job_decision_id")
    return (False, row["decision_id"]) if whole is None else (True, whole)


def _waiting(pod: Pod, nominated: str) -> Pod:
    """The pod as the queue had it: without a node, with what it was promised."""
    spec = msgspec.structs.replace(pod.spec, node_name="")
    status = msgspec.structs.replace(pod.status, nominated_node_name=nominated, start_time=None, phase="Pending")
    return msgspec.structs.replace(pod, spec=spec, status=status)
