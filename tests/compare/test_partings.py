"""Where random runs part, against a naive walk along both lists of decisions."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.compare.defragmentations import MOST_LINES, StepEvent, read_steps, step_lines, step_rows
from fairway.compare.metrics import PolicyRuns, compare_policies
from fairway.compare.partings import partings
from fairway.compare.simulations import Finished
from fairway.cycle import Decision, Outcome
from fairway.record import Run
from fairway.testing import node, pod
from tests.record.runs import CLUSTER, SCHEDULER, placed, writer

Step = tuple[int, int, str | None]  # pod, seconds since the step before, the node chosen
STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from(["a", "b", None])), max_size=8)


def record(path: Path, steps: list[Step]) -> str:
    with writer(path) as made:
        for name in ("a", "b"):
            made.node_added(0.0, node(name))
        time = 0.0
        for number, seconds, where in steps:
            time += seconds
            one = pod(f"p{number}")
            result = placed(one, where) if where else Decision(one, CLUSTER.classify(one), Outcome.UNSCHEDULABLE)
            made.decided(time, SCHEDULER, 1, result, 0.0)
        made.close(time)
    return str(path)


def told(steps: list[Step]) -> list[tuple[float, str, str | None]]:
    """Time, pod and node of each decision."""
    lines, time = [], 0.0
    for number, seconds, where in steps:
        time += seconds
        lines.append((time, f"default/p{number}", where))
    return lines


@given(same=STEPS, ours=STEPS, theirs=STEPS)
@settings(max_examples=12)
def test_runs_part_at_the_first_decision_that_differs(same: list[Step], ours: list[Step], theirs: list[Step]) -> None:
    first, second = told(same + ours), told(same + theirs)
    with tempfile.TemporaryDirectory() as name:
        paths = [record(Path(name) / "one", same + ours), record(Path(name) / "two", same + theirs)]
        runs = [PolicyRuns(policy, {1: {}}, {1: path}) for policy, path in zip(("one", "two"), paths, strict=True)]
        (found,) = partings(compare_policies(runs))
    place = next((number for number, (one, two) in enumerate(zip(first, second, strict=False)) if one != two), None)
    if place is None and len(first) != len(second):
        place = min(len(first), len(second))
    assert found.number == place
    if place is None:
        assert found.sentence("one") == "no different decision: two decides everything as one does"
        return
    for lines, said in ((first, found.ours), (second, found.theirs)):
        if place >= len(lines):
            assert said is None
        else:
            assert said is not None
            assert (said["time_seconds"], said["pod"], said["node"]) == lines[place]
            assert said["outcome"] == ("scheduled" if lines[place][2] else "unschedulable")
    time, pod_name, _ = (first if place < len(first) else second)[place]
    assert (found.time, found.pod) == (time, pod_name)
    words = [
        "has no more decisions" if place >= len(lines) else f"→ {lines[place][2] or 'unschedulable'}"
        for lines in (first, second)
    ]
    assert found.sentence("one").endswith(f": one {words[0]}, two {words[1]}")


# -- steps of defragmentation ------------------------------------------------------------------------------------------


def run_with_steps(path: Path, num_steps: int) -> str:
    """Steps told among other events, each begun and over; the last told first."""
    with writer(path) as made:
        made.node_added(0.0, node("a"))
        made.event(0.0, "Pod", "default/p", "Defragmented", "not a scheduler's word")
        for number in range(num_steps):
            made.event(60.0 * number, "Scheduler", SCHEDULER, "Defragmenting", f"step {number}")
            made.event(60.0 * number, "Scheduler", SCHEDULER, "Other", "something else")
            made.event(60.0 * number + 30, "Scheduler", SCHEDULER, "Defragmented", f"came of {number}")
        made.close(60.0 * num_steps)
    return str(path)


def finished(path: str, profile: str, seed: int) -> Finished:
    with Run.open(path) as run:
        return Finished(profile, seed, path, run.metrics(), run.end_seconds, 0, 0, [], 0.0)


def test_steps_are_read_in_order_and_nothing_else(tmp_path: Path) -> None:
    path = run_with_steps(tmp_path / "run", 2)
    assert read_steps(path) == [
        StepEvent(0.0, "Defragmenting", "step 0"),
        StepEvent(30.0, "Defragmented", "came of 0"),
        StepEvent(60.0, "Defragmenting", "step 1"),
        StepEvent(90.0, "Defragmented", "came of 1"),
    ]
    rows = step_rows([PolicyRuns("spread", {7: {}, 8: {}}, {7: path, 8: "not looked at"})])
    assert rows == [
        ("spread", "00:00:00", "Defragmenting", "step 0"),
        ("spread", "00:00:30", "Defragmented", "came of 0"),
        ("spread", "00:01:00", "Defragmenting", "step 1"),
        ("spread", "00:01:30", "Defragmented", "came of 1"),
    ]


def test_seeds_are_named_where_there_are_several_and_many_lines_are_cut(tmp_path: Path) -> None:
    few, many = run_with_steps(tmp_path / "few", 1), run_with_steps(tmp_path / "many", MOST_LINES + 2)
    assert step_lines([finished(few, "x", 1)]) == ["x: defragmented at 00:00:30: came of 0"]
    assert step_lines([finished(few, "x", 1), finished(few, "y", 1)])[1].startswith("y: defragmented at")
    lines = step_lines([finished(many, "x", 1), finished(few, "x", 2)])
    assert lines[0] == "x, seed 1: defragmented at 00:00:30: came of 0"
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "3 more of these; the events of a saved run have all"
