"""Our metrics against what kube-scheduler 1.36.4 itself exposed: names, types, labels and bounds, as text."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from fairway.cluster import Event, Verb
from fairway.cycle import Decision, Outcome
from fairway.live.metrics.attempt_times import AttemptTimes
from fairway.live.metrics.families import FAMILIES
from fairway.live.metrics.instruments import Instruments
from fairway.live.metrics.pod_resources import pod_resources
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.metrics.series import go_float
from fairway.model import Container, ResourceRequirements, StorageClass
from fairway.model.quantity import parse_quantity
from fairway.queue import Place, QueuedPod
from fairway.testing import cluster, node, pod

POINT = "0.0001 0.0002 0.0004 0.0008 0.0016 0.0032 0.0064 0.0128 0.0256 0.0512 0.1024 0.2048 +Inf"
HINT = "1e-05 2e-05 4e-05 8e-05 0.00016 0.00032 0.00064 0.00128 0.00256 0.00512 0.01024 0.02048 +Inf"
PLUGIN = (
    "1e-05 1.5000000000000002e-05 2.2500000000000005e-05 3.375000000000001e-05 5.062500000000001e-05 "
    "7.593750000000002e-05 0.00011390625000000003 0.00017085937500000006 0.0002562890625000001 "
    "0.00038443359375000017 0.0005766503906250003 0.0008649755859375004 0.0012974633789062506 "
    "0.0019461950683593758 0.0029192926025390638 0.004378938903808595 0.006568408355712893 0.009852612533569338 "
    "0.014778918800354007 0.02216837820053101 +Inf"
)
FEW = "1 2 4 8 16 +Inf"
LONG = (
    "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92 163.84 327.68 655.36 1310.72 "
    "2621.44 5242.88 +Inf"
)
VICTIMS = "1 2 4 8 16 32 64 +Inf"
ATTEMPT = "0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384 +Inf"

# Seen on kube-scheduler: name, type, labels, bounds as it writes them.
SEEN = [
    ("scheduler_batch_attempts_total", "counter", "profile result", ""),
    ("scheduler_batch_cache_flushed_total", "counter", "profile reason", ""),
    ("scheduler_cache_size", "gauge", "type", ""),
    ("scheduler_event_handling_duration_seconds", "histogram", "event", POINT),
    ("scheduler_framework_extension_point_duration_seconds", "histogram", "extension_point profile status", POINT),
    ("scheduler_get_node_hint_duration_seconds", "histogram", "hinted profile", HINT),
    ("scheduler_goroutines", "gauge", "operation", ""),
    ("scheduler_inflight_events", "gauge", "event", ""),
    ("scheduler_pending_pods", "gauge", "queue", ""),
    ("scheduler_plugin_evaluation_total", "counter", "extension_point plugin profile", ""),
    ("scheduler_plugin_execution_duration_seconds", "histogram", "extension_point plugin status", PLUGIN),
    ("scheduler_pod_scheduled_after_flush_total", "counter", "", ""),
    ("scheduler_pod_scheduling_attempts", "histogram", "", FEW),
    ("scheduler_pod_scheduling_sli_duration_seconds", "histogram", "attempts", LONG),
    ("scheduler_preemption_attempts_total", "counter", "", ""),
    ("scheduler_preemption_goroutines_duration_seconds", "histogram", "result", LONG),
    ("scheduler_preemption_goroutines_execution_total", "counter", "result", ""),
    ("scheduler_preemption_victims", "histogram", "", VICTIMS),
    ("scheduler_queue_incoming_pods_total", "counter", "event queue", ""),
    ("scheduler_queueing_hint_execution_duration_seconds", "histogram", "event hint plugin", PLUGIN),
    ("scheduler_schedule_attempts_total", "counter", "profile result", ""),
    ("scheduler_scheduling_algorithm_duration_seconds", "histogram", "", ATTEMPT),
    ("scheduler_scheduling_attempt_duration_seconds", "histogram", "profile result", ATTEMPT),
    ("scheduler_store_schedule_results_duration_seconds", "histogram", "profile", HINT),
    ("scheduler_unschedulable_pods", "gauge", "plugin profile", ""),
    ("scheduler_volume_scheduling_stage_error_total", "counter", "operation", ""),
]


def samples(text: bytes) -> dict[str, float]:
    found = {}
    for line in text.decode().splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


@pytest.mark.parametrize(("name", "kind", "labels", "bounds"), SEEN, ids=[row[0] for row in SEEN])
def test_family_is_kube_schedulers(name: str, kind: str, labels: str, bounds: str) -> None:
    metrics = SchedulerMetrics()
    (family,) = [family for family in FAMILIES if family.name == name]
    values = [f"some-{label}" for label in family.labels]
    instrument = metrics._of(name, *values)  # noqa: SLF001 - any label values will do here
    if kind == "histogram":
        instrument.observe(1e9)
    else:
        instrument.inc()
    text = metrics.render().decode()
    assert f"# TYPE {name} {kind}\n" in text
    lines = [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name}_bucket", f"{name} "))]
    found = [line.partition("{")[2].rpartition("}")[0] for line in lines]
    parsed = [dict(pair.split("=", 1) for pair in line.split(",") if pair) for line in found]
    assert [" ".join(sorted(set(line) - {"le"})) for line in parsed] == [labels] * len(parsed)
    assert " ".join(line["le"].strip('"') for line in parsed if "le" in line) == bounds


def test_nothing_of_kube_schedulers_is_missing() -> None:
    assert {row[0] for row in SEEN} <= {family.name for family in FAMILIES}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (0.001, "0.001"),
        (1.5000000000000002e-05, "1.5000000000000002e-05"),
        (0.0001, "0.0001"),
        (262144.0, "262144"),
        (1000000.0, "1e+06"),
        (1048576.0, "1.048576e+06"),
        (16777216.0, "1.6777216e+07"),
        (1234567.25, "1.23456725e+06"),
    ],
)
def test_bounds_are_written_as_go_writes_them(number: float, text: str) -> None:
    assert go_float(number) == text


@pytest.mark.parametrize(("value", "where"), [(0.001, 0), (0.0011, 1), (0.0, 0), (99.0, 15)])
def test_bound_counts_itself(value: float, where: int) -> None:
    metrics = SchedulerMetrics()
    metrics.algorithm(value)
    found = samples(metrics.render())
    name = "scheduler_scheduling_algorithm_duration_seconds"
    bounds = [*ATTEMPT.split()]
    assert [found[f'{name}_bucket{{le="{bound}"}}'] for bound in bounds] == [
        float(place >= where) for place in range(len(bounds))
    ]
    assert found[f"{name}_sum"] == value


def test_wrong_number_of_labels_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="labels"):
        Instruments().of("scheduler_pending_pods")


def test_creation_times_are_left_out() -> None:
    metrics = SchedulerMetrics()
    metrics.attempt("default-scheduler", "scheduled", 0.01)
    assert b"_created" not in metrics.render()


def test_attempts_and_bound_pods_are_counted() -> None:
    metrics = SchedulerMetrics()
    metrics.attempt("default-scheduler", "scheduled", 0.003)
    metrics.attempt("default-scheduler", "unschedulable", 0.5)
    metrics.pod_scheduled(3, 2.0)
    metrics.pod_scheduled(20, None, after_flush=True)
    found = samples(metrics.render())
    attempts = "scheduler_schedule_attempts_total"
    assert found[f'{attempts}{{profile="default-scheduler",result="scheduled"}}'] == 1
    assert found[f'{attempts}{{profile="default-scheduler",result="unschedulable"}}'] == 1
    assert found["scheduler_pod_scheduling_attempts_count"] == 2
    assert found["scheduler_pod_scheduling_attempts_sum"] == 23
    assert found['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="3"}'] == 1
    assert not any('attempts="20"' in name for name in found)
    assert found["scheduler_pod_scheduled_after_flush_total"] == 1


def test_many_attempts_share_a_label() -> None:
    metrics = SchedulerMetrics()
    metrics.pod_scheduled(15, 1.0)
    assert 'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"}' in samples(metrics.render())


def test_queue_moves_are_counted_and_pending_pods_are_where_they_are() -> None:
    metrics = SchedulerMetrics()
    queued = QueuedPod(pod=pod("a"), profile="default-scheduler", timestamp=0.0, sequence=1)
    metrics.queue_moved(queued, None, Place.ACTIVE, "UnschedulablePodAdd", 0.0)
    metrics.queue_moved(queued, Place.ACTIVE, Place.IN_FLIGHT, "Pop", 0.0)
    queued.unschedulable_plugins = frozenset(("NodeResourcesFit", "TaintToleration"))
    metrics.queue_moved(queued, Place.IN_FLIGHT, Place.UNSCHEDULABLE, "ScheduleAttemptFailure", 0.0)
    found = samples(metrics.render())
    assert found['scheduler_pending_pods{queue="active"}'] == 0
    assert found['scheduler_pending_pods{queue="unschedulable"}'] == 1
    incoming = "scheduler_queue_incoming_pods_total"
    assert found[f'{incoming}{{event="UnschedulablePodAdd",queue="active"}}'] == 1
    assert found[f'{incoming}{{event="ScheduleAttemptFailure",queue="unschedulable"}}'] == 1
    blamed = 'scheduler_unschedulable_pods{plugin="TaintToleration",profile="default-scheduler"}'
    assert found[blamed] == 1
    metrics.queue_moved(queued, Place.UNSCHEDULABLE, Place.BACKOFF, "NodeAdd", 0.0)
    assert samples(metrics.render())[blamed] == 1  # it still waits because of them
    metrics.queue_moved(queued, Place.BACKOFF, Place.IN_FLIGHT, "Pop", 0.0)
    found = samples(metrics.render())
    assert found[blamed] == 0
    assert all(found[f'scheduler_pending_pods{{queue="{queue}"}}'] == 0 for queue in ("active", "backoff", "gated"))


def test_gated_pod_counts_once_among_the_unschedulable() -> None:
    metrics = SchedulerMetrics()
    queued = QueuedPod(pod=pod("a"), profile="default-scheduler", timestamp=0.0, sequence=1)
    queued.gating_plugin, queued.unschedulable_plugins = "SchedulingGates", frozenset(("SchedulingGates",))
    metrics.queue_moved(queued, None, Place.GATED, "UnschedulablePodAdd", 0.0)
    found = samples(metrics.render())
    assert found['scheduler_pending_pods{queue="gated"}'] == 1
    assert found['scheduler_pending_pods{queue="unschedulable"}'] == 0
    assert found['scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="unschedulable"}'] == 1
    metrics.queue_moved(queued, Place.GATED, None, "UnschedulablePodDelete", 0.0)
    found = samples(metrics.render())
    assert found['scheduler_pending_pods{queue="gated"}'] == 0
    assert found['scheduler_unschedulable_pods{plugin="SchedulingGates",profile="default-scheduler"}'] == 0


def test_requests_without_an_answer_have_a_code_of_their_own() -> None:
    metrics = SchedulerMetrics()
    metrics.request("POST", "api:6443", 201, 0.02)
    metrics.request("GET", "api:6443", 0, 30.0)
    found = samples(metrics.render())
    assert found['rest_client_requests_total{code="201",host="api:6443",method="POST"}'] == 1
    assert found['rest_client_requests_total{code="<error>",host="api:6443",method="GET"}'] == 1


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (Event(Verb.ADDED, pod("a", node="n")), "AssignedPodAdd"),
        (Event(Verb.MODIFIED, pod("a")), "UnschedulablePodUpdate"),
        (Event(Verb.DELETED, node("n")), "NodeDelete"),
        (Event(Verb.ADDED, StorageClass()), "storage.k8s.io/StorageClassAdd"),
    ],
)
def test_events_have_kube_schedulers_names(event: Event, label: str) -> None:
    metrics = SchedulerMetrics()
    metrics.event_taken_in(event, 0.001)
    found = samples(metrics.render())
    assert found[f'scheduler_event_handling_duration_seconds_count{{event="{label}"}}'] == 1


def test_other_effects_are_counted() -> None:
    metrics = SchedulerMetrics()
    metrics.preemption_tried()
    metrics.preempted(2)
    metrics.preemption_carried_out(succeeded=False, seconds=0.1)
    metrics.under_way("binding", 1)
    metrics.under_way("binding", 1)
    metrics.under_way("binding", -1)
    metrics.cache(nodes=5, pods=7, assumed=1)
    metrics.leading("kube-scheduler", True)
    found = samples(metrics.render())
    assert found["scheduler_preemption_attempts_total"] == 1
    assert found["scheduler_preemption_victims_sum"] == 2
    assert found['scheduler_preemption_goroutines_execution_total{result="error"}'] == 1
    assert found['scheduler_goroutines{operation="binding"}'] == 1
    assert found['scheduler_cache_size{type="assumed_pods"}'] == 1
    assert found['leader_election_master_status{name="kube-scheduler"}'] == 1


def test_process_metrics_are_there() -> None:
    assert "process_resident_memory_bytes" in samples(SchedulerMetrics().render())


def decision(outcome: Outcome, **fields: object) -> Decision:
    world = cluster([node("n")])
    placed = pod("a")
    made = Decision(placed, world.classify(placed), outcome)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_every_attempt_tells_its_extension_points_and_a_tenth_its_plugins() -> None:
    metrics = SchedulerMetrics()
    times = AttemptTimes(metrics)
    for _ in range(11):
        times.spent("NodeName", "Filter", 0.001)
        times.spent("NodeResourcesFit", "Filter", 0.002)
        times.spent("NodeResourcesFit", "Score", 0.001)
        times.attempt_ended("default-scheduler", decision(Outcome.SCHEDULED))
    found = samples(metrics.render())
    point = "scheduler_framework_extension_point_duration_seconds"
    labels = 'extension_point="Filter",profile="default-scheduler",status="Success"'
    assert found[f"{point}_count{{{labels}}}"] == 11
    assert math.isclose(found[f"{point}_sum{{{labels}}}"], 0.033)
    plugin = "scheduler_plugin_execution_duration_seconds_count"
    assert found[f'{plugin}{{extension_point="Filter",plugin="NodeResourcesFit",status="Success"}}'] == 2
    evaluated = "scheduler_plugin_evaluation_total"
    assert found[f'{evaluated}{{extension_point="Score",plugin="NodeResourcesFit",profile="default-scheduler"}}'] == 11


def test_failed_attempt_says_where_it_failed() -> None:
    metrics = SchedulerMetrics()
    times = AttemptTimes(metrics)
    for plugin in ("NodeName", "NodeResourcesFit"):
        times.spent(plugin, "Filter", 0.001)
    failed = decision(Outcome.UNSCHEDULABLE, unschedulable_plugins=frozenset(("NodeResourcesFit",)))
    times.attempt_ended("default-scheduler", failed)
    found = samples(metrics.render())
    plugin = "scheduler_plugin_execution_duration_seconds_count"
    assert found[f'{plugin}{{extension_point="Filter",plugin="NodeResourcesFit",status="Unschedulable"}}'] == 1
    assert found[f'{plugin}{{extension_point="Filter",plugin="NodeName",status="Success"}}'] == 1
    point = "scheduler_framework_extension_point_duration_seconds_count"
    assert found[f'{point}{{extension_point="Filter",profile="default-scheduler",status="Unschedulable"}}'] == 1


def test_pods_resources_have_units() -> None:
    resources = ResourceRequirements(
        requests={"cpu": parse_quantity("250m"), "memory": parse_quantity("1Gi")}, limits={"cpu": parse_quantity("1")}
    )
    running = pod("a", images=Container(resources=resources), node="n1", priority=7, scheduler_name="s")
    about = 'namespace="default",node="n1",pod="a",priority="7"'
    assert samples(pod_resources([running])) == {
        f'kube_pod_resource_request{{{about},resource="cpu",scheduler="s",unit="cores"}}': 0.25,
        f'kube_pod_resource_request{{{about},resource="memory",scheduler="s",unit="bytes"}}': 2**30,
        f'kube_pod_resource_limit{{{about},resource="cpu",scheduler="s",unit="cores"}}': 1,
    }


def test_finished_pods_use_nothing() -> None:
    assert samples(pod_resources([pod("a", cpu="1", node="n1", phase="Succeeded")])) == {}


def added_up(values: Iterable[float]) -> float:
    """One after the other, as a counter does it; `sum` has been more exact than that since Python 3.12."""
    return reduce(operator.add, values, 0.0)


class NaiveCollector:
    """The same numbers, kept and written by prometheus_client from scratch."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, ...], list[float]] = {}

    def collect(self) -> Iterator[Metric]:
        for family in FAMILIES:
            name = family.name.removesuffix("_total") if family.kind == "counter" else family.name
            metric = Metric(name, family.help, family.kind)
            for (of, *labels), seen in self.values.items():
                if of != family.name:
                    continue
                named = dict(zip(family.labels, labels, strict=True))
                if family.kind != "histogram":
                    metric.add_sample(of, named, added_up(seen))
                    continue
                for bound in (*family.buckets, math.inf):
                    le = "+Inf" if bound == math.inf else go_float(bound)
                    metric.add_sample(f"{of}_bucket", {**named, "le": le}, sum(value <= bound for value in seen))
                metric.add_sample(f"{of}_sum", named, added_up(seen))
                metric.add_sample(f"{of}_count", named, len(seen))
            yield metric


KEYS = [
    ("scheduler_pending_pods", "active"),
    ("scheduler_schedule_attempts_total", 'quoted "so"', "back\\slash\nline"),
    ("scheduler_pod_scheduling_attempts",),
    ("scheduler_event_handling_duration_seconds", "é"),
    ("rest_client_request_size_bytes", "GET", "host"),
]
WRITTEN = st.tuples(st.sampled_from(KEYS), st.sampled_from([0.5, 1.0, 3.0, 64.0, 1e6, 123456789.0, 1e-5]))


@given(st.lists(st.one_of(WRITTEN, st.just(None)), max_size=30))
def test_text_that_is_kept_is_the_text_that_would_be_made_anew(
    story: list[tuple[tuple[str, ...], float] | None],
) -> None:
    """Whenever somebody asks in between."""
    ours, naive = Instruments(), NaiveCollector()
    naive.values = {(family.name,): [] for family in FAMILIES if not family.labels}
    registry = CollectorRegistry()
    registry.register(naive)
    for step in (*story, None):
        if step is None:
            assert ours.render().decode() == generate_latest(registry).decode()
            continue
        key, value = step
        instrument = ours.of(*key)
        (instrument.observe if hasattr(instrument, "observe") else instrument.inc)(value)
        naive.values.setdefault(key, []).append(value)
