"""The writer of runs: what happens goes into buffers, and from there, a chunk at a time, into a DuckDB file.

In: calls from a world, in order of time (`Recorder` documents them). Out: a file that `Run` opens, with the tables of
`schema`; it has another name until it is whole. A call appends a tuple or two; everything else waits until a buffer is
full. What the options leave out is named in the run's `meta`. A disk that refuses is an error; with `Patience`, for a
world that does not wait, rows are kept in memory until it takes them, and what memory can not hold is a counted gap.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairway import __version__
from fairway.batch.settings import read_settings
from fairway.model import ApiObject, Node, Pod, encode_json, kind_title
from fairway.record.errors import RecordError
from fairway.record.options import RecordOptions
from fairway.record.schedulers import RecordedScheduler
from fairway.record.schema import SCHEMA_VERSION, Origin
from fairway.record.vocabulary import DataRead, HoldEnd, IntervalEnd, NodeChange, NodeEnd, ObjectVerb, PodEnd
from fairway.record.writing.anonymous_rows import AnonymousRows
from fairway.record.writing.kept import kept
from fairway.record.writing.live_jobs import gang_prefixes
from fairway.record.writing.live_pods import LivePod, Templates
from fairway.record.writing.queue_writer import QueueWriter
from fairway.record.writing.row_writer import Patience

__all__ = ["RunWriter"]


class RunWriter(QueueWriter):
    """The `Recorder` that writes a run. Use it in a `with` block: an exception leaves a run that is marked incomplete.

    Without `patience` a file that can not be written raises `CannotWriteError` at once. With it nothing is raised
    until the end; whoever has the writer calls `flush(again=True)` now and then. An `anonymous` run names nobody.
    `source` says what the run was made from, if that is neither a simulation nor a cluster.
    """

    def __init__(  # noqa: PLR0913 - what a run says about itself, each by name
        self,
        path: str | os.PathLike[str],
        *,
        scenario: Mapping[str, Any],
        seed: int,
        schedulers: Sequence[RecordedScheduler] = (),
        origin: Origin = "simulated",
        policies: Sequence[str] = (),
        options: RecordOptions | None = None,
        source: Mapping[str, Any] | None = None,
        patience: Patience | None = None,
        anonymous: bool = False,
        began: float | None = None,
    ) -> None:
        options = options or RecordOptions()
        meta: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "fairway_version": __version__,
            "origin": origin,
            "anonymous": anonymous,
            "scenario": scenario,
            "schedulers": [scheduler.document() for scheduler in schedulers],
            "seed": seed,
            "policies": list(policies),
            "options": asdict(options),
            "complete": False,
        }
        if source is not None:
            meta["source"] = source
        if began is not None:
            meta["began"] = began
        texts = {key: json.dumps(value) for key, value in meta.items()}  # before a file is made: it may not be JSON
        change = AnonymousRows() if anonymous else None
        super().__init__(Path(path), options, gang_prefixes(schedulers), change)
        for scheduler in schedulers:
            if scheduler.batch is not None:
                self._jobs.learn(read_settings(scheduler.batch))
        self._templates = Templates(self._file.resources)
        self._num_pods = 0
        self._intervals = self._buffers["occupancy"].rows
        self._begin(texts, patience)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def node_added(self, t: float, node: Node) -> None:
        """A node is there from now on."""
        self._nodes.add(t, node)

    def node_changed(self, t: float, node: Node, what: NodeChange) -> None:
        """A node is different from now on; the state before it is written."""
        row = self._nodes.change(t, node, what)
        if row is not None:
            self._append("nodes", row)

    def node_gone(self, t: float, name: str, why: NodeEnd) -> None:
        """A node is no more."""
        self._append("nodes", self._nodes.remove(t, name, why))

    # -- pods --------------------------------------------------------------------------------------------------------

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        """A pod is there, waiting for that scheduler (empty: for none). Returns its number in the run."""
        uid = pod.metadata.uid
        if uid in self._pods.by_uid:
            raise RecordError(f"pod {pod.key} (uid {uid}) is there already")
        live = LivePod.of(self._num_pods, pod, scheduler, t, self._jobs.prefixes)
        self._templates.assign(live, pod)
        live.job = self._jobs.join(t, pod, live.user)
        self._pods.by_uid[uid] = live
        self._num_pods += 1
        if len(self._pods.ended) >= self._chunk or self._templates.is_full:
            self.flush()
        return live.number

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        """A pod is bound to a node, and to these of its devices: its interval opens."""
        live = self._pods.by_uid.get(uid)
        if live is None:
            raise RecordError(f"there is no pod with the uid {uid} to bind to {node}")
        if live.bound is not None:
            raise RecordError(f"pod {live.key} is bound to {live.node} already")
        live.node_id = self._nodes.number_of(node)
        live.node, live.gpu_index = node, gpu_index
        live.bound = live.held_since = t
        if live.job is not None:
            self._jobs.bind(t, uid, node)
        if live.lone is not None:
            self._lone_bound(t, live.lone)
        if live.hold is not None:
            self._end_hold(t, live, HoldEnd.BOUND)

    def changed(self, t: float, pod: Pod) -> None:
        """A pod that waits is another than before."""
        live = self._pods.by_uid.get(pod.metadata.uid)
        if live is not None:
            self._templates.assign(live, pod)
            live.annotate(pod, self._jobs.prefixes)
            if live.job is not None:
                self._jobs.change(t, pod)

    # Of a pod that has ended nothing more is written, whatever a node that lags behind still tells about it.

    def started(self, t: float, uid: str) -> None:
        """A bound pod runs; only the first start is kept."""
        live = self._pods.by_uid.get(uid)
        if live is not None and live.started is None:
            live.started = t

    def acknowledged(self, t: float, uid: str, start: float) -> None:
        """A pod's kubelet has taken it, at that time by its own clock."""
        live = self._pods.by_uid.get(uid)
        if live is not None:
            live.acknowledged = start

    def leaves(self, t: float, uid: str) -> None:
        """A pod was asked to go; the first time counts."""
        live = self._pods.by_uid.get(uid)
        if live is not None and live.leaving is None:
            live.leaving = t

    def data_read(self, t: float, uid: str, reads: Sequence[DataRead]) -> None:
        """A pod that begins to run reads its datasets from there."""
        if (live := self._pods.by_uid.get(uid)) is not None:
            for dataset, source, rung, *measures in reads:
                row = (t, live.number, live.key, live.node, dataset, source or None, rung or None, *measures)
                self._append("data_reads", row)

    def resized(self, t: float, pod: Pod) -> None:
        """A pod holds something else from now on: its interval is split."""
        live = self._pods.by_uid.get(pod.metadata.uid)
        if live is None:
            return
        before, requests = live.interval(t, IntervalEnd.RESIZED), live.requests
        self._templates.assign(live, pod)
        if live.held_since is not None and live.requests != requests:
            self._intervals.append(before)
            live.held_since = t

    def lost(self, t: float, uid: str) -> None:
        """A pod's node is lost: its interval closes, the pod stays."""
        live = self._pods.by_uid.get(uid)
        if live is not None:
            self._release(t, live, IntervalEnd.NODE_LOST)

    def regained(self, t: float, uid: str) -> None:
        """A pod's node came back with it: an interval opens."""
        live = self._pods.by_uid.get(uid)
        if live is not None and live.node is not None and live.held_since is None:
            live.held_since, live.node_id = t, self._nodes.number_of(live.node)

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        """A pod ended."""
        live = self._pods.by_uid.get(uid)
        if live is None:
            return
        self._release(t, live, reason)
        if live.hold is not None:
            self._end_hold(t, live, HoldEnd.DELETED)
        if live.job is not None:
            self._jobs.end(t, uid, reason)
        if live.lone is not None:
            self._lone_ended(live, reason)
        self._pods.end(live, t, reason)

    def _release(self, t: float, live: LivePod, reason: PodEnd | IntervalEnd) -> None:
        if live.held_since is not None:
            self._intervals.append(live.interval(t, reason))
            live.held_since = None

    # -- everything else ---------------------------------------------------------------------------------------------

    def object_applied(self, t: float, thing: ApiObject) -> None:
        """Something that is no pod and no node was made or changed."""
        self._jobs.apply(t, thing, gone=False)
        self._object(t, thing, ObjectVerb.APPLIED)

    def object_deleted(self, t: float, thing: ApiObject) -> None:
        """It was deleted."""
        self._jobs.apply(t, thing, gone=True)
        self._object(t, thing, ObjectVerb.DELETED)

    def _object(self, t: float, thing: ApiObject, verb: ObjectVerb) -> None:
        if self.options.objects:
            meta, kind = thing.metadata, kind_title(thing.api_version, thing.kind)
            self._append("objects", (t, verb.value, kind, meta.namespace, meta.name, encode_json(kept(thing)).decode()))

    def event(self, t: float, kind: str, subject: str, reason: str, message: str) -> None:
        """People were told something."""
        if self.options.events:
            self._append("events", (t, kind, subject, reason, message))

    # -- what `RowWriter` asks for -----------------------------------------------------------------------------------

    def _gather(self) -> None:
        self._buffers["pods"].rows.extend(self._pods.take_rows())
        self._buffers["templates"].rows.extend(self._templates.take_rows())
        self._buffers["jobs"].rows.extend(self._jobs.take_rows())

    def _gather_open(self) -> None:
        for name, rows in self._open_rows().items():
            self._buffers[name].rows.extend(rows)

    def _open_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """What is there now, as rows without an end, by table."""
        pods = self._pods.by_uid.values()
        return {
            "nodes": list(self._nodes.open_rows()),
            "jobs": self._jobs.open_rows(),
            "occupancy": [live.interval(None, None) for live in pods if live.held_since is not None],
            "holds": [live.kept_room(None, None) for live in pods if live.hold is not None],
            "pods": [live.row() for live in pods],
        }

    def _templates_in_use(self) -> set[int]:
        return set() if self._is_over else {live.template for live in self._pods.by_uid.values()}

    def _forget_templates(self, numbers: set[int]) -> None:
        self._templates.forget(numbers)
