"""Every page, in one place: what holds for all of them is tested for what stands here.

A new page gets a line in `ALL`; a test says so if it has none. Pages are looked at in the runs of `page_runs`: each
line says in which run it is full, and its path holds wherever there is a node and a pod to name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Final, NamedTuple
from urllib.parse import quote

from tests.browser.page_runs import HOSTILE_NAMES, HOSTILE_SPACE

__all__ = ["MODULES", "PAGES", "EveryPage"]

MODULES: Final = frozenset(
    file.name.removeprefix("page_").removesuffix(".js")
    for file in (resources.files("fairway.web") / "static").iterdir()
    if file.name.startswith("page_") and file.name.endswith(".js")
)
"""Pages that there are, by their modules."""

NODES: Final = {"gpus": "openb-node-0000", "hostile": HOSTILE_NAMES[2], "nothing": "n-0"}
PODS: Final = {
    "queues": ("default", "batch-job-0"),
    "gpus": ("default", "openb-pod-0000"),
    "hostile": (HOSTILE_SPACE, f"{HOSTILE_NAMES[0]}never-huge-0"),
}


class EveryPage(NamedTuple):
    """A page, and where to look at it."""

    name: str  # of its module
    path: str  # with {node}, {pod} and {run}
    run: str = "day"  # in which it is full
    empty: str = "nothing"  # in which it has nothing to show; none: there it names files, which are elsewhere each time
    is_single: bool = False  # of one thing, which not every run has

    def within(self, run: str) -> str:
        """Its path in a run."""
        space, pod = PODS.get(run, ("default", "never-huge-0"))
        names: Mapping[str, str] = {"node": NODES.get(run, "n-0"), "pod": f"{quote(space, '')}/{quote(pod, '')}"}
        return self.path.format(run=run, node=quote(names["node"], ""), pod=names["pod"])


ALL: Final = (
    EveryPage("overview", "?run={run}"),
    EveryPage("nodes", "nodes?run={run}"),
    EveryPage("node", "nodes/{node}?run={run}", is_single=True),
    EveryPage("pods", "pods?run={run}"),
    EveryPage("pod", "pods/{pod}?run={run}", is_single=True),
    EveryPage("queue", "queue?run={run}", empty="bare"),
    EveryPage("gpus", "gpus?run={run}", run="gpus", empty="day"),
    EveryPage("plugins", "plugins?run={run}", empty="bare"),
    EveryPage("compare", "compare?run={run}&run=other", empty=""),
    EveryPage("decisions", "decisions?run={run}", empty="bare"),
)
PAGES: Final = tuple(page for page in ALL if page.name in MODULES)
