"""A history in memory is the run that a file would be; it forgets what is over, and nothing that still stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cycle import Decision
from fairway.record import Run, Scored
from fairway.record.vocabulary import PodEnd
from fairway.record.writing.recent_run import RecentRun
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.testing import node, pod
from tests.record.runs import placed
from tests.stream.test_saved_runs import scenario

LASTING = {"nodes": "to_seconds", "pods": "ended_seconds", "jobs": "ended_seconds", "occupancy": "to_seconds",
           "holds": "to_seconds"}  # fmt: skip
INSTANT = ("decisions", "job_decisions", "events", "job_states", "plans", "plugin_times")
OF_DECISIONS = ("filter_counts", "scores", "preemptions")
ASIDE = ("meta", "objects")
"""What a run says of itself, and manifests of other kinds, which a history does not keep."""


class Asked(RecentRun):
    """One that is asked all the time."""

    def __init__(self, every: int, **about: Any) -> None:
        super().__init__("live", **about)
        self._every = every
        self.num_asked = 0

    def _finish(self, t_end: float | None, ending: dict[str, Any]) -> None:
        """It is asked after the simulation."""

    def decided(
        self, t: float, scheduler: str, attempt: int, decision: Decision, cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:  # fmt: skip
        super().decided(t, scheduler, attempt, decision, cycle_seconds, best)
        if self._num_decisions % self._every == 0:
            self.num_asked += 1
            run = self.refresh(t)
            assert run.end_seconds == t
            open_now = len(run.pods.where("ended_seconds IS NULL"))
            assert open_now == len(self._pods.by_uid), "each pod once, ended or not"


def rows_of(run: Run) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [{key: value for key, value in row.items() if key != "rowid"} for row in table.rows()]
        for name, table in run.tables.items()
        if name not in ASIDE
    }


def places(moves: Sequence[dict[str, Any]], at: float) -> Counter[tuple[str, str]]:
    """How many pods of each scheduler are where: +1 where one comes to, -1 where it came from."""
    found: Counter[tuple[str, str]] = Counter()
    for move in moves:
        if move["time_seconds"] <= at:
            for place, change in ((move["origin"], -1), (move["place"], 1)):
                if place is not None:
                    found[move["scheduler"], place] += change
    assert all(number >= 0 for number in found.values())
    return +found


@settings(max_examples=5, deadline=None)
@given(
    mode=st.sampled_from(["fairway", "kube"]),
    num_nodes=st.integers(1, 4),
    gangs=st.lists(st.tuples(st.integers(2, 5), st.integers(1, 3), st.sampled_from([0, 100])), min_size=1, max_size=2),
    num_small=st.integers(1, 12),
    is_queued=st.booleans(),
    every=st.integers(15, 60),
    share=st.floats(0.0, 1.0),
)
def test_it_is_the_run_that_was_recorded_and_forgets_what_is_over(
    mode: str, num_nodes: int, gangs: list[tuple[int, int, int]], num_small: int, is_queued: bool, every: int,
    share: float,
) -> None:  # fmt: skip
    document = scenario(mode, num_nodes, gangs, num_small, is_queued and mode == "fairway", True)
    history = Asked(every, seconds=1e9)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        simulate(decode_scenario(document, "test"), record=path, follower=history)
        with Run.open(path) as run:
            end, recorded = run.end_seconds, rows_of(run)
    shown = rows_of(history.refresh(end))
    assert len(recorded["decisions"]) > 0
    for name, rows in recorded.items():
        told = [row for row in shown[name] if name != "scores" or row["rank"] <= 3]
        assert told == rows, name

    before = share * end
    history.forget(before)
    left = rows_of(history.refresh(end))
    for name, until in LASTING.items():
        assert left[name] == [row for row in shown[name] if row[until] is None or row[until] >= before], name
    for name in INSTANT:
        assert left[name] == [row for row in shown[name] if row["time_seconds"] >= before], name
    decisions = {row["decision_id"] for row in left["decisions"]}
    first = min(decisions, default=1 << 60)
    for name in OF_DECISIONS:
        assert left[name] == [row for row in shown[name] if row["decision_id"] >= first], name
    assert {row["template_id"] for row in left["pods"]} <= {row["template_id"] for row in left["templates"]}
    for at in (before, (before + end) / 2, end):
        assert places(left["queue_moves"], at) == places(shown["queue_moves"], at)
    if history.num_asked:
        assert history.kept_from == before


def lived(history: RecentRun, number: int) -> None:
    """A pod comes, gets its node and ends, within a second."""
    what = pod(f"pod-{number}", uid=f"uid-{number}", cpu=1, owner=f"Job/job-{number}")
    history.pod_created(number, what, "default-scheduler")
    history.decided(number + 0.2, "default-scheduler", 1, placed(what, "n"), 0.001)
    history.bound(number + 0.4, what.metadata.uid, "n")
    history.ended(number + 0.8, what.metadata.uid, PodEnd.SUCCEEDED)


def test_old_things_go_by_themselves_and_pods_that_stay_keep_what_they_are_made_of() -> None:
    history = RecentRun("live", seconds=100.0)
    history.node_added(0.0, node("n", cpu=1000))
    stays = pod("stays", uid="stays", cpu=3, owner="Job/old")
    history.pod_created(0.0, stays, "default-scheduler")
    history.bound(0.5, "stays", "n")
    for number in range(1, 500):
        lived(history, number)
        if number % 20 == 0 or number == 499:
            run = history.refresh(number + 1.0)
            assert 0 <= number + 1 - history.kept_from <= 113
            kept = run.pods.where("ended_seconds IS NOT NULL")
            assert len(kept) == len(run.decisions) <= 113
    assert len(run.templates) == len(kept) + 1
    history.pod_created(500.0, pod("like", uid="like", cpu=1, owner="Job/job-1"), "default-scheduler")
    again = history.refresh(501.0)
    (like,) = again.pods.where("uid = 'like'").rows()
    assert len(again.templates.where("template_id = ?", like["template_id"])) == 1, "it was forgotten, and is back"
    assert [row["pod"] for row in again.pods_on("n", 501.0).rows()] == ["default/stays"]


def test_memory_is_bounded() -> None:
    history, most_bytes = RecentRun("live", seconds=1e9, most_bytes=2 << 20), 2 << 20
    history.node_added(0.0, node("n", cpu=1000))
    for number in range(1, 6001):
        lived(history, number)
        if number % 500 == 0:
            history.refresh(float(number + 1))
            assert history.num_bytes <= most_bytes + (1 << 19)
    assert 0 < history.kept_from < 5500, "the oldest is gone, the latest is there"
