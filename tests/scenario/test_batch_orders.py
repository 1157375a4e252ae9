"""Orders in scenario files: what is wrong is named by its field, what is right comes to pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.model.batch import QueueSpec
from fairway.scenario.fields import ScenarioError
from fairway.scenario.scenario import Scenario, complete, decode_scenario, to_yaml
from fairway.scenario.simulate import simulate

JOBS = """
apiVersion: v1
kind: Pod
metadata:
  name: job-7
  labels: {fairway.dev/queue: batch}
  annotations: {fairway.dev/duration: 3h, fairway.dev/time-limit: 2h}
spec: {containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: job-8
  labels: {fairway.dev/queue: batch}
  annotations: {fairway.dev/duration: 10m, fairway.dev/time-limit: 1h, fairway.dev/arrival: 1m}
spec: {containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
"""


def scenario(
    folder: Path, orders: str, batch: str = "queues: {batch: {limits: {killGrace: 0s}}, inter: {}}"
) -> Scenario:
    (folder / "jobs.yaml").write_text(JOBS)
    text = f"""
apiVersion: fairway.dev/v1alpha1
kind: Scenario
spec:
  cluster: {{nodes: [{{count: 1, cpu: 4, memory: 8Gi}}]}}
  workload: {{files: [jobs.yaml]}}
  batch:
    {batch}
    accounts: {{physics: {{}}}}
    orders: {orders}
"""
    return decode_scenario(text.encode(), str(folder / "s.yaml"))


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("{extend: job-7, by: 1h}", "spec.batch.orders[0].at: missing"),
        ("{at: soon, hold: job-7}", "spec.batch.orders[0].at: "),
        ("{at: -1h, hold: job-7}", "spec.batch.orders[0].at: "),
        ("{at: 1h}", "spec.batch.orders[0]: says nothing to do; give one of extend, limit, hold"),
        ("{at: 1h, hold: job-7, cancel: job-7}", "spec.batch.orders[0]: has hold and cancel; make it two orders"),
        ("{at: 1h, extend: job-7}", "spec.batch.orders[0].by: missing; extend needs it"),
        ("{at: 1h, extend: job-7, by: 0s}", "spec.batch.orders[0].by: has to be more than 0"),
        ("{at: 1h, extend: job-7, by: 1h, to: 2h}", "spec.batch.orders[0].to: has nothing to do with extend"),
        ("{at: 1h, limit: job-7, to: inf}", "spec.batch.orders[0].to: 'inf' is no time that a job may run for"),
        ("{at: 1h, limit: job-7, to: 0}", "spec.batch.orders[0].to: '0' is no time that a job may run for"),
        ("{at: 1h, nice: job-7, to: -1}", "spec.batch.orders[0].to: must be a whole number from 0 to 10000"),
        (
            "{at: 1h, move: job-7, to: bacth}",
            'spec.batch.orders[0].to: no queue is called "bacth"; did you mean batch?',
        ),
        ("{at: 1h, queue: bacth, state: Paused}", 'spec.batch.orders[0].queue: no queue is called "bacth"'),
        ("{at: 1h, queue: batch, state: Shut}", "spec.batch.orders[0].state: "),
        ("{at: 1h, queue: batch}", "spec.batch.orders[0]: say how queue batch shall be: one of state, change, deleted"),
        ("{at: 1h, queue: batch, state: Open, deleted: true}", "spec.batch.orders[0]: say how queue batch shall be"),
        ("{at: 1h, queue: batch, change: {depht: 1}}", "spec.batch.orders[0].change.depht: unknown field"),
        (
            "{at: 1h, queue: batch, change: {limits: {default: 3h, max: 1h}}}",
            "spec.batch.orders[0].change.limits.default: 10800s is more than limits.max allows: 3600s",
        ),
        ("{at: 1h, account: chemistry, deleted: true}", "spec.batch.orders[0].account: no account is called"),
        ("{at: 1h, account: physics, state: Open}", "spec.batch.orders[0].state: has nothing to do with account"),
        ("{at: 1h, window: window-1, deleted: true}", 'spec.batch.orders[0].window: no window is called "window-1"'),
        ("{at: 1h, window: r7}", "spec.batch.orders[0]: say how window r7 shall be: one of deleted"),
        ("{at: 1h, reservation: r7, state: Open}", "spec.batch.orders[0].state: has nothing to do with reservation"),
        ("{at: 1h, requeue: job-7, byOwner: true}", "spec.batch.orders[0].byOwner: requeue is for operators"),
        ("{at: 1h, hold: a/b/c}", 'spec.batch.orders[0].hold: "a/b/c" is no job; write NAME or NAMESPACE/NAME'),
    ],
)
def test_what_can_not_be_meant_names_the_field(tmp_path: Path, order: str, told: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        scenario(tmp_path, f"[{order}]")
    assert told in str(wrong.value)


def test_a_job_that_never_comes_is_named_before_anything_runs(tmp_path: Path) -> None:
    asked = scenario(tmp_path, "[{at: 1h, hold: job-7}, {at: 2h, hold: jub-8}]")
    with pytest.raises(ScenarioError) as wrong:
        asked.plan()
    assert 'spec.batch.orders[1].hold: no job "default/jub-8" ever comes; did you mean default/job-8?' in str(
        wrong.value
    )


def played(asked: Scenario, folder: Path) -> tuple[dict[str, tuple[Any, ...]], list[tuple[Any, ...]]]:
    """How each job ended, and all events about orders and limits."""
    with simulate(asked, record=folder / "run.duckdb").open() as run:
        jobs = list(run.sql("SELECT job, started_seconds, limit_seconds, queue, reason FROM jobs").rows())
        events = list(
            run.sql(
                "SELECT time_seconds, reason, message FROM events WHERE reason IN "
                "('Ordered', 'OrderLost', 'LimitChanged', 'LimitRefused')"
            ).rows()
        )
    return {each["job"]: tuple(each.values())[1:] for each in jobs}, [tuple(each.values()) for each in events]


def test_orders_come_to_pass(tmp_path: Path) -> None:
    orders = """[{at: 3h, queue: batch, state: Paused}, {at: 1h30m, extend: job-7, by: 1h},
                 {at: 4h, queue: batch, state: Open}, {at: 10h, hold: job-7}]"""
    queues = "queues: {batch: {extension: {delays: any}, limits: {killGrace: 0s}}}"
    jobs, events = played(scenario(tmp_path, orders, queues), tmp_path)
    assert jobs["default/job-7"][1:] == (10800.0, "batch", "Succeeded")
    assert jobs["default/job-8"][0] == 14400.0
    assert [each[:2] for each in events] == [
        (5400.0, "Ordered"),
        (5400.0, "LimitChanged"),
        (10800.0, "Ordered"),
        (14400.0, "Ordered"),
        (36000.0, "OrderLost"),
    ]


def test_a_completed_scenario_says_the_same(tmp_path: Path) -> None:
    asked = scenario(
        tmp_path, "[{at: 1h, queue: batch, change: {limits: {max: 3h}}}, {at: 2h, move: job-8, to: inter}]"
    )
    again = decode_scenario(to_yaml(complete(asked)).encode(), "again.yaml")
    assert again.plan().orders == asked.plan().orders
    first, second = again.plan().orders
    assert isinstance(first.spec, QueueSpec)
    assert (first.spec.limits.max, second.queue) == (10800.0, "inter")


# -- files -------------------------------------------------------------------------------------------------------------

OBJECTS = """
apiVersion: fairway.dev/v1alpha1
kind: Queue
metadata: {name: batch}
spec: {limits: {killGrace: 0s}}
---
apiVersion: fairway.dev/v1alpha1
kind: Queue
metadata: {name: inter}
spec: {policy: interactive}
---
apiVersion: fairway.dev/v1alpha1
kind: Account
metadata: {name: biology}
spec: {shares: 3}
"""


def test_queues_and_accounts_come_from_files_and_policies_may_change_them(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(OBJECTS)
    asked = scenario(tmp_path, "[{at: 1h, queue: inter, state: Paused}]", "files: [queues.yaml]")
    section = asked.batch()
    assert section is not None
    assert list(section.queues) == ["batch", "inter"]
    assert section.queues["inter"].is_interactive
    assert section.accounts["biology"].shares == 3
    (order,) = asked.plan().orders
    assert order.subject == "inter"
    whole = complete(asked).spec.batch
    assert whole is not None
    assert (whole.files, list(whole.queues)) == ((), ["batch", "inter"]), "a run says all of it"


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        (OBJECTS.replace("killGrace", "kilGrace"), "queues.yaml[0]: Queue batch: spec.limits.kilGrace: unknown field"),
        (OBJECTS.replace("Account", "Acount"), 'queues.yaml[2]: kind: "Acount" is unknown; did you mean Account?'),
        (OBJECTS.replace("name: inter", "nam: inter"), "queues.yaml[1]: metadata.name: missing"),
        (OBJECTS.replace("v1alpha1", "v1"), "queues.yaml[0]: apiVersion: must be fairway.dev/v1alpha1"),
        (OBJECTS.replace("biology", "physics"), "queues.yaml[2]: Account physics is in spec.batch.accounts already"),
        (OBJECTS.replace("spec: {shares", "sepc: {shares"), "queues.yaml[2]: sepc: unknown field"),
        ("{", "queues.yaml: "),
        ("- 1", "queues.yaml: object: is no object"),
    ],
)
def test_what_is_wrong_in_a_file_names_file_and_field(tmp_path: Path, objects: str, told: str) -> None:
    (tmp_path / "queues.yaml").write_text(objects)
    with pytest.raises(ScenarioError) as wrong:
        scenario(tmp_path, "[]", "files: [queues.yaml]").batch()
    assert "spec.batch.files[0]: " in str(wrong.value)
    assert told in str(wrong.value)


def test_orders_about_queues_that_no_file_has_are_found_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(OBJECTS)
    asked = scenario(tmp_path, "[{at: 1h, queue: nowhere, state: Paused}]", "files: [queues.yaml]")
    with pytest.raises(ScenarioError, match=r"spec.batch.orders\[0\].queue: no queue is called"):
        asked.plan()
    with pytest.raises(ScenarioError, match=r"spec.batch.files\[0\]: .*missing.yaml"):
        scenario(tmp_path, "[]", "files: [missing.yaml]").plan()


# -- windows and reservations ------------------------------------------------------------------------------------------

CLOSED = """
apiVersion: fairway.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: switches}
spec: {start: 4h, duration: 10h}
---
apiVersion: fairway.dev/v1alpha1
kind: Reservation
metadata: {name: course}
spec: {start: 2h, duration: 4h, nodes: {count: 1}, for: {users: [somebody-else]}}
"""


@pytest.mark.parametrize("is_cancelled", [True, False])
@pytest.mark.parametrize(("kind", "name"), [("window", "switches"), ("reservation", "course")])
def test_windows_and_reservations_of_files_keep_their_names_and_are_called_off(
    tmp_path: Path, kind: str, name: str, is_cancelled: bool
) -> None:
    """job-8 starts when job-7 has used up its limit, if nothing is closed before its own hour would be over."""
    objects = OBJECTS + "---" + CLOSED.split("---")[kind == "reservation"].replace("start: 4h", "start: 2h30m")
    (tmp_path / "queues.yaml").write_text(objects)
    orders = f"[{{at: 1h, {kind}: {name}, deleted: true}}]" if is_cancelled else "[]"
    asked = scenario(tmp_path, orders, "files: [queues.yaml]")
    end = {"window": 12.5, "reservation": 6.0}[kind] * 3600
    with simulate(asked, record=tmp_path / "run.duckdb").open() as run:
        (start,) = (
            each["s"] for each in run.sql("SELECT started_seconds s FROM jobs WHERE job = 'default/job-8'").rows()
        )
        told = {each["subject"] for each in run.sql("SELECT subject FROM events WHERE reason LIKE '%Cancelled'").rows()}
    assert start == (7201.0 if is_cancelled else end)  # pods take a second to go
    assert told == ({name} if is_cancelled else set())


def test_a_window_that_is_on_is_called_off_and_gives_its_nodes_back(tmp_path: Path) -> None:
    batch = "queues: {batch: {limits: {killGrace: 0s}}}\n    windows: [{name: r7, start: 2h, duration: 10h}]"
    asked = scenario(tmp_path, "[{at: 3h, window: r7, deleted: true}]", batch)
    jobs, _ = played(asked, tmp_path)
    assert jobs["default/job-8"][0] == 10800.0


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ("[{name: A B, start: 1h, duration: 1h}]", "spec.batch.windows[0].name: "),
        (
            "[{name: window-2, start: 1h, duration: 1h}, {start: 1h, duration: 1h}]",
            "spec.batch.windows[1].name: spec.batch.windows[0] is called window-2 already",
        ),
    ],
)
def test_names_of_windows_are_names_and_one_window_s(tmp_path: Path, windows: str, told: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        scenario(tmp_path, "[]", f"queues: {{batch: {{}}}}\n    windows: {windows}")
    assert told in str(wrong.value)


def test_what_is_called_off_is_not_called_back(tmp_path: Path) -> None:
    batch = "queues: {batch: {}}\n    windows: [{name: r7, start: 2h, duration: 10h}]"
    with pytest.raises(ScenarioError, match=r"orders\[0\].deleted: what is called off is not called back"):
        scenario(tmp_path, "[{at: 1h, window: r7, deleted: false}]", batch)
