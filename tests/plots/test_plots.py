"""Plots show what the runs hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from fairway import plots
from fairway.record import RecordError, Run
from fairway.record.vocabulary import DataRead, PodEnd
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, placed, writer

mpl.use("Agg")
HOUR = 3600.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Two hours: node a is half full in the first, node b comes after it; a pod waits an hour, one for ever."""
    path = tmp_path_factory.mktemp("runs") / "run"
    first, second, third = pod("first", cpu="2"), pod("second", cpu="4"), pod("third", cpu="8")
    with writer(path) as made:
        made.node_added(0.0, node("a", cpu="4"))
        for one in (first, second, third):
            made.pod_created(0.0, one, SCHEDULER)
        made.decided(0.0, SCHEDULER, 1, placed(first, "a"), 0.0)
        made.bound(0.0, first.metadata.uid, "a")
        made.ended(HOUR, first.metadata.uid, PodEnd.SUCCEEDED)
        made.node_added(HOUR, node("b", cpu="4"))
        made.decided(HOUR, SCHEDULER, 1, placed(second, "b"), 0.0)
        made.bound(HOUR, second.metadata.uid, "b")
        made.close(2 * HOUR)
    with Run.open(path) as opened:
        yield opened


def line(axes: Any, label: str) -> tuple[Any, Any]:
    (found,) = (one for one in axes.get_lines() if one.get_label() == label)
    return found.get_xdata(), found.get_ydata()


def test_utilisation_is_what_pods_held_of_what_there_was(run: Run) -> None:
    hours, shares = line(plots.utilisation(run), "cpu")
    assert np.allclose(shares, 0.5)  # 2 of 4, then 4 of 8
    assert 0 < hours[0] < hours[-1] < 2


def test_several_runs_are_lines_of_one_resource(run: Run) -> None:
    axes = plots.utilisation({"one": run, "other": run}, "cpu")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["one", "other"]
    assert axes.get_title() == "cpu"


def test_waits_rise_to_the_share_that_got_a_node(run: Run) -> None:
    axes = plots.waits({"run": run})
    seconds, shares = line(axes, "run")
    assert dict(zip(seconds, shares, strict=True)) == {0: pytest.approx(1 / 3), HOUR: pytest.approx(2 / 3)}
    assert [text.get_text() for text in axes.get_xticklabels()][-1] == "1 h"


def test_the_heat_map_has_a_row_a_node_and_a_hole_where_it_was_not_there(run: Run) -> None:
    (image,) = plots.nodes(run).get_images()
    values = image.get_array()
    assert values is not None
    assert values.shape[0] == 2
    half = values.shape[1] // 2
    assert np.allclose(values[0, :half], 0.5)
    assert np.all(values[0, half:] == 0)
    assert np.ma.getmaskarray(values)[1, :half].all()
    assert np.allclose(values[1, half:], 1)


def test_axes_that_are_given_are_drawn_on(run: Run, tmp_path: Path) -> None:
    figure, (left, right) = mpl.pyplot.subplots(1, 2)
    assert plots.nodes(run, axes=left) is left
    assert plots.waits(run, axes=right) is right
    figure.savefig(tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 1000


def test_a_resource_that_is_not_there_is_named(run: Run) -> None:
    with pytest.raises(RecordError, match="no resource gpu; it has cpu"):
        plots.nodes(run, "gpu")


def test_rows_have_the_names_of_their_nodes(run: Run) -> None:
    axes = plots.nodes(run)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert axes.get_yticks().tolist() == [0.5, 1.5]


def test_runs_that_coincide_are_told_apart_by_their_dashes(run: Run) -> None:
    for axes in (plots.utilisation({"one": run, "other": run}, "cpu"), plots.waits({"one": run, "other": run})):
        first, second = axes.get_lines()
        assert (first.get_linestyle(), second.get_linestyle()) == ("-", "--")
        assert first.get_linewidth() == second.get_linewidth()


def test_a_pod_that_is_shorter_than_a_column_is_seen(tmp_path: Path) -> None:
    blink = pod("blink", cpu="4")
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a", cpu="4"))
        made.pod_created(10.0, blink, SCHEDULER)
        made.decided(10.0, SCHEDULER, 1, placed(blink, "a"), 0.0)
        made.bound(10.0, blink.metadata.uid, "a")
        made.ended(11.0, blink.metadata.uid, PodEnd.SUCCEEDED)
        made.close(100 * HOUR)  # a column lasts 750 seconds
    with Run.open(tmp_path / "run") as opened:
        (image,) = plots.nodes(opened).get_images()
    values = image.get_array()
    assert values is not None
    assert values[0, 0] == pytest.approx(1 / 750)
    assert np.all(values[0, 1:] == 0)


def test_reads_are_bars_of_shares_by_distance(run: Run, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no pod has read"):
        plots.reads(run)
    host, zone = (DataRead("default/d", "a", key, None, 1.0, 0.0) for key in ("kubernetes.io/hostname", "zone"))
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        made.pod_created(0.0, pod("reader"), SCHEDULER)
        made.bound(0.0, pod("reader").metadata.uid, "a")
        made.data_read(0.0, pod("reader").metadata.uid, [host, host, host, zone])
        made.close(HOUR)
    with Run.open(tmp_path / "run") as reading:
        axes = plots.reads({"idle": run, "reading": reading})
    bars = {str(some.get_label()): [(bar.get_x(), bar.get_width()) for bar in some] for some in axes.containers}
    assert bars["hostname"][1] == (0.0, 0.75)
    assert bars["zone"][1] == (0.75, 0.25)
    assert {width for some in bars.values() for _, width in some[:1]} == {0.0}
