"""What all pages share: the token, links, keys, the URL as the whole state, colours, no sideways scrolling."""

from __future__ import annotations

import pytest

from tests.browser.looking import DESK, TELEPHONE, Look, until, url


def test_the_token_leaves_the_url_and_a_page_without_it_asks_for_it(look: Look) -> None:
    page = look.at("?run=busy")
    assert "token" not in url(page)
    look.expected.add("401")
    stranger = look.at("?run=busy", token="not-it")
    until(stranger, lambda: stranger.locator("form input").count(), "the token is asked for")
    stranger.locator("form input").fill("neither-is-this")
    stranger.keyboard.press("Enter")
    until(stranger, lambda: stranger.locator("form strong").count(), "it is asked for again")


def test_the_url_is_the_whole_state(look: Look) -> None:
    page = look.at("?run=busy")
    before = page.locator(".time-words").inner_text()
    page.keyboard.press("w")
    until(page, lambda: "from=" in url(page), "the stretch is in the URL")
    look.settle(page)
    seen = page.locator(".time-words").inner_text()
    assert seen != before
    again = look.at(url(page).partition("/fairway/ui/")[2])
    assert again.locator(".time-words").inner_text() == seen
    page.keyboard.press("0")
    until(page, lambda: "from=" not in url(page), "the whole run again")


def test_clicks_are_steps_and_the_way_back_leads_over_them(look: Look) -> None:
    page = look.at("?run=busy")
    canvas = page.locator("footer canvas")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    until(page, lambda: "at=" in url(page), "the moment is in the URL")
    page.go_back()
    until(page, lambda: "at=" not in url(page), "back")
    page.go_forward()
    until(page, lambda: "at=" in url(page), "forward")


def test_dragging_the_ends_of_the_stretch_moves_them(look: Look) -> None:
    page = look.at("?run=busy")
    box = page.locator("footer canvas").bounding_box()
    assert box is not None
    y = box["y"] + 20
    page.mouse.move(box["x"] + 12, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, y, steps=8)
    page.mouse.up()
    until(page, lambda: "from=" in url(page), "the stretch begins later")
    assert "to=" in url(page)


def test_keys_are_listed_and_lead_to_pages(look: Look) -> None:
    page = look.at("?run=busy")
    page.keyboard.press("?")
    until(page, lambda: page.locator("dialog[open]").count(), "the list of keys")
    assert "search" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    until(page, lambda: not page.locator("dialog[open]").count(), "closed")
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.getAttribute('type')") == "search"


def test_the_search_finds_pods_by_a_few_letters(look: Look) -> None:
    page = look.at("?run=busy")
    page.keyboard.press("/")
    page.keyboard.type("low-s-1")
    until(page, lambda: page.locator("#found a").count(), "something was found")
    page.keyboard.press("Escape")
    assert page.locator("#found").is_hidden()


def test_colours_are_turned_and_remembered(look: Look) -> None:
    page = look.at("?run=busy", scheme="light")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.keyboard.press("t")
    page.keyboard.press("t")  # light, then dark
    until(page, lambda: page.evaluate(ground) != light, "dark")
    dark = page.evaluate(ground)
    page.reload()
    look.settle(page)
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize("size", [DESK, TELEPHONE])
def test_no_page_scrolls_sideways(look: Look, size: tuple[int, int]) -> None:
    page = look.at("?run=busy", size=size)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]


def test_a_page_that_there_is_none_of_says_so(look: Look) -> None:
    page = look.at("nothing/here?run=busy")
    assert page.locator("h1").inner_text() == "No such page"


def test_pictures_say_the_same_as_a_table(look: Look) -> None:
    page = look.at("?run=busy")
    canvas = page.locator("main canvas").first
    label = canvas.get_attribute("aria-label")
    assert label
    canvas.focus()
    page.keyboard.press("T")
    until(page, lambda: page.locator("main .twin table").count(), "the table")
    assert page.locator("main .twin caption").first.inner_text() == label
