"""`why` and `try` of jobs that other jobs keep waiting, or with which they start: as a scheduler would decide."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairway.explain.jobs.job_answer import job_of_run
from fairway.explain.jobs.live_job import live_job
from fairway.model import Loaded, Source
from fairway.testing import node, pod
from fairway.testing.group_builders import member, pod_group
from tests.cli.trial_files import Folder
from tests.explain.jobs.test_job_why import config
from tests.record.job_runs import configuration, recorded
from tests.sim.diary import lasting

NODES = [node("n1", cpu=8), node("n2", cpu=8)]


def gang(name: str, to: str = "", mode: str = "", *, number: int = 2, first: int = 0, **settings: Any) -> list[Any]:
    said = {"fairway.dev/gang": name, "fairway.dev/gang-size": "2"}
    said |= {"fairway.dev/connect-to": to} if to else {}
    said |= {"fairway.dev/connect-mode": mode} if mode else {}
    own: dict[str, Any] = {"namespace": "ml", "cpu": 2} | settings
    return [pod(f"{name}-{index}", annotations=said, **own) for index in range(first, first + number)]


WAITS = {
    "unknown": (gang("a", "data", "after-ok"), "Dependency: no job ml/data"),
    "not started": (
        [*gang("a", "b", "after-started"), *gang("b", cpu=9)],
        "Dependency: job ml/a waits for job ml/b to start",
    ),
    "not ended": (
        [*gang("a", "b", "after-any"), *gang("b", node="n1")],
        "Dependency: job ml/a waits for job ml/b to end",
    ),
    "failed": (
        [*gang("a", "b", "after-ok"), *gang("b", node="n1", phase="Failed")],
        "Dependency: job ml/b has failed, and job ml/a starts only when it has ended well",
    ),
    "together with nobody": (gang("a", "b"), "Dependency: no job ml/b"),
    "together with too few": (
        [*gang("a", "b"), *gang("b", number=1)],
        "Dependency: job ml/b, with which job ml/a starts, is incomplete: 1 of 2 members are ready",
    ),
    "itself": (gang("a", "a"), "Misconfigured: job ml/a: fairway.dev/connect-to: names itself"),
    "a circle": (
        [*gang("a", "b", "after-any"), *gang("b", "a", "after-ok")],
        "Misconfigured: job ml/a: fairway.dev/connect-to: a cycle: ml/a after ml/b after ml/a",
    ),
    "no room for both": (
        [*gang("a", "b", cpu=6), *gang("b", cpu=6)],
        "job ml/a starts together with job ml/b, which can not: job ml/b: 0 of 2 members fit; b-0 is short of cpu: "
        "0/2 nodes are available: 2 Insufficient cpu.",
    ),
    "two schedulers": (
        [
            *gang("a", number=1),
            pod("a-9", namespace="ml", annotations=gang("a")[0].metadata.annotations, scheduler_name="x"),
        ],
        "Misconfigured: Pod ml/a-0: spec.schedulerName: 'default-scheduler' here and 'x' in Pod ml/a-9; members have "
        "to agree",
    ),
}


@pytest.mark.parametrize(("things", "words"), WAITS.values(), ids=WAITS)
def test_a_job_that_others_keep_waiting_says_so(folder: Folder, things: list[Any], words: str) -> None:
    placed = [thing for thing in things if thing.spec.node_name]
    waiting = [thing for thing in things if not thing.spec.node_name]
    printed = folder.attempt([*NODES, *placed], waiting, "--config", config(folder), command="why ml/a")
    assert (printed.out.splitlines()[0], printed.code) == (f"job ml/a waits · {words}", 3)
    assert "could start" not in printed.out
    tried = folder.attempt([*NODES, *placed], waiting, "--config", config(folder))
    assert tried.code == 3
    assert f"job ml/a waits · {words}" in tried.out
    assert "ml/a-0   unschedulable" in tried.out
    found = live_job([Loaded(thing, Source("here")) for thing in [*NODES, *things]], "ml/a", None, 0, 0.0)
    assert found is not None
    assert words in found[0].headline
    assert not found[0].fits


STARTS = {
    "a known peer that runs": ([*gang("a", "b"), *gang("b", node="n1")], ""),
    "both together": ([*gang("a", "b", cpu=4), *gang("b", cpu=4)], " · together with job ml/b"),
    "who is named by the other": ([*gang("b", "a", cpu=4), *gang("a", cpu=4)], " · together with job ml/b"),
    "one that has ended well": (
        [*gang("a", "b", "after-ok"), *gang("b", node="n1", phase="Succeeded")],
        "",
    ),
    "one that runs": ([*gang("a", "b", "after-started"), *gang("b", node="n1")], ""),
}


@pytest.mark.parametrize(("things", "words"), STARTS.values(), ids=STARTS)
def test_a_job_that_others_let_start_says_with_whom(folder: Folder, things: list[Any], words: str) -> None:
    placed = [thing for thing in things if thing.spec.node_name]
    waiting = [thing for thing in things if not thing.spec.node_name]
    printed = folder.attempt([*NODES, *placed], waiting, "--config", config(folder), command="why ml/a")
    assert printed.out.startswith("job ml/a could start now · 2 of 2 members fit, on ")
    assert printed.out.splitlines()[0].endswith(f"(min 2, fairway.dev/gang){words}")
    assert printed.code == 0
    assert folder.attempt([*NODES, *placed], waiting, "--config", config(folder)).code == 0


def test_jobs_are_tried_after_those_that_they_wait_for(folder: Folder) -> None:
    things = [*gang("a", "b", "after-started"), *gang("b")]
    tried = folder.attempt(NODES, things, "--config", config(folder))
    assert (tried.out.splitlines()[-1], tried.code) == ("4 of 4 pods get a node", 0)


def test_what_one_of_them_lacks_is_told_of_it_and_what_helps_helps_both(folder: Folder) -> None:
    things = [*gang("a", "b", cpu=6), *gang("b", cpu=6)]
    printed = folder.attempt(NODES, things, "--config", config(folder), command="why ml/b")
    first, *others = printed.out.splitlines()
    assert first == "job ml/b waits · 0 of 2 members fit (min 2, fairway.dev/gang) · together with job ml/a"
    assert "    all 2       0   ml/a 12 cpu no limit" in others
    assert others[-1] == "  fix  2 nodes more like n1 → fits"


def test_a_pod_group_that_is_being_deleted_is_missed() -> None:
    group = pod_group("a", 2, namespace="ml")
    meta = msgspec.structs.replace(group.metadata, deletion_timestamp=dt.datetime(2026, 11, 18, tzinfo=dt.UTC))
    things: list[Any] = [msgspec.structs.replace(group, metadata=meta)]
    things += [member(f"a-{index}", "a", namespace="ml", cpu=1) for index in range(2)]
    found = live_job([Loaded(thing, Source("here")) for thing in [*NODES, *things]], "ml/a", None, 0, 0.0)
    assert found is not None
    assert found[0].headline.endswith("job ml/a is incomplete: PodGroup ml/a is being deleted")
    assert not found[0].fits


def test_a_run_says_what_its_jobs_waited_for(tmp_path: Path) -> None:
    def arriving(things: list[Any]) -> list[tuple[float, Any]]:
        return [(0.0, thing) for thing in things]

    short = [
        lasting(each.metadata.name, 60, namespace="ml", annotations=each.metadata.annotations) for each in gang("b")
    ]
    things = [*gang("a", "b", "after-ok"), *short, *gang("c", "d", cpu=6), *gang("d", cpu=6)]
    with recorded(tmp_path / "run.duckdb", NODES, arriving(things), config=configuration("fairway"), end=600) as run:
        times = (("ml/a", 30.0), ("ml/a", 90.0), ("ml/c", 30.0))
        told = [job_of_run(run, name, at) for name, at in times]
    first, later, both = (answer.headline for answer in told)
    assert first == "job ml/a waits, 30s · Dependency: job ml/a waits for job ml/b to end well"
    assert later.startswith("job ml/a has started")
    assert "job ml/c starts together with job ml/d, which can not" in both
    assert [answer.fits for answer in told] == [False, True, False]
