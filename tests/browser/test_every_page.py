"""What holds for every page: everybody can read and use it, whatever the run holds, and whatever it lacks."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.sync_api import Page

from fairway.words import UNSEEN
from tests.browser.every_page import ALL, MODULES, PAGES, EveryPage
from tests.browser.looking import DESK, TELEPHONE, Look, Scheme, until
from tests.browser.page_runs import HOSTILE_NAMES, HOSTILE_SPACE
from tests.pages.browser_check import MEASURE

every_page = pytest.mark.parametrize("case", PAGES, ids=[page.name for page in PAGES])

NAMED_ROLES: Final = {
    "button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "slider", "spinbutton", "img",
    "image", "dialog", "DisclosureTriangle", "option", "region", "table", "navigation", "progressbar", "tab", "switch",
}  # fmt: skip
"""Of which a screen reader has to say what they are for."""
FOUND: Final = ("small", "faint", "thin", "out", "targets")
CONTROLS: Final = """() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, canvas, [tabindex]")]
  .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }))
  .filter((e) => e.getClientRects().length)
  .map((e, place) => { e.dataset.place = place; return e.outerHTML.slice(0, 120); })"""
FOCUSED: Final = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  return [e.dataset.place ?? null, style.outlineStyle !== "none" || style.boxShadow !== "none"];
}"""
UNREACHED: Final = """() => [...window.listening].filter(([e, kinds]) => e.isConnected && e.checkVisibility()
    && kinds.some((kind) => ["click", "dblclick", "mousedown"].includes(kind)))
  .map(([e]) => e)
  .filter((e) => !e.matches("a[href], button, input, select, textarea, summary, label, form, dialog, document"))
  .filter((e) => {
    for (let at = e; at instanceof Element; at = at.parentElement)
      if (at.tabIndex >= 0 && window.listening.get(at)?.includes("keydown")) return false;
    return !e.querySelector("a[href], button");
  }).map((e) => e.outerHTML.slice(0, 120))"""
SHOWN: Final = """() => ({
  words: document.body.innerText,
  titles: [...document.querySelectorAll("[title]")].map((e) => e.title),
  labels: [...document.querySelectorAll("[aria-label]")].map((e) => e.getAttribute("aria-label")),
  drawn: window.drawnWords.map(({ words }) => words),
})"""
STRUCTURE: Final = """() => ({
  h1: [...document.querySelectorAll("h1")].map((e) => e.textContent.trim()),
  levels: [...document.querySelectorAll("h1, h2, h3, h4")].filter((e) => e.checkVisibility())
    .map((e) => Number(e.tagName[1])),
  main: document.querySelectorAll("main").length, title: document.title, lang: document.documentElement.lang,
  twice: [...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, at, all) => all.indexOf(id) !== at),
  scripts: [...document.scripts].map((e) => e.getAttribute("src")),
  frames: document.querySelectorAll("iframe, object, embed").length, images: [...document.images].map((e) => e.src),
})"""


def test_every_page_is_in_the_list() -> None:
    assert {page.name for page in ALL} >= MODULES


# -- everybody can read it ---------------------------------------------------------------------------------------------


def measured(page: Page, look_at: Look, scheme: Scheme) -> Any:
    """What a script of ours finds in it, in the light or in the dark."""
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    look_at.drawn(page)
    page.evaluate("() => { window.drawnWords.length = 0; }")  # those of other colours
    page.emulate_media(color_scheme=scheme)
    look_at.drawn(page)
    return page.evaluate(MEASURE)


@every_page
@pytest.mark.parametrize("size", [DESK, TELEPHONE], ids=["desk", "telephone"])
def test_words_and_marks_are_seen_and_nothing_sticks_out(look_at: Look, case: EveryPage, size: tuple[int, int]) -> None:
    page = look_at.at(case.within(case.run), size=size, is_watched=True)
    schemes: tuple[Scheme, Scheme] = ("light", "dark")
    for scheme in schemes:
        seen = measured(page, look_at, scheme)
        assert seen["dark"] == (scheme == "dark")
        assert {kind: seen[kind] for kind in FOUND} == {kind: [] for kind in FOUND}, scheme
        assert seen["scroll"] <= size[0]
        assert all(box["focus"] == 0 for box in seen["boxes"])


def unnamed(page: Page) -> list[str]:
    """Of the accessibility tree, as the browser hands it to screen readers."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    found = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        name = node.get("name", {}).get("value", "").strip()
        holds = {one["name"]: one["value"].get("value") for one in node.get("properties", ())}
        is_control = role in NAMED_ROLES or (holds.get("focusable") and role not in {"RootWebArea", "main"})
        if not node["ignored"] and is_control and not name:
            found.append(f"{role} {holds}")
    return found


@every_page
def test_everything_has_a_name_and_its_place(look_at: Look, case: EveryPage) -> None:
    page = look_at.at(case.within(case.run), is_watched=True)
    assert unnamed(page) == []
    seen = page.evaluate(STRUCTURE)
    assert len(seen["h1"]) == 1
    assert seen["h1"][0]
    assert seen["levels"][0] == 1
    assert all(below <= above + 1 for above, below in zip(seen["levels"], seen["levels"][1:], strict=False))
    assert (seen["main"], seen["lang"], seen["twice"]) == (1, "en", [])
    assert seen["title"].endswith("– Fairway")


@every_page
def test_pictures_are_tables_too(look_at: Look, case: EveryPage) -> None:
    page = look_at.at(case.within(case.run), is_watched=True)
    canvases = page.locator("canvas:visible")
    for place in range(canvases.count()):
        canvas = canvases.nth(place)
        label = canvas.get_attribute("aria-label") or ""
        assert canvas.get_attribute("role") == "img"
        assert len(label) > 10, "it says what it shows"
        canvas.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        until(page, page.locator("[aria-live]").first.inner_text, f"{label}: the mark is told")
        page.keyboard.press("T")
        twin = canvas.locator("xpath=ancestor::*[contains(@class, 'picture')][1]").locator("table")
        until(page, twin.count, f"{label}: the table")
        assert 1 <= twin.first.locator("tbody tr").count() <= 200, label
        assert twin.first.locator("caption").inner_text() == canvas.get_attribute("aria-label")
        page.keyboard.press("T")
        twin.first.wait_for(state="hidden")


# -- and use it --------------------------------------------------------------------------------------------------------


@every_page
def test_every_control_is_reached_by_the_keyboard_and_seen_there(look_at: Look, case: EveryPage) -> None:
    page = look_at.at(case.within(case.run), is_watched=True)
    assert page.evaluate(UNREACHED) == []
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    controls: list[str] = page.evaluate(CONTROLS)
    reached, unseen = set(), []
    for _ in range(len(controls) + 5):
        page.keyboard.press("Tab")
        place, is_seen = page.evaluate(FOCUSED)
        if place is None:
            continue
        reached.add(int(place))
        if not is_seen:
            unseen.append(controls[int(place)])
    assert [what for place, what in enumerate(controls) if place not in reached] == []
    assert unseen == []


# -- whatever the run holds --------------------------------------------------------------------------------------------


@every_page
@pytest.mark.parametrize("size", [DESK, TELEPHONE], ids=["desk", "telephone"])
def test_hostile_names_are_words_and_nothing_else(look_at: Look, case: EveryPage, size: tuple[int, int]) -> None:
    look_at.expected |= {"400 (Bad Request)", "404 (Not Found)"}
    page = look_at.at(case.within("hostile"), size=size, is_watched=True)
    page.locator("body").click(position={"x": 3, "y": 3})
    shown = page.evaluate(SHOWN)
    for texts in ([shown["words"]], shown["titles"], shown["labels"], shown["drawn"]):
        for text in texts:
            assert not UNSEEN.search(text.replace("\n", "").replace("\t", "")), text
    everything = "\n".join([shown["words"], *shown["titles"], *shown["drawn"]])
    if case.name not in {"plugins", "gpus"}:  # they tell nobody's names
        assert any(name.replace("\u202e", "\\u202e") in everything for name in (*HOSTILE_NAMES[:4], HOSTILE_SPACE[:-1]))
    seen = page.evaluate(STRUCTURE)
    assert (seen["images"], seen["frames"], len(seen["h1"])) == ([], 0, 1)
    assert seen["scripts"] == ["/fairway/ui/static/app.js"]
    assert page.evaluate(MEASURE)["scroll"] <= size[0]


@every_page
@pytest.mark.parametrize("run", ["nothing", "bare", "cut"])
def test_what_a_run_lacks_is_said_and_is_no_failure(look_at: Look, case: EveryPage, run: str) -> None:
    is_gone = case.is_single and run == "nothing"
    look_at.expected |= {"404 (Not Found)", *(["400 (Bad Request)"] if run == "bare" else [])}  # what there is none of
    page = look_at.at(case.within(run), is_watched=True)
    assert page.locator("h1").count() == 1
    assert is_gone or page.locator("main .error").all_inner_texts() == []
    assert ("was not finished" in page.locator(".notes").inner_text()) == (run == "cut")
    for canvas in page.locator("canvas:visible").all():
        assert canvas.get_attribute("aria-label")
    assert page.evaluate(MEASURE)["scroll"] <= DESK[0]


def test_whatever_is_searched_for_is_shown_as_words(look_at: Look) -> None:
    page = look_at.at("?run=hostile", is_watched=True)
    page.keyboard.press("/")
    page.keyboard.type(HOSTILE_NAMES[0][:6])
    until(page, page.locator("#found a").count, "something was found")
    (first, *_) = page.locator("#found a").all_inner_texts()
    assert HOSTILE_NAMES[0] in first
    page.keyboard.press("Enter")
    look_at.settle(page)
    assert page.evaluate(STRUCTURE)["images"] == []
