"""A plugin whose preparation a configuration leaves out.

In kube-scheduler a plugin can be disabled at preFilter or preScore and left enabled at filter, score or reserve. Some
plugins then work out what they miss; most fail, in words of their own, on every node they are asked about. `Unprepared`
stands in for those; `Plugin.unprepared` of the real one makes it, and a profile puts it where the real one would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.plugin import Aspect, Code, Hint, Nodes, Plugin, PodClass, Refusal

__all__ = ["Unprepared"]


class Unprepared(Plugin):
    """Fails wherever it is asked."""

    reads = Aspect.NODE

    def __init__(self, plugin: Plugin, words: str) -> None:
        super().__init__(plugin.cluster, plugin.args)
        setattr(self, "name", plugin.name)  # noqa: B010 - a class variable, on purpose overridden on the instance
        self._plugin = plugin
        self._failure = Refusal((words,), Code.ERROR)

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """No node can be judged."""
        return np.zeros(len(nodes), bool)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """Why not."""
        return self._failure

    def may_fail(self, state: Any) -> bool:
        """It always does."""
        return True

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Refusal:
        """Scores can not be given either."""
        return self._failure

    def reserve(self, pod: Any, pod_class: PodClass, row: int) -> Refusal:
        """Nor can anything be reserved."""
        return self._failure

    def events(self) -> Sequence[Hint]:
        """As the real one."""
        return self._plugin.events()
