"""A plugin from a plain function over one pod and one node.

In: the function, which a user wrote. Out: a `Plugin` class that asks it about every row. Simple, and as slow as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway.cluster import Nodes, PodClass
from fairway.model import Node, Pod
from fairway.plugin.contract import Plugin
from fairway.plugin.verdicts import Refusal

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["per_node"]

Verdict = bool | str | int | float | None


def per_node(function: Callable[[Pod, Node], Verdict]) -> type[Plugin]:
    """A plugin from a plain function over one pod and one node: simple, and as slow as Python is.

    Annotated `-> int` or `-> float` it scores. Otherwise it filters: True or None means that the node fits, False or a
    string (why not) that it does not.
    """
    wanted = function.__annotations__.get("return")
    scores = wanted in (int, float, "int", "float")

    def judge(pod: PodClass, nodes: Nodes) -> list[Verdict]:
        # A row whose node is gone has no name, and nothing to judge.
        return [function(pod.pod, node) if node.name else None for node in nodes.objects]

    def filter_rows(self: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        verdicts = judge(pod, nodes)
        if any(isinstance(v, int | float) and not isinstance(v, bool) for v in verdicts):
            raise TypeError(f"{function.__name__} returned a number: annotate it `-> int` if it is to score")
        return np.array([verdict is None or verdict is True for verdict in verdicts], bool)

    def explain_rows(self: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[Refusal]:
        words = (v if isinstance(v, str) else f"node(s) were refused by {self.name}" for v in judge(pod, nodes))
        return [Refusal((word,)) for word in words]

    def score_rows(self: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        return np.array([int(verdict or 0) for verdict in judge(pod, nodes)], np.int64)

    methods: dict[str, Any] = {"score": score_rows} if scores else {"filter": filter_rows, "explain": explain_rows}
    name = "".join(part.capitalize() for part in function.__name__.split("_"))
    return type(name, (Plugin,), {"name": name, "__doc__": function.__doc__, "per_pod": True, **methods})
