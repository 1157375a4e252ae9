"""Jobs that speak of each other, in any order of events: who is told of a change sparingly hears all that matters.

The naive other side is a scheduler in which, after every event, every job is looked at again until nobody's words
change.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.model import Pod
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from tests.test_job_scheduling import scheduler
from tests.test_scheduler import world_of

NAMES = ("a", "b", "c", "d")
MODES = ("together", "after-started", "after-any", "after-ok", "near")
SIZES = {"a": 2, "b": 2, "c": 2, "d": 3}  # jobs of one pod that say nothing are queued as pods


class Step(NamedTuple):
    """Something happens to a member of a job."""

    what: str
    job: str
    number: int


class Says(NamedTuple):
    """What a job says of another."""

    to: str
    mode: str


def member(name: str, number: int, says: Says | None) -> Pod:
    said = {"fairway.dev/gang": name, "fairway.dev/gang-size": str(SIZES[name])}
    if says is not None:
        said |= {"fairway.dev/connect-to": says.to, "fairway.dev/connect-mode": says.mode}
    return pod(f"{name}-{number}", annotations=said, cpu=1)


def happen(made: Scheduler, step: Step, says: Says | None) -> None:
    uid = member(step.job, step.number, says).metadata.uid
    known = {each.pod.metadata.uid: each.latest or each.pod for each in made.queue}
    placed = {each.pod.metadata.uid: each.pod for each in made.cluster.pods.on_row(0)}
    if step.what == "decide":
        made.run_until_idle()
    elif step.what == "come":
        if uid not in known and uid not in placed:
            made.observe(Event(Verb.ADDED, member(step.job, step.number, says)))
    elif (seen := known.get(uid) or placed.get(uid)) is None:
        return
    elif step.what == "go":
        made.observe(Event(Verb.DELETED, seen))
    elif uid in placed:  # succeed, fail
        made.observe(Event(Verb.MODIFIED, _ended(seen, "Succeeded" if step.what == "succeed" else "Failed")))


def _ended(pod: Pod, phase: str) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase=phase))


def words(made: Scheduler) -> dict[str, tuple[str, ...]]:
    told = {}
    for queued in made.queue:
        refusal = made.queue.refusal_of(queued)
        told[queued.pod.metadata.name] = () if refusal is None else refusal.reasons
    return told


def tell_everybody(made: Scheduler) -> None:
    before = None
    while (now := words(made)) != before:
        before = now
        for entry in made.queue.groups:
            made.queue.groups.reconsider(entry.key)


WHATS = ("come", "come", "decide", "go", "succeed", "fail")
STEPS = st.one_of(
    st.builds(lambda *step: [Step(*step)], st.sampled_from(WHATS), st.sampled_from(NAMES), st.integers(0, 2)),
    st.builds(
        lambda what, job: [Step(what, job, number) for number in range(SIZES[job])],
        st.sampled_from(WHATS),
        st.sampled_from(NAMES),
    ),
)
SAYINGS = st.dictionaries(
    st.sampled_from(NAMES), st.builds(Says, st.sampled_from(NAMES), st.sampled_from(MODES)), min_size=1
)


@settings(max_examples=300)
@given(SAYINGS, st.lists(STEPS, min_size=5, max_size=25))
def test_who_is_told_sparingly_hears_all_that_matters(sayings: dict[str, Says], steps: list[list[Step]]) -> None:
    sparing, naive = (scheduler(node("n", cpu=20)) for _ in range(2))
    for step in itertools.chain.from_iterable(steps):
        if step.number >= SIZES[step.job]:
            continue
        for made in (sparing, naive):
            happen(made, step, sayings.get(step.job))
        tell_everybody(naive)
        assert words(sparing) == words(naive)
    assert world_of(sparing).bindings == world_of(naive).bindings
