"""Jobs in a live scheduler: what it says about them when it is asked, and what is recorded of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.cli.scheduler_api import job_sentence, print_answer, print_job_view
from fairway.live.recording import LiveRecorder
from fairway.live.service import LiveScheduler
from fairway.record import Run, RunWriter
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import bindings, condition, node, play, pod
from tests.live.test_api_routes import ask

CONFIG = {"profiles": [{"fairway": {"gangs": {"mode": "fairway"}}}]}


def member(number: int, gang: str, least: int, cpu: str) -> dict[str, Any]:
    tree = pod(f"{gang}-{number}", cpu=cpu)
    tree["metadata"]["annotations"] = {"fairway.dev/gang": gang, "fairway.dev/gang-min": str(least)}
    return tree


def test_a_scheduler_tells_how_many_members_of_a_job_fit(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, Any]] = []

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: condition(api, "train-2"))
        why = "/fairway/v1/why?"
        names = (
            "pod=default/train",
            "job=default/train",
            "pod=default/train-0&text=yes",
            "job=default/none",
            "pod=default/none",
        )
        told.extend(await ask(live, *(f"{why}{name}" for name in names)))

    members = [("pods", member(number, "train", 3, "2")) for number in range(3)]
    play(story, ("nodes", node("n1")), *members, configuration=CONFIG)
    (_, by_name), (_, by_job), (_, of_pod), (no_job, _), (no_pod, _) = told
    moving = ("place", "attempts")  # it is tried again meanwhile
    assert {k: v for k, v in by_name.items() if k not in moving} == {k: v for k, v in by_job.items() if k not in moving}
    assert (by_job["job"], by_job["minCount"], by_job["there"], by_job["bound"]) == ("default/train", 3, 3, 0)
    assert (by_job["fits"], by_job["missing"]) == (False, 1)
    assert by_job["blocking"] in by_job["waiting"]
    assert (of_pod["pod"], of_pod["job"]["job"]) == ("default/train-0", "default/train")
    assert (no_job, no_pod) == (404, 404)
    assert job_sentence(by_job).startswith("job default/train waits (")
    assert job_sentence(by_job).endswith(" · 2 of 3 members fit (min 3)")
    assert print_job_view(by_job, "--live", "table") == 3
    assert capsys.readouterr().err.startswith("→ fairway why default/train --live")
    print_answer(of_pod, node=None, all_nodes=False, output="table", options="--live")
    assert capsys.readouterr().out.startswith("job default/train waits (")


def test_a_live_recording_keeps_jobs(tmp_path: Path) -> None:
    path = tmp_path / "run"

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        with RunWriter(path, scenario={"name": "live"}, seed=0, origin="live") as writer:
            recorder = LiveRecorder(writer, live.world.now)
            live.listeners.append(recorder)
            for number in range(2):
                api.put("pods", member(number, "train", 2, "1"))
            for number in range(2):
                api.put("pods", member(number, "wide", 2, "4"))
            await api.until(lambda: {"train-0", "train-1"} <= set(bindings(api)) and condition(api, "wide-1"))
            await api.until(lambda: not live.world.num_assumed)
            writer.close(recorder.time)

    play(story, ("nodes", node("n1")), configuration=CONFIG)
    with Run.open(path) as run:
        jobs = {row["job"]: row for row in run.jobs.rows()}
        assert jobs.keys() == {"default/train", "default/wide"}
        assert jobs["default/train"]["started_seconds"] is not None
        assert jobs["default/wide"]["started_seconds"] is None
        outcomes = {(row["job_id"], row["outcome"]) for row in run.job_decisions.rows()}
        assert (jobs["default/train"]["job_id"], "scheduled") in outcomes
        assert (jobs["default/wide"]["job_id"], "unschedulable") in outcomes
        assert {row["ended"] for row in run.holds.rows()} <= {"bound"}
        assert {row["job_id"] for row in run.pods.rows()} == {job["job_id"] for job in jobs.values()}
