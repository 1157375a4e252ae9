"""What each attempt's plugins took, as metrics.

In: every plugin's calls (it is a `PluginTimer`, given to `Scheduler`) and the end of every attempt. Out: durations
per extension point of every attempt, per plugin of every tenth, and counts of who took part: kube-scheduler's metrics
of the same names. A plugin whose answers for a class of pods still hold is not asked again, and then neither timed
nor counted.
"""

from __future__ import annotations

import time

from fairway.cycle import Decision, Outcome
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.plugin import Code

__all__ = ["AttemptTimes"]

SAMPLE_EVERY = 10
"""kube-scheduler times the plugins of a tenth of the attempts."""

EVALUATED = frozenset(("PreFilter", "Filter", "PreScore", "Score"))


class AttemptTimes:
    """Adds up what plugins take until the attempt ends."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self.now = time.perf_counter
        self._metrics = metrics
        self._sums: dict[tuple[str, str], float] = {}
        self._attempts = 0

    def spent(self, plugin: str, point: str, seconds: float) -> None:
        """A plugin was called."""
        key = (plugin, point)
        self._sums[key] = self._sums.get(key, 0.0) + seconds

    def attempt_ended(self, profile: str, decision: Decision) -> None:
        """Tell the metrics of everything since the attempt before."""
        sums, self._sums = self._sums, {}
        metrics = self._metrics
        points: dict[str, float] = {}
        sampled = self._attempts % SAMPLE_EVERY == 0
        self._attempts += 1
        for (plugin, point), seconds in sums.items():
            points[point] = points.get(point, 0.0) + seconds
            if point in EVALUATED:
                metrics.plugin_evaluated(profile, plugin, point)
            if sampled:
                metrics.plugin_ran(plugin, point, _status(point, plugin, decision), seconds)
        for point, seconds in points.items():
            metrics.extension_point(profile, point, _status(point, "", decision), seconds)


def _status(point: str, plugin: str, decision: Decision) -> str:
    """How the extension point, or one plugin there, ended."""
    if decision.outcome is Outcome.ERROR and point in ("PreFilter", "Filter"):
        return "Error"
    if point == "PostFilter":
        preemption = decision.preemption
        return "Success" if preemption is None or preemption.code is None else preemption.code.value
    if decision.outcome is not Outcome.UNSCHEDULABLE or point not in ("PreFilter", "Filter"):
        return "Success"
    diagnosis = decision.diagnosis
    pre_filter = None if diagnosis is None else diagnosis.pre_filter
    if point == "PreFilter":
        refused = pre_filter is not None and plugin in ("", pre_filter[0])
        return pre_filter[1].code.value if refused and pre_filter is not None else "Success"
    blamed = not plugin or plugin in decision.unschedulable_plugins
    return Code.UNSCHEDULABLE.value if blamed and pre_filter is None else "Success"
