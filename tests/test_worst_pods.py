"""The worst pods that an API server accepts: they are decided upon, and what is kept follows what they say."""

from __future__ import annotations

import json
import threading
from time import process_time
from typing import Self

import pytest

from fairway.cluster import Event, Verb
from fairway.cycle import Outcome
from fairway.model import decode_object
from fairway.model.selector import CANONICAL
from fairway.testing import node, pod
from tests.containers import array_bytes, num_calls, sizes
from tests.test_scheduler import scheduler
from tests.worst_pods import WORST

NUM_NODES = 600
FIT_NOWHERE = ("selector_keys", "affinity_terms", "resources", "spread_constraints", "claims")
LONGEST_CPU_SECONDS = 1.0
COLUMNS = ("LabelColumns._columns", "LabelColumns._num_rows", "NodeTable.allocatable", "NodeTable.requested")


class Bystander:
    """A thread that wants a moment of the interpreter again and again, as the server that answers probes does."""

    def __init__(self) -> None:
        self.longest = 0.0  # processor seconds of this process from one turn to the next
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        before, is_over = process_time(), False
        while not is_over:
            is_over = self._is_over.wait(0.001)
            now = process_time()
            self.longest = max(self.longest, now - before)
            before = now


@pytest.mark.parametrize("kind", WORST)
def test_other_threads_have_their_turn_meanwhile(kind: str) -> None:
    made = scheduler(*(node(f"n{number}", zone=f"z{number % 3}") for number in range(NUM_NODES)))
    data = WORST[kind]("a")
    data["metadata"] |= {"name": "a", "uid": "a"}
    text = json.dumps(data).encode()
    with Bystander() as bystander:
        read = decode_object(text)
        made.observe(Event(Verb.ADDED, read))
        made.run_until_idle()
        made.observe(Event(Verb.DELETED, read))
        made.run_until_idle()
    assert 0 < bystander.longest < LONGEST_CPU_SECONDS


@pytest.mark.parametrize("kind", ["repelling_selectors", "repelling_keys", "attracting_selectors"])
def test_terms_that_nobody_meets_are_not_compiled(kind: str) -> None:
    made = scheduler(*(node(f"n{number}") for number in range(10)))
    data = WORST[kind]("a")
    data["metadata"] |= {"name": "a", "uid": "a"}
    before = CANONICAL.weight
    made.observe(Event(Verb.ADDED, decode_object(json.dumps(data).encode())))
    made.run_until_idle()
    made.observe(Event(Verb.ADDED, pod("next", labels={"app": "web"})))
    assert [decision.outcome for decision in made.run_until_idle()] == [Outcome.SCHEDULED]
    assert CANONICAL.weight - before < 200


@pytest.mark.parametrize("kind", ["affinity_terms", "spread_constraints"])
def test_what_no_node_can_meet_is_not_compiled_to_the_end(kind: str) -> None:
    """Thousands of terms that want labels that no node has, and wishes of a pod that fits nowhere."""
    made = scheduler(*(node(f"n{number}") for number in range(10)))
    data = WORST[kind]("a")
    data["metadata"] |= {"name": "a", "uid": "a"}
    made.observe(Event(Verb.ADDED, decode_object(json.dumps(data).encode())))
    spec = data["spec"]
    if kind == "affinity_terms":
        required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        num_parts, most = len(required["nodeSelectorTerms"]), 12
    else:
        num_parts, most = len(spec["topologySpreadConstraints"]), 8
    assert num_calls(made.run_until_idle) < most * num_parts


@pytest.mark.parametrize("kind", WORST)
def test_what_is_kept_follows_what_the_pod_says(kind: str) -> None:
    made = scheduler(*(node(f"n{number}", zone=f"z{number % 3}") for number in range(NUM_NODES)))
    made.observe(Event(Verb.ADDED, pod("first", labels={"app": "web"}, spread="zone", anti_affinity="node")))
    made.run_until_idle()
    before, bytes_before = sizes(made), array_bytes(made)
    size = 0
    for tag in ("a", "b"):
        data = WORST[kind](tag)
        data["metadata"] |= {"name": tag, "uid": tag}
        text = json.dumps(data).encode()
        size += len(text)
        made.observe(Event(Verb.ADDED, decode_object(text)))
        (decision,) = made.run_until_idle()
        expected = Outcome.UNSCHEDULABLE if kind in FIT_NOWHERE else Outcome.SCHEDULED
        assert decision.outcome is expected
    after = sizes(made)
    for name in COLUMNS:
        assert after[name] <= before[name] + 2, name  # somebody may have asked for another label that nodes have
    assert array_bytes(made) - bytes_before < 4 * size
    made.observe(Event(Verb.ADDED, pod("next", labels={"app": "web"})))
    assert [decision.outcome for decision in made.run_until_idle()] == [Outcome.SCHEDULED]


def test_a_resource_that_no_node_has_is_named_with_the_others() -> None:
    made = scheduler(node("n", cpu=1), node("m", cpu=1))
    wanted = {f"example.com/r{number:02}": 1 for number in range(80)}
    made.observe(Event(Verb.ADDED, pod("p", cpu=2, requests=wanted)))
    (decision,) = made.run_until_idle()
    assert decision.diagnosis is not None
    counts = decision.diagnosis.reason_counts()
    assert counts == dict.fromkeys(["Insufficient cpu", *(f"Insufficient {name}" for name in wanted)], 2)
    assert "Preemption is not helpful" in decision.message


def test_shortages_beyond_sixty_four_are_told_apart() -> None:
    names = [f"example.com/r{number:02}" for number in range(80)]
    first = node("n", resources=dict.fromkeys(names, 1))
    second = node("m", resources={**dict.fromkeys(names, 1), names[70]: 5})
    made = scheduler(first, second)
    made.observe(Event(Verb.ADDED, pod("p", requests={**dict.fromkeys(names, 1), names[70]: 2, names[75]: 2})))
    (decision,) = made.run_until_idle()
    assert decision.diagnosis is not None
    assert decision.diagnosis.reason_counts() == {f"Insufficient {names[70]}": 1, f"Insufficient {names[75]}": 2}
