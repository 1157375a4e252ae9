"""From the paths on the command line to what a trial is about.

In: the paths given with `-f` and `--cluster`. Out: `Manifests`, with notes about what was made, left out or skipped.
Pods that are on a node already belong to the cluster, whichever file they are in; controllers whose pods are in the
files make no more of them. Called by `trial` for the commands `try` and `why`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairway.explain.controllers import MAX_PODS, Wanted, wanted_by
from fairway.explain.manifests import Manifests
from fairway.model import (
    ApiObject,
    CronJob,
    DaemonSet,
    DecodeError,
    Deployment,
    Job,
    Loaded,
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    Source,
    StatefulSet,
    UserError,
    compile_selector,
    dns_subdomain_problem,
    object_name,
    skipped_notes,
)
from fairway.model.controllers import Controller
from fairway.trace.manifest_objects import read_objects
from fairway.trace.problems import Problems

__all__ = ["load_manifests"]

OWN_KINDS = Deployment | DaemonSet | Job | CronJob
Found = tuple[ApiObject, Source]
Asked = tuple[Pod | Controller, Source]
NAMED = 4
DUMP = "kubectl get nodes,pods,pvc,pv,sc,ns,pdb,priorityclasses -A -o yaml > cluster.yaml"


def load_manifests(files: Sequence[str], cluster_files: Sequence[str], there: Sequence[Loaded] = ()) -> Manifests:
    """Read everything; see the module. What is `there` belongs to the cluster as the files of `cluster_files` do."""
    if [*files, *cluster_files].count("-") > 1:
        raise UserError("standard input can be read only once", "give - once, and files for the rest", 2)
    strict = Problems(strict=True)
    cluster, passed_over = read_objects(cluster_files, strict, may_be_empty=True)
    # What a running cluster's controllers make is there already.
    given = [one for one in [*there, *cluster] if not isinstance(one.object, OWN_KINDS)]
    loaded, others = read_objects(files, strict, may_be_empty=True)
    asked: list[Asked] = []
    kept: list[Loaded] = []
    finished: list[str] = []
    for thing, source in _named(loaded):
        if isinstance(thing, Pod):
            if thing.is_finished:
                finished.append(object_name(thing))
            elif thing.spec.node_name:
                kept.append(Loaded(thing, source))
            else:
                asked.append((thing, source))
        elif isinstance(thing, OWN_KINDS | ReplicaSet | StatefulSet | ReplicationController):
            asked.append((thing, source))
        if not isinstance(thing, OWN_KINDS | Pod):
            kept.append(Loaded(thing, source))
    objects = _once([*given, *kept], asked)
    nodes = [one.object for one in objects if isinstance(one.object, Node)]
    if not nodes:
        _complain_about_nodes(files, cluster_files)
    notes = list(_file_notes(finished, [one for one in kept if isinstance(one.object, Pod)]))
    wanted = [_checked(thing, source, nodes) for thing, source in _unowned(asked, notes)]
    if not asked:
        hint = "a pod, or something that makes pods: Deployment, StatefulSet, Job, DaemonSet, ..."
        what = f"nothing to place in {', '.join(files)}{_instead(kept, others)}"
        raise UserError(what, f"give with -f {hint}")
    if sum(one.num_pods for one in wanted) > MAX_PODS:
        raise UserError(f"more than {MAX_PODS} pods are too many to try", "try fewer replicas, or use --copies")
    notes += _notes(objects, wanted, nodes, passed_over + others)
    return Manifests(objects, wanted, notes)


def _named(loaded: Iterable[Loaded]) -> Iterator[Found]:
    """With names for pods that leave theirs to the API server: their prefix and a number, the same on every run."""
    numbers: Counter[str] = Counter()
    for thing, source in ((one.object, one.source) for one in loaded):
        meta = thing.metadata
        if isinstance(thing, Pod) and meta.generate_name and not meta.name:
            numbers[meta.generate_name] += 1
            meta = msgspec.structs.replace(meta, name=f"{meta.generate_name}{numbers[meta.generate_name]}")
            yield msgspec.structs.replace(thing, metadata=meta), source
        else:
            yield thing, source


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


def _unowned(asked: Sequence[Asked], notes: list[str]) -> Iterator[Asked]:
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
    if not isinstance(thing, Pod) and (problem := dns_subdomain_problem(meta.name)):
        raise DecodeError(problem, source=source, subject=f"{thing.kind} {meta.name}", field="metadata.name")
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


def _instead(kept: Sequence[Loaded], others: Counter[str]) -> str:
    """What the files have that can not be placed, by kind; kinds that nobody here knows are named as such."""
    known = Counter(one.object.kind for one in kept)
    parts = [f"{count} {kind}" for kind, count in sorted(known.items())]
    parts += [f"{count} {kind} (not a kind that makes pods here)" for kind, count in sorted(others.items())]
    return f": found {', '.join(parts)}" if parts else ": found nothing at all"


def _complain_about_nodes(files: Sequence[str], cluster_files: Sequence[str]) -> None:
    if not cluster_files:
        raise UserError(
            f"no nodes to try on: --cluster is missing, and {', '.join(files)} has none",
            f"{DUMP}, then --cluster cluster.yaml",
            2,
        )
    raise UserError(
        f"no nodes in {', '.join(cluster_files)}",
        "the cluster's files need the nodes too: kubectl get nodes -o yaml",
    )


def _file_notes(finished: Sequence[str], running: Sequence[Loaded]) -> Iterator[str]:
    if finished:
        yield f"left out, having ended already: {_few(finished)}"
    if running:
        yield f"on a node already, and counted there: {_few([object_name(one.object) for one in running])}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _notes(
    objects: Sequence[Loaded], wanted: Sequence[Wanted], nodes: Sequence[Node], skipped: Counter[str]
) -> Iterator[str]:
    made = [one for one in wanted if one.kind != "Pod"]
    if made:
        parts = (f"{one.num_pods} of {one.title}" + (f" ({one.remark})" if one.remark else "") for one in made)
        yield f"made {sum(one.num_pods for one in made)} pods: {', '.join(parts)}"
    names = {node.metadata.name for node in nodes}
    pods = [one.object for one in objects if isinstance(one.object, Pod) and not one.object.is_finished]
    pending = sum(not pod.spec.node_name for pod in pods)
    if pending:
        yield f"pods of the cluster that are on no node, left out (give them with -f to try them): {pending}"
    lost = Counter(pod.spec.node_name for pod in pods if pod.spec.node_name and pod.spec.node_name not in names)
    if lost:
        yield f"{lost.total()} pods do not count, being on nodes that are not in the files: {_few(sorted(lost))}"
    yield from skipped_notes(skipped)
