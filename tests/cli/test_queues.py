"""Commands about queues: what they print in each form, and how they end."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

from fairway.cli.main import main
from tests.explain.queues.queue_runs import queue_run
from tests.explain.run_files import busy_run

FORMS = ("table", "wide", "json", "csv", "name")
COMMANDS = (
    ("jobs",),
    ("jobs", "long-job-0"),
    ("queue",),
    ("shares",),
    ("usage",),
    ("usage", "--by", "day"),
    ("maintenance",),
    ("when", "--cpu", "4", "--queue", "batch"),
)


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> str:
    return queue_run(tmp_path_factory.mktemp("queues"))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_form_can_be_printed(queues: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    ends = 3 if "long-job-0" in command else 0
    for form in FORMS:
        code, out, err = run(capsys, *command, "--run", queues, "--at", "1h", "-o", form)
        assert code == ends, (form, err)
        assert "error" not in err
        if form == "json":
            assert json.loads(out)["run"] == queues
        if form == "csv":
            rows = list(csv.reader(io.StringIO(out)))
            assert all(len(row) == len(rows[0]) for row in rows)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(("jobs", "--kubeconfig", "no-such-file"), 4, "no cluster to talk to", id="no cluster"),
        pytest.param(("jobs", "--at", "1h"), 2, "--at is about a moment of a run", id="no run"),
        pytest.param(("jobs", "--run", "RUN", "--live"), 2, "exclude each other", id="a run and a cluster"),
        pytest.param(("jobs", "--run", "RUN", "--watch"), 2, "--watch is for a live cluster", id="a run is watched"),
        pytest.param(("jobs", "-n", "a", "-A"), 2, "exclude each other", id="one namespace and all"),
        pytest.param(
            ("when", "--cpu", "4", "--kubeconfig", "no-such-file"), 4, "no cluster to talk to", id="nobody to ask"
        ),
        pytest.param(("usage", "--from", "1h"), 2, "--from is for a run", id="a moment of no run"),
        pytest.param(("jobs", "--run", "RUN", "--at", "90h"), 2, "the run ended before", id="after the end"),
        pytest.param(("jobs", "--run", "RUN", "--queue", "bacth"), 2, "→ --queue batch", id="no such queue"),
        pytest.param(("jobs", "--run", "RUN", "--state", "Sleeping"), 2, "Sleeping", id="no such state"),
        pytest.param(("jobs", "batch-job-999", "--run", "RUN"), 2, "did you mean", id="no such job"),
        pytest.param(("jobs", "x", "--run", "RUN", "--mine"), 2, "leave it out, or JOB", id="a job and a choice"),
        pytest.param(("queue", "intr", "--run", "RUN"), 2, "there are batch, inter", id="no such queue to show"),
        pytest.param(("usage", "--run", "RUN", "--period", "1999"), 2, "nothing of 1999", id="another year"),
        pytest.param(("usage", "--run", "RUN", "--period", "soon"), 2, "is no period", id="no period"),
        pytest.param(("usage", "--run", "RUN", "--from", "2h", "--to", "1h"), 2, "not after --from", id="no time"),
        pytest.param(("usage", "--run", "RUN", "--export", "books.txt"), 2, ".csv or .parquet", id="no form"),
        pytest.param(("usage", "--run", "RUN", "--account", "x"), 2, "there are physics", id="no such account"),
        pytest.param(("when", "--run", "RUN"), 2, "of what? JOB, -f or --cpu", id="when of nothing"),
        pytest.param(("when", "--run", "RUN", "--cpu", "many", "--queue", "batch"), 2, "no amount", id="no amount"),
        pytest.param(
            ("when", "--run", "RUN", "--cpu", "-8", "--queue", "batch"), 2, "less than 0", id="an amount below zero"
        ),
        pytest.param(("when", "--run", "RUN", "--cpu", "4"), 2, "names no queue", id="no queue"),
        pytest.param(
            ("when", "--run", "RUN", "--cpu", "99", "--queue", "batch"), 3, "NeverFits", id="a job that never fits"
        ),
        pytest.param(
            ("when", "--run", "RUN", "--cpu", "1", "--limit", "0", "--queue", "batch"), 2, "--limit", id="no time"
        ),
        pytest.param(("jobs", "--run", "no-such-file"), 1, "no-such-file", id="no file"),
        pytest.param(("why", "long-job-0", "--run", "RUN", "--at", "1h"), 3, "LimitTooLong", id="why of a refused job"),
        pytest.param(("when", "long-job-0", "--run", "RUN"), 3, "is refused: LimitTooLong", id="when of a refused job"),
        pytest.param(("when", "batch-job-0", "--run", "RUN"), 2, "does not wait", id="when of one that is over"),
    ],
)
def test_how_it_ends(
    queues: str, words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [queues if word == "RUN" else word for word in words]
    ended, out, err = run(capsys, *given)
    assert said in out + err
    assert ended == code


def test_a_run_without_queues_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "jobs", "--run", busy_run(tmp_path))
    assert code == 1
    assert "its jobs wait in no queues" in err
    assert "spec.batch" in err


def test_a_waiting_job_is_explained_by_the_plan(queues: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "jobs", "--run", queues, "--at", "1h", "--state", "queued", "-o", "name")
    name = out.splitlines()[0]
    code, out, err = run(capsys, "why", name, "--run", queues, "--at", "1h")
    assert code == 3
    assert out.startswith(f"{name} is queued for ")
    assert "at the latest" in out
    assert "--all-nodes" in err
    code, out, _ = run(capsys, "why", name, "--run", queues, "--at", "1h", "-o", "json")
    assert json.loads(out)["holders"]
    _, out, _ = run(capsys, "why", name, "--run", queues, "--at", "1h", "--all-nodes")
    assert "nodes" in out


def test_a_job_of_a_file_is_asked_about(queues: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(
        """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  parallelism: 3
  completions: 3
  template:
    metadata: {labels: {fairway.dev/queue: batch}, annotations: {fairway.dev/time-limit: 2h}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: "8"}}}]}
"""
    )
    code, out, err = run(capsys, "when", "-f", str(file), "--run", queues, "--at", "1h")
    assert code == 0, err
    assert out.startswith("ml/train (3 × 8 cpu, limit 2h, queue batch) would start ")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_books_are_exported(queues: str, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"books.{ending}"
    code, _, err = run(capsys, "usage", "--run", queues, "--export", str(file))
    assert code == 0
    (count,) = duckdb.connect().execute(f"SELECT count(*) FROM '{file}'").fetchall()[0]
    assert f"{count} lines of the books" in err
    assert count > 40


def test_the_parts_of_a_time_add_up(capsys: pytest.CaptureFixture[str], queues: str) -> None:
    totals = []
    for times in (("--from", "0", "--to", "40m"), ("--from", "40m", "--to", "90m"), ("--to", "90m")):
        code, out, _ = run(capsys, "usage", "--run", queues, "-o", "json", *times)
        assert code == 0
        totals.append(json.loads(out)["total"])
    assert totals[0] + totals[1] == pytest.approx(totals[2])
    assert min(totals) > 0


def test_how_dates_held_is_told_in_keys_like_all_others(capsys: pytest.CaptureFixture[str], queues: str) -> None:
    _, out, _ = run(capsys, "jobs", "--run", queues, "--at", "6h", "-o", "json")
    held = json.loads(out)["dates"]
    assert {"jobs", "medianAbsoluteErrorSeconds", "safeHeld"} <= set(held)
    assert "_" not in "".join(held)


def test_the_first_of_a_queue_starts_when_its_jobs_say(capsys: pytest.CaptureFixture[str], queues: str) -> None:
    """What `queue` tells of its head is the first date that `jobs` tells."""
    _, listed, _ = run(
        capsys, "jobs", "--run", queues, "--at", "1h", "--queue", "batch", "--state", "queued", "-o", "json"
    )
    _, queue, _ = run(capsys, "queue", "batch", "--run", queues, "--at", "1h", "-o", "json")
    dates = [job["dates"]["likelySeconds"] for job in json.loads(listed)["jobs"] if job.get("dates")]
    assert json.loads(queue)["queues"][0]["headStartsSeconds"] == min(dates)
