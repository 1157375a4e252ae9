"""A folder with the openb trace: node lists, pod lists, recorded arrival orders and tie-break ranks.

In: the folder, and which trace and seed. Out: `OrderedWorkload`s for `ordered_cluster`: the nodes in the order in
which ties go to them, the pods sorted by name, and who arrives when. Orders are the recorded ones, one's own file, or
drawn from a seed of ours, which gives other orders than the recorded ones of the same number. What is not there is a
`DecodeError` that says where the data can be had. Called by `conformance --openb` and by experiments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairway.model import DecodeError, Node, Pod
from fairway.trace import OpenbOptions, read_openb
from fairway.trace.openb import GPU_COUNT, GPU_MILLI
from fairway.trace.openb_order import draw_order, draw_ranks, find_file, read_order, read_ranks, recorded_seeds

__all__ = ["SOURCE", "OpenbData", "OrderedWorkload"]

SOURCE: Final = "https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023"
LIST: Final = re.compile(r"openb_pod_list_(.+)\.csv(\.gz)?")
NODE_LISTS: Final = ("openb_node_list_gpu_node.csv", "openb_node_list_all_node.csv")
DEVICE: Final = 1000  # milli


@dataclass(frozen=True)
class OrderedWorkload:
    """Nodes, pods, and the order in which the pods arrive."""

    trace: str
    seed: int
    nodes: list[Node]  # of equally good ones the first is taken
    pods: list[Pod]  # sorted by name
    order: NDArray[np.int32]  # (num_arrivals,) numbers into pods; a second time is a copy
    capacity: int  # milli of all devices


class OpenbData:
    """What a folder has; files are read when they are asked for, and the last few kept."""

    def __init__(self, folder: str | Path, node_list: str = "") -> None:
        self.folder = Path(folder)
        self._node_list = node_list
        self._nodes: list[Node] | None = None
        self._pods = lru_cache(maxsize=4)(self._read_pods)

    def traces(self) -> list[str]:
        """The names of the pod lists: `default` for openb_pod_list_default.csv."""
        if not self.folder.is_dir():
            return []
        return sorted(match[1] for path in self.folder.iterdir() if (match := LIST.fullmatch(path.name)))

    def recorded_seeds(self, trace: str) -> list[int]:
        """The seeds whose arrival order was recorded."""
        path = self._order_file(trace)
        return [] if path is None else recorded_seeds(path)

    def nodes(self) -> list[Node]:
        """The nodes that have devices, sorted by name."""
        if self._nodes is None:
            path = self._node_file()
            nodes = [node for node in read_openb(path, strict=True).nodes if GPU_COUNT in node.status.allocatable]
            if not nodes:
                raise DecodeError("has no node with devices", source=str(path))
            self._nodes = sorted(nodes, key=lambda node: node.metadata.name)
        return self._nodes

    def pods(self, trace: str) -> list[Pod]:
        """The pods of a list, sorted by name."""
        return self._pods(trace)

    def missing(self, trace: str, seed: int) -> str:
        """Why a recorded run cannot be made from what is here; "" if it can."""
        if trace not in self.traces():
            return f"there is no openb_pod_list_{trace}.csv in {self.folder}"
        order = self._order_file(trace)
        if order is None:
            return f"there is no order/arrivals_{trace}.csv.gz in {self.folder}"
        if seed not in recorded_seeds(order):
            return f"{order} has no column seed{seed}, and a seed of our own gives another order"
        ranks = self._rank_file()
        if ranks is None:
            return f"there is no order/node_rank.csv.gz in {self.folder}"
        try:
            read_ranks(ranks, f"{trace}:{seed}", ())
        except KeyError:
            return f"{ranks} has no column {trace}:{seed}"
        return ""

    def recorded(self, trace: str, seed: int) -> OrderedWorkload:
        """A run as it was recorded; `missing` says beforehand whether there is one."""
        if problem := self.missing(trace, seed):
            raise DecodeError(problem)
        path, ranks = self._order_file(trace), self._rank_file()
        assert path is not None
        assert ranks is not None
        pods, nodes = self.pods(trace), self.nodes()
        order = read_order(path, seed, [pod.metadata.name for pod in pods])
        rank = read_ranks(ranks, f"{trace}:{seed}", [node.metadata.name for node in nodes])
        return self._workload(trace, seed, order, rank)

    def drawn(self, trace: str, seed: int, load: float) -> OrderedWorkload:
        """A run of our own: shuffled, and copied until the pods ask for `load` times the devices there are."""
        amounts = np.array([device_amounts(pod) for pod in self.pods(trace)], np.int64).reshape(-1, 2)
        order = draw_order(amounts[:, 0], amounts[:, 1], load * self.capacity(), seed)
        return self._workload(trace, seed, order, draw_ranks(len(self.nodes()), seed))

    def from_file(self, trace: str, seed: int, path: str | Path) -> OrderedWorkload:
        """A run in the order of a file, with ranks drawn from the seed."""
        order = read_order(path, seed, [pod.metadata.name for pod in self.pods(trace)])
        return self._workload(trace, seed, order, draw_ranks(len(self.nodes()), seed))

    def capacity(self) -> int:
        """Milli of all devices together."""
        return sum(node.status.allocatable[GPU_COUNT].value for node in self.nodes()) * DEVICE

    def _workload(self, trace: str, seed: int, order: NDArray[np.int32], rank: NDArray[np.int32]) -> OrderedWorkload:
        nodes = self.nodes()
        ranked = [nodes[place] for place in np.argsort(rank, kind="stable").tolist()]
        return OrderedWorkload(trace, seed, ranked, self.pods(trace), order, self.capacity())

    def _read_pods(self, trace: str) -> list[Pod]:
        arrivals = read_openb(None, self._pod_file(trace), OpenbOptions(times="order"), strict=True).arrivals
        return sorted((one.object for one in arrivals), key=lambda pod: str(pod.metadata.name))

    def _node_file(self) -> Path:
        names = (self._node_list,) if self._node_list else NODE_LISTS
        path = next((found for name in names if (found := find_file(self.folder, name))), None)
        if path is None:
            raise DecodeError(f"has no {names[0]}; {self._where()}", source=str(self.folder))
        return path

    def _pod_file(self, trace: str) -> Path:
        path = find_file(self.folder, f"openb_pod_list_{trace}.csv")
        if path is None:
            known = f"it has {', '.join(self.traces())}" if self.traces() else self._where()
            raise DecodeError(f"has no openb_pod_list_{trace}.csv; {known}", source=str(self.folder))
        return path

    def files(self, trace: str) -> list[Path]:
        """What the nodes and pods of a trace are read from; `DecodeError` if one is not there."""
        return [self._node_file(), self._pod_file(trace)]

    def order_files(self, trace: str) -> list[Path]:
        """What recorded orders and ranks are read from, as far as it is there."""
        return [path for path in (self._order_file(trace), self._rank_file()) if path is not None]

    def _order_file(self, trace: str) -> Path | None:
        return find_file(self.folder / "order", f"arrivals_{trace}.csv")

    def _rank_file(self) -> Path | None:
        return find_file(self.folder / "order", "node_rank.csv")

    def _where(self) -> str:
        there = "" if self.folder.is_dir() else "there is no such folder; "
        return f"{there}the openb trace is at {SOURCE}: its csv folder is what is wanted here"


def device_amounts(pod: Pod) -> tuple[int, int]:
    """What a pod of the trace asks of one device, and of all, in milli."""
    said = pod.metadata.annotations
    milli = int(said.get(GPU_MILLI, 0))
    return milli, milli * int(said.get(GPU_COUNT, 0))
