"""What a running scheduler says why: the words of `why` itself, and nobody can tell that it was asked."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster
from fairway.cycle import Profile
from fairway.explain.explanation_text import CUT, answer_lines
from fairway.explain.more_nodes import run_through
from fairway.explain.scheduler_answer import scheduler_answer
from fairway.live.asked_answer import AskedAnswers, classes_in_use
from fairway.model import ApiObject, ObjectMeta, PriorityClass
from fairway.testing import node, pod
from tests.explain.test_explanation import CONFIGURATION, NODES, WISHES, Drawn, explain
from tests.live.virtual_clock import VirtualClock

IMPORTANT = PriorityClass(metadata=ObjectMeta(name="important"), value=1000)


def profile_of(objects: list[ApiObject], seed: int = 1) -> Profile:
    cluster = Cluster()
    cluster.load(objects)
    return Profile(CONFIGURATION.profiles[0], cluster, seed=seed)


def picture(profile: Profile) -> tuple[Any, ...]:
    """What a decision may depend on."""
    nodes = profile.cluster.nodes
    rows = [nodes.row_of[name] for name in sorted(nodes.row_of)]
    amounts = nodes.allocatable[rows].tolist(), nodes.requested[rows].tolist(), nodes.nonzero[rows].tolist()
    placed = {uid: (nodes.names[one.row], one.assumed) for uid, one in profile.cluster.pods.by_uid.items()}
    return list(nodes.row_of), amounts, placed, profile.random.getstate(), profile.sampler.start


def unchanced(line: str) -> str:
    """Without what is drawn by lot among nodes that could be cleared equally well."""
    return re.sub(r"→ fits on \S+ after evicting .*", "→ fits after evicting", line)


@given(drawn=NODES, wish=WISHES)
@settings(deadline=None, max_examples=60)
def test_a_scheduler_says_what_a_trial_says(drawn: list[Drawn], wish: Drawn) -> None:
    trial, about = explain(drawn, wish)
    profile = profile_of(list(trial.manifests.objects))
    before = picture(profile)
    answer = run_through(scheduler_answer(profile, about.pod, [IMPORTANT], None, False))
    assert [unchanced(line) for line in answer["text"]] == [unchanced(line) for line in answer_lines(about, False)]
    assert answer["fits"] == about.verdict.is_placed
    assert [one["changes"] for one in answer["document"]["fixes"]] == [list(fix.words) for fix in about.fixes]
    assert answer["rows"] == about.node_rows()
    assert picture(profile) == before


@given(drawn=NODES, wish=WISHES, where=st.integers(0, 13))
@settings(deadline=None, max_examples=60)
def test_a_pod_that_has_a_node_is_judged_as_if_it_had_none(drawn: list[Drawn], wish: Drawn, where: int) -> None:
    """The others as they are, itself nowhere; afterwards it is where it was."""
    trial, _ = explain(drawn, wish)
    objects = list(trial.manifests.objects)
    there = pod("asked", cpu=0, node=f"n{where % len(drawn)}")
    profile = profile_of([*objects, there])
    before = picture(profile)
    answer = run_through(scheduler_answer(profile, there, [IMPORTANT], None, False))
    alone = profile_of(objects)
    free = msgspec.structs.replace(there, spec=msgspec.structs.replace(there.spec, node_name=""))
    assert answer["text"] == run_through(scheduler_answer(alone, free, [IMPORTANT], None, False))["text"]
    assert picture(profile) == before


class SlowClock(VirtualClock):
    """Time passes whenever somebody looks."""

    def monotonic(self) -> float:
        self.jump(1.0)
        return super().monotonic()


def test_an_answer_ends_when_its_time_is_up_and_says_so() -> None:
    big = pod("big", cpu=9)
    profile = profile_of([node("n1", cpu=4, taints="a:NoSchedule"), node("n2", cpu=3)])
    whole = run_through(scheduler_answer(profile, big, [], None, False))["text"]
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def ask(most_seconds: float) -> list[str]:
        answers = AskedAnswers(scheduler_answer, SlowClock(), most_seconds)
        others = asyncio.ensure_future(count_turns())
        answer = await answers.about(profile, big, [], None, False)
        others.cancel()
        text: list[str] = answer["text"]
        return text

    assert asyncio.run(ask(1e9)) == whole
    assert turns > 2  # the process has not stood still
    assert CUT not in "".join(whole)
    assert CUT in asyncio.run(ask(2.0))[-1]
    assert asyncio.run(ask(0.0))[-2:] == ["  fix  none found so far", f"       {CUT}"]


def test_the_classes_of_pods_are_known_and_kubernetes_own() -> None:
    made = pod("p", priority=7)
    spec = msgspec.structs.replace(made.spec, priority_class_name="mine")
    known = classes_in_use([made, msgspec.structs.replace(made, spec=spec)])
    assert {one.metadata.name: one.value for one in known} == {
        "mine": 7,
        "system-cluster-critical": 2_000_000_000,
        "system-node-critical": 2_000_001_000,
    }
