"""Pods, one pod, decisions: what is shown is what the API says, every control has keys, nothing fails mutely."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from fairway.testing import node, pod
from tests.browser.looking import DESK, TELEPHONE, Look, until, url
from tests.explain.run_files import busy_run
from tests.record.runs import lives
from tests.web.conftest import HOSTILE
from tests.web.served import Served, at, served

HUGE = ("default", "never-huge-0")
LONG_TABLE = ".long tbody tr:not(.gap)"


@pytest.fixture
def odd(browser: Browser, tmp_path: Path) -> Iterator[Look]:
    """A run in which two pods had one name, and one that kept failed attempts only."""
    twice = tmp_path / "twice.duckdb"
    rows = [(pod("same", cpu=1, uid=uid), "a", begin, begin, begin + 1) for uid, begin in (("u-1", 0.0), ("u-2", 5.0))]
    lives(twice, [node("a", cpu=4)], *rows, end=10.0).close()
    with served([str(twice), busy_run(tmp_path, decisions="failed")]) as server:
        looking = Look(browser, f"http://127.0.0.1:{server.port}", server.token)
        yield looking
        looking.close()


def texts(page: Page, selector: str) -> list[str]:
    """What elements say."""
    return [text.replace("\u202f", " ").strip() for text in page.locator(selector).all_inner_texts()]


def numbers(page: Page, selector: str) -> list[int]:
    """The same as numbers."""
    return [int(text.replace(" ", "")) for text in texts(page, selector)]


def test_who_waits_and_why_is_found_from_the_overview_in_three_clicks(look: Look, api: Served) -> None:
    page = look.at("?run=busy&at=600")
    page.evaluate("() => { window.clicks = 0; addEventListener('click', () => { window.clicks += 1; }, true); }")
    page.get_by_role("link", name="NodeResourcesFit: Insufficient cpu").click()
    look.settle(page)
    until(page, lambda: page.locator(LONG_TABLE).count() == 2, "those two that wait for that")
    assert texts(page, f"{LONG_TABLE} th")[0] == "/".join(HUGE), "who waits longest is first"
    page.locator(f"{LONG_TABLE} th a").first.click()
    until(page, lambda: page.locator("main .bars").count(), "the funnel")
    look.settle(page)
    shown = page.locator("main").inner_text()
    why = api.ask(at("runs", "busy", "why", *HUGE, at=600)).json
    assert why["headline"] == "default/never-huge-0 fits on none of 5 nodes"
    assert why["headline"] in shown
    assert "5 short of cpu: needs 6, most free" in shown
    assert all(fix["words"] in shown for fix in why["fixes"])
    assert why["fixes"] or "None found" in shown
    assert 1 <= page.evaluate("() => window.clicks") <= 3


def test_pods_are_those_of_the_api(look: Look, api: Served) -> None:
    page = look.at("pods?run=busy")
    columns = api.ask("/runs/busy/pods?sort=-wait").columns
    shown = texts(page, f"{LONG_TABLE} th")
    assert shown == columns["pod"][: len(shown)]
    assert len(shown) > 10
    assert "69 of 69" in page.locator(".long-table").inner_text()
    assert texts(page, f"{LONG_TABLE} td:nth-child(4)") == [str(number) for number in columns["attempts"][: len(shown)]]
    waits = api.ask("/runs/busy/waits").json
    drawn = [int(text or 0) for text in texts(page, ".histogram li > span:first-child")]
    assert drawn == [sum(both) for both in zip(waits["placed"], waits["unplaced"], strict=True)][1:]
    assert f"{waits['placed'][0]} pods got a node at once. 1 had none." in page.locator("main").inner_text()


def test_filters_and_order_are_in_the_url(look: Look, api: Served) -> None:
    page = look.at("pods?run=busy")
    page.get_by_label("state").select_option("ended")
    page.get_by_label("text").fill("low-s-1")
    page.get_by_role("button", name="created").press("Enter")
    until(page, lambda: "text=low-s-1" in url(page) and "sort=created" in url(page), "the URL says so")
    found = api.ask("/runs/busy/pods?state=ended&text=low-s-1&sort=created").columns["pod"]
    until(page, lambda: texts(page, f"{LONG_TABLE} th") == found, "those pods in that order")
    again = look.at(url(page).partition("/fairway/ui/")[2])
    assert texts(again, f"{LONG_TABLE} th") == found
    assert again.get_by_label("text").input_value() == "low-s-1"
    again.get_by_label("text").fill("nobody-is-called-so")
    until(again, lambda: "there are no such pods" in again.locator("main").inner_text(), "that there are none is told")
    again.get_by_role("button", name="Show all").click()
    until(again, lambda: "69 of 69" in again.locator("main").inner_text(), "all of them")


def test_pods_are_as_they_were_at_the_moment(look: Look, api: Served) -> None:
    page = look.at("pods?run=busy&at=600&state=running")
    columns = api.ask("/runs/busy/pods?at=600&state=running&sort=-wait").columns
    shown = texts(page, f"{LONG_TABLE} th")
    assert shown == columns["pod"][: len(shown)]
    assert len(shown) > 5
    assert "As they were at 00:10:00." in page.locator("main").inner_text()
    page.get_by_role("button", name="At the end").click()
    until(page, lambda: "As they were at the end." in page.locator("main").inner_text(), "at the end")


def test_a_pod_is_found_and_explained_by_keyboard_alone(look: Look, api: Served) -> None:
    page = look.at("?run=busy")
    page.keyboard.press("g")
    page.keyboard.press("p")
    until(page, lambda: page.locator(LONG_TABLE).count(), "the pods")
    page.get_by_role("region", name="pods").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, lambda: page.locator("main h2").count(), "the pod")
    look.settle(page)
    name = page.locator("h1").inner_text()
    assert name == api.ask("/runs/busy/pods?sort=-wait").columns["pod"][1]
    attempts = api.ask(at("runs", "busy", "pods", *name.split("/"))).json["attempts"]
    last = f"Attempt {len(attempts)} of {len(attempts)}"
    assert page.locator("main h2").inner_text().startswith(last)
    page.keyboard.press("[")
    until(page, lambda: f"Attempt {len(attempts) - 1} of" in page.locator("main h2").inner_text(), "the one before")
    page.keyboard.press("]")
    until(page, lambda: last in page.locator("main h2").inner_text(), "and back")
    page.keyboard.press("n")
    page.keyboard.type("n-2")
    page.keyboard.press("Enter")
    until(page, lambda: "RESOURCE" in page.locator("main").inner_text(), "why on that node")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    until(page, lambda: page.locator("h1").inner_text() == "Pods", "back to all of them")


def test_the_funnel_is_that_of_the_answer_and_its_groups_open(look: Look, api: Served) -> None:
    page = look.at(f"pods/{'/'.join(HUGE)}?run=busy&attempt=3")
    why = api.ask(at("runs", "busy", "why", *HUGE, attempt=3)).json
    assert numbers(page, ".bars .bar-value") == [why["nodes"], *(step["left"] for step in why["funnel"])]
    groups = [group for step in why["funnel"] for group in step["reasons"]]
    summaries = page.locator(".bars summary")
    assert [int(text.split()[0]) for text in texts(page, ".bars summary")] == [group["nodes"] for group in groups]
    assert sum(group["nodes"] for group in groups) == why["nodes"]
    summaries.first.focus()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".bars .names a").count() == groups[0]["nodes"], "its nodes")
    assert sorted(texts(page, ".bars .names a")) == sorted(
        one["node"] for one in why["perNode"] if one["group"] == [0, 0]
    )
    assert why["message"] in page.locator("main").inner_text()


def test_scores_are_those_of_the_answer_with_the_chosen_one_marked(look: Look, api: Served) -> None:
    columns = api.ask("/runs/busy/decisions?outcome=scheduled&limit=1000").columns
    place = next(place for place, fit in enumerate(columns["num_feasible"]) if fit > 2)
    name, attempt = columns["pod"][place].split("/"), columns["attempt"][place]
    page = look.at(f"pods/{'/'.join(name)}?run=busy&attempt={attempt}")
    why = api.ask(at("runs", "busy", "why", *name, attempt=attempt)).json
    bars = page.locator("ol[aria-label^='scores']")
    totals = {one["node"]: one["total"] for one in why["perNode"] if one["fits"]}
    assert numbers(page, "ol[aria-label^='scores'] .bar-value")[0] == totals[why["node"]]
    assert bars.locator("li").count() == len(totals)
    assert f"{why['node']} ◂ chosen" in bars.locator("[aria-current]").inner_text()
    assert "worked out again" in page.locator("main").inner_text()
    assert "the same on all:" in page.locator("main").inner_text()
    kept = api.ask("/runs/gpu/decisions?outcome=scheduled&limit=1000").columns
    name, attempt = kept["pod"][5].split("/"), kept["attempt"][5]
    recorded = api.ask(f"/runs/gpu/decisions/{kept['decision_id'][5]}").json["scores"]
    assert recorded
    page = look.at(f"pods/{'/'.join(name)}?run=gpu&attempt={attempt}")
    if len({row["node"] for row in recorded}) > 1:
        assert "as recorded" in page.locator("main").inner_text()


def test_the_life_of_a_pod_shows_every_attempt(look: Look, api: Served) -> None:
    page = look.at(f"pods/{'/'.join(HUGE)}?run=busy")
    story = api.ask(at("runs", "busy", "pods", *HUGE)).json
    assert page.locator(".life .tick").count() == len(story["attempts"]) > 3
    assert page.locator(".lives").get_attribute("aria-label") == story["headline"]
    assert story["headline"] in page.locator("main").inner_text()
    assert {"unschedulable", "attempts"} <= set(texts(page, ".legend li"))
    page.get_by_text("the same as a table").click()
    assert texts(page, "details[open] tbody td:nth-child(2)").count("attempt 2") == 1
    page.locator(".life .tick").nth(1).click(force=True)
    until(page, lambda: "Attempt 2 of" in page.locator("main h2").inner_text(), "that attempt")
    box = page.locator("footer canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    until(page, lambda: page.locator("main h2").inner_text().startswith("At "), "another moment")
    until(page, lambda: "attempt=" not in url(page), "the URL says so")


def test_what_is_copied_is_what_the_command_prints(look: Look, api: Served) -> None:
    page = look.at(f"pods/{'/'.join(HUGE)}?run=busy&attempt=2")
    why = api.ask(at("runs", "busy", "why", *HUGE, attempt=2)).json
    for button, text in (("Copy as text", "\n".join(why["text"])), ("Copy the command", why["command"])):
        page.get_by_role("button", name=button).press("Enter")
        until(page, lambda text=text: page.evaluate("() => navigator.clipboard.readText()") == text, button)  # type: ignore[misc]
    assert why["command"].startswith("fairway why default/never-huge-0 --run ")
    assert why["command"].endswith("busy.duckdb --attempt 2")


def test_who_made_room_names_its_victims(look: Look, api: Served) -> None:
    log = api.ask("/runs/busy/decisions?outcome=unschedulable&limit=1000").columns
    place = next(place for place, victims in enumerate(log["num_victims"]) if victims)
    name, attempt = log["pod"][place], log["attempt"][place]
    page = look.at(f"pods/{name}?run=busy&attempt={attempt}")
    story = api.ask(at("runs", "busy", "pods", *name.split("/"))).json
    (made,) = [one for one in story["attempts"] if one["attempt"] == attempt]
    assert (
        f"It made room on {made['nominatedNode']} by evicting {', '.join(made['evicts'])}."
        in page.locator("main").inner_text()
    )
    assert "would have to go" in page.locator("main").inner_text()
    page = look.at(f"decisions?run=busy&decision={log['decision_id'][place]}")
    assert set(made["evicts"]) <= set(texts(page, "main .grid tbody th"))


def test_a_pod_of_a_job_in_a_queue_shows_what_its_job_waits_for(look: Look, api: Served) -> None:
    run = next(one["id"] for one in api.ask("/runs").json["runs"] if one["has_queues"])
    time = next(time for time in range(0, 20000, 20) if api.ask(f"/runs/{run}/waiting?at={time}").json["waiting"])
    waiting = api.ask(f"/runs/{run}/pods?state=waiting&at={time}").columns["pod"][0]
    page = look.at(f"pods/{waiting}?run={run}&at={time}")
    why = api.ask(at("runs", run, "why", *waiting.split("/"), at=time)).json
    job = api.ask(at("runs", run, "jobs", *why.get("job", {"job": waiting})["job"].split("/"), at=time)).json
    assert "Its job in the queue" in page.locator("main").inner_text()
    assert page.locator("main pre").first.inner_text() == "\n".join(job["text"])


def test_pods_that_are_not_there_and_namesakes_are_told(look: Look, odd: Look) -> None:
    look.expected |= {"404", "400"}
    page = look.at("pods/default/never-huge-1?run=busy")
    assert "did you mean default/never-huge-0" in page.locator(".error").inner_text()
    page = look.at(f"pods/{'/'.join(HUGE)}?run=busy&attempt=999")
    assert "no attempt 999" in page.locator(".error").inner_text()
    assert page.locator(".lives").count() == 1, "the other parts stay"
    page = look.at("pods?run=busy&sort=nonsense")
    assert "nothing is called nonsense" in page.locator(".error").inner_text()
    odd.expected |= {"409", "400"}  # nothing was scheduled in it
    page = odd.at("pods/default/same?run=twice")
    assert "Several pods had this name" in page.locator("main").inner_text()
    page.get_by_role("link", name="created at 00:00:00").click()
    until(page, lambda: page.locator(".lives").count(), "the first of them")
    odd.settle(page)
    assert "uid=u-1" in url(page)
    assert page.locator(".lives").inner_text().startswith("00:00:00 – 00:00:01 · had its node")


def test_attempts_that_were_not_kept_are_told(odd: Look) -> None:
    page = odd.at("pods?run=busy&sort=-attempts&state=ended")
    page.get_by_role("region", name="pods").focus()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".lives").count(), "the pod")
    odd.settle(page)
    assert "1 of them not kept" in page.locator("main").inner_text()


def test_what_loads_is_told_and_what_is_left_is_not_asked_on(look: Look) -> None:
    page = look.at("pods?run=busy")
    held: list[object] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/runs/busy/why/**", hold)
    page.locator(f"{LONG_TABLE} th a").first.click()
    until(page, lambda: page.locator(".lives, .skeleton").count() and held, "it is asked")
    until(page, lambda: page.locator('[role="img"][aria-label="loading"]').count(), "that it loads is shown")
    assert "waiting" in page.locator("main strong").inner_text(), "the headline is there already"
    page.unroute("**/api/v1/runs/busy/why/**")
    page.keyboard.press("Escape")
    until(page, lambda: page.locator("h1").inner_text() == "Pods", "the page was left")


def test_decisions_are_those_of_the_api(look: Look, api: Served) -> None:
    page = look.at("decisions?run=busy")
    columns = api.ask("/runs/busy/decisions").columns
    shown = texts(page, f"{LONG_TABLE} td:nth-child(3)")
    assert shown == columns["pod"][: len(shown)]
    assert len(shown) > 10
    page.get_by_label("outcome").select_option("unschedulable")
    total = api.ask("/runs/busy/decisions?outcome=unschedulable").json["total"]
    until(page, lambda: f"of {total}" in page.locator(".long-table").inner_text(), "the failed ones")
    page.get_by_role("button", name="took").click()
    slowest = api.ask("/runs/busy/decisions?outcome=unschedulable&sort=cycle").columns["pod"]
    until(page, lambda: texts(page, f"{LONG_TABLE} td:nth-child(3)")[:10] == slowest[:10], "by what they took")
    page.get_by_label("pod", exact=True).fill("nobody")
    until(page, lambda: "there are no such decisions" in page.locator("main").inner_text(), "there are none")


def test_one_decision_is_opened_and_closed_by_keyboard(look: Look, api: Served) -> None:
    page = look.at("decisions?run=gpu")
    page.get_by_role("region", name="decisions").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, lambda: "decision=" in url(page), "it is in the URL")
    look.settle(page)
    one = api.ask("/runs/gpu/decisions/1").json
    assert page.locator("main h2").inner_text() == "Decision 1"
    times: list[dict[str, Any]] = one["plugin_times"]
    assert len(texts(page, "main .grid tbody tr")) == len(times) > 3
    bars = numbers(page, "ol[aria-label^='scores'] .bar-value")
    assert bars == sorted({row["node"]: row["total"] for row in one["scores"]}.values(), reverse=True)
    page.keyboard.press("c")
    until(page, lambda: "decision=" not in url(page), "closed")
    look.expected.add("404")
    page = look.at("decisions?run=gpu&decision=999999")
    assert "the run has no decision 999999" in page.locator(".error").inner_text()
    assert page.locator(LONG_TABLE).count(), "the log stays"


@pytest.mark.parametrize("size", [DESK, TELEPHONE])
@pytest.mark.parametrize(
    "path", ["pods?run=busy", "pods/default/never-huge-0?run=busy", "decisions?run=gpu&decision=3"]
)
def test_nothing_is_wider_than_the_window(look: Look, path: str, size: tuple[int, int]) -> None:
    page = look.at(path, size=size)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]


def test_names_are_shown_letter_for_letter(look: Look) -> None:
    look.expected.add("400")  # nothing was scheduled in it
    page = look.at("pods?run=hostile")
    assert "default/<img src=x onerror=alert(1)>" in texts(page, f"{LONG_TABLE} th")
    page.get_by_role("link", name="default/<img").click()
    until(page, lambda: page.locator(".lives").count(), "its page")
    look.settle(page)
    assert page.locator("h1").inner_text() == f"default/{HOSTILE[0]}"
    assert page.locator("main img").count() == 0
