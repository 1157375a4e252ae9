"""A profile: the plugins of one scheduler name, ready to judge pods of one cluster.

In: a `ProfileConfig` (from KubeSchedulerConfiguration) and a registry of plugins. Out: a `Profile`, with which
everything is done that concerns one pod: `gate` (may it be tried?), `decide` (where to?), `assume` and `permit` (so be
it), `inspect` (why?). The order of these steps is told in `placing`.
"""

from __future__ import annotations

import logging
import random  # noqa: TID251 - for seeded generators only, which draw one number faster than numpy's
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Aspect, Cluster, PodClass
from fairway.cluster.datasets.data_step import DataStep
from fairway.cluster.pod_class import Extra
from fairway.config.config_file import Sampling
from fairway.config.configuration import ProfileConfig
from fairway.config.gangs import MODE_PLUGINS, Gangs
from fairway.cycle import feasibility, inspection, pod_cycle
from fairway.cycle.answer_cache import AnswerCache
from fairway.cycle.answers import Answers
from fairway.cycle.decision import Decision, Hold, Outcome, Stop
from fairway.cycle.extender import EXTENDER, Extender, ExtenderError
from fairway.cycle.guard import BUILT_IN, PluginError, guard
from fairway.cycle.pre_bind import PreBind
from fairway.cycle.sampling import Sampler, TieBreak, TieBreaker
from fairway.cycle.timing import PluginTimer, timed
from fairway.model import Pod, Toleration
from fairway.model.group import GroupReading
from fairway.plugin import Action, ClusterEvent, Code, Hint, Notice, Plugin, Refusal, Resource, overrides

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Profile:
    """Plugins in the order they run, and the answers they gave."""

    def __init__(  # noqa: PLR0913 - what may differ between tests, tools and a scheduler, each with its default
        self,
        config: ProfileConfig,
        cluster: Cluster,
        *,
        tie_break: TieBreak = "random",
        seed: int | None = None,
        now: Callable[[], float] = float,
        sampling: Sampling | None = None,
        caching: bool = True,
        diagnoses: bool = True,
        timer: PluginTimer | None = None,
        extenders: Sequence[Extender] = (),
    ) -> None:
        """`now` is asked when a running pod does not say since when; `sampling` and `seed` override the config's.

        Without `diagnoses` a pod that fits nowhere is told just that, fast: no reasons, no post-filters.
        `timer` is told what each plugin uses; without one, nothing is measured. `extenders` are
        asked in this order: those that may be ignored come last (`Configuration.extenders` has them so).
        """
        plugins = _make_all(config, cluster)
        if timer is not None:
            timed(plugins.values(), timer)
        points = config.points

        def at(point: str, *steps: str) -> list[Plugin]:
            """The plugins of a point; where one takes part in a step before it that is left out, who stands in."""
            taking_part = []
            for name in points.get(point, ()):
                implied = [step for step in steps if step in config.entries[name].points]
                missing = [step for step in implied if name not in points.get(step, ())]
                taking_part.append(_stand_in(plugins[name], point, missing))
            return taking_part

        self.name = config.scheduler_name
        self.cluster = cluster
        self.extenders = tuple(extenders)
        self.weights = dict(config.weights)
        self.now = now
        self.random = random.Random(config.seed if seed is None else seed)
        self.scores = at("score", "preFilter", "preScore")
        self.pre_scores = at("preScore")
        self.sampler = Sampler(
            cluster,
            sampling or config.sampling,
            config.percentage_of_nodes_to_score,
            self.random,
            scores=bool(self.scores) or any(extender.filters or extender.prioritizes for extender in extenders),
        )
        self.tie_breaker = TieBreaker(cluster, tie_break, self.random)
        self.pre_enqueues = at("preEnqueue")
        self.filters = at("filter", "preFilter")
        listed = at("preFilter")
        unlisted = [plugin for plugin in self.filters if plugin not in listed and overrides(plugin, "pre_filter")]
        self.pre_filters = [*listed, *unlisted]
        self.post_filters = at("postFilter")
        reserves = at("reserve", "preFilter", "filter")
        self.reserves = [p for p in reserves if overrides(p, "reserve") or overrides(p, "unreserve")]
        self.permits = at("permit")
        self.pre_binds = at("preBind")
        self.placement_scores = [(plugin, config.placement_weights[plugin.name]) for plugin in at("placementScore")]
        self.makes_placements = bool(points.get("placementGenerate"))
        self.gangs = _follow_groups(cluster, config.gangs)
        sorters = at("queueSort")
        self.queue_sort = sorters[0] if sorters else Plugin(cluster)
        used = [*self.pre_enqueues, *self.pre_filters, *self.filters, *self.post_filters, *self.scores]
        self.plugins: list[Plugin] = list(
            dict.fromkeys([*used, *self.pre_scores, *self.reserves, *self.permits, *self.pre_binds])
        )
        self._notifiers = [plugin for plugin in self.plugins if overrides(plugin, "notices")]
        self._data_readers = [plugin for plugin in self.plugins if overrides(plugin, "data_steps")]
        self._by_name = plugins
        # A user's post-filter or extender may do anything: it is asked every time.
        self.remembers_failures = not extenders and all(
            type(plugin).__module__.startswith(BUILT_IN) for plugin in self.post_filters
        )
        self._apart = any(plugin.per_pod for plugin in self.plugins)
        self._dividers = [plugin for plugin in self.plugins if overrides(plugin, "class_key")]
        for plugin in self.plugins:
            cluster.read_annotations(plugin.annotations)
        for plugin in (*self.plugins, self.queue_sort):
            if plugin.reads & Aspect.TIME:
                cluster.clock.follow(plugin.time_step)
        self._near, self._caching = config.near, caching
        self.diagnoses = diagnoses
        self._answers = AnswerCache(self.plugins)

    @property
    def asks_groups(self) -> bool:
        """Does it depend on a pod's group what comes of a failure, such as whether preemption is tried for the pod?"""
        gangs = self.gangs
        return gangs is not None and bool(gangs.topology or gangs.workload_preemption or self.holds_groups)

    @property
    def holds_groups(self) -> bool:
        """Does a plugin hold groups together, member by member?"""
        return self.gangs is not None and self.gangs.mode in MODE_PLUGINS

    def heed_near_jobs(self) -> None:
        """A job wants to be near another: from now on nodes are scored by that. Until then nobody paid for it."""
        if self._near is None:
            return
        plugin, self._near = guard(self._near.factory(self.cluster, None)), None
        self.cluster.read_annotations(plugin.annotations)
        for part in (self.scores, self.pre_scores, self.plugins):
            part.append(plugin)
        self.weights[plugin.name] = 1
        self._by_name[plugin.name] = plugin
        self._answers = AnswerCache(self.plugins)

    @property
    def starts_jobs(self) -> bool:
        """Are pods that belong together queued, tried and started as one?"""
        return self.gangs is not None and self.gangs.mode == "fairway"

    @property
    def takes_along(self) -> bool:
        """Does a pod that is tried take the others of its group along, as in kube-scheduler?"""
        return self.gangs is not None and self.gangs.mode == "kube"

    def plugin(self, name: str) -> Plugin:
        """The plugin of that name; KeyError if the profile does not have it."""
        return self._by_name[name]

    @property
    def asked_filters(self) -> list[Plugin]:
        """Who may refuse nodes or the pod: the filters in their order, then those that only prepare."""
        names = dict.fromkeys(plugin.name for plugin in (*self.filters, *self.pre_filters))
        return [self._by_name[name] for name in names]

    def state_of(self, plugin: Plugin, pod_class: PodClass) -> Any:
        """What the plugin prepared for pods of that class, as its filter gets it."""
        part = self.answers(pod_class).part_of(plugin.name)
        return None if part is None else part.state

    def hints(self) -> dict[str, Sequence[Hint]]:
        """By plugin name: the events that may help a pod it refused."""
        hints = {plugin.name: plugin.events() for plugin in self.plugins}
        if self.extenders:
            hints[EXTENDER] = (Hint(ClusterEvent(Resource.ANY, Action.ALL)),)  # nobody knows what would help
        return hints

    def classify(self, pod: Pod) -> PodClass:
        """The class under which this profile remembers the pod."""
        if not self._dividers:
            return self.cluster.classify(pod, apart=self._apart)
        extra: Extra = ()
        for plugin in self._dividers:
            if (key := plugin.class_key(pod)) is not None:
                extra += ((plugin.name, key),)
        return self.cluster.classify(pod, apart=self._apart, extra=extra)

    def answers(self, pod_class: PodClass, lazily: bool = False) -> Answers:
        """What is known about a class, brought up to date; lazily: the caller sees to the rows it looks at."""
        if not self._caching:
            pod_class.kept.clear()
            self._answers.clear()
        answers = self._answers.find(pod_class)
        if answers is None:
            answers = Answers(self, pod_class)
            self._answers.add(pod_class, answers, self.cluster.nodes.capacity)
        answers.refresh(lazily)
        return answers

    # -- one pod, step by step ---------------------------------------------------------------------------------------

    def gate(self, pod: Pod) -> tuple[str, Refusal] | None:
        """Who keeps the pod from being tried at all, and why."""
        for plugin in self.pre_enqueues:
            refusal = _answer(plugin.pre_enqueue, pod)
            if refusal is not None:
                return plugin.name, refusal
        return None

    def decide(
        self, pod: Pod, among: NDArray[np.bool_] | None = None, makes_room: bool = True, explains: bool = True
    ) -> Decision:
        """Where should the pod go now? Changes nothing; see `pod_cycle`, also for how it can be confined."""
        try:
            return pod_cycle.decide(self, pod, among, makes_room, explains)
        except PluginError as error:
            self._answers.clear()  # whatever was half worked out
            return Decision(pod, self.cluster.classify(pod), Outcome.ERROR, error=str(error))
        except ExtenderError as error:
            return Decision(pod, self.classify(pod), Outcome.ERROR, error=str(error))  # ours is still good

    def inspect(self, pod: Pod) -> inspection.Inspection:
        """What does every plugin say about every node? Changes nothing."""
        return inspection.inspect(self, pod)

    def score_words(self, pod: Pod) -> dict[str, dict[str, tuple[str, ...]]]:
        """What lies behind the scores of the nodes that fit: by plugin and node, where plugins have words for it."""
        return inspection.score_words(self, pod)

    def fits_on(self, pod: Pod, row: int) -> bool:
        """Would the pod pass the filters on this one node?"""
        return feasibility.fits_on(self, pod, row)

    def data_steps(self, decision: Decision) -> tuple[DataStep, ...]:
        """How near the chosen node is to the pod's data; to be asked before the pod is assumed there."""
        if not self._data_readers or decision.outcome is not Outcome.SCHEDULED:
            return ()
        answers = [_answer(plugin.data_steps, decision.pod_class, decision.row) for plugin in self._data_readers]
        return tuple(step for steps in answers if not isinstance(steps, Refusal) for step in steps)

    def new_notices(self, decision: Decision, told: frozenset[Notice]) -> list[Notice]:
        """What plugins want people to know about the attempt, without what they were told."""
        row = decision.row if decision.outcome is Outcome.SCHEDULED else None
        news: list[Notice] = []
        for plugin in self._notifiers:
            answer = _answer(plugin.notices, decision.pod, decision.pod_class, row)
            if isinstance(answer, Refusal):
                logger.error("%s", ", ".join(answer.reasons))  # a plugin broke: no reason to stop the pod
            else:
                news += answer
        return [notice for notice in dict.fromkeys(news) if notice not in told]

    def assume(self, decision: Decision, pod: Pod | None = None) -> Stop | None:
        """The pod (or a newer version of it) counts on its node from now on; plugins take what else it needs.

        All is undone if one of them refuses. `placing` tells what comes before and after.
        """
        pod, pod_class, row = pod or decision.pod, decision.pod_class, decision.row
        self.cluster.assume(pod, pod_class, row)
        for plugin in self.reserves:
            refusal = _answer(plugin.reserve, pod, pod_class, row)
            if refusal is not None:
                self.release(pod, pod_class, row)
                return Stop("Reserve", plugin.name, refusal)
        return None

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Stop | Hold | None:
        """May the pod be bound now? A refusal undoes the reservation; waits keep it."""
        if not self.permits:
            return None
        waits: dict[str, float] = {}
        reasons: tuple[str, ...] = ()
        for plugin in self.permits:
            answer = _answer(plugin.permit, pod, pod_class, row)
            if isinstance(answer, Refusal):
                self.release(pod, pod_class, row)
                return Stop("Permit", plugin.name, answer)
            if answer is not None:
                waits[plugin.name], reasons = answer.timeout_seconds, answer.reasons
        return Hold(waits, reasons) if waits else None

    def pre_bind(self, decision: Decision) -> Stop | tuple[PreBind, ...]:
        """What has to be done before the pod is bound, in this order. A refusal undoes the reservation."""
        preparations: tuple[PreBind, ...] = ()
        for plugin in self.pre_binds:
            answer = _answer(plugin.pre_bind, decision.pod, decision.pod_class, decision.row)
            if isinstance(answer, Refusal):
                self.release(decision.pod, decision.pod_class, decision.row)
                return Stop("PreBind", plugin.name, answer)
            if answer is not None:
                ask = partial(_answer, plugin.pre_bind, decision.pod, decision.pod_class, decision.row)
                preparations = (*preparations, PreBind(plugin.name, answer, ask))
        return preparations

    def release(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """Take a reservation back, in the reverse order."""
        for plugin in reversed(self.reserves):
            if isinstance(broken := _answer(plugin.unreserve, pod, pod_class, row), Refusal):
                logger.error("%s", ", ".join(broken.reasons))  # the others still give back what they took
        self.cluster.forget(pod.metadata.uid)


def _follow_groups(cluster: Cluster, gangs: Gangs | None) -> Gangs | None:
    """Have the cluster keep books of pods that belong together, if the profile looks at them so."""
    if gangs is not None:
        cluster.follow_groups(GroupReading((gangs.prefix,) if gangs.prefix else ()))
    return gangs


def _answer(ask: Callable[..., T], *about: Any) -> T | Refusal:
    """What a plugin says; if it breaks, that is an error of this pod's attempt, and no more."""
    try:
        return ask(*about)
    except PluginError as error:
        return Refusal((str(error),), Code.ERROR)


def _stand_in(plugin: Plugin, point: str, missing: Sequence[str]) -> Plugin:
    """Who takes the plugin's part at a point, given the steps before it that it misses; as a rule, the plugin."""
    others = (plugin.unprepared(point, step) for step in missing)
    return next((other for other in others if other is not plugin), plugin)


def _make_all(config: ProfileConfig, cluster: Cluster) -> dict[str, Plugin]:
    """The plugins by name, each told of the taints that another one judges."""
    plugins = {name: _make(name, config, cluster) for name in config.entries}
    judged = dict.fromkeys(key for plugin in plugins.values() for key in plugin.judged_taints)
    for plugin in plugins.values() if judged else ():
        plugin.borne = tuple(Toleration(key=key, operator="Exists") for key in judged)
    return plugins


def _make(name: str, config: ProfileConfig, cluster: Cluster) -> Plugin:
    try:
        plugin = config.entries[name].factory(cluster, config.args.get(name))
    except Exception as error:  # a user's plugin may fail in any way
        raise PluginError(f"plugin {name} can not be made: {type(error).__name__}: {error}") from error
    if plugin.name != name:  # a user's plugin, listed as module:Class, goes by that name throughout
        setattr(plugin, "name", name)  # noqa: B010 - a class variable, on purpose overridden on the instance
    return guard(plugin)
