"""The page of an experiment: every value where its number says, for every width of screen."""

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml

from fairway.experiments.figures import Bars, Lines, bars_by_family, lines_of_trace, stacks_of_trace
from fairway.experiments.load_columns import LoadColumns
from fairway.experiments.order_scenario import OrderScenario, load_order_scenario
from fairway.experiments.ordered_cluster import RunKey
from fairway.experiments.report import order_html
from fairway.experiments.results import Results, SeedValue
from fairway.experiments.stored_runs import StoredRun
from fairway.experiments.svg_figures import bars_svg, lines_svg, load_readings, stacks_svg
from fairway.plots.svg import colour
from tests.pages.browser_check import SIZES, Scheme, measure
from tests.pages.page_check import Element, parse, problems

POLICIES = ("FGD", "GpuClustering", "<b>Own</b>")
TRACES = ("default", "gpuspec33")
CAPACITY = 40_000  # milli: 40 devices
NUM_LOADS = 131


def stored(trace: str, policy: str, seed: int, *, defragmented: bool = False) -> StoredRun:
    """A run in which what is allocated follows from the load, the policy and the seed."""
    place = POLICIES.index(policy)
    loads = np.arange(NUM_LOADS, dtype=float)
    allo = np.minimum(loads, 95 - 5.0 * place - seed)
    moves = {"evicted": 4, "moved": 3, "lost": 1}
    before = {"frag_before": 5000, "frag_after": 2500, "used_before": 30_000, "used_after": 29_000}
    return StoredRun(
        LoadColumns(allo, loads / 10 + place, np.minimum(loads, 100.0)),
        np.array([400.0 * (place + 1), 800.0, 100.0, 0.0, 0.0, 0.0, 1.0]),
        CAPACITY,
        100 + seed,
        3,
        0.1,
        {**moves, **before} if defragmented else None,
    )


def results(
    policies: Iterable[str] = POLICIES, *, published: bool = False, defragmented: bool = False, seeds: int = 2
) -> Results:
    runs = {
        RunKey(trace, policy, seed): stored(trace, policy, seed, defragmented=defragmented)
        for trace in TRACES
        for policy in policies
        for seed in range(seeds)
    }
    theirs = {}
    if published:
        columns = {key: dict(enumerate(run.columns.allo.tolist())) for key, run in runs.items()}
        theirs = {"allo": columns, "frag": columns, "frag_ratio": columns}
    return Results("trial", runs, theirs)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> OrderScenario:
    path = tmp_path_factory.mktemp("scenario") / "trial.yaml"
    spec = {"lookalike": {"nodes": 8, "pods": 40}, "traces": list(TRACES), "policies": ["FGD"], "seed": 1, "seeds": 2}
    path.write_text(yaml.safe_dump({"apiVersion": "fairway.dev/v1alpha1", "kind": "OrderScenario", "spec": spec}))
    return load_order_scenario(path)


def page(scenario: OrderScenario, made: Results) -> str:
    return order_html(made, scenario, [("Nodes", "8"), ("Runs of", "2026-01-31")])


# -- the page ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("published", [True, False], ids=["published", "ours alone"])
def test_everybody_can_read_it(scenario: OrderScenario, published: bool) -> None:
    assert problems(page(scenario, results(published=published, defragmented=True))) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_a_browser_shows_all_of_it(scenario: OrderScenario, tmp_path: Path, size: str, scheme: Scheme) -> None:
    seen = measure(page(scenario, results(published=True, defragmented=True)), tmp_path, SIZES[size], scheme)
    assert (seen["width"], seen["scroll"]) == (SIZES[size][0], SIZES[size][0])  # the page does not scroll sideways
    for kind in ("small", "faint", "thin", "out", "overlaps"):
        assert seen[kind] == [], kind
    assert len(seen["widths"]) == 1


def test_it_names_what_was_run(scenario: OrderScenario) -> None:
    (facts,) = parse(page(scenario, results())).of_class("facts")
    words = dict(zip([one.text for one in facts.all("dt")], [one.text for one in facts.all("dd")], strict=True))
    assert words.pop("Fairway")
    assert words == {
        "Scenario": "trial",
        "Traces": "default, gpuspec33",
        "Seeds": "0, 1",
        "Pods": "100 to 101",
        "GPUs": "40",
        "Nodes": "8",
        "Runs of": "2026-01-31",
    }


def test_names_are_shown_letter_for_letter(scenario: OrderScenario) -> None:
    text = page(scenario, results())
    assert "<b>Own</b>" not in text
    assert "<b>Own</b>" in parse(text).text


def legends(root: Element) -> list[str]:
    return [one.children[0].text for one in root.of_class("legend")]


def test_legends_have_names_and_every_trace_has_one(scenario: OrderScenario) -> None:
    root = parse(page(scenario, results()))
    assert legends(root) == ["Policies", "Policies", "Causes", "Policies", "Causes"]
    causes = root.of_class("legend")[2]
    # One that is a fortieth of a thousandth of all GPUs is not worth a colour.
    assert [one.text for one in causes.children[1:]] == ["lacks CPU and GPU", "lacks GPU", "usable"]


def test_plots_of_a_trace_fill_whole_rows(scenario: OrderScenario) -> None:
    bars, *traces = parse(page(scenario, results())).of_class("plots")
    assert len(bars.children) == 1
    assert [len(trace.children) for trace in traces] == [4, 4]  # two rows of two


def test_the_table_has_ours_and_below_it_what_was_published(scenario: OrderScenario) -> None:
    root = parse(page(scenario, results(published=True)))
    table = root.all("table")[0]
    rows = [[cell.text for cell in row.children] for row in table.all("tbody")[0].all("tr")]
    ours = results().value("unallocated", "default", "FGD")
    assert rows[0][:2] == ["default", f"{ours} {ours}"]
    assert "◇ and ○ are published values" in root.text
    assert "◇" not in parse(page(scenario, results())).text


def test_what_a_policy_never_ran_is_a_dash(scenario: OrderScenario) -> None:
    made = results()
    some = {key: run for key, run in made.runs.items() if key[:2] != ("gpuspec33", "FGD")}
    root = parse(page(scenario, Results("trial", some, {})))
    (row,) = (row for row in root.all("table")[0].all("tr") if row.children[0].text == "gpuspec33")
    assert row.children[1].text == "–"


def test_defragmentation_is_a_table_in_gpus(scenario: OrderScenario) -> None:
    root = parse(page(scenario, results(defragmented=True)))
    table = next(one for one in root.all("table") if one.all("caption")[0].text == "Defragmentation, in GPUs")
    row = table.all("tbody")[0].all("tr")[0]
    assert [cell.text for cell in row.children] == ["FGD", "3 of 4", "1", "5.00", "2.50", "30.00", "29.00"]


# -- figures -----------------------------------------------------------------------------------------------------------


def unallocated(made: Results) -> Lines:
    return lines_of_trace(made, "default")[0]


def test_lines_are_where_their_values_are() -> None:
    figure = unallocated(results(("FGD",), seeds=1))
    drawn = ET.fromstring(lines_svg(figure))
    (line,) = drawn.iterfind(".//polyline")
    corners = [tuple(map(float, corner.split(","))) for corner in str(line.get("points")).split()]
    assert (corners[0][0], corners[-1][0]) == (0.0, 1000.0)
    top = 30.0  # 25 % at a load of 75 %, and four round steps above it
    assert corners[0][1] == pytest.approx(220 * (1 - 25 / top), abs=0.1)
    assert corners[-1][1] == pytest.approx(220 * (1 - 5 / top), abs=0.1)


def test_published_medians_are_dots_that_keep_their_shape() -> None:
    drawn = ET.fromstring(lines_svg(unallocated(results(published=True))))
    dots = drawn.findall("circle")
    assert len(dots) == 3 * 10  # every fifth of 46 loads
    assert all(str(dot.get("cx")).endswith("%") for dot in dots)
    assert not ET.fromstring(lines_svg(unallocated(results()))).findall("circle")


def test_published_medians_above_ours_are_within_the_frame() -> None:
    made = results(published=True)  # of every metric the same numbers, far above our own fragmentation
    _, fragmentation, _ = lines_of_trace(made, "default")
    heights = [float(str(dot.get("cy"))) for dot in ET.fromstring(lines_svg(fragmentation)).findall("circle")]
    assert heights
    assert all(0 <= height <= 220 for height in heights)


def test_readings_are_the_medians_at_round_loads() -> None:
    figure = unallocated(results())
    readings = load_readings(figure)
    assert [one.words for one in readings][:2] == ["load 75 %", "load 80 %"]
    at_100 = next(one for one in readings if one.words == "load 100 %")
    assert at_100.values == pytest.approx(dict(zip(POLICIES, (5.5, 10.5, 15.5), strict=True)))
    columns = ET.fromstring(lines_svg(figure)).findall("rect")
    assert len(columns) == len(readings)


def test_a_line_that_ends_early_has_no_reading_there() -> None:
    made = results(("FGD", "GpuClustering"), seeds=1)
    runs = dict(made.runs)
    short = runs[RunKey("default", "FGD", 0)]
    cut = LoadColumns(*(np.where(np.arange(NUM_LOADS) <= 100, column, np.nan) for column in short.columns))
    runs[RunKey("default", "FGD", 0)] = StoredRun(cut, short.causes, CAPACITY, 1, 0, 0.1, None)
    last = load_readings(unallocated(Results("trial", runs, {})))[-1]
    assert last.values["FGD"] is None
    assert last.values["GpuClustering"] is not None


def bars(values: dict[str, SeedValue], published: dict[str, SeedValue] | None = None) -> ET.Element:
    ours = {("t", policy): value for policy, value in values.items()}
    theirs = {("t", policy): value for policy, value in (published or {}).items()}
    return ET.fromstring(bars_svg(Bars("b", "title", "%", ["t"], list(POLICIES), ours, theirs)))


def test_bars_are_as_long_as_their_values_and_say_them() -> None:
    drawn = bars({"FGD": SeedValue(5.0, 0.0, 1), "GpuClustering": SeedValue(9.0, 1.0, 2)})
    first, second = drawn.findall("rect")
    assert (first.get("width"), second.get("width")) == ("49.5%", "89.1%")
    assert [text.text for text in drawn.findall("text")] == ["t", "FGD: 5.00", "GpuClustering: 9.00 ± 1.00"]
    assert [(one.get("x1"), one.get("x2")) for one in drawn.findall("line")] == [("79.2%", "99%")] * 2
    assert first.get("style") == f"fill:{colour(0)}"


def test_published_means_are_diamonds_beside_the_bars() -> None:
    drawn = bars({"FGD": SeedValue(5.0, 0.0, 1)}, {"FGD": SeedValue(10.0, 0.0, 1)})
    (diamond,) = drawn.findall("svg")
    assert diamond.get("x") == "99%"
    (title,) = drawn.iterfind("rect/title")
    assert title.text == "t, FGD: 5.00; published 10.00"


def test_no_bar_where_nothing_was_run() -> None:
    assert bars({}).findall("rect") == []


def test_families_stand_with_the_trace_as_it_is() -> None:
    (figure,) = bars_by_family(results())
    drawn = ET.fromstring(bars_svg(figure))
    heads = [text.text for text in drawn.findall("text") if "head" in str(text.get("class"))]
    assert heads == ["default", "gpuspec33"]
    assert len(drawn.findall("rect")) == 6


def test_stacks_are_made_of_causes_and_say_their_sum() -> None:
    drawn = ET.fromstring(stacks_svg(stacks_of_trace(results(), "default")))
    sums = [text.text for text in drawn.findall("text")]
    assert sums == [
        f"{policy}: {(400 * (place + 1) + 901) / CAPACITY * 100:.2f} %" for place, policy in enumerate(POLICIES)
    ]
    rows: dict[str, list[ET.Element]] = {}
    for part in drawn.findall("rect"):
        rows.setdefault(str(part.get("y")), []).append(part)
    lengths = [[float(str(part.get("width")).rstrip("%")) for part in row] for row in rows.values()]
    assert sum(lengths[-1]) == pytest.approx(100, abs=0.1)  # the longest takes all the room
    assert sum(lengths[0]) == pytest.approx(100 * 1301 / 2101, abs=0.1)
    (first, second, *_) = rows.values()
    assert float(str(first[1].get("x")).rstrip("%")) == pytest.approx(lengths[0][0], abs=0.01)
    assert first[0].findtext("title") == "FGD, lacks CPU and GPU: 1.00 %"
    assert second[0].findtext("title") == "GpuClustering, lacks CPU and GPU: 2.00 %"
