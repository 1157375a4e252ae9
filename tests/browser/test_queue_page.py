"""The page of the queue: who waits at the moment and for what; jobs of queues, their dates, shares."""

from __future__ import annotations

import re

import pytest

from tests.browser.looking import DESK, TELEPHONE, Look, table_of, texts, until, url
from tests.web.served import Served


def test_who_waits_is_what_the_queue_says_at_that_moment(look: Look, api: Served) -> None:
    answer = api.ask("/runs/busy/queue?at=900").json
    page = look.at("queue?run=busy&at=900")
    rows = table_of(page, "pods in the queue")
    assert [row[0] for row in rows] == answer["columns"]["pod"]
    assert [row[1] for row in rows] == [place.replace("_", " ") for place in answer["columns"]["place"]]
    assert [row[4] for row in rows] == [f"{number}" for number in answer["columns"]["attempts"]]
    assert [row[5] for row in rows] == [name or "–" for name in answer["columns"]["refused_by"]]
    assert [row[7] for row in rows] == [words or "–" for words in answer["columns"]["wakes"]]
    (title,) = [text for text in texts(page, "main h2") if text.startswith("Who waits")]
    for place, number in answer["places"].items():
        assert f"{number} {place.replace('_', ' ')}" in title
    assert len(rows) > 3


def test_the_list_follows_the_moment(look: Look, api: Served) -> None:
    page = look.at("queue?run=busy&at=900")
    before = table_of(page, "pods in the queue")
    page.locator("main canvas").first.focus()
    page.locator("footer canvas").focus()
    page.keyboard.press("ArrowLeft")
    until(page, lambda: "at=900" not in url(page), "another moment")
    at = float(re.findall(r"at=([\d.]+)", url(page))[0])
    expected = api.ask(f"/runs/busy/queue?at={at}").columns
    until(
        page, lambda: [row[0] for row in table_of(page, "pods in the queue")] == expected["pod"], "the list is of then"
    )
    assert table_of(page, "pods in the queue") != before, "at least they wait for another time"


def test_places_and_moves_are_drawn_and_told(look: Look) -> None:
    page = look.at("queue?run=busy")
    labels = [canvas.get_attribute("aria-label") or "" for canvas in page.locator("main canvas").all()]
    assert labels[0].startswith("Pods in the queue, by place, 00:00:00–00:30:00: ")
    assert "unschedulable up to" in labels[0]
    assert "Pop up to" in labels[1]
    page.locator("main select").select_option("scheduler")
    until(
        page,
        lambda: "unschedulable default-scheduler" in " ".join(texts(page, ".legend li")),
        "told apart by scheduler",
    )
    assert "by=scheduler" in url(page)


def test_jobs_stand_with_their_place_dates_and_reason(look: Look, api: Served) -> None:
    found = api.ask("/runs/queues/jobs?at=5400").columns
    page = look.at("queue?run=queues&at=5400")
    rows = {row[0]: row for row in table_of(page, "jobs")}
    waiting = [place for place, position in enumerate(found["position"]) if position is not None]
    shown = [place for place in waiting if found["job"][place] in rows]
    assert len(shown) > 3
    for place in shown:
        row = rows[found["job"][place]]
        assert row[1:5] == [
            found["queue"][place],
            f"{found['position'][place]}",
            found["state"][place],
            found["reason"][place],
        ]
        jobs = found["jobs_ahead"][place]
        assert row[5].startswith("–" if jobs is None else f"{jobs} job")
        if found["likely_seconds"][place] is not None:
            assert re.match(r"\d\d:\d\d:\d\d", row[6]), row
    running = [row for name, row in rows.items() if row[3] == "Running"]
    assert all(row[6].startswith("since ") for row in running)


def test_a_job_is_opened_by_keyboard_alone(look: Look, api: Served) -> None:
    found = api.ask("/runs/queues/jobs?at=5400").columns
    job = next(name for name, state in zip(found["job"], found["state"], strict=True) if state == "Queued")
    page = look.at("queue?run=queues&at=5400")
    page.locator('main table[aria-label="jobs"]').get_by_role("link", name=job, exact=True).focus()
    page.keyboard.press("Enter")
    until(page, lambda: f"job={job}" in url(page), "the job is in the URL")
    look.settle(page)
    until(page, lambda: any(text.startswith(job) for text in texts(page, "main h2")), "it is told of")
    said = api.ask(f"/runs/queues/jobs/{job}?at=5400").json
    assert said["message"] in page.locator("main").inner_text()


def test_jobs_are_chosen_by_queue_and_a_queue_that_is_not_there_is_told(look: Look, api: Served) -> None:
    page = look.at("queue?run=queues&at=5400")
    look.expected.add("400")
    box = page.get_by_label("queue", exact=True)
    box.fill("inter")
    page.keyboard.press("Enter")
    until(page, lambda: {row[1] for row in table_of(page, "jobs")} == {"inter"}, "only those of that queue")
    box.fill("none")
    page.keyboard.press("Enter")
    until(page, lambda: "none" in " ".join(texts(page, ".long-table [role=alert]")), "the server's sentence is there")


def test_shares_are_those_of_the_api(look: Look, api: Served) -> None:
    names = api.ask("/runs/queues/shares?at=5400").columns["name"]
    page = look.at("queue?run=queues&at=5400")
    shown = page.locator("main section:has(> h2:text-matches('^Shares')) tbody th").all_inner_texts()
    assert [text.strip() for text in shown] == [name.rpartition("/")[2] for name in names]


def test_a_run_without_queues_of_jobs_has_none_on_its_page(look: Look) -> None:
    page = look.at("queue?run=busy")
    assert not [text for text in texts(page, "main h2") if text.startswith(("Jobs", "Shares"))]


@pytest.mark.parametrize("size", [DESK, TELEPHONE])
@pytest.mark.parametrize("run", ["busy", "queues"])
def test_nothing_scrolls_sideways(look: Look, size: tuple[int, int], run: str) -> None:
    page = look.at(f"queue?run={run}", size=size)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
