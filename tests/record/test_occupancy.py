"""The books balance: whatever happens to pods, a node's load is the sum of what its pods hold."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record import RecordOptions, Run, RunWriter
from fairway.record.load import load_history
from fairway.record.vocabulary import PodEnd
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, writer

NODES = ("a", "b", "c")


@dataclass
class Ledger:
    """The naive account beside the writer: who holds what where, now; and what it was at every step."""

    held: dict[str, tuple[str, int]] = field(default_factory=dict)  # pod uid: node, cpu
    history: list[tuple[float, dict[str, int]]] = field(default_factory=list)

    def note(self, t: float) -> None:
        self.history.append(
            (t, {name: sum(cpu for where, cpu in self.held.values() if where == name) for name in NODES})
        )

    def at(self, t: float) -> dict[str, int]:
        known = [load for time, load in self.history if time <= t]
        return known[-1] if known else dict.fromkeys(NODES, 0)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "bind", "bind", "end", "resize", "lose", "regain"]),
        st.integers(0, 7),  # which pod
        st.sampled_from(NODES),
        st.integers(1, 4),  # how many cpus
        st.sampled_from([0.0, 0.5, 1.0]),  # how long after the step before
    ),
    max_size=40,
)


def tell(made: RunWriter, ledger: Ledger, steps: list[tuple[str, int, str, int, float]]) -> float:
    """Carry out the steps that make sense; the same pod may live several times."""
    t = 0.0
    wants: dict[str, int] = {}  # cpus of pods that are there
    bound: dict[str, str] = {}
    births = dict.fromkeys(range(8), 0)
    for verb, number, where, cpu, after in steps:
        t += after
        uid = f"u-{number}-{births[number]}"
        if verb == "create" and uid not in wants:
            made.pod_created(t, pod(f"p{number}", uid=uid, cpu=cpu), SCHEDULER)
            wants[uid] = cpu
        elif verb == "bind" and uid in wants and uid not in bound:
            made.bound(t, uid, where)
            bound[uid] = where
            ledger.held[uid] = where, wants[uid]
        elif verb == "end" and uid in wants:
            made.ended(t, uid, PodEnd.SUCCEEDED)
            del wants[uid]
            bound.pop(uid, None)
            ledger.held.pop(uid, None)
            births[number] += 1
        elif verb == "resize" and uid in wants:
            made.resized(t, pod(f"p{number}", uid=uid, cpu=cpu))
            wants[uid] = cpu
            if uid in ledger.held:
                ledger.held[uid] = bound[uid], cpu
        elif verb == "lose" and uid in bound:
            made.lost(t, uid)
            ledger.held.pop(uid, None)
        elif verb == "regain" and uid in bound:
            made.regained(t, uid)
            ledger.held[uid] = bound[uid], wants[uid]
        ledger.note(t)
    return t


@given(steps=STEPS, chunk_rows=st.sampled_from([6, 1000]), instants=st.lists(st.floats(-1, 45), max_size=4))
@settings(max_examples=20)
def test_the_load_at_any_instant_is_the_sum_of_what_pods_hold(
    steps: list[tuple[str, int, str, int, float]], chunk_rows: int, instants: list[float]
) -> None:
    ledger = Ledger()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run"
        with writer(path, RecordOptions(chunk_rows=chunk_rows)) as made:
            for name in NODES:
                made.node_added(0.0, node(name, cpu=100))
            end = tell(made, ledger, steps)
            made.close(end)
        with Run.open(path) as run:
            for at in {*instants, *(time for time, _ in ledger.history[-8:])}:
                load = {row["node"]: row["cpu_milli"] for row in run.node_load(at)}
                assert load == ({name: cpu * 1000 for name, cpu in ledger.at(at).items()} if at >= 0 else {})
            columns = run.occupancy.numpy("from_seconds", "to_seconds", "pod_id")
            assert (np.nan_to_num(columns["to_seconds"], nan=end) >= columns["from_seconds"]).all()
            check_integral(run, ledger, end)


def check_integral(run: Run, ledger: Ledger, end: float) -> None:
    """What all pods held over the run, by two ways, and by the curve of the sum over all nodes."""
    steps = [*ledger.history, (end, {})]
    expected = sum(sum(load.values()) * (after - time) for (time, load), (after, _) in pairwise(steps))
    history = load_history(run)
    if "cpu" not in history.resources:
        assert expected == 0
        return
    cpu = history.resources.index("cpu")
    assert np.isclose(history.held.integral()[cpu], expected * 1000)
    curve = history.curve(history.held, "cpu")
    assert np.isclose((curve.values * np.diff(curve.times, append=end)).sum(), expected * 1000)
    assert (np.diff(curve.times) > 0).all()
