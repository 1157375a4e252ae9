"""An anonymous run names nobody, and decides as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairway
from fairway.model import decode_object, encode_json
from fairway.record import Run
from fairway.record.writing.anonymous_rows import AnonymousRows, anonymise_run
from fairway.record.writing.pseudonyms import Pseudonyms
from fairway.testing import node, pod
from tests.explain.run_files import busy_run
from tests.record.runs import SCHEDULER, profile, writer

NAMES = ("secretive", "acme", "payroll", "alice")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, AnonymousRows]:
    folder = tmp_path_factory.mktemp("runs")
    named = Path(busy_run(folder))
    return named, folder / "nobody.duckdb", anonymise_run(named, folder / "nobody.duckdb")


def test_every_decision_is_the_same_under_other_names(runs: tuple[Path, Path, AnonymousRows]) -> None:
    named, nobody, change = runs
    with Run.open(named) as one, Run.open(nobody) as other:
        assert len(one.decisions) == len(other.decisions) > 50
        for before, after in zip(one.decisions, other.decisions, strict=True):
            name = change.pseudonyms.name
            assert after["pod"] == name(before["pod"])
            assert after["node"] == (before["node"] and name(before["node"]))
            assert [after[key] for key in ("outcome", "score", "num_best", "time_seconds")] == [
                before[key] for key in ("outcome", "score", "num_best", "time_seconds")
            ]
        assert one.metrics().wait == other.metrics().wait
        assert one.metrics().utilisation == other.metrics().utilisation


def numbers(lines: list[dict[str, Any]], name: Callable[[str], str]) -> list[tuple[str, list[Any]]]:
    """What was said about each node, in the order of names: equals are shown in that order, and names differ."""
    return sorted(
        (name(line.get("node") or ""), [value for value in line.values() if isinstance(value, int | float)])
        for line in lines
    )


def test_the_scheduler_asked_again_says_the_same(runs: tuple[Path, Path, AnonymousRows]) -> None:
    """Not what was written down: each attempt is made once more, on the cluster as the run gives it back."""
    named, nobody, change = runs
    with fairway.open_run(named) as one, fairway.open_run(nobody) as other:
        asked = [row for row in one.decisions if row["decision_id"] % 9 == 0]
        assert len({row["outcome"] for row in asked}) > 1
        for row in asked:
            first = one.why(row["pod"], attempt=row["attempt"])
            second = other.why(change.pseudonyms.name(row["pod"]), attempt=row["attempt"])
            assert len(first.rows()) == len(second.rows())
            assert numbers(first.rows(), change.pseudonyms.name) == numbers(second.rows(), str)


def test_nobody_is_named(tmp_path: Path) -> None:
    with writer(tmp_path / "run", anonymous=True, scenario={"metadata": {"name": "acme"}}) as made:
        made.node_added(
            0.0, node("secretive-1", labels={"acme.com/team": "payroll", "kubernetes.io/hostname": "secretive-1"})
        )
        one = pod(
            "payroll-0",
            namespace="acme",
            labels={"app": "payroll"},
            node_selector={"acme.com/team": "payroll"},
            annotations={"fairway.dev/user": "alice"},
            owner="Job/payroll",
        )
        made.pod_created(0.0, one, SCHEDULER)
        made.bound(1.0, one.metadata.uid, "secretive-1")
        made.event(1.0, "Pod", one.key, "Scheduled", "assigned acme/payroll-0 to secretive-1")
        made.close(2.0)
    with Run.open(tmp_path / "run") as run:
        cells = " ".join(str(cell) for table in run.tables.values() for row in table for cell in row.values())
        assert len(run.pods_on(next(iter(run.nodes))["node"], 1.5)) == 1
    assert not [name for name in NAMES if name in cells]
    assert "kubernetes.io/hostname" in cells
    assert not [name for name in NAMES if name.encode() in (tmp_path / "run").read_bytes()]


def test_selectors_match_the_same_nodes_under_other_names() -> None:
    names = Pseudonyms()
    nodes = [
        node("a", labels={"disk": "ssd", "generation": "3", "kubernetes.io/hostname": "a"}),
        node(
            "b", labels={"disk": "hdd", "generation": "5", "kubernetes.io/hostname": "b"}, taints="team=red:NoSchedule"
        ),
    ]
    pods = [
        pod("p", node_selector={"disk": "ssd"}),
        pod("q", node_selector={"disk": "nvme"}),
        pod("r", node_affinity="generation>4", tolerates="team=red:NoSchedule"),
        pod("s", node_affinity="disk in (hdd)", tolerates="team=blue:NoSchedule"),
    ]
    before, after = profile(nodes), profile([names.thing(one) for one in nodes])
    for one in pods:
        first, second = before.decide(one), after.decide(names.thing(one))
        assert (second.outcome, second.node) == (first.outcome, names.name(first.node))


@given(st.text(st.characters(codec="utf-8"), max_size=30), st.text(st.characters(codec="utf-8"), max_size=30))
def test_pseudonyms_are_stable_and_go_piece_by_piece(one: str, other: str) -> None:
    names = Pseudonyms(b"key")
    assert names.name(one) == Pseudonyms(b"key").name(one)
    assert names.name(f"p{one}-q{other}") == f"{names.name(f'p{one}')}-{names.name(f'q{other}')}" or "/" in one + other
    assert (names.name(one) == names.name(other)) == (one == other)


def test_another_key_gives_other_names() -> None:
    thing = pod("web-1", namespace="shop")
    texts = {encode_json(Pseudonyms().thing(thing)) for _ in range(2)}
    assert len(texts) == 2
    assert all(decode_object(text, "pod").metadata.namespace.startswith("x") for text in texts)
