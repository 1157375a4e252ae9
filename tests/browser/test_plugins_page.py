"""The page of plugins: where processor time went, the slowest attempts, who refuses."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.looking import DESK, TELEPHONE, Look, table_of, texts, until, url
from tests.web.served import Served

BLOCKS = """() => [...document.querySelectorAll('.icicle li')].map((item) =>
    [item.firstElementChild.title, item.getBoundingClientRect().width])"""


def seconds(text: str) -> float:
    """A length as it is shown."""
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]


def leaves(tree: Any) -> list[Any]:
    """What has no parts."""
    return [leaf for child in tree["children"] for leaf in leaves(child)] if tree["children"] else [tree]


def figures(page: Page) -> list[list[str]]:
    """The table below the icicle."""
    rows = page.locator(".icicle ~ .wide tbody tr").all()
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in rows]


def test_plugins_and_the_rest_add_up_to_the_cycles(look: Look, api: Served) -> None:
    tree = api.ask("/runs/gpu/plugins").json
    (row,) = api.sources.find("gpu").rows("SELECT count(*) AS num, sum(cycle_seconds) AS spent FROM decisions")
    page = look.at("plugins?run=gpu")
    shown = figures(page)
    assert len(shown) == len(leaves(tree))
    total = sum(seconds(cells[3]) for cells in shown)
    assert total == pytest.approx(tree["cpu_seconds"], rel=0.01)
    (between,) = api.sources.find("gpu").rows(
        "SELECT coalesce(sum(cpu_seconds), 0) AS spent FROM plugin_times WHERE decision_id IS NULL"
    )
    assert total == pytest.approx(row["spent"] + between["spent"], rel=0.01)
    assert (
        page.locator(".icicle")
        .evaluate("(list) => list.previousElementSibling.textContent")
        .startswith(f"{row['num']} attempts")
    )
    for cells in shown:
        assert seconds(cells[5]) == pytest.approx(seconds(cells[3]) / row["num"], rel=0.02, abs=2e-9)


def test_blocks_are_as_wide_as_what_they_took(look: Look, api: Served) -> None:
    tree = api.ask("/runs/gpu/plugins").json
    page = look.at("plugins?run=gpu")
    widths = page.evaluate(BLOCKS)
    (scheduler,) = tree["children"]
    points = [child for child in scheduler["children"] if child["cpu_seconds"] > 0]
    assert widths[0][1] == pytest.approx(widths[1][1], abs=2)
    for point in points:
        name = "not in plugins" if point["name"] == "rest" else point["name"]
        found = next(width for title, width in widths if title.split("\n")[0] == name)
        assert found / widths[0][1] == pytest.approx(point["cpu_seconds"] / scheduler["cpu_seconds"], abs=0.01)


def test_keys_lead_around_and_look_closer(look: Look) -> None:
    page = look.at("plugins?run=gpu")
    focused = "() => document.activeElement.title.split('\\n')[0]"
    page.locator(".icicle button").first.focus()
    assert page.evaluate(focused) == "all"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    first = page.evaluate(focused)
    page.keyboard.press("ArrowRight")
    second = page.evaluate(focused)
    assert len({"all", first, second}) == 3
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == first
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, lambda: url(page).count("zoom=") == 2, "closer is in the URL")
    until(page, lambda: page.evaluate(focused) == second, "it is on top and has the focus")
    assert {cells[1] for cells in figures(page)} <= {second, "–"}
    page.get_by_role("button", name="▴ all").press("Enter")
    until(page, lambda: "zoom=" not in url(page), "the whole again")


def test_the_slowest_attempts_come_first_and_lead_to_their_pods(look: Look, api: Served) -> None:
    found = api.ask("/runs/gpu/decisions?sort=-cycle").columns
    page = look.at("plugins?run=gpu")
    rows = table_of(page, "slowest attempts")
    assert [row[0] for row in rows] == found["pod"][: len(rows)]
    assert [int(row[3]) for row in rows] == found["attempt"][: len(rows)]
    href = page.locator('main table[aria-label="slowest attempts"] a').first.get_attribute("href") or ""
    assert f"/pods/{found['pod'][0]}?" in href
    assert f"attempt={found['attempt'][0]}" in href


def test_over_time_it_is_told_apart_as_one_likes(look: Look) -> None:
    page = look.at("plugins?run=gpu")
    assert "Filter" in texts(page, ".legend li")
    page.get_by_label("over time by").select_option("plugin")
    until(page, lambda: "GpuShare" in texts(page, ".legend li"), "by plugin")


def test_without_times_the_page_says_how_to_have_them_and_the_rest_is_there(look: Look) -> None:
    page = look.at("plugins?run=busy")
    assert "--plugin-times" in page.locator("main .empty").first.inner_text()
    assert page.locator("main .error").count() == 0
    assert len(table_of(page, "slowest attempts")) > 5
    assert "NodeResourcesFit" in (page.locator("main canvas").last.get_attribute("aria-label") or "")


@pytest.mark.parametrize("size", [DESK, TELEPHONE])
def test_nothing_scrolls_sideways(look: Look, size: tuple[int, int]) -> None:
    page = look.at("plugins?run=gpu", size=size)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
