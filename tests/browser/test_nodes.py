"""The heat map of nodes: what is drawn, told and written down is what the API says; by pointer, by keys, by the URL."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.crowds import NUM_NODES, bare_run, crowd_run, plot_of, ramp
from tests.browser.looking import TELEPHONE, Look, until, url
from tests.web.served import Served, served

TILES = """async (number) => {
    const modules = ["tiles", "api"].map((name) => import(`/fairway/ui/static/${name}.js`));
    const [{ tileLayer }, { ask }] = await Promise.all(modules);
    const [run] = (await ask(["runs"])).runs;
    const leaving = new AbortController();
    let come = () => {};
    const values = { order: "came", filter: "", stat: "mean" };
    const layer = tileLayer({ runs: () => [run], path: ["heat", "cpu"], values }, leaving.signal, () => come());
    const asked = [];
    const tile = (x) => new Promise((resolve) => {
        come = () => { asked.push(x); resolve(); };
        if (layer.share(-4, 0, x * 256, 3) !== null) resolve();
    });
    for (let x = 0; x < number; x += 1) await tile(x);
    asked.length = 0;
    for (const x of [number - 1, 0]) await tile(x);
    return asked;
}"""
CLOSE = "nodes?run=crowd&nodes=100-200&from=600&to=900"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("crowd")
    with served([crowd_run(folder), bare_run(folder)]) as server:
        yield server


@pytest.fixture
def look(browser: Browser, crowd: Served) -> Iterator[Look]:
    looking = Look(browser, f"http://127.0.0.1:{crowd.port}", crowd.token)
    yield looking
    looking.close()


def label(page: Page) -> str:
    return page.locator("main canvas").first.get_attribute("aria-label") or ""


def told(page: Page, part: str) -> str:
    """What stands beside the pointer, once it says something of that."""
    tip = page.locator("main .tip").first
    return str(until(page, lambda: tip.is_visible() and part in tip.inner_text() and tip.inner_text(), part))


def rows_in_sight(page: Page) -> tuple[float, float]:
    found = re.search(r"nodes=([\d.]+)-([\d.]+)", url(page))
    return (float(found[1]), float(found[2])) if found else (0.0, float(NUM_NODES))


def seconds_in_sight(page: Page) -> float:
    found = re.search(r"from=([\d.]+)&to=([\d.]+)", url(page))
    return float(found[2]) - float(found[1]) if found else 3600.0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cells_have_the_colours_of_their_bytes(look: Look, crowd: Served, scheme: str) -> None:
    page = look.at(CLOSE, scheme="light" if scheme == "light" else "dark")
    plot, colours = plot_of(page), ramp(page)
    z = math.ceil(math.log2(300 / plot.width))
    tile = crowd.ask(f"/runs/crowd/heat/cpu/{z}/0/{int(600 / 2**z) // 256}/0").body
    left = int(600 / 2**z) // 256 * 256
    seen = set()
    for y in range(0, int(plot.height), 3):
        row = 100 + (y + 0.5) / plot.height * 100
        for x in range(0, int(plot.width * 0.1), 2):
            column = 600 / 2**z + (x + 0.5) / plot.width * 300 / 2**z
            if not (0.2 < row % 1 < 0.8 and 0.2 < column % 1 < 0.8 and int(column) - left < 256):
                continue
            code = tile[int(row) * 256 + int(column) - left]
            seen.add(code)
            wanted = colours[code - 1]
            got = plot.colour(x, y)
            assert all(abs(a - b) <= 1 for a, b in zip(got, wanted, strict=True)), (x, y, code, got, wanted)
    assert len(seen) > 3


def test_the_label_is_a_sentence_with_the_fullest_node(look: Look, crowd: Served) -> None:
    page = look.at("nodes?run=crowd")
    rows = crowd.ask("/runs/crowd/heat/cpu/rows").json
    share = crowd.ask("/runs/crowd/heat/cpu/cell?time=0&node=0&z=12&k=0&order=load").json
    assert share["nodes"] == [rows["fullest"]]
    assert share["share"] == pytest.approx(rows["fullest_share"])
    percent = f"{rows['fullest_share']:.0%}".replace("%", "\u202f%")
    assert label(page) == f"cpu held, 600 nodes, 00:00:00–01:00:00; fullest {rows['fullest']}, {percent}"


def test_the_pointer_tells_node_span_share_and_pods(look: Look, crowd: Served) -> None:
    page = look.at(CLOSE)
    page.mouse.move(*plot_of(page).at(0.5, 0.345))
    text = told(page, "% of cpu")
    z = math.ceil(math.log2(300 / plot_of(page).width))
    cell = crowd.ask(f"/runs/crowd/heat/cpu/cell?time=750&node=134&z={z}&k=0").json
    assert text.startswith(f"{cell['nodes'][0]} · 00:12:")
    assert f"{cell['num_pods']} pod" in text
    assert cell["pods"][0] in text


def test_the_wheel_zooms_at_the_pointer_time_and_rows_together_or_alone(look: Look) -> None:
    page = look.at(CLOSE)
    x, y = plot_of(page).at(0.25, 0.5)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -200)
    until(page, lambda: rows_in_sight(page)[0] > 100, "fewer rows")
    (first, last), seconds = rows_in_sight(page), seconds_in_sight(page)
    assert first + (last - first) / 2 == pytest.approx(150, abs=0.5)  # the row below the pointer stays there
    assert seconds < 300
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -200)
    until(page, lambda: seconds_in_sight(page) < seconds, "less time")
    page.keyboard.up("Shift")
    assert rows_in_sight(page) == (first, last)
    seconds = seconds_in_sight(page)
    page.keyboard.down("Alt")
    page.mouse.wheel(0, 200)
    until(page, lambda: rows_in_sight(page)[0] < first, "more rows")
    page.keyboard.up("Alt")
    assert seconds_in_sight(page) == pytest.approx(seconds)


def test_dragging_moves_time_and_rows(look: Look) -> None:
    page = look.at(CLOSE)
    plot = plot_of(page)
    page.mouse.move(*plot.at(0.5, 0.5))
    page.mouse.down()
    page.mouse.move(*plot.at(0.4, 0.4), steps=5)
    page.mouse.up()
    until(page, lambda: rows_in_sight(page)[0] > 100, "other rows")
    assert rows_in_sight(page)[0] == pytest.approx(110, abs=1)
    assert seconds_in_sight(page) == pytest.approx(300)
    assert float(re.findall(r"from=([\d.]+)", url(page))[0]) == pytest.approx(630, abs=2)


def test_a_double_click_opens_the_node(look: Look) -> None:
    page = look.at(CLOSE)
    page.mouse.dblclick(*plot_of(page).at(0.5, 0.345))
    until(page, lambda: "/nodes/n-134" in url(page), "the page of the node")


def test_keys_move_the_mark_tell_it_and_open_it(look: Look) -> None:
    page = look.at(CLOSE)
    for _ in range(40):
        if page.evaluate("() => document.activeElement?.matches('main canvas')"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert "n-150 · 00:12:" in told(page, "n-150")
    page.keyboard.press("ArrowDown")
    text = told(page, "n-151")
    until(page, lambda: page.locator("[aria-live]").inner_text() == ", ".join(text.split("\n")), "it is announced")
    page.keyboard.press("+")
    until(page, lambda: rows_in_sight(page)[0] > 120, "closer")
    page.keyboard.press("PageDown")
    until(page, lambda: rows_in_sight(page)[0] > 145, "farther down")
    page.keyboard.press("Enter")
    until(page, lambda: "/nodes/n-151" in url(page), "the page of the node")


def test_the_table_says_what_the_api_says(look: Look, crowd: Served) -> None:
    page = look.at(CLOSE)
    page.locator("main canvas").first.focus()
    page.keyboard.press("T")
    until(
        page,
        lambda: (
            page.locator("main .twin td").count() and "–" not in page.locator("main .twin tr >> nth=35").inner_text()
        ),
        "cells",
    )
    look.settle(page)
    lines = [line.split("\t") for line in page.locator("main .twin table").inner_text().splitlines() if "\t" in line]
    assert lines[0][0] == "node"
    assert len(lines) == 101
    tile = crowd.ask("/runs/crowd/heat/cpu/5/0/0/0").body
    for line, row in ((lines[1], 100), (lines[35], 134), (lines[100], 199)):
        assert line[0] == f"n-{row}"
        shares = [float(cell.replace("\u202f%", "")) / 100 for cell in line[1:]]
        wanted = [(code - 1) / 254 for code in tile[row * 256 + 600 // 32 : row * 256 + math.ceil(900 / 32)]]
        assert shares == pytest.approx(wanted, abs=0.006)


def test_rows_of_many_nodes_are_told_together(look: Look) -> None:
    page = look.at("nodes?run=crowd&stat=max")
    page.locator("main .twin-button").first.click()
    until(page, lambda: page.locator("main .twin th[scope=row]").count() == 200, "the largest table")
    assert "200 of 300" in page.locator("main .twin").inner_text()
    assert page.locator("main .twin th[scope=row]").first.inner_text() == "rows 1–2"
    small = look.at("nodes?run=crowd", size=TELEPHONE)
    small.locator("main .twin-button").first.click()
    until(small, lambda: small.locator("main .twin th[scope=row]").count() == 150, "the table")
    assert small.evaluate("() => document.documentElement.scrollWidth") <= TELEPHONE[0]


def test_the_url_restores_the_picture(look: Look) -> None:
    page = look.at("nodes?run=crowd")
    page.get_by_label("resource").select_option("memory")
    page.get_by_label("order").select_option("label:topology.kubernetes.io/zone")
    page.get_by_label("rows together").select_option("max")
    page.get_by_label("labels").fill("topology.kubernetes.io/zone=b")
    page.keyboard.press("Enter")
    until(page, lambda: label(page).startswith("memory held, 300 nodes"), "all of it is taken")
    plot = plot_of(page)
    page.mouse.move(*plot.at(0.3, 0.3))
    page.mouse.wheel(0, -300)
    until(page, lambda: "nodes=" in url(page), "rows are in the URL")
    page.mouse.move(5, 5)
    look.settle(page)
    again = look.at(url(page).partition("/fairway/ui/")[2])
    assert label(again) == label(page)
    for pixels in (lambda: plot_of(page).pixels == plot_of(again).pixels,):
        until(page, pixels, "the same picture")
    page.get_by_role("button", name="all nodes, the whole run").click()
    until(page, lambda: "nodes=" not in url(page), "all again")


def test_few_rows_become_pods(look: Look, crowd: Served) -> None:
    page = look.at("nodes?run=crowd&nodes=100-120&from=600&to=1800")
    lanes = crowd.ask("/runs/crowd/lanes?node=n-110&from=600&to=1800").json["lanes"]
    middle = (max(lanes["from_seconds"][0], 600) + min(lanes["to_seconds"][0], 1800)) / 2
    number = max(lanes["lane"]) + 1
    x, y = plot_of(page).at((middle - 600) / 1200, (10 + 0.45 / number) / 20)

    def moved() -> bool:
        page.mouse.move(x + 1, y)
        page.mouse.move(x, y)
        return (
            page.locator("main .tip").first.is_visible() and lanes["pod"][0] in page.locator("main .tip").inner_text()
        )

    until(page, moved, "the pod is told")
    assert "cpu" in page.locator("main .tip").inner_text()


def test_a_run_without_nodes_says_so(look: Look) -> None:
    page = look.at("nodes?run=bare")
    assert "this run has no nodes" in page.locator("main .empty").inner_text()


def test_a_wrong_filter_is_told_and_can_be_mended(look: Look) -> None:
    look.expected.add("400")
    page = look.at("nodes?run=crowd&filter=((")
    assert "label selector" in page.locator("main .error").inner_text()
    page.get_by_label("labels").fill("topology.kubernetes.io/zone=a")
    page.keyboard.press("Enter")
    until(page, lambda: page.locator("main canvas").count(), "the picture")
    page.get_by_label("labels").fill("nobody=has-it")
    page.keyboard.press("Enter")
    until(page, lambda: "no node has the labels" in page.locator("main").inner_text(), "none is left")


def test_tiles_that_do_not_come_are_asked_for_again_by_a_button(look: Look) -> None:
    look.expected.add("ERR_INTERNET_DISCONNECTED")
    page = look.at("nodes?run=crowd")
    page.context.set_offline(True)
    page.mouse.move(*plot_of(page).at(0.3, 0.3))
    page.mouse.wheel(0, -900)
    until(page, lambda: page.locator("main .error button").count(), "the error")
    assert "the server does not answer" in page.locator("main .error").inner_text()
    page.context.set_offline(False)
    page.locator("main .error button").click()
    until(page, lambda: not page.locator("main .error").count(), "it is gone")
    look.settle(page)


def test_at_most_400_tiles_are_kept_the_oldest_goes_first(look: Look) -> None:
    page = look.at("?run=crowd")
    # An hour in columns of a sixteenth of a second: 225 tiles, of which the page asks one after the other, twice over.
    assert page.evaluate(TILES, 220) == []
    assert page.evaluate(TILES.replace("x * 256, 3", "x % 220 * 256, x < 220 ? 3 : 259"), 401) == [0]


def test_few_tiles_are_asked_for_at_once(look: Look) -> None:
    page = look.at("nodes?run=crowd")
    page.evaluate("() => performance.setResourceTimingBufferSize(5000)")
    page.mouse.move(*plot_of(page).at(0.4, 0.4))
    for step in range(40):
        page.mouse.wheel(0, -120 if step < 20 else 120)
        page.wait_for_timeout(15)
    look.settle(page)
    spans = page.evaluate(
        """() => performance.getEntriesByType("resource").filter(({ name }) => /heat\\/cpu\\/-?\\d/.test(name))
            .map(({ startTime, responseEnd }) => [startTime, responseEnd])"""
    )
    assert len(spans) > 5
    assert max(sum(begin <= at < end for begin, end in spans) for at, _ in spans) <= 8
