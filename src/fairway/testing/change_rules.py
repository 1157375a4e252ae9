"""The rules about change: what a plugin declares to read, how far it looks, and what it makes of what-ifs.

In: a plugin, a situation and a pod. Out: nothing, or an `AssertionError`. The cycle remembers answers and asks again
only about what changed; here the same is done with one plugin, event by event, and compared with a new plugin on a new
cluster. Called by `fairway.testing.plugin_check`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fairway.cluster import ROWLESS, WITH_ROWS, Aspect, Change, Cluster, Nodes, Verb
from fairway.model import Node, Pod, object_name
from fairway.model.meta import EPOCH
from fairway.plugin import Locality, Plugin, Refusal
from fairway.testing.interview import Interview, PluginAnswers
from fairway.testing.situations import Situation

Make = Callable[[Cluster], Plugin]

HOUR, DAY = 3_600, 86_400
LONELY_NODES = 2
"""So many nodes of a situation are tried alone."""

STALE_STATE = (
    "With Locality.NODE what pre_filter and pre_score return is kept while rows change: "
    "look at the rows in filter and score, or declare locality = Locality.CLUSTER."
)
STALE_NOTES = "What it keeps in pod.kept or in itself has gone stale: bring it up to date in pre_filter and pre_score."


def check_memory(make: Make, situation: Situation, pod: Pod, hints: bool) -> None:
    """Remembering answers as the cycle does never gives another answer than asking anew."""
    objects = {(thing.kind, thing.metadata.uid): thing for thing in situation.objects}
    cluster = _load(objects.values())
    memory = Memory(Interview(make(cluster), pod))
    for event in situation.events:
        key = (event.object.kind, event.object.metadata.uid)
        if event.verb is Verb.DELETED:
            objects.pop(key, None)
        else:
            objects[key] = event.object
        before = memory.answers
        changes = memory.follow(lambda cluster, event=event: cluster.apply(event))  # type: ignore[misc]
        fresh = Interview(make(_load(objects.values())), pod).answers()
        happened = f"{object_name(event.object)} was {event.verb.name.lower()}"
        if memory.answers != fresh:
            raise memory.complaint(happened, fresh)
        if hints and cluster.nodes.row_of:
            _check_hints(memory.interview, before, fresh, happened, changes)


def check_time(make: Make, situation: Situation, pod: Pod, hints: bool) -> None:
    """A plugin that goes by the clock is asked again, and wakes pods, whenever a step of its clock is over."""
    plugin = make(_load(situation.objects))
    if not plugin.reads & Aspect.TIME or not plugin.cluster.nodes.row_of:
        return
    plugin.cluster.clock.follow(plugin.time_step)
    memory = Memory(Interview(plugin, pod))
    start = EPOCH.timestamp()
    steps = range(plugin.time_step, 4 * plugin.time_step, plugin.time_step)
    for seconds in sorted({*steps, *range(HOUR, DAY, HOUR), *range(DAY, 8 * DAY, DAY)}):
        now = start + seconds
        before = memory.answers
        changes = memory.follow(lambda cluster, now=now: [c for c in (cluster.clock.advance(now),) if c])  # type: ignore[misc]
        cluster = _load(situation.objects)
        cluster.clock.advance(now)
        fresh = Interview(make(cluster), pod).answers()
        happened = f"the clock came to {dt.datetime.fromtimestamp(now, dt.UTC):%A %H:%M:%S}"
        if memory.answers != fresh:
            raise memory.complaint(happened, fresh)
        if hints and changes:
            _check_hints(memory.interview, before, fresh, happened, changes)


def check_solitude(make: Make, situation: Situation, pod: Pod) -> None:
    """A plugin that judges each node by itself says the same when the node is the only one."""
    interview = Interview(make(_load(situation.objects)), pod)
    if interview.plugin.locality is not Locality.NODE:
        return
    together = interview.answers()
    nodes = [thing for thing in situation.objects if isinstance(thing, Node)]
    for node in nodes[:LONELY_NODES]:
        alone = Interview(
            make(_load([thing for thing in situation.objects if thing is node or not isinstance(thing, Node)])), pod
        ).answers()
        fits = {name: answer for name, answer in together.fits.items() if name == node.name}
        scores = {name: answer for name, answer in together.scores.items() if name == node.name}
        if alone != (among := PluginAnswers(together.stance, fits, scores)):
            method, _, was, now = first_difference(among, alone)
            problem = f"says {was} among {len(nodes)} nodes and {now} when it is the only one"
            advice = "It looks further than one node: declare locality = Locality.CLUSTER."
            raise interview.wrong(method, problem, advice, node.name)


def _load(objects: Iterable[Any]) -> Cluster:
    cluster = Cluster()
    cluster.load(list(objects))
    return cluster


class Memory:
    """The answers of one plugin about one pod, kept current by asking about changed rows alone."""

    def __init__(self, interview: Interview) -> None:
        self.interview = interview
        self.answers = interview.answers()
        self.changed = Aspect(0)
        self.touched: set[str] = set()

    def follow(self, happen: Callable[[Cluster], Sequence[Change]]) -> Sequence[Change]:
        """Let something happen, and ask again as far as the plugin's declarations demand it."""
        interview = self.interview
        cluster, plugin = interview.cluster, interview.plugin
        names = set(cluster.nodes.row_of)
        before = _versions(cluster)
        changes = happen(cluster)
        after = _versions(cluster)
        self.changed = Aspect(0)
        for aspect in Aspect:
            if before[aspect] != after[aspect]:
                self.changed |= aspect
        marked = [
            journal.since(before[aspect])
            for journal, aspect in ((cluster.node_journal, Aspect.NODE), (cluster.pod_journal, Aspect.PODS))
        ]
        is_known = not any(rows is None for rows in marked)  # else any row may have changed
        rows = {row for found in marked if found is not None for row in found.tolist()}
        if not is_known:
            rows = set(cluster.nodes.row_of.values())
        self.touched = {cluster.nodes.names[row] for row in rows if cluster.nodes.alive[row]}
        affected = bool(plugin.reads & self.changed)
        has_rows = not self.changed & ~WITH_ROWS
        if not is_known or (affected and (plugin.locality is Locality.CLUSTER or not has_rows)):
            interview.prepare()
            self.answers = interview.answers()
        else:
            asked = self.touched if affected else set(cluster.nodes.row_of) - names
            self.answers = self._asked_again(asked)
        return changes

    def _asked_again(self, asked: set[str]) -> PluginAnswers:
        """The remembered answers, with those of some nodes asked for again and those of deleted nodes left out."""
        interview, row_of = self.interview, self.interview.cluster.nodes.row_of
        fits = {name: answer for name, answer in self.answers.fits.items() if name in row_of}
        scores = {name: answer for name, answer in self.answers.scores.items() if name in row_of}
        rows = np.array([row_of[name] for name in sorted(asked)], np.intp)
        if len(rows) and interview.filters:
            fits |= dict(zip(sorted(asked), interview.mask(rows).tolist(), strict=True))
        if len(rows) and interview.scores and (raw := interview.raw(rows)) is not None:
            scores |= dict(zip(sorted(asked), raw.tolist(), strict=True))
        return PluginAnswers(interview.stance, fits, scores)

    def complaint(self, happened: str, fresh: PluginAnswers) -> AssertionError:
        """What the plugin should have declared, given that a new one answers otherwise."""
        interview, plugin = self.interview, self.interview.plugin
        method, node, was, now = first_difference(self.answers, fresh)
        problem = f"answers {now}, not {was} as remembered, after {happened}"
        if not plugin.reads & self.changed:
            missing = " | ".join(f"Aspect.{aspect.name}" for aspect in self.changed)
            advice = f"It declares not to read that: add {missing} to `reads`."
        elif plugin.locality is Locality.CLUSTER:
            advice = STALE_NOTES
        elif node and node not in self.touched and not self.changed & ~WITH_ROWS:
            advice = "That node did not change: declare locality = Locality.CLUSTER."
        else:
            advice = STALE_STATE
        return interview.wrong(method, problem, advice, node)


def first_difference(one: PluginAnswers, other: PluginAnswers) -> tuple[str, str, Any, Any]:
    """Where two answers part: the method, the node, and what each says."""
    if one.stance != other.stance:
        return "pre_filter", "", one.stance, other.stance
    for method, mine, theirs in (("filter", one.fits, other.fits), ("score", one.scores, other.scores)):
        for node in sorted(mine.keys() | theirs.keys()):
            if mine.get(node) != theirs.get(node):
                return method, node, mine.get(node, "nothing"), theirs.get(node, "nothing")
    raise AssertionError("the answers do not differ")


def _versions(cluster: Cluster) -> dict[Aspect, int]:
    rowless = {aspect: cluster.versions.of(aspect) for aspect in ROWLESS}
    return {Aspect.NODE: cluster.node_journal.end, Aspect.PODS: cluster.pod_journal.end, **rowless}


def _check_hints(
    interview: Interview, before: PluginAnswers, after: PluginAnswers, happened: str, changes: Sequence[Change]
) -> None:
    """A pod that the plugin refused everywhere, and no longer does, has to be woken up."""
    if not _refuses_everywhere(before) or _refuses_everywhere(after):
        return
    hints = [hint for hint in interview.plugin.events() if any(hint.event.covers(change.event) for change in changes)]
    for hint in hints:
        for change in changes:
            if hint.event.covers(change.event) and (hint.helps is None or hint.helps(interview.pod, change)):
                return
    what = ", ".join(f"{change.event.resource.name}/{change.event.action.name}" for change in changes)
    advice = f"Add a Hint for one of {what}" + (", or let its `helps` say so." if hints else ".")
    problem = f"would leave the pod waiting although {happened}, after which it no longer refuses every node"
    raise interview.wrong("events", problem, advice)


def _refuses_everywhere(answers: PluginAnswers) -> bool:
    if isinstance(answers.stance, Refusal):
        return True
    return bool(answers.fits) and not any(answers.fits.values())


def check_what_if(make: Make, cluster: Cluster, pod: Pod, others: Sequence[Pod]) -> None:
    """Pods imagined on a node or away from it are seen there by `filter`, and forgotten when they are taken back."""
    interview = Interview(make(cluster), pod)
    if not interview.filters:
        return
    before = interview.mask()
    for row in interview.live_rows.tolist():
        gone = [placed.pod for placed in cluster.pods.on_row(row) if not placed.terminating][:2]
        new = [other for other in others if other is not pod]
        for other, arrives in [*((other, True) for other in new), *((other, False) for other in gone)]:
            with cluster.what_if():
                _tell(interview, other, row, arrives)
                seen = bool(interview.mask(np.array([row], np.intp))[0])
                fresh = Interview(make(cluster), pod)
                expected = fresh.filters and bool(fresh.mask()[row])
                _tell(interview, other, row, not arrives)
            node = Nodes(cluster).names[row]
            happened = f"{other.key} were {'there too' if arrives else 'gone'}"
            if fresh.filters and seen != expected:
                problem = (
                    f"says {seen} with what add_pod and remove_pod made of its state, {expected} anew, if {happened}"
                )
                advice = "A filter that looks beyond its row has to follow what-ifs: override add_pod and remove_pod."
                raise interview.wrong("filter", problem, advice, node)
            after = interview.mask()
            if not np.array_equal(before, after):
                problem = f"does not undo the other, if {happened}"
                advice = "add_pod and remove_pod have to be exact inverses."
                raise interview.wrong("add_pod or remove_pod", problem, advice, node)


def _tell(interview: Interview, other: Pod, row: int, arrives: bool) -> None:
    cluster, plugin = interview.cluster, interview.plugin
    other_class = cluster.classify(other, bound=True)
    if arrives:
        cluster.place(other, other_class, row)
        plugin.add_pod(interview.pod_class, interview.state, other, other_class, row)
    else:
        plugin.remove_pod(interview.pod_class, interview.state, other, other_class, row)
        cluster.remove(other.metadata.uid)
