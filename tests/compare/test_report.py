"""The page of a comparison: what it says, where, and that it leaves nobody out."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from fairway.compare.answer import CompareAnswer
from fairway.compare.metrics import PolicyRuns, compare_policies
from fairway.compare.partings import Parting, partings, why_commands
from fairway.compare.policies import read_policies
from fairway.compare.report import report_html
from fairway.compare.report_facts import comparison_facts, day_fact, range_text, seeds_text
from fairway.record import Run
from tests.cli.scenario_files import small_scenario
from tests.pages.browser_check import SIZES, Scheme, measure
from tests.pages.page_check import Element, parse, problems

Runs = Mapping[tuple[str, int], Path]


@pytest.fixture(scope="session")
def page(runs: Runs) -> str:
    """Two policies with two seeds each."""
    return CompareAnswer(read_policies([str(path) for path in runs.values()])).report()


@pytest.fixture(scope="session")
def root(page: str) -> Element:
    return parse(page)


def table(root: Element, caption: str) -> Element:
    (found,) = (one for one in root.all("table") if one.all("caption")[0].text == caption)
    return found


def cells(table: Element) -> dict[str, list[str]]:
    """Words by the head of their row; of a head that opens, what it shows when closed."""
    rows = {}
    for row in (row for body in table.all("tbody") for row in body.all("tr")):
        head, *others = row.children
        (words, *_) = head.all("summary") or [head]
        rows[words.text] = [cell.text for cell in others if "side" not in (cell.attributes.get("class") or "")]
    return rows


def made_page(base: dict[str, float], other: dict[str, float], runs: Runs, **more: Any) -> Element:
    """A page with these metrics; the curves are those of real runs."""
    paths = [str(runs["default", 4]), str(runs["packed", 4])]
    policies = [PolicyRuns("a", {4: base}, {4: paths[0]}), PolicyRuns("b", {4: other}, {4: paths[1]})]
    return parse(report_html(compare_policies(policies), [], [], **more))


# -- for everybody -----------------------------------------------------------------------------------------------------


def test_it_stands_alone_and_everybody_can_read_it(page: str) -> None:
    assert problems(page) == []


def test_a_page_of_one_policy_can_be_read_as_well(runs: Runs) -> None:
    page = CompareAnswer(read_policies([str(runs["default", 4])])).report()
    assert problems(page) == []
    assert "Changes are against" not in page
    root = parse(page)
    assert root.all("h1")[0].text == "default-4"
    assert cells(table(root, "Metrics"))["pods placed"] == ["120"]
    assert not root.of_class("bars")  # nothing to stand beside
    assert not root.of_class("cards")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_a_browser_shows_all_of_it(page: str, tmp_path: Path, size: str, scheme: Scheme) -> None:
    seen = measure(page, tmp_path, SIZES[size], scheme)
    assert seen["dark"] == (scheme == "dark")
    assert (seen["width"], seen["scroll"]) == (SIZES[size][0], SIZES[size][0])  # the page does not scroll sideways
    for kind in ("small", "faint", "thin", "out", "overlaps"):
        assert seen[kind] == [], kind
    assert len(seen["widths"]) == 1  # no line is heavier than another
    assert all(box["focus"] == 0 for box in seen["boxes"])
    assert not any(box["scrolls"] for box in seen["boxes"])  # two policies, with spread and change, have room


def test_a_table_that_is_too_wide_scrolls_by_itself(runs: Runs, tmp_path: Path) -> None:
    names = {f"policy-with-a-long-name-{place}": path for place, path in enumerate([*runs.values()] * 2)}
    policies = [PolicyRuns(name, {4: {"wait_mean": 1.0}}, {4: str(path)}) for name, path in names.items()]
    page = report_html(compare_policies(policies), [], [])
    seen = measure(page, tmp_path, SIZES["telephone"], "light")
    assert seen["scroll"] == SIZES["telephone"][0]
    assert any(box["scrolls"] for box in seen["boxes"])
    assert seen["out"] == []


# -- what it is about --------------------------------------------------------------------------------------------------


def test_it_names_scenario_seeds_pods_nodes_and_day(root: Element, runs: Runs) -> None:
    (facts,) = root.of_class("facts")
    words = dict(zip([one.text for one in facts.all("dt")], [one.text for one in facts.all("dd")], strict=True))
    assert words.pop("Fairway")
    day = words.pop("Runs of")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    assert words == {
        "Scenario": "small",
        "Policies": "default, packed",
        "Seeds": "4, 5",
        "Pods": "120",
        "Nodes": "6",
    }


def test_the_day_is_that_of_the_latest_run(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for path, seconds in ((old, 0), (new, 1_700_000_000)):
        path.touch()
        os.utime(path, (seconds, seconds))
    assert day_fact([old, new]) == ("Runs of", "2023-11-14")
    assert day_fact([old]) == ("Runs of", "1970-01-01")


def test_numbers_that_differ_between_runs_are_a_range(runs: Runs, tmp_path: Path) -> None:
    small = tmp_path / "small.yaml"
    small.write_text(small_scenario(tmp_path).read_text().replace("count: 120", "count: 20").replace("small", "tiny"))
    assert main(["sim", str(small), "--save", str(tmp_path / "tiny.duckdb")]) == 0
    path = next(tmp_path.glob("tiny*.duckdb"))
    policies = read_policies([str(path), str(runs["default", 4])])
    facts = dict(comparison_facts(policies))
    assert facts["Pods"] == "20 to 120"
    assert facts["Nodes"] == "6"
    assert facts["Scenario"] == "tiny, small"


@pytest.mark.parametrize(
    ("seeds", "words"),
    [([7], "7"), ([4, 5], "4, 5"), (list(range(10, 30)), "20 from 10 to 29")],
    ids=["one", "some", "many"],
)
def test_many_seeds_are_counted(seeds: list[int], words: str) -> None:
    assert seeds_text(seeds) == words


@pytest.mark.parametrize(
    ("numbers", "words"), [([], "none"), ([3], "3"), ([20_000, 5, 7], "5 to 20 000")], ids=["none", "one", "range"]
)
def test_ranges(numbers: list[int], words: str) -> None:
    assert range_text(numbers) == words


# -- where they part ---------------------------------------------------------------------------------------------------


def test_the_first_different_decision_comes_with_commands_that_work(
    root: Element, runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    (section,) = (one for one in root.all("section") if one.attributes.get("aria-label") == "Where policies part")
    assert section.text.startswith("first different decision: default/load-")
    commands = [one.text for one in section.of_class("command")]
    assert [shlex.split(command)[-1] for command in commands] == [str(runs["default", 4]), str(runs["packed", 4])]
    for command in commands:
        fairway, *args = shlex.split(command)
        assert fairway == "fairway"
        assert main(args) == 0
        assert capsys.readouterr().out


def test_it_says_what_serves_its_runs_as_pages(root: Element, runs: Runs) -> None:
    (section,) = (one for one in root.all("section") if one.attributes.get("aria-label") == "As pages")
    (command,) = section.of_class("command")
    assert shlex.split(command.text) == ["fairway", "ui", str(runs["default", 4]), str(runs["packed", 4])]


def test_without_runs_there_is_no_command_but_a_way_to_one(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert main(["compare", str(small_scenario(tmp_path)), "--html", str(report)]) == 0
    root = parse(report.read_text())
    assert not root.of_class("command")
    assert "The runs were not kept: with --save, fairway why says why" in root.text


def test_a_command_is_one_word_a_name_whatever_the_name() -> None:
    parting = Parting("b", 1, pod="default/a b; rm", time=0.0)
    policies = [PolicyRuns(name, {1: {}}, {1: f"{name} run.duckdb"}) for name in ("a", "b")]
    first, second = why_commands(parting, policies)
    assert shlex.split(first) == ["fairway", "why", "default/a b; rm", "--run", "a run.duckdb"]
    assert shlex.split(second)[-1] == "b run.duckdb"
    assert why_commands(Parting("b", 1), policies) == []


def test_the_curves_are_marked_where_policies_part(root: Element, runs: Runs) -> None:
    (parting,) = partings(compare_policies(read_policies([str(path) for path in runs.values()])))
    with Run.open(runs["default", 4]) as run:
        end = run.end_seconds
    assert parting.time is not None
    marks = root.of_class("mark")
    assert len(marks) == 4  # not the distribution of waits, which has no time
    for mark in marks:
        place = float(str(mark.attributes["x1"]).rstrip("%"))
        assert place == pytest.approx(parting.time / end * 100, abs=0.5)
    assert "first different decision" in root.of_class("legend")[0].text


# -- curves ------------------------------------------------------------------------------------------------------------


def plot_cards(root: Element) -> dict[str, Element]:
    (plots,) = root.of_class("plots")
    return {one.all("h3")[0].text: one for one in plots.children}


def test_titles_are_short_and_meanings_are_there_to_read(root: Element) -> None:
    cards = plot_cards(root)
    assert list(cards) == [
        "Pods that wait",
        "Nodes with pods",
        "Utilisation of cpu",
        "Utilisation of memory",
        "Waits",
    ]
    for card in cards.values():
        assert card.all("p")[0].text.endswith(".")
    assert "of seed 4" in cards["Pods that wait"].text


def test_both_policies_have_a_line_in_every_plot_and_a_key(root: Element) -> None:
    for card in plot_cards(root).values():
        lines = card.all("polyline")
        assert [line.all("title")[0].text for line in lines] == ["default", "packed"]
        styles = [str(line.attributes["style"]) for line in lines]
        assert len({style.partition("stroke-dasharray:")[2] for style in styles}) == 2
    keys = [one.children[0].attributes["style"] for one in root.of_class("key")[:2]]
    assert keys == styles


def test_a_distribution_only_rises(root: Element) -> None:
    for line in plot_cards(root)["Waits"].all("polyline"):
        heights = [float(point.split(",")[1]) for point in str(line.attributes["points"]).split()]
        assert heights == sorted(heights, reverse=True)


def test_the_values_of_a_plot_are_a_table_and_under_the_pointer(root: Element, runs: Runs) -> None:
    card = plot_cards(root)["Utilisation of cpu"]
    (values,) = card.all("table")
    assert [one.text for one in values.all("thead")[0].all("th")] == ["time", "default", "packed"]
    rows = cells(values)
    assert len(rows) == 12
    columns = card.of_class("column")
    titles = [one.all("title")[0].text for one in columns]
    assert titles == [f"{when} default: {one} packed: {other}" for when, (one, other) in rows.items()]
    with Run.open(runs["default", 4]) as run:
        share = run.metrics().flat()["utilisation_cpu"]
    means = [float(one.rstrip("%")) / 100 for one, _ in rows.values()]
    assert sum(means) / len(means) == pytest.approx(share, abs=0.002)


def test_it_says_how_far_the_lines_are_apart(root: Element, runs: Runs) -> None:
    notes = {name: card.all("p")[-1].text for name, card in plot_cards(root).items()}
    assert notes["Nodes with pods"].startswith("Farthest apart, ")
    same = parse(CompareAnswer(read_policies([str(runs["default", 4]), str(runs["default", 5])])).report())
    assert len(plot_cards(same)) == 5


def test_lines_that_coincide_are_said_to(runs: Runs, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(runs["default", 4].read_bytes())
    root = parse(CompareAnswer(read_policies([str(runs["default", 4]), str(copy)])).report())
    for card in plot_cards(root).values():
        assert card.all("p")[-1].text == "The lines lie on each other: no value below differs."
    assert not root.of_class("mark")
    assert not root.of_class("bars")
    assert "Metrics that change" not in [one.text for one in root.all("caption")]


# -- metrics -----------------------------------------------------------------------------------------------------------


def test_what_does_not_change_is_folded_away(runs: Runs) -> None:
    base = {"wait_p50": 4.0, "pods_placed": 100.0, "attempts": 1e5}
    root = made_page(base, base | {"wait_p50": 2.0, "attempts": 1e5 + 1}, runs)
    assert cells(table(root, "Metrics that change")) == {"wait p50 (s)": ["4", "2 −50%"]}
    folded = table(root, "Metrics that do not change")
    assert cells(folded) == {"pods placed": ["100", "100 ="], "attempts": ["100 000", "100 001 ≈"]}
    (details,) = (one for one in root.all("details") if folded in one.walk())
    assert "open" not in details.attributes
    assert details.children[0].text == "2 metrics are the same (=) or as good as the same (≈)"


def test_there_are_bars_only_where_something_differs(runs: Runs) -> None:
    root = made_page({"wait_p50": 4.0, "pods_placed": 9.0}, {"wait_p50": 0.0, "pods_placed": 9.0}, runs)
    (bars,) = root.of_class("bars")
    assert [bar.attributes["width"] for bar in bars.all("rect")] == ["148", "0"]
    assert [bar.all("title")[0].text for bar in bars.all("rect")] == ["a: 4", "b: 0"]
    assert bars.of_class("axis")  # nothing is told from nothing known


def test_a_metric_opens_to_say_what_it_means(root: Element) -> None:
    (metric,) = (
        head
        for head in root.all("th")
        if head.attributes.get("scope") == "row" and head.all("summary") and "wait p95" in head.all("summary")[0].text
    )
    assert metric.all("p")[0].text.endswith("lower is better")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_value_that_a_policy_lacks_is_a_difference(runs: Runs, is_first: bool) -> None:
    both, one = {"wait_p50": 4.0, "slowdown_mean": 2.0}, {"wait_p50": 4.0}
    root = made_page(*((one, both) if is_first else (both, one)), runs)
    assert cells(table(root, "Metrics that change")) == {"slowdown mean (×)": ["–", "2"] if is_first else ["2", "–"]}
    assert cells(table(root, "Metrics that do not change")) == {"wait p50 (s)": ["4", "4 ="]}


def test_cards_say_what_changed_and_what_that_is(runs: Runs) -> None:
    root = made_page({"wait_mean": 4.0, "nodes_used_mean": 10.0}, {"wait_mean": 2.0, "nodes_used_mean": 11.0}, runs)
    (cards,) = root.of_class("cards")
    first, second = (card.text for card in cards.children)
    assert first.startswith("wait mean (s) 2 −50% from 4 mean: from a pod's creation")
    assert second.startswith("nodes used mean 11 +10% from 10")
    assert [len(cards.of_class(kind)) for kind in ("good", "bad")] == [1, 1]


def test_a_change_that_is_too_small_makes_no_card(runs: Runs) -> None:
    root = made_page({"wait_mean": 1000.0}, {"wait_mean": 1001.0}, runs)
    (cards,) = root.of_class("cards")
    assert cards.children == []


def test_failures_stand_at_the_top(runs: Runs, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    paths = [str(path) for path in runs.values()]
    assert main(["compare", *paths, "--html", str(report), "--fail-if", "nodes_used_mean<+0"]) == 3
    text = parse(report.read_text()).all("main")[0].text
    assert "failed: packed: nodes_used_mean" in text
    assert text.index("failed:") < text.index("Curves")
