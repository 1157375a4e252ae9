"""What jobs say for their pods, in whichever order everybody comes, against who asks pods and jobs anew each time."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.config import decode_configuration
from fairway.model import Job, ObjectMeta, Pod
from fairway.model.pod import PodSchedulingGroup
from fairway.model.tenant import EXCLUSIVE
from fairway.plugins.registry import REGISTRY
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.group_builders import pod_group
from tests.test_scheduler import SmallWorld

NAMES = ("a", "b")
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"fairway": {"exclusive": True}}],
}


def saying(thing: Any, text: str | None) -> Any:
    annotations = {} if text is None else {EXCLUSIVE: text}
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, annotations=annotations))


def made(number: int, owner: str | None, group: str | None, own: str | None, is_bound: bool) -> Pod:
    settings: dict[str, Any] = {"owner": f"Job/{owner}"} if owner else {}
    one = pod(f"p{number}", gates="" if is_bound else "wait", node="n" if is_bound else "", **settings)
    named = None if group is None else PodSchedulingGroup(pod_group_name=group)
    spec = msgspec.structs.replace(one.spec, scheduling_group=named)
    changed: Pod = saying(msgspec.structs.replace(one, spec=spec), own)
    return changed


says = st.sampled_from((None, "node", "user"))
maybe_named = st.sampled_from((None, *NAMES))
acts = st.lists(
    st.one_of(
        st.tuples(st.just("job"), st.sampled_from(NAMES), says),
        st.tuples(st.just("group"), st.sampled_from(NAMES), says),
        st.tuples(st.sampled_from(("no job", "no group")), st.sampled_from(NAMES)),
        st.tuples(st.just("pod"), st.integers(0, 4), maybe_named, maybe_named, says, st.booleans()),
        st.tuples(st.just("no pod"), st.integers(0, 4)),
    ),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(acts)
def test_pods_say_what_their_jobs_say(acts: list[tuple[Any, ...]]) -> None:
    world = SmallWorld()
    scheduler = Scheduler(decode_configuration(CONFIG, "test", REGISTRY), world)
    world.scheduler = scheduler
    scheduler.observe(Event(Verb.ADDED, node("n")))
    jobs: dict[tuple[str, str], Any] = {}
    pods: dict[int, tuple[Pod, tuple[Any, ...]]] = {}

    def put(key: tuple[str, str], thing: Any) -> None:
        scheduler.observe(Event(Verb.MODIFIED if key in jobs else Verb.ADDED, thing))
        jobs[key] = thing

    for what, name, *rest in acts:
        if what == "job":
            put(("job", name), saying(Job(metadata=ObjectMeta(name=name, namespace="default", uid=name)), rest[0]))
        elif what == "group":
            put(("group", name), saying(pod_group(name, 2), rest[0]))
        elif what.startswith("no ") and what != "no pod":
            if (gone := jobs.pop((what[3:], name), None)) is not None:
                scheduler.observe(Event(Verb.DELETED, gone))
        elif what == "pod":
            is_bound = rest[3] or (name in pods and bool(pods[name][0].spec.node_name))
            one = made(name, rest[0], rest[1], rest[2], is_bound)
            scheduler.observe(Event(Verb.MODIFIED if name in pods else Verb.ADDED, one))
            pods[name] = one, (rest[2], rest[1], rest[0])
        elif name in pods:
            scheduler.observe(Event(Verb.DELETED, pods.pop(name)[0]))
        told = {queued.pod.metadata.name: queued.pod for queued in scheduler.queue}
        told |= {placed.pod.metadata.name: placed.pod for placed in scheduler.cluster.pods.by_uid.values()}
        assert set(told) == {one.metadata.name for one, _ in pods.values()}
        for one, (own, group, owner) in pods.values():
            of_jobs = [jobs.get(("group", group)), jobs.get(("job", owner))]
            heard = [own, *(thing.metadata.annotations.get(EXCLUSIVE) for thing in of_jobs if thing is not None)]
            expected = next((text for text in heard if text is not None), None)
            assert told[one.metadata.name].metadata.annotations.get(EXCLUSIVE) == expected
