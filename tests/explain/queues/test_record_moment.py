"""What records say of queues is what the recorded run of the same events says: one answer, wherever it is from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fairway.batch.accounts import AccountBook
from fairway.batch.job import BatchJob, JobRecord
from fairway.batch.members_alike import alike_pods
from fairway.batch.reasons import JobState
from fairway.batch.settings import BatchSettings
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.explain.queues.job_list import JobChoice, job_list
from fairway.explain.queues.job_sheet import JobSheet, job_sheet
from fairway.explain.queues.queue_moment import GONE, QueueMoment, RunTimes
from fairway.explain.queues.queue_table import queue_table
from fairway.explain.queues.record_moment import RecordMoment
from fairway.explain.queues.run_moment import RunMoment
from fairway.explain.queues.share_table import share_table
from fairway.explain.queues.usage_table import period_times, usage_table
from fairway.explain.queues.window_table import window_table
from fairway.live.batch.objects import JobRecordObject
from fairway.live.batch.record_codec import read_record, record_status
from fairway.live.batch.record_terms import RecordTerms, read_terms
from fairway.model import ObjectMeta
from fairway.model.batch import AccountSpec, QueueSpec
from fairway.plan import StartEstimate
from fairway.record import NullRecorder, Run
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate

SCENARIO = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {{name: both}}
spec:
  seed: {seed}
  end: {end}s
  cluster:
    nodes: [{{name: "n-{{}}", count: 3, cpu: 16, memory: 64Gi, labels: {{rack: r1}}}}]
  workload:
    - synthetic:
        name: batch
        arrivals: {{pattern: poisson, count: 30, over: 90m}}
        classes:
          - name: job
            cpu: {{kind: choices, values: [4, 8, 16]}}
            duration: {{kind: uniform, low: 5m, high: 50m}}
            users: 4
            template:
              metadata:
                labels: {{fairway.dev/queue: batch}}
                annotations: {{fairway.dev/time-limit: 40m, fairway.dev/account: physics}}
    - synthetic:
        name: inter
        arrivals: {{pattern: poisson, count: 6, over: 90m}}
        classes:
          - name: notebook
            cpu: 2
            duration: {{kind: uniform, low: 5m, high: 40m}}
            template:
              metadata: {{labels: {{fairway.dev/queue: inter}}, annotations: {{fairway.dev/time-limit: 1h}}}}
    - synthetic:
        name: long
        arrivals: {{pattern: poisson, count: 1, over: 5m}}
        classes:
          - name: job
            cpu: 1
            duration: 10m
            template:
              metadata: {{labels: {{fairway.dev/queue: batch}}, annotations: {{fairway.dev/time-limit: 9h}}}}
  batch:
    queues:
      batch: {{limits: {{default: 30m, max: 8h}}, quota: {{cpu: "32"}}, weights: {{size: 100}}}}
      inter: {{policy: interactive}}
    accounts:
      physics: {{shares: 3, budget: {{amount: 1000000, period: month}}}}
      course: {{shares: 1}}
    windows: [{{start: 80m, duration: 20m, nodes: {{selector: {{rack: r1}}}}, mode: avoid}}]
    reservations: [{{start: 3h, duration: 1h, nodes: {{count: 1}}, for: {{users: [ada]}}}}]
"""


SETTINGS = BatchSettings(queues={"batch": QueueSpec()}, accounts={"physics": AccountSpec()})


class RecordKeeper(NullRecorder):
    """Writes jobs down as a live desk does, and reads them back."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[str, tuple[JobRecord, RecordTerms]] = {}
        self.statuses: dict[tuple[str, str], ClosingStatus] = {}

    def job_stands(self, t: float, job: BatchJob, account: str, limit: float) -> None:
        terms = RecordTerms(account, limit, job.priority, members=alike_pods(job.pods), since=t)
        self._write(job, terms, is_dated=False)

    def job_dated(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        former = self.records[job.uid][1]
        told = former._replace(
            priority=job.priority, factors=factors or {}, nodes=tuple(nodes), is_rough=job.num_vain > 0
        )
        self._write(job, told, is_dated=True)

    def closing_stands(self, t: float, scheduler: str, status: ClosingStatus) -> None:
        self.statuses[status.kind, status.name] = status

    def _write(self, job: BatchJob, terms: RecordTerms, *, is_dated: bool) -> None:
        record = job.record()
        if job.uid in self.records:
            before, former = self.records[job.uid]
            is_moved = before.standing[:2] != record.standing[:2]
            terms = terms.after(former, is_moved=is_moved, is_dated=is_dated or record.ledger.dates is None)
        self.records[job.uid] = (record, terms)

    def written(self) -> list[tuple[JobRecord, RecordTerms]]:
        """What a server has of them."""
        found = []
        for record, terms in self.records.values():
            status = json.loads(msgspec.json.encode(record_status(record, terms)))
            namespace, _, name = record.key.partition("/")
            thing = JobRecordObject(metadata=ObjectMeta(name=name, namespace=namespace), status=status)
            read = read_record(thing)
            assert read is not None
            found.append((read, read_terms(status)))
        return found


def both(folder: Path, seed: int, moment: float) -> tuple[Path, RecordKeeper]:
    """A recorded run, and the records of the same one as they were at a moment of it."""
    path = folder / f"both-{seed}.duckdb"
    simulate(decode_scenario(SCENARIO.format(seed=seed, end=6 * 3600).encode(), "both.yaml"), record=path)
    keeper = RecordKeeper()
    until = decode_scenario(SCENARIO.format(seed=seed, end=moment).encode(), "both.yaml")
    simulate(until, record=folder / "until.duckdb", follower=keeper)
    return path, keeper


def answers(moment: QueueMoment) -> dict[str, Any]:
    """Everything that both can say; numbers of jobs are each source's own."""
    everybody = job_list(moment, JobChoice())
    over = job_list(moment, JobChoice(state=JobState.FINISHED))
    return {
        "jobs": everybody.rows(),
        "line": everybody.line,
        "over": sorted(row["job"] for row in over.rows()),
        "sheets": {job.job: _without_message(job_sheet(moment, job.job)) for job in everybody.jobs},
        "queues": queue_table(moment).document()["queues"],
        "shares": share_table(moment).rows(),
        "usage": {by: usage_table(moment, 0.0, moment.at, by, None).rows() for by in ("account", "user", "queue")},
        "windows": window_table(moment).rows(),
    }


def _without_message(sheet: JobSheet) -> list[str]:
    """A record has the newest sentence about why a job waits; a run has one for each reason."""
    first, *others = sheet.lines(with_story=False)
    return [first.partition(": ")[0], *others]


@given(seed=st.integers(0, 10_000), at=st.sampled_from((900.5, 2700.5, 4900.5, 5100.5, 6300.5, 9000.5)))
@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.generate))  # two simulations each
def test_records_and_the_recorded_run_give_one_answer(seed: int, at: float) -> None:
    with TemporaryDirectory() as name:
        path, keeper = both(Path(name), seed, at)
        with Run.open(path) as run:
            recorded = RunMoment(run, at)
            settings, epoch = recorded.settings, run.began
            written = RecordMoment(recorded.at, settings, keeper.written(), {}, list(keeper.statuses.values()),
                                   RunTimes(), epoch)  # fmt: skip
            told, known = answers(written), answers(recorded)
    assert told.keys() == known.keys()
    for name, answer in known.items():
        assert told[name] == answer, name


def test_what_a_book_has_besides_records_is_told_by_account_and_of_all_time_by_user() -> None:
    plain = {
        "settled": 5000,
        "users": {"ada": {"settled": 3000}, "bob": {"settled": 2000}},
        "periods": {"month": {"2026-11": 4000}, "day": {"2026-11-18": 1000}},
    }
    book = msgspec.convert(plain, AccountBook)
    now = 1_795_000_000.0  # 2026-11-18T11:06:40Z
    moment = RecordMoment(now, SETTINGS, [], {"physics": book})
    by_user = usage_table(moment, float("-inf"), now, "user", None).rows(exact=True)
    assert {row["name"]: row["used"] for row in by_user} == {"physics/ada": 3.0, "physics/bob": 2.0}
    month = usage_table(moment, 1_793_491_200.0, now, "account", None).rows(exact=True)
    assert {row["name"]: row["used"] for row in month} == {"physics": 4.0}
    assert {row["name"] for row in usage_table(moment, float("-inf"), now, "queue", None).rows()} == {GONE}
    assert moment.charged({"physics"}, "day", now) == 1000
    assert not usage_table(moment, 1_793_491_207.0, now, "account", None).rows()  # of such a time nobody knows


def test_what_books_can_not_tell_of_jobs_that_are_gone_is_said() -> None:
    days = {f"2026-10-{day:02}": 100 for day in range(1, 24)} | {"2026-11-18": 1000}
    plain = {"settled": 5000, "users": {"ada": {"settled": 5000}}, "periods": {"day": days, "month": {"2026-11": 1000}}}
    now = 1_795_000_000.0  # 2026-11-18T11:06:40Z
    moment = RecordMoment(now, SETTINGS, [], {"physics": msgspec.convert(plain, AccountBook)})
    by_day = usage_table(moment, float("-inf"), now, "day", None)
    used = {row["name"]: row["used"] for row in by_day.rows(exact=True)}
    assert used == {day: charge / 1000 for day, charge in days.items()} | {GONE: 1.7}
    assert by_day.total == 5.0
    assert by_day.notes[0].startswith("2 units are of jobs whose records are gone: books know the last 24 days")
    month = usage_table(moment, *period_times("2026-11", moment), "day", None)
    assert [(row["name"], row["used"]) for row in month.rows(exact=True)] == [("2026-11-18", 1.0)]
    assert month.notes == ()
    (note,) = usage_table(moment, float("-inf"), now, "queue", None).notes
    assert note.startswith("5 units are of jobs whose records are gone: books know their accounts, not their queues")
    assert usage_table(moment, float("-inf"), now, "user", None).notes == ()
    assert "not their" not in "".join(usage_table(moment, *period_times("2026-11", moment), "user", None).notes)
    (note,) = usage_table(moment, *period_times("2026-09-30", moment), "account", None).notes
    assert "this one is older: only jobs that still have records are in it; a ledger has every line" in note


@pytest.mark.parametrize("kind", ["account", "user"])
def test_usage_of_nobody_is_nothing(kind: Any) -> None:
    moment = RecordMoment(1e9, SETTINGS)
    assert usage_table(moment, float("-inf"), 1e9, kind, None).rows() == []
