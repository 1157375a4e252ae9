"""Where the time goes: what each plugin uses at each extension point.

In: a profile's plugins and a `PluginTimer`. Out: the same plugins, of classes that tell the timer what every call took.
A profile without a timer has plain plugins, so nobody pays for a clock that nobody reads. `PluginTimes` adds the calls
up, for a recording; metrics of a live scheduler may take each call as it comes. Called by `Profile`.

A call counts what the plugin did itself: preemption asks other plugins' filters, which count as theirs. So the times of
all plugins add up, and to less than what the attempts took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from time import thread_time
from typing import Any, Final, NamedTuple, Protocol

from fairway.plugin import Plugin

__all__ = ["POINTS", "PluginTimer", "PluginTimes", "Spent", "timed"]

POINTS: Final = {
    "pre_enqueue": "PreEnqueue",
    "pre_filter": "PreFilter",
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "filter": "Filter",
    "explain": "Filter",  # kube-scheduler's filters give their reasons at once
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "normalize_scores": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
    "pre_bind": "PreBind",
}
"""A plugin's methods, and what the metrics of kube-scheduler 1.36 call the extension point (metrics/metrics.go)."""


class PluginTimer(Protocol):
    """Who is told what plugins use."""

    def now(self) -> float:
        """Seconds on the clock that is to be used; only differences matter."""

    def spent(self, plugin: str, point: str, seconds: float) -> None:
        """A plugin was called once at that extension point, and used so much itself."""


class Spent(NamedTuple):
    """What a plugin used at one extension point."""

    plugin: str
    point: str
    num_calls: int
    seconds: float


class PluginTimes:
    """A timer that adds up until somebody takes the sums; on the CPU time of the thread unless told otherwise."""

    def __init__(self, now: Callable[[], float] = thread_time) -> None:
        self.now = now
        self.is_counting = True  # False while plugins are asked by somebody who only looks
        self._sums: dict[tuple[str, str], list[float]] = {}  # calls and seconds

    def spent(self, plugin: str, point: str, seconds: float) -> None:
        """Add a call."""
        if not self.is_counting:
            return
        sums = self._sums.get((plugin, point))
        if sums is None:
            self._sums[plugin, point] = [1, seconds]
        else:
            sums[0] += 1
            sums[1] += seconds

    def add(self, times: Iterable[Spent]) -> None:
        """Add what another timer counted."""
        for plugin, point, calls, seconds in times:
            sums = self._sums.setdefault((plugin, point), [0, 0.0])
            sums[0] += calls
            sums[1] += seconds

    def take(self) -> list[Spent]:
        """The sums since they were last taken, in the order of the first calls."""
        sums, self._sums = self._sums, {}
        return [Spent(plugin, point, int(calls), seconds) for (plugin, point), (calls, seconds) in sums.items()]


def timed(plugins: Iterable[Plugin], timer: PluginTimer) -> None:
    """Time these plugins, of one profile, from now on at the extension points where they take part."""
    inner = [0.0]
    for plugin in plugins:
        kind = type(plugin)
        own = {
            name: _timed(getattr(kind, name), point, timer, inner)
            for name, point in POINTS.items()
            if getattr(kind, name) is not getattr(Plugin, name)
        }
        plugin.__class__ = type(kind.__name__, (kind,), {"__module__": kind.__module__, "name": kind.name, **own})


def _timed(method: Callable[..., Any], point: str, timer: PluginTimer, inner: list[float]) -> Callable[..., Any]:
    """`inner[0]` is what the calls within the one that is running took; a profile runs one at a time."""
    now, spent = timer.now, timer.spent

    @wraps(method)
    def call(self: Plugin, *args: Any) -> Any:
        before, inner[0] = inner[0], 0.0
        begun = now()
        try:
            return method(self, *args)
        finally:
            taken = now() - begun
            spent(self.name, point, taken - inner[0])
            inner[0] = before + taken

    return call
