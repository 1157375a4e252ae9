"""From the paths on the command line to what a trial is about.

In: the paths given with `-f` and `--cluster`. Out: `Manifests`, with notes about what was made, left out or skipped. Pods that
are on a node already belong to the cluster, whichever file they are in; controllers whose pods are in the files
make no more of them. Called by `trial` for the commands `try` and `why`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairway.cli.controller_kinds import CronJob, DaemonSet, Deployment, Job, decode_controller
from fairway.cli.controllers import MAX_PODS, Controller, Wanted, wanted_by
from fairway.cli.main import USAGE, CommandError
from fairway.cli.manifests import Manifests
from fairway.model import (
    ApiObject,
    DecodeError,
    Loaded,
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    Skipped,
    Source,
    StatefulSet,
    compile_selector,
    load_files,
    object_name,
)

__all__ = ["load_manifests"]

Asked = tuple[Pod | Controller, Source]
OWN_KINDS = Deployment | DaemonSet | Job | CronJob
DUMP = "kubectl get nodes,pods,pvc,pv,sc,ns,pdb,priorityclasses -A -o yaml > cluster.yaml"


def load_manifests(files: Sequence[str], cluster_files: Sequence[str]) -> Manifests:
    """Read everything; see the module."""
    passed_over: list[Skipped] = []
    given = load_files(cluster_files, passed_over)
    others: list[Skipped] = []
    asked: list[Asked] = []
    kept: list[Loaded] = []
    notes: list[str] = []
    for thing, source in _in_order(files, others):
        if isinstance(thing, Pod):
            _sort_pod(thing, source, asked, kept, notes)
            continue
        if isinstance(thing, OWN_KINDS | ReplicaSet | StatefulSet | ReplicationController):
            asked.append((thing, source))
        if not isinstance(thing, OWN_KINDS):
            kept.append(Loaded(thing, source))
    objects = _once([*given, *kept], asked)
    nodes = [one.object for one in objects if isinstance(one.object, Node)]
    if not nodes:
        _complain_about_nodes(files, cluster_files)
    wanted = [_checked(thing, source, nodes) for thing, source in _unowned(asked, notes)]
    if not asked:
        hint = "a pod, or something that makes pods: Deployment, StatefulSet, Job, DaemonSet, ..."
        raise CommandError(f"nothing to place in {', '.join(files)}", f"give with -f {hint}")
    if sum(one.num_pods for one in wanted) > MAX_PODS:
        raise CommandError(f"more than {MAX_PODS} pods are too many to try", "try fewer replicas, or use --copies")
    notes += _notes(objects, wanted, nodes, [*passed_over, *others])
    return Manifests(objects, wanted, notes)


def _in_order(files: Sequence[str], others: list[Skipped]) -> Iterator[tuple[ApiObject | OWN_KINDS, Source]]:
    """Everything in the files, as it stands there; what is neither object nor controller goes to `others`."""
    for path in files:
        skipped: list[Skipped] = []
        found: list[tuple[ApiObject | OWN_KINDS, Source]] = [
            (one.object, one.source) for one in load_files([path], skipped)
        ]
        for one in skipped:
            controller = decode_controller(one)
            if controller is None:
                others.append(one)
            else:
                found.append((controller, one.source))
        yield from sorted(found, key=lambda pair: (Path(pair[1].file), pair[1].document, pair[1].item or 0))


def _sort_pod(
    pod: Pod, source: Source, asked: list[Asked], kept: list[Loaded], notes: list[str]
) -> None:
    if pod.is_finished:
        notes.append(f"{object_name(pod)} has {pod.status.phase.lower()} already; it is left out")
    elif pod.spec.node_name:
        notes.append(f"{object_name(pod)} is on {pod.spec.node_name} already; it counts as running there")
        kept.append(Loaded(pod, source))
    else:
        asked.append((pod, source))


def _once(loaded: Sequence[Loaded], asked: Sequence[Asked]) -> list[Loaded]:
    """Without what is there twice letter for letter, as when the same file is given for both."""
    seen: dict[tuple[str, str, str], ApiObject] = {}
    wanted = {object_name(thing): thing for thing, _ in asked if isinstance(thing, Pod)}
    result = []
    for one in loaded:
        thing = one.object
        key = (thing.kind, thing.metadata.namespace, thing.metadata.name)
        if seen.get(key) != thing and wanted.get(object_name(thing)) != thing:
            result.append(one)
        seen[key] = thing
    return result


def _unowned(
    asked: Sequence[Asked], notes: list[str]
) -> Iterator[Asked]:
    """Without the controllers whose pods (or ReplicaSets) are in the files themselves."""
    owners = {
        (thing.metadata.namespace or "default", owner.kind, owner.name)
        for thing, _ in asked
        if (owner := thing.metadata.controller) is not None
    }
    for thing, source in asked:
        meta = thing.metadata
        if not isinstance(thing, Pod) and (meta.namespace or "default", thing.kind, meta.name) in owners:
            title = f"{thing.kind} {meta.namespace or 'default'}/{meta.name}"
            notes.append(f"{title} makes no pods here: what it makes is in the files already")
        else:
            yield thing, source


def _checked(thing: Pod | Controller, source: Source, nodes: Sequence[Node]) -> Wanted:
    meta = thing.metadata
    if not meta.name and not meta.generate_name:
        raise DecodeError("must not be empty", source=source, subject=thing.kind, field="metadata.name")
    wanted = wanted_by(thing, source, nodes)
    if isinstance(thing, Deployment | DaemonSet | ReplicaSet | StatefulSet):
        labels = thing.spec.template.metadata.labels
        try:
            matches = compile_selector(thing.spec.selector).matches(labels)
        except ValueError as error:
            raise DecodeError(str(error), source=source, subject=wanted.title, field="spec.selector") from error
        if not matches:
            problem = f"does not match the labels of its own pods, {labels or 'none'}"
            raise DecodeError(problem, source=source, subject=wanted.title, field="spec.selector")
    return wanted


def _complain_about_nodes(files: Sequence[str], cluster_files: Sequence[str]) -> None:
    if not cluster_files:
        raise CommandError(
            f"no nodes to try on: --cluster is missing, and {', '.join(files)} has none",
            f"{DUMP}, then --cluster cluster.yaml",
            USAGE,
        )
    raise CommandError(
        f"no nodes in {', '.join(cluster_files)}",
        "the cluster's files need the nodes too: kubectl get nodes -o yaml",
    )


def _notes(
    objects: Sequence[Loaded], wanted: Sequence[Wanted], nodes: Sequence[Node], skipped: Sequence[Skipped]
) -> Iterator[str]:
    made = [one for one in wanted if one.kind != "Pod"]
    if made:
        parts = (f"{one.num_pods} of {one.title}" + (f" ({one.remark})" if one.remark else "") for one in made)
        yield f"made {sum(one.num_pods for one in made)} pods: {', '.join(parts)}"
    names = {node.metadata.name for node in nodes}
    pods = [one.object for one in objects if isinstance(one.object, Pod) and not one.object.is_finished]
    pending = sum(not pod.spec.node_name for pod in pods)
    if pending:
        yield f"{pending} of the cluster's pods are on no node; they are left out (give them with -f to try them)"
    lost = Counter(pod.spec.node_name for pod in pods if pod.spec.node_name and pod.spec.node_name not in names)
    if lost:
        nodes_lost = ", ".join(sorted(lost))
        yield f"{lost.total()} pods are on nodes that are not in the files and do not count: {nodes_lost}"
    kinds = Counter(one.kind for one in skipped)
    if kinds:
        parts = (f"{count} {kind}" for kind, count in sorted(kinds.items()))
        yield f"skipped what is of no concern to a scheduler: {', '.join(parts)}"
