"""Does a plugin keep its word? The check that every built-in plugin passes, for everybody's plugins.

In: a plugin class, or a plugin. Out: nothing, or an `AssertionError` that says which rule of `fairway.plugin` it
breaks, for which pod and node, and what to declare or return instead. The plugin is tried on generated situations
(and dead rows); pass `Situation`s of your own if it reacts to labels or resources that those do not have. The rules
that need the cluster to change are in `fairway.testing.change_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from fairway.cluster import Aspect, Cluster, Event, Nodes, Verb
from fairway.cluster.pod_class import ENCODER
from fairway.config.plugin_args import decode_args
from fairway.cycle.guard import is_class_key
from fairway.model import Pod
from fairway.model.device_need import GPU_COUNT, GPU_INDEX, GPU_MILLI, GPU_MODEL
from fairway.plugin import MAX_SCORE, Hint, Locality, Plugin, Preparation, Problem, Refusal, Wait, overrides
from fairway.plugin.extension_points import POINT_METHODS
from fairway.testing.builders import node
from fairway.testing.change_rules import check_memory, check_solitude, check_time, check_what_if, first_difference
from fairway.testing.fingerprint import differences, fingerprint
from fairway.testing.interview import Interview, PluginAnswers, class_of
from fairway.testing.situations import Situation, situations
from fairway.testing.word_rules import check_words

__all__ = ["check_plugin", "decoded_args"]

Make = Callable[[Cluster], Plugin]


def check_plugin(
    plugin: type[Plugin] | Plugin,
    *,
    args: Any = None,
    examples: int | Iterable[Situation] = 25,
    seed: int = 0,
    hints: bool = True,
) -> None:
    """Try a plugin on many situations; `AssertionError` if it breaks a rule.

    `args` is its pluginConfig entry; `examples` how many situations to generate (from `seed`), or the situations;
    with `hints=False` its `events` may miss some that would help.
    """
    kind = plugin if isinstance(plugin, type) else type(plugin)
    if isinstance(plugin, Plugin) and args is None:
        args = plugin.args
    if args is None or isinstance(args, Mapping):
        args = decoded_args(kind, args)

    def make(cluster: Cluster) -> Plugin:
        return kind(cluster, args)

    _check_declarations(make(Cluster()))
    generator = np.random.default_rng(seed)
    for situation in situations(examples, seed) if isinstance(examples, int) else examples:
        for pod in situation.pods:
            _check_answers(make, _loaded(situation.objects), pod, generator)
            check_what_if(make, _loaded(situation.objects), pod, situation.pods)
            check_memory(make, situation, pod, hints)
            check_solitude(make, situation, pod)
            check_time(make, situation, pod, hints)


def decoded_args(kind: type[Plugin], args: Any) -> Any:
    """The arguments as a configuration that holds them would give them to the plugin."""
    if kind.Args is not None and not (isinstance(kind.Args, type) and issubclass(kind.Args, msgspec.Struct)):
        raise AssertionError(f"{kind.name}.Args is {kind.Args!r}; it has to be a struct, such as a PluginArgs.")
    problems: list[Problem] = []
    decoded = decode_args(kind.name, kind.Args, args, "args", problems)
    if problems:
        told = "; ".join(f"{path}: {text}" for path, text in problems)
        raise AssertionError(f"{kind.name} can not be told {args!r}: {told}. Pass args that its Args accept.")
    return decoded


def _loaded(objects: Sequence[Any]) -> Cluster:
    """The cluster, with a dead row in it."""
    cluster = Cluster()
    gone = node("gone", zone="a", taints="gpu", unschedulable=True)
    cluster.apply(Event(Verb.ADDED, gone))
    cluster.load(objects)
    cluster.apply(Event(Verb.DELETED, gone))
    return cluster


def _check_declarations(plugin: Plugin) -> None:
    name, kind = plugin.name, type(plugin)
    if not any(overrides(plugin, method) for method in POINT_METHODS):
        raise AssertionError(f"{name} overrides none of {', '.join(POINT_METHODS)}: it would do nothing.")
    declared: tuple[tuple[str, type], ...] = (("locality", Locality), ("reads", Aspect), ("per_pod", bool))
    for attribute, expected in declared:
        if not isinstance(getattr(kind, attribute), expected):
            raise AssertionError(
                f"{name}.{attribute} is {getattr(kind, attribute)!r}; it has to be a {expected.__name__}."
            )
    if not isinstance(plugin.time_step, int) or plugin.time_step < 1:
        raise AssertionError(f"{name}.time_step is {plugin.time_step!r}; it has to be whole seconds, 1 or more.")
    named = kind.annotations
    if named is not None and not (isinstance(named, tuple) and all(isinstance(word, str) for word in named)):
        raise AssertionError(f"{name}.annotations is {named!r}; it has to be a tuple of names, or None for any.")
    if kind.normalize not in ("none", "default", "reverse", "own"):
        raise AssertionError(f"{name}.normalize is {kind.normalize!r}; it has to be none, default, reverse or own.")
    if overrides(plugin, "normalize_scores") != (kind.normalize == "own"):
        raise AssertionError(f'{name}: normalize = "own" and normalize_scores belong together.')
    if overrides(plugin, "add_pod") != overrides(plugin, "remove_pod"):
        raise AssertionError(f"{name} overrides only one of add_pod and remove_pod; each undoes the other.")
    for hint in plugin.events():
        if not isinstance(hint, Hint):
            raise AssertionError(f"{name}.events gave a {type(hint).__name__}; wrap each event in a Hint.")


def _check_answers(make: Make, cluster: Cluster, pod: Pod, generator: np.random.Generator) -> None:
    """The rules about a cluster that stands still."""
    plugin = make(cluster)
    class_of(plugin, pod)
    before, text = fingerprint(cluster), ENCODER.encode(pod)
    interview = Interview(plugin, pod)
    answers = interview.answers()
    _check_pre_enqueue(interview)
    _check_class_key(interview)
    _check_repeated(interview, answers, make)
    if interview.filters:
        _check_rows(interview, generator)
        _check_refusals(interview)
    if interview.scores:
        _check_scores(interview, generator)
    if ENCODER.encode(pod) != text:
        raise interview.wrong("filter or score", "changed the pod", "Pods are shared; read them, never write.")
    if changed := differences(before, fingerprint(cluster)):
        advice = "Judging may change nothing: copy an array before you write to it, keep notes in `state` or pod.kept."
        raise interview.wrong("filter or score", f"changed the cluster's {', '.join(changed)}", advice)
    _check_sharing(interview, answers)
    _check_reservation(interview, answers)


def _check_pre_enqueue(interview: Interview) -> None:
    found = interview.plugin.pre_enqueue(interview.pod)
    if found is not None and not (isinstance(found, Refusal) and found.reasons):
        advice = "Return None, or a Refusal with a reason."
        raise interview.wrong("pre_enqueue", f"returned {found!r}", advice)


def _check_class_key(interview: Interview) -> None:
    key, again = (interview.call("class_key", interview.pod) for _ in range(2))
    if not is_class_key(key) or key != again:
        advice = "Return None, numbers, text, bytes, or tuples of these, the same for the same pod."
        raise interview.wrong("class_key", f"returned {key!r} and then {again!r}", advice)


def _check_repeated(interview: Interview, answers: PluginAnswers, make: Make) -> None:
    """The same question gets the same answer: with the same state, with a new one, from another instance."""
    advice = (
        "An answer may depend on nothing but the pod, the nodes and `state`; do not change `state`, draw no chance."
    )
    repeats: tuple[tuple[str, Callable[[], Interview]], ...] = (
        ("with the same state", lambda: interview),
        ("with a new state", lambda: Interview(interview.plugin, interview.pod)),
        ("as another instance", lambda: Interview(make(interview.cluster), interview.pod)),
    )
    for words, again in repeats:
        found = again().answers()
        if found != answers:
            method, node, was, now = first_difference(answers, found)
            raise interview.wrong(method, f"answered {was} and then, asked again {words}, {now}", advice, node)


def _check_rows(interview: Interview, generator: np.random.Generator) -> None:
    """An answer belongs to its row, whichever other rows are asked about and in whatever order."""
    everything = interview.mask()
    shuffled = generator.permutation(len(everything)).astype(np.intp)
    live = interview.live_rows
    questions = [shuffled, shuffled[: len(shuffled) // 2], *(live[index : index + 1] for index in range(len(live)))]
    names = Nodes(interview.cluster).names
    for rows in questions:
        found = interview.mask(rows)
        for row, answer in zip(rows.tolist(), found.tolist(), strict=True):
            if names[row] and answer != everything[row]:
                problem = (
                    f"says {bool(everything[row])} when asked about all nodes and {answer} when asked about {len(rows)}"
                )
                advice = "Index the tables with nodes.rows: it may be a slice of all rows, or any rows in any order."
                raise interview.wrong("filter", problem, advice, names[row])


def _check_refusals(interview: Interview) -> None:
    """Every refusal is explained, the same whoever else is asked about."""
    mask = interview.mask()
    rows = np.array([row for row in interview.live_rows if not mask[row]], np.intp)
    if not len(rows):
        return
    together = interview.refusals(rows)
    check_words(interview, rows, together)
    for index, refusal in enumerate(together):
        alone = interview.refusals(rows[index : index + 1])[0]
        if alone != refusal:
            problem = f"gives {refusal.reasons} among others and {alone.reasons} alone"
            advice = "The reason belongs to the row; index the tables with nodes.rows."
            raise interview.wrong("explain", problem, advice, Nodes(interview.cluster, rows).names[index])


def _check_scores(interview: Interview, generator: np.random.Generator) -> None:
    """Scores belong to their rows, and end between 0 and 100 whichever nodes are feasible."""
    live = interview.live_rows
    if not len(live):
        return
    orders = [live, generator.permutation(live), generator.permutation(live)[: max(1, len(live) // 2)], live[:1]]
    known: dict[int, int] = {}
    if interview.plugin.locality is Locality.NODE and (everything := interview.raw()) is not None:
        known = {row: int(everything[row]) for row in live.tolist()}
    for rows in orders:
        final = interview.final(rows)
        if final is None:
            continue
        names = Nodes(interview.cluster, rows).names
        for name, score in zip(names, final.tolist(), strict=True):
            if not 0 <= score <= MAX_SCORE:
                advice = f'Scores end between 0 and {MAX_SCORE}; scale them, or declare normalize = "default" or "own".'
                raise interview.wrong("score", f"came to {score}", advice, name)
        raw = interview.raw(rows)
        comparable = interview.plugin.locality is Locality.NODE or len(rows) == len(live)
        for row, name, score in zip(rows.tolist(), names, raw.tolist() if raw is not None else [], strict=True):
            if comparable and known.setdefault(row, score) != score:
                problem = f"gives {known[row]} and {score}, depending on which nodes it is asked about in which order"
                advice = "Index the tables with nodes.rows: one entry for each of `nodes`, in their order."
                raise interview.wrong("score", problem, advice, name)


def _check_sharing(interview: Interview, answers: PluginAnswers) -> None:
    """A plugin that shares answers among pods of a class may not look at what they do not share."""
    plugin, pod = interview.plugin, interview.pod
    if plugin.per_pod or any(volume.ephemeral is not None for volume in pod.spec.volumes):
        return
    meta = msgspec.structs.replace(pod.metadata, name=f"{pod.metadata.name}-twin", uid="twin", resource_version="7")
    status = msgspec.structs.replace(pod.status, nominated_node_name="", message="twin", phase="")
    twin = msgspec.structs.replace(pod, metadata=meta, status=status)
    _check_twin(interview, answers, twin, "name, uid and status", "Declare per_pod = True, or do not look at them.")
    if plugin.annotations is not None:
        said = {key: "twin" for key in ("example.com/unread", *(pod.metadata.annotations)) if not _reads(plugin, key)}
        meta = msgspec.structs.replace(pod.metadata, annotations={**pod.metadata.annotations, **said})
        advice = "Name in `annotations` those that it reads, or None for any."
        twin = msgspec.structs.replace(pod, metadata=meta)
        _check_twin(interview, answers, twin, "annotations that it does not say it reads", advice)


def _reads(plugin: Plugin, annotation: str) -> bool:
    """Does it say so? What says which devices a pod needs is read by the cluster itself."""
    named = (*(plugin.annotations or ()), GPU_COUNT, GPU_INDEX, GPU_MILLI, GPU_MODEL)
    return any(annotation == name or (name.endswith("/") and annotation.startswith(name)) for name in named)


def _check_twin(interview: Interview, answers: PluginAnswers, twin: Pod, what: str, advice: str) -> None:
    plugin = interview.plugin
    if plugin.class_key(twin) != plugin.class_key(interview.pod):
        return  # it says itself that they are not alike
    found = Interview(plugin, twin, class_of(plugin, twin, apart=True)).answers()
    if found != answers:
        method, node, was, now = first_difference(answers, found)
        problem = f"says {was}, but {now} to a pod that differs in {what} alone"
        raise interview.wrong(method, problem, advice, node)


def _check_reservation(interview: Interview, answers: PluginAnswers) -> None:
    """What `reserve` takes, `unreserve` gives back."""
    plugin, pod, pod_class, cluster = interview.plugin, interview.pod, interview.pod_class, interview.cluster
    accepted = [
        cluster.nodes.row_of[name] for name, fits in answers.fits.items() if fits
    ] or interview.live_rows.tolist()
    rows = [row for row in accepted if not cluster.ports.conflicts(row, pod_class.ports)]
    if isinstance(answers.stance, Refusal) or not rows:
        return
    before = fingerprint(cluster)
    cluster.assume(pod, pod_class, rows[0])
    found = plugin.reserve(pod, pod_class, rows[0])
    if found is not None and not isinstance(found, Refusal):
        raise interview.wrong("reserve", f"returned {found!r}", "Return None or a Refusal.")
    permitted = plugin.permit(pod, pod_class, rows[0])
    if permitted is not None and not isinstance(permitted, Refusal | Wait):
        raise interview.wrong("permit", f"returned {permitted!r}", "Return None, a Refusal or a Wait.")
    prepared = plugin.pre_bind(pod, pod_class, rows[0])
    if prepared is not None and not isinstance(prepared, Refusal | Preparation):
        raise interview.wrong("pre_bind", f"returned {prepared!r}", "Return None, a Refusal or a Preparation.")
    plugin.unreserve(pod, pod_class, rows[0])
    cluster.forget(pod.metadata.uid)
    if changed := differences(before, fingerprint(cluster)):
        advice = "unreserve gives back all that reserve took."
        raise interview.wrong("unreserve", f"left a trace in {', '.join(changed)}", advice)
    again = Interview(plugin, pod).answers()
    if again != answers:
        method, node, was, now = first_difference(answers, again)
        problem = f"says {was}, but {now} after a reservation was taken back"
        raise interview.wrong(method, problem, "unreserve gives back all that reserve took.", node)
