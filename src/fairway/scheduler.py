"""The story: observe → next → decide → assume → bind.

In: events from the world (`observe`), and time, which passes in the world. Out: what the scheduler wants done, told to
the same world: bind this pod there, evict that one, report why a third has to wait. `live/` and `sim/` are worlds; the
loop does not know which it serves. Synchronous and single-threaded: same events at the same times, same decisions.

Reading order is the order of things: `observe` takes events in, `step` tries one pod or group of pods, `_try` tells the
attempt, `proceed` and `fail` how it ends, `binding_failed` what happens when the world refuses. The steps of an attempt
are those of `cycle.placing`, and of `gangs` for pods that belong together; here is what takes time: queueing, waiting
for permits, binding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairway.cluster import TIME_PASSED, Change, Cluster, Event, Resource, Verb
from fairway.cluster.groups import GroupBook
from fairway.config import Configuration
from fairway.cycle import Decision, Hold, Outcome, PluginTimer, Profile, Stop
from fairway.cycle.extender import Extender
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.guard import queue_order
from fairway.cycle.placing import fail_at, make_room, settle
from fairway.cycle.sampling import TieBreak
from fairway.gangs.connections import Connections
from fairway.gangs.job_attempts import Shared
from fairway.gangs.job_members import job_members
from fairway.gangs.job_rules import rules_of
from fairway.gangs.pod_groups import PodGroups
from fairway.model import Pod
from fairway.model.device_need import with_devices
from fairway.plugin import Refusal
from fairway.queue import Observer, QueuedGroup, QueuedPod, QueueSettings, SchedulingQueue, profile_name
from fairway.world import Attendant, Look, World

__all__ = ["Attendant", "Look", "Scheduler", "World"]


class Scheduler:
    """One scheduler: its profiles, its queue and its view of the cluster."""

    def __init__(  # noqa: PLR0913 - those who watch are told by name; nobody is by default
        self,
        configuration: Configuration,
        world: World,
        *,
        cluster: Cluster | None = None,
        tie_break: TieBreak = "random",
        look: Look | None = None,
        attendant: Attendant | None = None,
        watch_queue: Observer | None = None,
        timer: PluginTimer | None = None,
        extenders: Sequence[Extender] = (),
        start: float = 0.0,
    ) -> None:
        """`start` is what the time of day was when the world's clock showed 0, in seconds since 1970."""
        self.world = world
        self.cluster = cluster or Cluster()
        self.cluster.clock.start = self._start = start
        self.profiles: Mapping[str, Profile] = {
            profile.scheduler_name: Profile(
                profile, self.cluster, tie_break=tie_break, now=world.now, timer=timer, extenders=extenders
            )
            for profile in configuration.profiles
        }
        connections = Connections(self.cluster)
        order = queue_order(next(iter(self.profiles.values())).queue_sort)  # which they share
        self.queue = SchedulingQueue(
            {name: rules_of(profile, order, connections) for name, profile in self.profiles.items()},
            world,
            settings=QueueSettings(
                initial_backoff_seconds=configuration.pod_initial_backoff_seconds,
                max_backoff_seconds=configuration.pod_max_backoff_seconds,
            ),
            nominations=self.cluster.nominations,
            observer=watch_queue,
        )
        self._held: dict[str, tuple[QueuedPod, Decision]] = {}  # by pod uid: those in `cluster.held`
        self._look, self._attendant = look, attendant
        self._bound: dict[str, tuple[QueuedPod, Decision]] = {}  # by pod uid: bound by us, not yet confirmed
        self._pod_groups = PodGroups(self.queue, self.profiles, world, self)
        shared = Shared(self._held, self._bound, self.evict)
        self.jobs = job_members(self.queue, self.profiles, connections, world, shared)

    # -- observe -----------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """Something happened in the world."""
        wishes = self.cluster.wishes
        for told in wishes.told(event, self.queue) if wishes.concern(event) else (event,):
            self._take_in(told)

    def _take_in(self, event: Event) -> None:
        self._tell_time()
        item, gone = event.object, event.verb is Verb.DELETED
        if isinstance(item, Pod) and not item.spec.node_name and not item.is_finished:
            self._observe_waiting(item, gone)
        else:
            if isinstance(item, Pod):
                self._observe_placed(item, gone)
            self.queue.move(self.cluster.apply(event))
            if self.jobs is not None and (self.cluster.groups.are_used or not isinstance(item, Pod)):
                self.jobs.saw(event)
        self._end_waits()

    def _observe_placed(self, pod: Pod, gone: bool) -> None:
        """A pod with a node came, changed or went, or one has ended: what we decided about it is true or obsolete."""
        uid = pod.metadata.uid
        decision = self._take_decision(uid)
        if uid in self.queue:
            self.queue.delete(pod)  # somebody bound it; not necessarily us
        if decision is not None and (gone or pod.is_finished or pod.spec.node_name != decision.node):
            self._release(decision)

    def _observe_waiting(self, pod: Pod, gone: bool) -> None:
        """A pod without a node came, changed or went."""
        uid = pod.metadata.uid
        if not self.queue.serves(pod):
            if self.jobs is not None:
                self.jobs.saw_foreign(pod, gone)
            return
        group = self.cluster.groups.observe(pod, gone)
        if not gone:
            # What we have decided about already is being bound; one that is held back hears of it when it comes back.
            if uid in self._held or not (self.has_decided(uid) or uid in self.cluster.pods.by_uid):
                if group is not None and self.jobs is not None and self.jobs.takes(pod, group):
                    self.jobs.observe(pod, group)
                    return
                queued = self.queue.find(uid)
                before = None if queued is None else queued.latest or queued.pod
                self.queue.update(None, pod)
                if group is not None and (before is None or before.metadata.annotations != pod.metadata.annotations):
                    self.queue.move((Change.of(Resource.UNSCHEDULED_POD, before, pod, gone),))  # others wait for it
                if before is not None and before.status.nominated_node_name not in ("", pod.status.nominated_node_name):
                    self._tell_less_important(before)
            elif uid in self._bound:
                self._bound[uid][0].latest = pod  # as it comes back, should the binding fail
            return
        decision = self._take_decision(uid)
        self.queue.delete(pod)
        if decision is not None:
            self._release(decision)
        elif pod.status.nominated_node_name:
            self._tell_less_important(pod)
        if self.jobs is not None and group is not None:
            self.jobs.left(group)

    def has_decided(self, uid: str) -> bool:
        """Was a node chosen for the pod, and is that neither confirmed nor taken back?"""
        return uid in self._held or uid in self._bound

    def _take_decision(self, uid: str) -> Decision | None:
        """What we have decided about a pod, if the world has not confirmed it; it is out of our hands now."""
        self.cluster.held.forget(uid)
        if uid in self._held:
            self.queue.done(uid)
            return self._held.pop(uid)[1]
        return self._bound.pop(uid)[1] if uid in self._bound else None

    def _tell_less_important(self, pod: Pod) -> None:
        """They treated the pod as if it were on its nominated node already: there is room again."""
        self.queue.move((Change.pod_left(pod),), only=lambda other: other.priority <= pod.priority)

    # -- next --------------------------------------------------------------------------------------------------------

    def step(self) -> Decision | GroupDecision | None:
        """Try the next pod that is ready, with its group; None if none is ready now (`next_wakeup` says when)."""
        self._tell_time()
        if self._held:
            self.cluster.held.expire(self.world.now())
            self._end_waits()
        if self.jobs is not None and self.cluster.groups.are_used:
            self.jobs.tick()
        queued = self.queue.pop()
        if queued is None:
            return None
        if self._attendant is not None:
            self._attendant.attempting(queued)
        if type(queued) is QueuedGroup:
            assert self.jobs is not None
            decision: Decision | GroupDecision = self.jobs.attempts.attempt(queued)
        elif self.profiles[queued.profile].takes_along and (group := self.cluster.groups.of(queued.uid)) is not None:
            decision = self._pod_groups.try_group(queued, group)
        else:
            decision = self._try(queued)
        if self._attendant is not None:
            self._attendant.attempted(decision)
        self._end_waits()
        return decision

    def run_until_idle(self) -> list[Decision]:
        """Try pods until none is ready at this instant; of groups, what was decided about each member."""
        decisions: list[Decision] = []
        while (decision := self.step()) is not None:
            decisions += decision.members if isinstance(decision, GroupDecision) else [decision]
        return decisions

    def next_wakeup(self) -> float | None:
        """When there may be something to do without a new event; None if never."""
        wakeup, deadline = self.queue.next_wakeup(), self.cluster.held.next_deadline() if self._held else None
        step = self.cluster.clock.next_step(self._start) if self.waits_for_time else None
        late = self.jobs.next_wakeup() if self.jobs is not None else None
        return min((time for time in (wakeup, deadline, step, late) if time is not None), default=None)

    @property
    def waits_for_time(self) -> bool:
        """Did a plugin that goes by the clock refuse a pod that waits now?"""
        return self.cluster.clock.is_read and self.queue.waits_for(TIME_PASSED)

    def _tell_time(self) -> None:
        """A step may be over, in which plugins see the clock move: what they refused they may let in now."""
        if self.cluster.clock.is_read and (change := self.cluster.clock.advance(self._start + self.world.now())):
            self.queue.move((change,))

    def _try(self, queued: QueuedPod) -> Decision:
        """One attempt, from decision to binding or back into the queue."""
        profile = self.profiles[queued.profile]
        if queued.pod.is_terminating:
            return self.skip(queued)
        decision = profile.decide(queued.pod)
        decision.attempt, decision.data = queued.attempts, profile.data_steps(decision)
        if self._look is not None:
            self._look(profile, decision)
        for notice in profile.new_notices(decision, queued.told):
            queued.told |= {notice}
            self.world.tell(queued.pod, notice)
        if decision.outcome is Outcome.SCHEDULED:
            self.proceed(queued, decision, settle(profile, decision))
        else:
            self.fail(queued, decision)
        return decision

    def skip(self, queued: QueuedPod) -> Decision:
        """The pod is being deleted."""
        words = f"skip schedule deleting pod: {queued.pod.key}"
        decision = Decision(queued.pod, self.cluster.classify(queued.pod), Outcome.ERROR, error=words)
        self.queue.done(queued.uid)
        self.world.report(decision)
        return decision

    # -- assume, permit, bind ----------------------------------------------------------------------------------------

    def proceed(self, queued: QueuedPod, decision: Decision, obstacle: Stop | Hold | None) -> None:
        """The pod is assumed on its node: bind it unless a plugin objects or wants to wait."""
        if obstacle is None:
            self._bind(queued, decision)
        elif isinstance(obstacle, Hold):
            self._held[queued.uid] = queued, decision
            held = self.cluster.held.find(queued.uid)
            assert held is not None
            self.world.hold(held)
        else:
            self._stop(queued, decision, obstacle)

    def _bind(self, queued: QueuedPod, decision: Decision) -> None:
        before = self.profiles[queued.profile].pre_bind(decision)
        if isinstance(before, Stop):
            self._stop(queued, decision, before)
            self._tell_others(decision)
            return
        self.queue.done(queued.uid)
        self._bound[queued.uid] = (queued, decision)
        pod = decision.pod
        if decision.pod_class.devices is not None and (indices := self.cluster.devices.indices_of(queued.uid)):
            pod = with_devices(pod, indices)
        self.world.bind(pod, decision.node, before)

    def _end_waits(self) -> None:
        """Carry out what plugins have said: whom to try again, and what becomes of those they hold; and time is up."""
        if self.cluster.activations:
            self.queue.activate(self.cluster.activations.take())
        while (settled := self.cluster.held.next_settled()) is not None:
            queued, decision = self._held.pop(settled.held.uid)
            self.world.settled(settled)
            if queued.group and self.jobs is not None:
                self.jobs.attempts.settled(queued, decision, settled)
                continue
            if settled.is_allowed:
                self._bind(queued, decision)
                continue
            self.cluster.held.end(settled, self.world.now())
            if settled.is_preempted:
                self._give_up(queued, decision, f"waiting on permit for pod: {settled.reason}")
                continue
            self._unreserve(decision)
            self._stop(queued, decision, Stop("Permit", settled.plugin, Refusal((settled.reason,))))
            self._tell_others(decision)

    # -- back into the queue -----------------------------------------------------------------------------------------

    def _stop(self, queued: QueuedPod, decision: Decision, stop: Stop) -> None:
        """Reserve, permit or pre-bind said no to the chosen node."""
        fail_at(decision, stop)
        self.fail(queued, decision)

    def _tell_others(self, decision: Decision) -> None:
        """There is room again. To be said when the pod is back in the queue: its own leaving does not help it."""
        uid = decision.pod.metadata.uid
        self.queue.move((Change.pod_left(decision.pod_there),), only=lambda other: other.metadata.uid != uid)

    def fail(self, queued: QueuedPod, decision: Decision, group: GroupBook | None = None) -> None:
        """No node, for now: wait for what helps, and make room if that was found. Who was tried with a group rests."""
        pod, preemption = decision.pod, decision.preemption
        self.queue.requeue_failed(
            queued,
            decision.unschedulable_plugins,
            decision.diagnosis.pending_plugins if decision.diagnosis is not None else (),
            error=decision.outcome is Outcome.ERROR,
            rests=group is not None,
        )
        self.queue.nominate(pod, decision.nomination)
        self.world.report(decision)
        if preemption is not None and preemption.writes:
            self.world.write(preemption.writes, pod)
        make_room(
            preemption if group is None else None,
            clear=lambda other: self.queue.nominate(other, ""),
            evict=lambda victim: self.evict(victim, pod),
        )

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        """A victim that is not bound yet is simply not bound; any other has to be removed by the world."""
        if not self.cluster.held.preempt(victim.metadata.uid, "DefaultPreemption"):
            self.world.evict(victim, preemptor)

    def binding_failed(self, pod: Pod, why: str) -> None:
        """The world refused a binding: take the decision back and try again after a back-off."""
        binding = self._bound.pop(pod.metadata.uid, None)
        if binding is None:
            return  # confirmed or deleted meanwhile
        self._give_up(*binding, why)
        self._end_waits()

    def _give_up(self, queued: QueuedPod, decision: Decision, why: str) -> None:
        """Something broke after the choice of a node."""
        self._release(decision)
        decision.outcome, decision.error = Outcome.ERROR, why
        if queued.group and self.jobs is not None:
            self.jobs.binding_failed(queued, decision)
        else:
            self.fail(queued, decision)

    def _release(self, decision: Decision) -> None:
        """Give the room back, which may help others."""
        self._unreserve(decision)
        self.queue.move((Change.pod_left(decision.pod_there),))

    def _unreserve(self, decision: Decision) -> None:
        self.profiles[profile_name(decision.pod)].release(decision.pod, decision.pod_class, decision.row)
