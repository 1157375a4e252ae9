"""The page of GPU devices: the heat map with devices as rows, what was idle and why, how much of each model."""

from __future__ import annotations

import numpy as np

from tests.browser.crowds import plot_of
from tests.browser.looking import Look, until, url
from tests.web.served import Served


def test_devices_are_rows_by_model(look: Look, api: Served) -> None:
    page = look.at("gpus?run=gpu")
    rows = api.ask("/runs/gpu/devices/heat/rows?order=label:model&count=400").json
    label = page.locator("main canvas").first.get_attribute("aria-label") or ""
    assert label.startswith(f"GPU held, {rows['total']} devices")
    assert f"fullest {rows['fullest']}, {rows['fullest_share']:.0%}".replace("%", "\u202f%") in label
    page.mouse.move(*plot_of(page).at(0.3, 0.5 / rows["total"]))
    tip = page.locator("main .tip").first
    until(page, lambda: tip.is_visible() and tip.inner_text().startswith(rows["names"][0]), "the first device")
    page.mouse.dblclick(*plot_of(page).at(0.3, 0.5 / rows["total"]))
    node = rows["names"][0].rpartition("/")[0]
    until(page, lambda: f"/nodes/{node}" in url(page), "the page of its node")


def test_the_table_says_what_tiles_say(look: Look, api: Served) -> None:
    page = look.at("gpus?run=gpu&order=load")
    page.locator("main canvas").first.focus()
    page.keyboard.press("T")
    twin = page.locator("main .twin:visible table")
    until(page, lambda: twin.count() and "openb" in twin.inner_text(), "names")
    look.settle(page)
    lines = [line.split("\t") for line in twin.inner_text().splitlines() if "\t" in line]
    seconds = next(one for one in api.ask("/runs").json["runs"] if one["id"] == "gpu")["end"]
    z = int(np.ceil(np.log2(seconds / 12)))
    tile = api.ask(f"/runs/gpu/devices/heat/{z}/0/0/0?order=load").body
    for row, line in enumerate(lines[1:]):
        shares = [float(cell.replace("\u202f%", "")) / 100 for cell in line[1:]]
        assert np.allclose(shares, [(code - 1) / 254 for code in tile[row * 256 :][: len(shares)]], atol=0.006)


def test_models_are_bars_of_what_was_allocated(look: Look, api: Served) -> None:
    page = look.at("gpus?run=gpu")
    series = api.ask("/runs/gpu/curves/gpu-causes?by=model").json["series"]
    bars = page.locator("main .bars").inner_text()
    for model, values in series.items():
        assert model in bars
        assert f"{np.mean(values):.2g}"[:3] in bars
    causes = page.locator("canvas[aria-label^='Devices']").get_attribute("aria-label") or ""
    assert "allocated up to" in causes


def test_a_run_without_devices_says_so_in_every_part(look: Look) -> None:
    look.expected.add("404")
    page = look.at("gpus?run=busy")
    assert page.locator("main .empty").all_inner_texts() == ["no node of busy has GPU devices"] * 3


def test_parts_that_do_not_come_are_asked_for_again(look: Look) -> None:
    look.expected.add("ERR_INTERNET_DISCONNECTED")
    page = look.at("?run=gpu")
    page.evaluate("() => import('/fairway/ui/static/page_gpus.js')")
    page.context.set_offline(True)
    page.keyboard.press("g")
    page.keyboard.press("g")
    until(page, lambda: page.locator("main .error button").count() == 3, "three parts failed")
    page.context.set_offline(False)
    for _ in range(3):
        page.locator("main .error button").first.click()
        look.settle(page)
    until(page, lambda: not page.locator("main .error").count(), "all are there")
    assert page.locator("main canvas").count() == 2
