"""A trial: a cluster from files, and pods placed on it one by one, as the scheduler would.

In: manifests, a scheduler configuration, a seed. Out: a `Verdict` for each pod, in the order of the queue: where it
goes, who has to go for it, or why it can not go anywhere. Nothing outside this process changes. Called by the commands
`try` and `why`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairway.cluster import Cluster, Event, Verb
from fairway.config import Configuration, default_configuration
from fairway.config.configuration import load_configuration
from fairway.config.plugin_folders import FOLDERS
from fairway.cycle import Decision, Hold, Outcome, Profile, Stop
from fairway.cycle.funnel import Step, make_funnel
from fairway.cycle.guard import queue_order
from fairway.cycle.placing import place, place_in_room
from fairway.explain.manifest_files import load_manifests
from fairway.explain.manifests import Manifests
from fairway.explain.workloads.inputs import Inputs
from fairway.explain.workloads.unread_changes import WrittenForms
from fairway.kinds.controllers import Wanted
from fairway.model import Loaded, Pod
from fairway.plugin import Candidate
from fairway.plugins.registry import REGISTRY
from fairway.queue import QueuedPod, profile_name

__all__ = ["Result", "Trial", "Verdict", "open_trial", "read_configuration"]

Result = Literal["scheduled", "preempts", "unschedulable", "gated", "error", "ignored"]
"""`preempts`: scheduled once others have made room; `ignored`: the pod asks for a scheduler that is not configured."""


@dataclass(slots=True)
class Verdict:
    """What became of one pod."""

    pod: Pod
    wanted: Wanted
    result: Result
    node: str = ""
    message: str = ""  # why not, in kube-scheduler's words
    decision: Decision | None = None
    victims: tuple[Pod, ...] = ()
    funnel: tuple[Step, ...] = ()
    remark: str = ""
    is_sampled: bool = False  # there may be nodes that fit and were not looked at

    @property
    def is_placed(self) -> bool:
        """Does the pod get a node?"""
        return self.result in ("scheduled", "preempts")


class Trial:
    """The cluster and the profiles; `place` moves it on by one pod."""

    def __init__(
        self, manifests: Manifests, configuration: Configuration, seed: int | None, time: float | None = None
    ) -> None:
        """`time` is what plugins that go by the clock see, in seconds since 1970; None: when simulations begin."""
        self.time = time
        self.manifests = manifests
        self.configuration = configuration
        self.seed = seed  # None: what the configuration says
        self.cluster = Cluster()
        self.cluster.load(manifests.objects)
        if time is not None:
            self.cluster.clock.advance(time)
        self.profiles = {
            profile.scheduler_name: Profile(profile, self.cluster, seed=seed) for profile in configuration.profiles
        }
        self._hear_jobs()
        self.wanted = manifests.wanted
        self._names = dict(manifests.names)
        self._failure: tuple[tuple[int, ...], Verdict] | None = None

    def _hear_jobs(self) -> None:
        """What jobs say for their pods counts, where a profile reads it."""
        wishes = self.cluster.wishes
        for thing in self.manifests.objects if wishes.is_followed else ():
            wishes.note(thing)
        for placed in list(self.cluster.pods.by_uid.values()):
            if (dressed := wishes.dressed(placed.pod)) is not placed.pod:
                self.cluster.apply(Event(Verb.MODIFIED, dressed))

    def again(self, changed: Mapping[str, Wanted] | None = None) -> Trial:
        """The same trial from the beginning, with other pods for those of some titles."""
        trial = Trial(self.manifests, self.configuration, self.seed, self.time)
        trial.wanted = [(changed or {}).get(wanted.title, wanted) for wanted in self.wanted]
        return trial

    def queue(self) -> list[tuple[Pod, Wanted]]:
        """All pods to place, as the scheduler sorts its queue (most important first), otherwise in the order given."""
        waiting = [(pod, wanted) for wanted in self.wanted for pod in self.pods_of(wanted, range(wanted.num_pods))]
        order = queue_order(next(iter(self.profiles.values())).queue_sort)
        return sorted(waiting, key=lambda pair: order(_fresh(pair[0])))

    def pods_of(self, wanted: Wanted, indices: Sequence[int] | range) -> Iterator[Pod]:
        """The pods of one controller; the claims that come with them are there from now on."""
        for pod, claims in self.manifests.pods_of(wanted, indices, self._names):
            for claim in claims:
                self.cluster.apply(Event(Verb.ADDED, claim))
            yield self.cluster.wishes.dressed(pod)

    def profile_of(self, pod: Pod) -> Profile | None:
        """The profile that schedules this pod, if any does."""
        return self.profiles.get(pod.spec.scheduler_name)

    def place(self, pod: Pod, wanted: Wanted, *, evict: bool = True) -> Verdict:
        """Decide for one pod and carry it out: the next one finds the cluster changed."""
        profile = self.profile_of(pod)
        if profile is None:
            known = ", ".join(self.profiles)
            message = f"schedulerName {pod.spec.scheduler_name} is not configured; configured: {known}"
            return Verdict(pod, wanted, "ignored", message=message)
        gate = profile.gate(pod)
        if gate is not None:
            return Verdict(pod, wanted, "gated", message=", ".join(gate[1].reasons))
        if (failure := self._same_failure(profile, pod)) is not None:
            assert failure.decision is not None
            return replace(failure, pod=pod, wanted=wanted, decision=replace(failure.decision, pod=pod))
        decision, obstacle = place(profile, pod)
        if decision.outcome is Outcome.SCHEDULED:
            is_sampled = not profile.sampler.takes_all and decision.via == "scores"
            verdict = Verdict(pod, wanted, "scheduled", decision.node, decision=decision, is_sampled=is_sampled)
            _meet(obstacle, verdict)
            return verdict
        verdict = Verdict(
            pod, wanted, "unschedulable", message=decision.message, decision=decision, funnel=self._funnel(decision)
        )
        if decision.outcome is Outcome.ERROR:
            verdict.result = "error"
        elif evict and decision.preemption is not None and decision.preemption.chosen is not None:
            self._preempt(profile, decision, decision.preemption.chosen, verdict)
            return verdict
        self._failure = (self._state(), verdict)
        return verdict

    def _same_failure(self, profile: Profile, pod: Pod) -> Verdict | None:
        """The verdict about the last pod, if it was one like this that fitted nowhere and nothing changed since."""
        if self._failure is None:
            return None
        state, verdict = self._failure
        decision = verdict.decision
        alike = decision is not None and profile.classify(pod) is decision.pod_class
        return verdict if alike and pod.status == verdict.pod.status and self._state() == state else None

    def _state(self) -> tuple[int, ...]:
        """Equal as long as nothing in the cluster changes."""
        cluster = self.cluster
        ends = (cluster.node_journal.end, cluster.pod_journal.end, cluster.nominations.version)
        return (*ends, *cluster.versions.now)

    def _preempt(self, profile: Profile, decision: Decision, chosen: Candidate, verdict: Verdict) -> None:
        """Evict the victims, then try the node that was cleared."""
        verdict.victims = chosen.victims
        room = place_in_room(profile, decision)
        if room is None:
            verdict.remark = f"does not fit on {self.cluster.nodes.names[chosen.row]} even so"
        elif isinstance(stop := room.obstacle, Stop):
            verdict.remark = f"refused by {stop.plugin}: {', '.join(stop.refusal.reasons)}"
        else:
            verdict.result, verdict.node = "preempts", room.decision.node
            _meet(room.obstacle, verdict)

    def _funnel(self, decision: Decision) -> tuple[Step, ...]:
        profile = self.profile_of(decision.pod)
        assert profile is not None
        return make_funnel(profile, decision.pod_class, decision.diagnosis)


def _fresh(pod: Pod) -> QueuedPod:
    """The pod as it comes into a queue."""
    return QueuedPod(pod=pod, profile=profile_name(pod), timestamp=0.0, sequence=0)


def _meet(obstacle: Stop | Hold | None, verdict: Verdict) -> None:
    """A plugin had a last word about the node that was chosen."""
    if isinstance(obstacle, Hold):
        plugin, seconds = obstacle.shortest
        verdict.remark = f"waits up to {seconds:g} s for {plugin}"
    elif obstacle is not None:
        verdict.remark = f"refused by {obstacle.plugin} after {verdict.node} was chosen"
        verdict.result, verdict.node, verdict.message = "unschedulable", "", ", ".join(obstacle.refusal.reasons)


def open_trial(
    files: Inputs,
    cluster_files: Sequence[str],
    config: str | None,
    seed: int,
    there: Sequence[Loaded] = (),
    forms: WrittenForms | None = None,
) -> Trial:
    """Read the files and stop before the first pod; what is `there` belongs to the cluster, too: see `forms` there."""
    manifests = load_manifests(files, cluster_files, there, forms)
    configuration = default_configuration(REGISTRY) if config is None else read_configuration(config)
    return Trial(manifests, configuration, seed, files.time)


def read_configuration(path: str) -> Configuration:
    """A file's; its plugins may be beside it."""
    FOLDERS.offer(path)
    return load_configuration(path, REGISTRY)
