"""From the paths on the command line to what a trial is about.

In: what was given with `-f` and `-k` (`Inputs`), and the paths of `--cluster`. Out: `Manifests`, with notes about what
was made, left out or skipped. Pods that are on a node already belong to the cluster, whichever file they are in;
controllers whose pods are in the files make no more of them, and of those whose pods are in the cluster only what is
missing is placed. Called by `trial` for the commands `try` and `why`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairway.exit_codes import USAGE
from fairway.explain.manifests import Manifests
from fairway.explain.workloads.cluster_gaps import complete_cluster
from fairway.explain.workloads.inputs import Inputs, read_inputs
from fairway.explain.workloads.standing import StandingObjects
from fairway.explain.workloads.unread_changes import UnreadChanges, WrittenForms
from fairway.kinds.controllers import MAX_PODS, Wanted, wanted_by
from fairway.kinds.expansion import expand
from fairway.kinds.kind_table import open_table
from fairway.model import (
    ApiObject,
    CronJob,
    DaemonSet,
    DecodeError,
    Deployment,
    Job,
    LabelSelector,
    Loaded,
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    Skipped,
    Source,
    StatefulSet,
    UserError,
    compile_selector,
    dns_subdomain_problem,
    kind_title,
    object_name,
    skipped_notes,
)
from fairway.model.controllers import Controller
from fairway.trace.manifest_objects import read_objects
from fairway.trace.problems import Problems
from fairway.trace.written_objects import WrittenObjects
from fairway.words import pods_text

__all__ = ["DUMP", "load_manifests"]

OWN_KINDS = Deployment | DaemonSet | Job | CronJob
Found = tuple[ApiObject, Source]
Asked = tuple[Pod | Controller, Source]
NAMED = 4
DUMPED = (
    "nodes,pods,pvc,pv,storageclasses,namespaces,priorityclasses,pdb,services,replicasets,statefulsets,"
    "deployments,daemonsets,jobs,csinodes,csidrivers,csistoragecapacities"
)
DUMP = f"kubectl get {DUMPED} -A -o yaml > cluster.yaml"
"""Everything that a decision may depend on."""


def load_manifests(
    inputs: Inputs,
    cluster_files: Sequence[str],
    there: Sequence[Loaded] = (),
    forms: WrittenForms | None = None,
) -> Manifests:
    """Read everything; see the module. What is `there` belongs to the cluster as the files of `cluster_files` do.

    `forms` has what is there with all fields, if anybody has.
    """
    if [*inputs.files, *cluster_files].count("-") > 1:
        raise UserError("standard input can be read only once", "give - once, and files for the rest", USAGE)
    passed_over: list[Skipped] = []
    others: list[Skipped] = []
    notes: list[str] = []
    in_files, in_inputs = WrittenObjects(), WrittenObjects()
    cluster, _ = read_objects(
        cluster_files, Problems(strict=True), may_be_empty=True, others_kept=passed_over, written=in_files
    )
    found = [*there, *cluster]
    read = list(read_inputs(inputs, others, notes, in_inputs))
    passed = list(notes)
    table = open_table(inputs.kind_files, [*passed_over, *others])
    in_cluster, expansion = expand(passed_over, table, is_cluster=True), expand(others, table, passed_over)
    found += in_cluster.loaded
    if old := in_cluster.old + expansion.old:
        parts = ", ".join(f"{number} {title}" for title, number in sorted(old.items()))
        notes.append(f"of an API version that is gone, read as the present one: {parts}")
    asked, kept, finished = _sort(_named([*read, *expansion.loaded]))
    unread = UnreadChanges(in_inputs, in_files if forms is None else forms)
    standing = StandingObjects([one.object for one in found], notes, unread, is_rollout=inputs.rollout)
    asked = standing.without_pods_there(asked)
    # What a running cluster's controllers make is there already; of what is asked for anew, the new form counts.
    given = [one for one in found if not isinstance(one.object, OWN_KINDS) and not _is_asked(one.object, asked)]
    objects = _once([*given, *kept], asked)
    nodes = [one.object for one in objects if isinstance(one.object, Node)]
    if not nodes:
        _complain_about_nodes(inputs.names, cluster_files)
    notes += _file_notes(finished, [one for one in kept if isinstance(one.object, Pod)])
    wanted = [standing.settled(thing, _checked(thing, source, nodes)) for thing, source in _unowned(asked, notes)]
    wanted += [standing.settled(None, one) for one in expansion.wanted]
    if not wanted and not expansion.not_counted and not standing.num_pods_there:
        hint = "a pod, or something that makes pods: Deployment, StatefulSet, Job, DaemonSet, ..."
        instead = _instead(kept, finished, Counter(one.kind for one in expansion.others), passed)
        raise UserError(f"nothing to place in {', '.join(inputs.names)}{instead}", f"give with -f {hint}")
    if sum(one.num_pods for one in wanted) > MAX_PODS:
        raise UserError(f"more than {MAX_PODS} pods are too many to try", "try fewer replicas, or use --copies")
    objects = complete_cluster(objects, wanted, notes, is_all=bool(there))
    skipped = Counter(one.title for one in (*in_cluster.others, *expansion.others))
    rolled_out = {one.title for one in standing.rollouts}
    made = [one for one in wanted if one.kind != "Pod" and one.title not in rolled_out]
    notes += _notes(objects, made, nodes, skipped)
    return Manifests(
        objects,
        wanted,
        notes,
        not_counted=expansion.not_counted,
        rollouts=standing.rollouts,
        claim_binder=inputs.claim_binder,
    )


def _sort(found: Iterable[Found]) -> tuple[list[Asked], list[Loaded], list[str]]:
    """What wants pods, what the cluster is to have, and the names of pods that are over."""
    asked: list[Asked] = []
    kept: list[Loaded] = []
    finished: list[str] = []
    for thing, source in found:
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
    return asked, kept, finished


def _is_asked(thing: ApiObject, asked: Sequence[Asked]) -> bool:
    """Is it a controller, or a pod on no node, that the files of -f have in another form?"""
    if not isinstance(thing, ReplicaSet | StatefulSet | ReplicationController | Pod):
        return False
    if isinstance(thing, Pod) and thing.spec.node_name:
        return False
    key = (thing.kind, thing.metadata.namespace or "default", thing.metadata.name)
    return any(key == (one.kind, one.metadata.namespace or "default", one.metadata.name) for one, _ in asked)


def _named(loaded: Iterable[Loaded]) -> Iterator[Found]:
    """With names for what leaves its own to the API server: the prefix and a number, the same on every run."""
    numbers: Counter[str] = Counter()
    for thing, source in ((one.object, one.source) for one in loaded):
        meta = thing.metadata
        if meta.generate_name and not meta.name:
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
        key = (kind_title(thing.api_version, thing.kind), thing.metadata.namespace, thing.metadata.name)
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
            if thing.spec.selector in (None, LabelSelector()):
                problem = "must not be empty; a patch for kustomize is given with its folder: -k DIR"
            raise DecodeError(problem, source=source, subject=wanted.title, field="spec.selector")
    return wanted


def _instead(kept: Sequence[Loaded], finished: Sequence[str], others: Counter[str], passed: Sequence[str]) -> str:
    """What the files have that can not be placed, by kind; kinds that nobody here knows are named as such."""
    known = Counter(one.object.kind for one in kept)
    placed = " (with spec.nodeName: no scheduler is asked about it)"
    parts = [f"{count} {kind}{placed if kind == 'Pod' else ''}" for kind, count in sorted(known.items())]
    parts += [f"{len(finished)} Pod (having ended already)"] if finished else []
    parts += [f"{count} {kind} (not a kind that makes pods here)" for kind, count in sorted(others.items())]
    parts += passed
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
    objects: Sequence[Loaded], made: Sequence[Wanted], nodes: Sequence[Node], skipped: Counter[str]
) -> Iterator[str]:
    if made:
        parts = [f"{one.num_pods} of {one.title}" + (f" ({one.remark})" if one.remark else "") for one in made]
        yield f"made {pods_text(sum(one.num_pods for one in made))}: {_few(parts)}"
    names = {node.metadata.name for node in nodes}
    pods = [one.object for one in objects if isinstance(one.object, Pod) and not one.object.is_finished]
    pending = sum(not pod.spec.node_name for pod in pods)
    if pending:
        yield f"pods of the cluster that are on no node, left out (give them with -f to try them): {pending}"
    lost = Counter(pod.spec.node_name for pod in pods if pod.spec.node_name and pod.spec.node_name not in names)
    if lost:
        yield f"{lost.total()} pods do not count, being on nodes that are not in the files: {_few(sorted(lost))}"
    yield from skipped_notes(skipped)
