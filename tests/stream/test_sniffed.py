"""Pods, nodes and intervals from messages: rule by rule, against a naive statement of them, and from a real log."""

import gzip
import itertools
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.stream.go_time import format_go_time, rfc3339_nanoseconds
from fairway.stream.message import BadLineError, Message, read_line
from fairway.stream.sniffed import Interval, Sniffed, Sniffing
from tests.stream.naive_sniffing import naive_interval, naive_intervals, naive_times

SHARED = Path(__file__).parents[3] / "shared" / "sniffer"
ORIGIN = 1_700_000_000_000_000_000
SECOND = 1_000_000_000

real_log = pytest.mark.skipif(not SHARED.exists(), reason="the recorded log of a cluster (shared/sniffer) is not here")


def exact(seconds: float) -> str:
    return format_go_time(ORIGIN + round(seconds * SECOND), round(seconds * SECOND))


def condition(seconds: int) -> str:
    return exact(seconds).partition(" m=")[0]


def sniffed(messages: Sequence[Message]) -> Sniffed:
    sniffing = Sniffing()
    for message in messages:
        sniffing.take(message)
    return sniffing.result()


def step(event: str, seconds: float, pod: str = "a", node: str = "n1") -> Message:
    endpoint = {"ScheduleSuccess": "schedulePod", "BindingSuccess": "bindingCycle"}.get(event, event)
    return Message("Pod", pod, endpoint, event, node, timestamp=exact(seconds))


def watched(
    event: str, endpoint: str = "podUpdate", at: int | None = None, pod: str = "a", node: str = "n1"
) -> Message:
    return Message("Pod", pod, endpoint, event, node, timestamp="" if at is None else condition(at))


# -- one pod, rule by rule ---------------------------------------------------------------------------------------------


def only_interval(*messages: Message) -> Interval | None:
    (pod,) = sniffed(messages).pods
    return pod.interval


def test_a_whole_life() -> None:
    result = sniffed(
        [
            step("ScheduleSuccess", 10),
            step("BindingSuccess", 10.5),
            step("postStart", 11),
            step("preStop", 20),
            watched("Succeeded"),
        ]
    )
    (pod,) = result.pods
    assert (result.origin, result.end) == (ORIGIN + 10 * SECOND, 10 * SECOND)
    assert pod.interval == Interval(SECOND // 2, "BindingSuccess", 10 * SECOND, "preStop", "Succeeded")
    assert (pod.started, pod.decisions, pod.created, pod.was_there_before) == (SECOND, (0,), 0, False)


def test_chosen_and_never_heard_of_again_is_never_bound() -> None:
    assert only_interval(step("ScheduleSuccess", 0)) is None


@pytest.mark.parametrize("proof", [step("postStart", 2), step("preStop", 2), watched("Running")])
def test_anything_that_only_a_bound_pod_causes_proves_that_it_was_bound(proof: Message) -> None:
    interval = only_interval(step("ScheduleSuccess", 0), proof)
    assert interval is not None
    assert interval.start_source == "ScheduleSuccess"


def test_a_pod_that_was_there_before_holds_its_node_from_the_beginning() -> None:
    interval = only_interval(watched("PodScheduled", "podAdd", at=0), step("postStart", 100))
    assert interval == Interval(0, "PodScheduled", None, None, None)


def test_a_phase_ends_it_when_the_log_said_so() -> None:
    others = [step("BindingSuccess", 3, "b"), watched("Failed"), step("preStop", 9, "b")]
    pods = {pod.name: pod for pod in sniffed([step("BindingSuccess", 0), *others]).pods}
    assert pods["a"].interval == Interval(0, "BindingSuccess", 3 * SECOND, "phase", "Failed")


def test_a_deletion_ends_it_where_nothing_else_does() -> None:
    interval = only_interval(step("BindingSuccess", 0), watched("Running"), watched("Running", "podDelete"))
    assert interval == Interval(0, "BindingSuccess", 0, "podDelete", "Deleted")


def test_nothing_ends_before_it_begins() -> None:
    interval = only_interval(step("preStop", 1), step("BindingSuccess", 2))
    assert interval is not None
    assert interval.end == interval.start == SECOND


def test_each_choice_is_a_decision_and_the_same_message_twice_is_one() -> None:
    (pod,) = sniffed([step("ScheduleSuccess", 0), step("ScheduleSuccess", 0), step("ScheduleSuccess", 4)]).pods
    assert pod.decisions == (0, 4 * SECOND)


def test_a_second_node_is_a_second_pod() -> None:
    first, second = sniffed(
        [
            step("BindingSuccess", 0),
            step("ScheduleSuccess", 5, node="n2"),
            step("BindingSuccess", 6, node="n2"),
            step("preStop", 7, node="n1"),  # late, and about the first
        ]
    ).pods
    assert (first.node, first.number, second.node, second.number) == ("n1", 1, "n2", 2)
    assert first.interval == Interval(0, "BindingSuccess", 5 * SECOND, "other node", "Deleted")
    assert second.interval == Interval(6 * SECOND, "BindingSuccess", None, None, None)


def test_a_pod_may_come_back_to_a_node() -> None:
    messages = [step("BindingSuccess", at, node=node) for at, node in ((0, "n1"), (5, "n2"), (9, "n1"))]
    pods = sniffed(messages).pods
    assert [(pod.node, pod.interval.start, pod.interval.end) for pod in pods if pod.interval] == [
        ("n1", 0, 5 * SECOND),
        ("n2", 5 * SECOND, 9 * SECOND),
        ("n1", 9 * SECOND, None),
    ]


def test_a_repeated_condition_is_noted_once() -> None:
    again = [watched("Ready", at=3), watched("Ready", at=3), watched("Ready", at=5), watched("Running")]
    assert [note.reason for note in sniffed([step("BindingSuccess", 0), *again, again[3]]).notes] == [
        "Ready",
        "Ready",
        "Running",
    ]


def test_a_nodes_repeated_condition_is_noted_once() -> None:
    pressure = Message("Node", "n1", "nodeUpdate", "MemoryPressure", timestamp=condition(3))
    other = pressure._replace(timestamp=condition(40))
    notes = sniffed([step("preStop", 0), pressure, pressure, other, pressure]).notes
    assert [(note.kind, note.subject, note.reason) for note in notes] == 2 * [("Node", "n1", "MemoryPressure")]


def test_a_late_choice_is_no_return_to_a_node() -> None:
    """What the watcher told of the second pod has no time of its own, and the log's clock is past the late message."""
    late = step("BindingSuccess", 1)
    messages = [step("ScheduleSuccess", 0), step("preStop", 30, "b"), watched("Running", node="n2"), late]
    assert [pod.node for pod in sniffed(messages).pods if pod.name == "a"] == ["n1", "n2"]


def test_messages_without_any_time_make_pods_all_the_same() -> None:
    result = sniffed([watched("Running"), watched("PodScheduled"), watched("Succeeded")])
    assert (result.origin, result.end) == (None, 0)
    assert result.pods[0].interval == Interval(0, "PodScheduled", 0, "phase", "Succeeded")


# -- nodes -------------------------------------------------------------------------------------------------------------


def node_line(endpoint: str, **fields: Any) -> Message:
    return Message("Node", "n1", endpoint, **fields)


def test_a_node_comes_changes_and_goes() -> None:
    four, eight = {"allocatable-cpu": "4", "capacity-cpu": "5"}, {"allocatable-cpu": "8"}
    result = sniffed(
        [
            step("BindingSuccess", 0, node="n2"),
            node_line("nodeAdd", extra=four),
            node_line("nodeAdd", event="Ready", reason="KubeletReady", timestamp=condition(-90)),
            step("BindingSuccess", 3, "b", node="n2"),
            node_line("nodeUpdate", extra=four),
            node_line("nodeUpdate", extra=eight),
            step("BindingSuccess", 5, "c", node="n2"),
            node_line("nodeUpdate", event="Ready", reason="KubeletNotReady"),
            step("BindingSuccess", 7, "d", node="n2"),
            node_line("nodeDeleted"),
            node_line("nodeDeleted"),
        ]
    )
    assert [(s.start // SECOND, s.change, s.allocatable, s.is_ready) for s in result.nodes["n1"]] == [
        (0, "Added", {"cpu": "4"}, True),
        (3, "Resized", {"cpu": "8"}, True),
        (5, "NotReady", {"cpu": "8"}, False),
        (7, "Deleted", {"cpu": "8"}, False),
    ]
    assert [(s.start, s.change, s.allocatable) for s in result.nodes["n2"]] == [(0, "Added", None)]


def test_a_node_that_held_a_pod_was_there() -> None:
    messages = [step("BindingSuccess", 0), step("BindingSuccess", 9, "b"), node_line("nodeAdd")]
    assert sniffed(messages).nodes["n1"][0].start == 0


# -- against a naive statement of the rules ----------------------------------------------------------------------------

EVENTS = ("ScheduleSuccess", "BindingSuccess", "postStart", "preStop")
PHASES = ("Running", "Succeeded", "Failed")
pods = st.sampled_from(["a", "b", "c"])
steps = st.builds(
    lambda event, at, pod: step(event, at, pod, f"n-{pod}"), st.sampled_from(EVENTS), st.floats(0, 50), pods
)
phases = st.builds(
    lambda event, endpoint, pod: watched(event, endpoint, None, pod, f"n-{pod}"),
    st.sampled_from(PHASES),
    st.sampled_from(["podAdd", "podUpdate", "podDelete"]),
    pods,
)
conditions = st.builds(
    lambda event, endpoint, at, pod: watched(event, endpoint, at, pod, f"n-{pod}"),
    st.sampled_from(["PodScheduled", "Ready"]),
    st.sampled_from(["podAdd", "podUpdate", "podDelete"]),
    st.integers(-20, 60),
    pods,
)


@given(st.lists(st.one_of(steps, phases, conditions), max_size=25))
def test_intervals_are_those_of_the_rules(messages: list[Message]) -> None:
    result = sniffed(messages)
    assert (result.origin, result.end) == naive_times(messages)
    assert {pod.name for pod in result.pods} == {message.name for message in messages}
    for pod in result.pods:
        assert flat(pod.interval) == naive_interval(messages, pod.name), pod.name


@st.composite
def moving(draw: st.DrawFn) -> list[Message]:
    """Messages of two pods that were on one node, and later on another: their steps in any order of lines, and then
    whatever was watched.
    """
    messages, seen = [], []
    for pod in ("a", "b"):
        for place, node in enumerate(("n1", "n2", "n3")[: draw(st.integers(1, 3))]):
            begun = 20 * place
            event = draw(st.sampled_from(EVENTS))
            messages.append(step(event, begun + draw(st.floats(0, 1)), pod, node))  # a time that tells who was first
            for _ in range(draw(st.integers(0, 5))):
                at = draw(st.integers(1, 18))
                other = draw(st.sampled_from((*EVENTS, "Succeeded", "Failed", "PodScheduled", "Ready")))
                if other in EVENTS:
                    messages.append(step(other, begun + at + draw(st.floats(0, 0.9)), pod, node))
                else:
                    endpoint = draw(st.sampled_from(["podAdd", "podUpdate", "podDelete"]))
                    moment = begun + at if other in ("PodScheduled", "Ready") else None
                    seen.append(watched(other, endpoint, moment, pod, node))
    return [*draw(st.permutations(messages)), *draw(st.permutations(seen))]


@given(moving())
def test_a_pod_on_several_nodes_is_several(messages: list[Message]) -> None:
    result = sniffed(messages)
    assert_sound(result)
    for name in {message.name for message in messages}:
        pods = [pod for pod in result.pods if pod.name == name]
        in_order = [(pod.node, flat(pod.interval)) for pod in sorted(pods, key=lambda pod: pod.number)]
        assert in_order == naive_intervals(messages, name)


def flat(interval: Interval | None) -> tuple[int, str, int | None, str | None, str | None] | None:
    """As the plain statement has it."""
    if interval is None:
        return None
    return interval.start, interval.start_source, interval.end, interval.end_source, interval.reason


wandering = st.builds(step, st.sampled_from(EVENTS), st.floats(0, 50), pods, st.sampled_from(["n1", "n2", "n3"]))


@given(st.lists(st.one_of(wandering, phases, conditions), max_size=25))
def test_intervals_never_turn_around_or_overlap(messages: list[Message]) -> None:
    assert_sound(sniffed(messages))


def assert_sound(result: Sniffed) -> None:
    for name in {pod.name for pod in result.pods}:
        intervals = [pod.interval for pod in result.pods if pod.name == name and pod.interval is not None]
        ends = [result.end if interval.end is None else interval.end for interval in intervals]
        assert all(0 <= interval.start <= end for interval, end in zip(intervals, ends, strict=True))
        held = sorted((i.start, end) for i, end in zip(intervals, ends, strict=True) if i.start < end)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(held)), (name, held)


# -- a real cluster's log ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lines() -> list[str]:
    with gzip.open(SHARED / "sniffer.log.gz", "rt") as log:
        return log.readlines()


@pytest.fixture(scope="module")
def facts() -> Any:
    return json.loads((SHARED / "facts.json").read_text())


@pytest.fixture(scope="module")
def real(lines: list[str]) -> Sniffed:
    return sniffed([read_line(line)[0] for line in lines])


@real_log
def test_totals_are_those_worked_out_from_the_log(real: Sniffed, facts: Any) -> None:
    totals = facts["totals"]
    assert real.origin is not None
    told = {
        "lines": real.num_messages,
        "pods": len(real.pods),
        "nodes": len(real.nodes),
        "origin": rfc3339_nanoseconds(real.origin),
        "end_ns": real.end,
        "pods_scheduled": sum(bool(pod.decisions) for pod in real.pods),
        "never_bound": [pod.name for pod in real.pods if pod.interval is None],
    }
    assert told == {key: totals[key] for key in told}
    before = {pod.name for pod in real.pods if pod.was_there_before}
    assert before == set(totals["there_before_the_log"])
    for row in facts["lines_by_event"]:
        assert real.counts[row["object"], row["endpoint"], row["event"]] == row["lines"]


@real_log
def test_every_pod_has_its_times_to_the_nanosecond(real: Sniffed, facts: Any) -> None:
    pods = {pod.name: pod for pod in real.pods}
    for name, fact in facts["pods"].items():
        pod, interval = pods[name], pods[name].interval
        assert interval is not None
        assert pod.node == fact["node"]
        assert interval == Interval(
            fact["occupancy_from_ns"], fact["from_source"], fact["occupancy_to_ns"], fact["to_source"], fact["reason"]
        )
        if fact["schedule_to_bind_ns"] is not None:
            assert interval.start - pod.decisions[0] == fact["schedule_to_bind_ns"]
        if fact["bind_to_post_start_ns"] is not None:
            assert pod.started is not None
            assert pod.started - interval.start == fact["bind_to_post_start_ns"]
        if fact["bind_to_pre_stop_ns"] is not None:
            assert interval.end is not None
            assert interval.end_source == "preStop"
            assert interval.end - interval.start == fact["bind_to_pre_stop_ns"]


@real_log
def test_all_other_pods_have_the_times_of_the_rules(real: Sniffed, lines: list[str]) -> None:
    messages = [read_line(line)[0] for line in lines]
    assert (real.origin, real.end) == naive_times(messages)
    assert {pod.name: flat(pod.interval) for pod in real.pods} == {
        name: naive_interval(messages, name)
        for name in {message.name for message in messages if message.object == "Pod"}
    }


@real_log
def test_every_node_has_its_load(real: Sniffed, facts: Any) -> None:
    for name, fact in facts["nodes"].items():
        intervals = [pod.interval for pod in real.pods if pod.node == name and pod.interval is not None]
        spans = [(i.start, real.end if i.end is None else i.end) for i in intervals]
        assert len(spans) == fact["intervals"]
        assert sum(i.end is None for i in intervals) == fact["open_at_end"]
        assert sum(end - start for start, end in spans) == fact["pod_nanoseconds"]
        peak = max(sum(start <= instant < end for start, end in spans) for instant, _ in spans)
        assert peak == fact["peak_pods"]
        for second, count in fact["pods_at"].items():
            assert sum(start <= int(second) * SECOND < end for start, end in spans) == count


@real_log
def test_how_long_binding_took(real: Sniffed, facts: Any) -> None:
    complete = [
        pod
        for pod in real.pods
        if pod.decisions and pod.started is not None and pod.interval and pod.interval.start_source == "BindingSuccess"
        and pod.interval.end_source == "preStop"
    ]  # fmt: skip
    took = [pod.interval.start - pod.decisions[0] for pod in complete if pod.interval]
    fact = facts["distributions"]["schedule_to_bind"]
    assert (len(took), min(took), max(took), sum(took)) == (
        fact["pods"],
        fact["min_ns"],
        fact["max_ns"],
        fact["sum_ns"],
    )
    assert round(statistics.median(took)) == fact["median_ns"]
    assert len(took) == facts["totals"]["complete_pods"]
    to_start = [pod.started - pod.interval.start for pod in complete if pod.interval and pod.started is not None]
    to_stop = [pod.interval.end - pod.interval.start for pod in complete if pod.interval and pod.interval.end]
    medians = [round(statistics.median(times) / SECOND, 3) for times in (took, to_start, to_stop)]
    assert medians == [0.246, 1.070, 11.042]
    assert len(to_start) == len(to_stop) == 88


@real_log
def test_how_the_others_of_those_that_were_chosen_a_node_went(real: Sniffed) -> None:
    """Of 92 pods 88 told all four of their steps; of the others one was never bound, one is there yet, one failed."""
    chosen = [pod for pod in real.pods if pod.decisions]
    intervals = [pod.interval for pod in chosen if pod.interval is not None]
    assert (len(chosen), len(intervals)) == (92, 91)
    assert sum(interval.end is None for interval in intervals) == 1
    assert sum(interval.reason == "Failed" for interval in intervals) == 1


@real_log
@pytest.mark.parametrize("seed", range(4))
def test_disorder_doubles_and_cuts_do_no_harm(lines: list[str], seed: int) -> None:
    luck = np.random.default_rng(seed)
    order = sorted(range(len(lines)), key=lambda number: number + luck.uniform(0, 20))
    shuffled = [lines[number] for number in order for _ in range(1 + (luck.random() < 0.1))]
    text = "".join(shuffled)[: luck.integers(sum(map(len, shuffled)))]
    taken = []
    for line in text.splitlines():
        try:
            taken.append(read_line(line)[0])
        except BadLineError:
            assert line == text.splitlines()[-1]  # the cut one
    assert_sound(sniffed(taken))
