"""The page of several runs: numbers, curves, where they part and with what answers, pods that fare otherwise."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from tests.browser.looking import DESK, TELEPHONE, Look, table_of, texts, until, url
from tests.web.served import Served

PATH = "compare?run=busy&run=slow"
BOTH = "run=busy&run=slow"


def numbers(page: Page) -> dict[str, list[str]]:
    """Rows of the tables of numbers, those that are folded away among them."""
    rows = page.evaluate("""() => [...document.querySelectorAll('main table')]
        .filter((one) => one.querySelector('th').textContent === 'metric')
        .flatMap((one) => [...one.querySelectorAll('tbody tr')])
        .map((row) => [...row.children].map((cell) => cell.textContent))""")
    return {row[0]: row[1:] for row in rows}


def test_numbers_are_told_with_their_difference_and_which_is_better(look: Look, api: Served) -> None:
    metrics = api.ask(f"/compare?{BOTH}").json["metrics"]
    page = look.at(PATH)
    shown = numbers(page)
    assert shown.keys() == {metric["name"].replace("_", " ") for metric in metrics}
    for metric in metrics:
        cell = shown[metric["name"].replace("_", " ")][0]
        by, better = metric["differences"][0], metric["is_better"][0]
        if by is None:
            assert cell == "–"
        elif by == 0:
            assert cell == "="
        else:
            assert cell[0] == ("▴" if by > 0 else "▾")
            assert cell.endswith({True: "better", False: "worse", None: ""}[better])
    folded = page.locator("main details summary").filter(has_text="without any difference")
    same = sum(not metric["differences"][0] and metric["values"][0] == metric["values"][1] for metric in metrics)
    assert int(re.findall(r"\d+", folded.inner_text())[0]) >= same > 5


def test_numbers_that_only_one_run_has_are_folded_away(look: Look, api: Served) -> None:
    metrics = api.ask("/compare?run=busy&run=queues").json["metrics"]
    lacking = sum(None in metric["values"] for metric in metrics)
    page = look.at("compare?run=busy&run=queues")
    assert f"{lacking} numbers that not all of them have" in page.locator("main").inner_text()
    assert lacking > 5


def test_curves_of_both_are_over_each_other_and_the_second_is_dashed(look: Look) -> None:
    page = look.at(PATH)
    labels = [canvas.get_attribute("aria-label") or "" for canvas in page.locator("main .lines canvas").all()]
    assert [label.partition(",")[0] for label in labels[:4]] == [
        "Held of what there was", "Pods waiting", "Nodes in use", "Share of pods that waited no longer",
    ]  # fmt: skip
    assert all("busy up to" in label and "slow up to" in label for label in labels[:4])
    boxes = page.evaluate(
        "() => [...document.querySelectorAll('main .lines .box')].slice(0, 2).map((one) => one.style.backgroundImage)"
    )
    assert [bool(dashes) for dashes in boxes] == [False, True]


def test_the_first_different_decision_has_both_answers_and_a_button_that_goes_there(look: Look, api: Served) -> None:
    (parting,) = api.ask(f"/compare?{BOTH}").json["first"]
    page = look.at(PATH)
    section = page.locator("main section", has=page.locator("> h2", has_text="First different decision"))
    text = section.inner_text()
    assert parting["pod"] in text
    answers = section.locator("section h3").all_inner_texts()
    for run, decision, head in zip(("busy", "slow"), (parting["ours"], parting["theirs"]), answers, strict=True):
        assert head.startswith(f"{run}: {decision['pod']} → ")
    assert section.locator("ol.bars").count() >= 2, "a funnel each"
    section.get_by_role("button", name="Put both clocks at").press("Enter")
    until(page, lambda: f"at={parting['time']:g}"[:8] in url(page), "the moment is that of the decision")
    look.settle(page)


def test_pods_that_fare_otherwise_come_by_delay_and_lead_to_each_run(look: Look, api: Served) -> None:
    answer = api.ask(f"/compare/pods?{BOTH}").json
    page = look.at(PATH)
    rows = table_of(page, "pods that fare otherwise")
    assert [row[0] for row in rows] == answer["columns"]["pod"][: len(rows)]
    assert [row[2] for row in rows] == [node or "none" for node in answer["columns"]["node"][: len(rows)]]
    assert "later" in rows[0][6]
    assert f"Of {answer['num_both']} pods" in page.locator("main").inner_text()
    links = page.locator('main table[aria-label="pods that fare otherwise"] tbody tr').first.locator("a")
    assert [re.findall(r"run=(\w+)", link.get_attribute("href") or "") for link in links.all()] == [["busy"], ["slow"]]
    page.get_by_role("button", name="delay").press("Enter")
    earliest = api.ask(f"/compare/pods?{BOTH}&sort=delay").columns["pod"][0]
    until(page, lambda: table_of(page, "pods that fare otherwise")[0][0] == earliest, "the other way round")


def test_both_heat_maps_have_one_window_and_their_difference_is_drawn(look: Look) -> None:
    page = look.at(PATH)
    assert [head for head in texts(page, "main h3") if head in ("busy", "slow")] == ["busy", "slow"]
    page.get_by_label("show").select_option("difference")
    until(page, lambda: "slow less busy" in texts(page, "main h3"), "the difference")
    assert "heat=difference" in url(page)
    look.settle(page)


def test_runs_of_other_clusters_are_shown_with_a_banner_and_without_a_difference(look: Look, api: Served) -> None:
    notes = api.ask("/compare?run=busy&run=queues").json["notes"]
    assert notes
    page = look.at("compare?run=busy&run=queues")
    banner = page.get_by_role("alert").inner_text()
    assert "not comparable" in banner
    assert all(note in banner for note in notes)
    assert "only in busy" in page.locator("main").inner_text()
    assert page.get_by_label("show").count() == 0


def test_runs_are_chosen_by_keyboard_alone(look: Look) -> None:
    page = look.at("compare?run=busy")
    assert "Choose what busy is to be compared with" in page.locator("main").inner_text()
    page.get_by_role("checkbox", name="slow").focus()
    page.keyboard.press("Space")
    until(page, lambda: BOTH in url(page), "both are in the URL")
    until(page, lambda: page.locator("h1").inner_text() == "busy · slow", "and compared")
    look.settle(page)
    page.keyboard.press("g")
    page.keyboard.press("o")
    until(page, lambda: page.locator("h1").inner_text() == "busy", "another page shows the first")


def test_of_three_runs_one_says_which_of_the_others_is_beside_the_first(look: Look, api: Served) -> None:
    page = look.at(f"{PATH}&run=gpu")
    page.get_by_label("beside it").select_option("gpu")
    until(page, lambda: "other=gpu" in url(page), "in the URL")
    expected = api.ask("/compare/pods?run=busy&run=gpu").json
    until(
        page, lambda: f"{expected['num_only_other']} pods only in gpu" in page.locator("main").inner_text(), "its pods"
    )
    look.settle(page)


def test_what_fails_is_told_and_the_rest_stays(look: Look) -> None:
    look.expected.add("503")
    page = look.blank(DESK)
    refused = {"error": {"code": "too_busy", "message": "64 questions are being answered", "hint": "try again"}}
    page.route(lambda to: "/v1/compare?" in to, lambda route: route.fulfill(status=503, json=refused))
    look.go(page, PATH)
    look.settle(page)
    assert "64 questions are being answered" in page.get_by_role("alert").first.inner_text()
    assert page.locator("main .lines canvas").count() >= 3
    page.unroute_all()
    page.get_by_role("button", name="Try again").nth(1).press("Enter")
    until(page, lambda: numbers(page), "asked again")


@pytest.mark.parametrize("size", [DESK, TELEPHONE])
def test_nothing_scrolls_sideways(look: Look, size: tuple[int, int]) -> None:
    page = look.at(PATH, size=size)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
