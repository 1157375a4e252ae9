"""SWF logs: headers, unknown values, gangs, statuses, damaged lines."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import DecodeError, Pod, pod_requests
from fairway.trace import SwfOptions, Workload, read_swf

#      job submit wait run procs cpu mem | req procs time mem | status user group exe queue part prec think
LOG = """; Version: 2.2
; Computer: A Machine
;MaxNodes: 4 (of 5)
; MaxProcs:  10
; Note: caf\xe9 : with a colon

  1   100  5  600  4 -1 2048   4  3600  4096  1  7  3  1  2  1 -1 -1
  2   160  0   60  1 -1   -1  -1    -1    -1  0  8 -1 -1 -1 -1 -1 -1
  3   130  1 30.5  8 12   -1   6  1000    -1  1  7  3  1  2  1 -1 -1
  4   200 -1   -1 -1 -1   -1   2   500    -1  5  9  3  1  2  1 -1 -1
  5   210  1   10  2 -1   -1   2   500    -1  3  9  3  1  2  1 -1 -1
"""
FIELDS = LOG.splitlines()[6].split()


def write(folder: Path, text: str = LOG) -> Path:
    (folder / "log.swf").write_bytes(text.encode("latin-1", "replace"))
    return folder / "log.swf"


def line(**fields: Any) -> str:
    """A sound job with some fields otherwise: f1 is the first."""
    values = list(FIELDS)
    for name, value in fields.items():
        values[int(name[1:]) - 1] = str(value)
    return " ".join(values)


def pods(load: Workload) -> list[Pod]:
    return [one.object for one in load.arrivals]


def test_jobs_become_pods_in_order_of_submission(tmp_path: Path) -> None:
    load = read_swf(write(tmp_path))
    assert load.name == "log"
    assert [(one.time, one.object.metadata.name) for one in load.arrivals] == [
        (0, "job-1"),
        (30, "job-3"),
        (60, "job-2"),
    ]
    first, third, second = pods(load)
    assert pod_requests(first) == {"cpu": 4000, "memory": 4 * 4096 * 1024}
    assert first.metadata.annotations == {
        "fairway.dev/duration": "600",
        "fairway.dev/time-limit": "3600",
        "fairway.dev/user": "user-7",
        "fairway.dev/group": "group-3",
    }
    assert first.metadata.labels == {"fairway.dev/queue": "queue-2", "fairway.dev/partition": "partition-1"}
    assert pod_requests(third) == {"cpu": 6000}
    assert third.metadata.annotations["fairway.dev/duration"] == "30.5"
    assert pod_requests(second) == {"cpu": 1000}
    assert second.metadata.annotations == {"fairway.dev/fail-after": "60", "fairway.dev/user": "user-8"}
    assert second.metadata.labels == {}
    assert (load.problems, load.num_arrivals, load.nodes) == ([], 3, [])
    assert load.notes == ["jobs left out for their status: 1", "jobs left out that never ran: 1"]


def test_gangs(tmp_path: Path) -> None:
    load = read_swf(write(tmp_path), SwfOptions(procs_per_pod=4))
    assert [pod.metadata.name for pod in pods(load)] == ["job-1", "job-3-0", "job-3-1", "job-2"]
    assert load.num_arrivals == 4
    one, first, last, _ = pods(load)
    assert "fairway.dev/gang" not in one.metadata.annotations
    assert first.metadata.annotations["fairway.dev/gang"] == "job-3"
    assert last.metadata.annotations["fairway.dev/gang-size"] == "2"
    assert [pod_requests(pod)["cpu"] for pod in (first, last)] == [4000, 2000]


@pytest.mark.parametrize(
    ("options", "requests"),
    [
        pytest.param(SwfOptions(size="used"), [(4000, 8), (8000, 0), (1000, 0)], id="used"),
        pytest.param(SwfOptions(memory_per_proc="1Gi"), [(4000, 16), (6000, 6144), (1000, 1024)], id="memory"),
        pytest.param(SwfOptions(cpu_per_proc="500m"), [(2000, 16), (3000, 0), (500, 0)], id="half a CPU"),
    ],
)
def test_sizes(tmp_path: Path, options: SwfOptions, requests: list[tuple[int, int]]) -> None:
    found = [pod_requests(pod) for pod in pods(read_swf(write(tmp_path), options))]
    assert [(one["cpu"], one.get("memory", 0) // 2**20) for one in found] == requests


@pytest.mark.parametrize(
    ("options", "names"),
    [
        pytest.param(SwfOptions(statuses=(1,)), ["job-1", "job-3"], id="completed"),
        pytest.param(SwfOptions(statuses=(0, 3)), ["job-2", "job-5"], id="failed and last parts"),
        pytest.param(SwfOptions(statuses=(0,), prefix="x"), ["x-2"], id="another prefix"),
    ],
)
def test_statuses(tmp_path: Path, options: SwfOptions, names: list[str]) -> None:
    assert [pod.metadata.name for pod in pods(read_swf(write(tmp_path), options))] == names


def test_failures_may_be_forgotten(tmp_path: Path) -> None:
    load = read_swf(write(tmp_path), SwfOptions(statuses=(0,), failures=False))
    assert pods(load)[0].metadata.annotations["fairway.dev/duration"] == "60"


def test_nodes_of_the_header(tmp_path: Path) -> None:
    nodes = read_swf(write(tmp_path), SwfOptions(nodes=True, node_memory="64Gi")).nodes
    assert [(node.name, node.status.allocatable["cpu"].value) for node in nodes] == [
        ("node-0", 3),
        ("node-1", 3),
        ("node-2", 2),
        ("node-3", 2),
    ]
    assert {node.status.allocatable["memory"].text for node in nodes} == {"64Gi"}
    with pytest.raises(DecodeError, match="neither MaxNodes nor MaxProcs"):
        read_swf(write(tmp_path, line()), SwfOptions(nodes=True))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        pytest.param("1 2 3", "has 3 fields, not 18", id="short"),
        pytest.param(line() + " 9", "has 19 fields, not 18", id="long"),
        pytest.param(line(f1=9, f4="ten"), "field 4 is not a number one can use: 'ten'", id="word"),
        pytest.param(line(f1=9, f4="nan"), "field 4 is not a number one can use: 'nan'", id="nan"),
        pytest.param(line(f1=9, f4="1_0"), "field 4 is not a number one can use: '1_0'", id="underscore"),
        pytest.param(line(f1=9, f6="1e308", f7="1e308"), "field 6 is not a number one can use", id="overflow"),
        pytest.param(line(f1=-1), "field 1 must be the number of a job, not -1", id="number"),
        pytest.param(line(f1=9, f2=-1), "field 2 must be the time of submission", id="submission"),
        pytest.param(line(f1=9, f5=-1, f8=0), "fields 5 and 8 say no possible number", id="processors"),
        pytest.param(line(f1=9, f8=10**8), "fields 5 and 8 say no possible number", id="too many processors"),
        pytest.param(line(f1=9, f10=10**15), "fields 7 and 10 say no possible memory", id="memory"),
        pytest.param(line(f1=1, f2=500), "job 1 is there twice; first in line 7", id="twice"),
    ],
)
def test_a_wrong_line_is_reported_and_the_rest_kept(tmp_path: Path, wrong: str, problem: str) -> None:
    file = write(tmp_path, LOG + wrong + "\n")
    load = read_swf(file)
    assert load.num_arrivals == 3
    (text,) = load.problems
    assert text.startswith(f"{file}:12: {problem}")
    with pytest.raises(DecodeError, match=r"log.swf:12: "):
        read_swf(file, strict=True)


def test_a_log_cut_off_within_a_line(tmp_path: Path) -> None:
    file = write(tmp_path, "\n".join([line(), line(f1=2)[:20]]))
    load = read_swf(file)
    assert load.num_arrivals == 1
    assert load.problems[0].startswith(f"{file}:2: has ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "holds no job that ran", id="empty"),
        pytest.param("; Version: 2\n", "holds no job that ran", id="comments only"),
        pytest.param("\x00\x01\n", "holds no job that ran; the first problem: .*log.swf:1: has 1 fields", id="binary"),
    ],
)
def test_logs_without_jobs_are_errors(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DecodeError, match=problem):
        read_swf(write(tmp_path, text))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (SwfOptions(cpu_per_proc="x"), "cpuPerProc"),
        (SwfOptions(memory_per_proc="-1Gi"), "memoryPerProc"),
        (SwfOptions(namespace="No"), "namespace"),
        (SwfOptions(prefix="_"), "prefix"),
    ],
    ids=["cpu", "memory", "namespace", "prefix"],
)
def test_options_that_cannot_be(tmp_path: Path, options: SwfOptions, field: str) -> None:
    with pytest.raises(DecodeError, match=f"^{field}: "):
        read_swf(write(tmp_path), options)


def test_gzip_with_progress_and_damage(tmp_path: Path) -> None:
    data = gzip.compress("\n".join(line(f1=number, f2=number) for number in range(1, 9001)).encode())
    file = tmp_path / "log.swf.gz"
    file.write_bytes(data)
    told: list[float] = []
    assert read_swf(file, progress=told.append).num_arrivals == 9000
    assert sum(told) == pytest.approx(1)
    file.write_bytes(data[:-20])
    with pytest.raises(DecodeError, match=r"log.swf.gz: is cut off"):
        read_swf(file)


def test_many_problems_are_counted_not_kept(tmp_path: Path) -> None:
    load = read_swf(write(tmp_path, line() + "\n" + "x\n" * 1500))
    assert len(load.problems) == 1001
    assert load.problems[-1] == "... and 500 problems more"


number = st.one_of(
    st.integers(-2, 2000).map(str), st.sampled_from(["-1", "1.5", "1e400", "nan", "x", "-1.0", "99999999999999999999"])
)
job = st.lists(number, min_size=16, max_size=19).map(" ".join)
sound = st.builds(
    lambda n, t, p: line(f1=n, f2=t, f5=p, f8=p), st.integers(0, 50), st.integers(0, 99), st.integers(1, 9)
)


@given(st.lists(st.one_of(job, sound, st.text(max_size=40)), max_size=10))
def test_any_text_is_a_workload_or_a_decode_error(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    file = tmp_path_factory.mktemp("fuzz") / "log.swf"
    file.write_text("\n".join([*lines, line(f1=1000)]), errors="replace")
    options = SwfOptions(procs_per_pod=3)
    load = read_swf(file, options)
    arrivals = list(load.arrivals)
    assert len(arrivals) == load.num_arrivals
    times = [one.time for one in arrivals]
    assert times == sorted(times)
    assert times[0] == 0
    names = [one.object.metadata.name for one in arrivals]
    assert len(names) == len(set(names))
    assert all(pod_requests(one.object)["cpu"] <= 3000 for one in arrivals)
    assert all(text.startswith(f"{file}:") for text in load.problems)
