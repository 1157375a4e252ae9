"""DataLocality: puts pods near the datasets they use, unless whoever serves them is overloaded.

A pod names its datasets (`fairway.model.data_need`); objects and labels of nodes tell where copies are
(`fairway.cluster.datasets`). The nearer a copy by the ladder of labels, and the less busy its node, the higher the
score. In mode `require`, and where data can be read only on the nodes that hold it, nodes too far away are refused; a
required dataset that is not there yet keeps the pod waiting until it is. Pods without datasets are of no concern here.
Also known as CacheAwarePlugin, after the example that comes with Datashim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster.datasets.data_copies import DataCopies, find_copies
from fairway.cluster.datasets.data_ground import DataGround
from fairway.model import Pod
from fairway.model.data_need import DATA, DATA_MODE, DataNeed, data_need, is_data_label
from fairway.model.dataset import Dataset, DatasetInternal
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    DataStep,
    Hint,
    Locality,
    Nodes,
    Notice,
    Plugin,
    PodClass,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    Skip,
)
from fairway.plugins.data_distance import Rungs
from fairway.plugins.data_locality_args import DataLocalityArgs
from fairway.plugins.data_use import DataUse
from fairway.plugins.data_words import data_lines, data_steps

MOST_DATASETS: Final = 20_000
"""Of so many datasets at most it is remembered where they are."""


class ClassData:
    """What is kept for a pod class."""

    __slots__ = ("moment", "need", "refusal", "seen", "use")

    def __init__(self, need: DataNeed) -> None:
        self.need = need
        self.seen = (-1, -1)  # versions of the nodes and of all data when it was last looked at
        self.moment: tuple[int, ...] = ()  # versions of the nodes and of its own data
        self.use: DataUse | None = None
        self.refusal: Refusal | None = None


class DataLocality(Plugin):
    """Near the data."""

    annotations: ClassVar[tuple[str, ...]] = (DATA, DATA_MODE)
    Args = DataLocalityArgs
    args: DataLocalityArgs
    locality: ClassVar[Locality] = Locality.CLUSTER  # the load of a copy's node counts everywhere
    reads: ClassVar[Aspect] = Aspect.NODE | Aspect.PODS | Aspect.DATA
    refused_word: ClassVar[str] = "far from data"

    def __init__(self, cluster: Cluster, args: DataLocalityArgs | None = None) -> None:
        super().__init__(cluster, args)
        self._ground = DataGround(cluster)
        self._rungs: Rungs | None = None
        self._copies: dict[tuple[str, str], tuple[tuple[int, int], DataCopies]] = {}

    # -- which nodes ---------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> DataUse | Refusal | Skip:
        kept = self._kept(pod)
        if not kept.need.names:
            return SKIP
        use = self._refresh(pod, kept)
        if kept.refusal is not None:
            return kept.refusal
        return use if use.strict else SKIP

    def filter(self, pod: PodClass, nodes: Nodes, state: DataUse) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = nodes.of(state.passes())
        return mask

    def explain(self, pod: PodClass, nodes: Nodes, state: DataUse) -> Sequence[Refusal]:
        return [Refusal((f'node(s) had no copy of dataset "{name}" near enough',)) for name in _lacking(nodes, state)]

    def funnel_words(self, pod: PodClass, nodes: Nodes, state: DataUse) -> Sequence[str]:
        return [f"no copy of {name} near enough" for name in _lacking(nodes, state)]

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Data that is only preferred nearby; else each dataset left out in turn."""
        kept = self._kept(pod_class)
        if (kept.need.mode or self.args.mode) == "require":
            yield Relaxation(f"with {DATA_MODE}: prefer", _annotated(pod, {DATA_MODE: "prefer"}))
        for name in kept.need.names:
            yield Relaxation(f"without dataset {name}", _without(pod, name))

    # -- which node ----------------------------------------------------------------------------------------------

    def pre_score(self, pod: PodClass, nodes: Nodes) -> DataUse | Skip:
        kept = self._kept(pod)
        return self._refresh(pod, kept) if kept.need.names else SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: DataUse) -> NDArray[np.int64]:
        return state.scores(nodes.rows)

    def explain_score(self, pod: PodClass, nodes: Nodes, state: DataUse) -> Sequence[Sequence[str]]:
        return [data_lines(self.cluster, state, row) for row in nodes.numbers.tolist()]

    # -- for people ----------------------------------------------------------------------------------------------

    def notices(self, pod: Pod, pod_class: PodClass, row: int | None) -> Sequence[Notice]:
        """What makes no sense, and what the pod was placed without."""
        kept = self._kept(pod_class)
        notices = []
        if kept.need.problems:
            notices.append(Notice("DataIgnored", f"Ignored: {'; '.join(kept.need.problems)}"))
        if row is not None and kept.need.names:
            missing = _missing(self._refresh(pod_class, kept).copies)
            if missing:
                where = self.cluster.nodes.names[row]
                notices.append(Notice("DataMissing", f"Placed on {where} though {', '.join(missing)}"))
        return notices

    def data_steps(self, pod: PodClass, row: int) -> Sequence[DataStep]:
        kept = self._kept(pod)
        return data_steps(self.cluster, self._refresh(pod, kept), row) if kept.need.names else ()

    # -- what is kept --------------------------------------------------------------------------------------------

    def _kept(self, pod: PodClass) -> ClassData:
        kept: ClassData | None = pod.kept.get(self)
        if kept is None:
            kept = pod.kept[self] = ClassData(data_need(pod.labels, pod.annotations))
        return kept

    def _refresh(self, pod: PodClass, kept: ClassData) -> DataUse:
        """What the class's data means now: as before if neither nodes nor its datasets changed."""
        seen = (self._ground.refresh(), self.cluster.versions.of(Aspect.DATA))
        if kept.use is not None and kept.seen == seen:
            return kept.use
        kept.seen = seen
        versions = [self._version(pod.namespace, name) for name in kept.need.names]
        moment = (seen[0], *versions)
        if kept.use is None or kept.moment != moment:
            kept.moment = moment
            copies = {
                name: self._copies_of(pod.namespace, name, version)
                for name, version in zip(kept.need.names, versions, strict=True)
            }
            requires = (kept.need.mode or self.args.mode) == "require"
            kept.use = DataUse(self.args, self._ground, self._laid(), copies, requires)
            missing = _missing(copies) if requires else ()
            kept.refusal = Refusal(missing, Code.PENDING) if missing else None
        return kept.use

    def _version(self, namespace: str, name: str) -> int:
        known = self.cluster.datasets.find(namespace, name)
        return 0 if known is None else known.version

    def _laid(self) -> Rungs:
        if self._rungs is None or self._rungs.version != self._ground.version:
            self._rungs = Rungs(self._ground, self.args.ladder)
        return self._rungs

    def _copies_of(self, namespace: str, name: str, version: int) -> DataCopies:
        found = self._copies.get((namespace, name))
        if found is None or found[0] != (self._ground.version, version):
            if len(self._copies) >= MOST_DATASETS:
                self._copies.clear()
            found = (self._ground.version, version), find_copies(self.cluster, self._ground, namespace, name)
            self._copies[namespace, name] = found
        return found[1]

    # -- waiting -------------------------------------------------------------------------------------------------

    def events(self) -> Sequence[Hint]:
        data = (Resource.DATASET, Resource.DATASET_INTERNAL)
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_CONDITION
        return (
            *(Hint(ClusterEvent(resource, Action.ALL), _is_about) for resource in data),
            Hint(ClusterEvent(Resource.NODE, nodes), _node_helps),
            Hint(ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE), _is_itself),
        )


def _lacking(nodes: Nodes, state: DataUse) -> list[str]:
    """For each node that was refused: the first dataset of which no copy is near enough."""
    near = [(name, nodes.of(mask).tolist()) for name, mask in state.near.items()]
    return [next((name for name, mask in near if not mask[place]), "") for place in range(len(nodes))]


def _missing(copies: dict[str, DataCopies]) -> tuple[str, ...]:
    """What is not there yet, in words."""
    reasons = []
    for name, one in copies.items():
        if not one.exists:
            reasons.append(f'dataset "{name}" does not exist')
        elif one.unready:
            reasons.append(f'dataset "{name}" is not ready: {one.unready}')
    return tuple(reasons)


def _need_of(pod: Pod) -> DataNeed:
    return data_need(pod.metadata.labels, pod.metadata.annotations)


def _is_about(pod: Pod, change: Change) -> bool:
    """Is it one of the pod's datasets?"""
    thing: Dataset | DatasetInternal = change.old if change.new is None else change.new
    meta = thing.metadata
    return meta.namespace == pod.metadata.namespace and meta.name in _need_of(pod).names


def _node_helps(pod: Pod, change: Change) -> bool:
    """Where nodes come, go, are ready again or called otherwise, copies may be near that were not."""
    return bool(_need_of(pod).names)


def _is_itself(pod: Pod, change: Change) -> bool:
    return change.new is not None and change.new.metadata.uid == pod.metadata.uid


def _annotated(pod: Pod, annotations: dict[str, str]) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, annotations={**pod.metadata.annotations, **annotations})
    return msgspec.structs.replace(pod, metadata=metadata)


def _without(pod: Pod, name: str) -> Pod:
    """The pod, naming one dataset less."""
    meta = pod.metadata
    labels = {key: value for key, value in meta.labels.items() if not (is_data_label(key) and value == name)}
    annotations = dict(meta.annotations)
    if DATA in annotations:
        left = [part for part in annotations.pop(DATA).split(",") if part.strip() != name]
        annotations |= {DATA: ",".join(left)} if left else {}
    metadata = msgspec.structs.replace(meta, labels=labels, annotations=annotations)
    return msgspec.structs.replace(pod, metadata=metadata)
