"""Pages of a scheduler at work: they follow the present until somebody looks elsewhere, and say when they can not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from fairway.queue import Place
from fairway.stream.told import Attempt, Event, PodRef
from fairway.stream.watching import Gap
from fairway.testing import pod
from tests.browser.looking import DESK, TELEPHONE, Look, Scheme, until, url
from tests.browser.test_every_page import FOUND, measured, unnamed
from tests.kube.processes import wait_until
from tests.web.live_streams import StillClock, fed, told_run
from tests.web.served import Served, serving
from tests.web.test_page_process import Cluster as Scheduler
from tests.web.test_page_process import begin, is_known, pages_of

TOKEN = "t" * 43
DECISIONS = """() => import('/fairway/ui/static/stream.js').then(({ on }) => {
    window.told = []; window.gaps = [];
    on('decisions', (told) => { window.told.push(...told.columns.attempt); }, new AbortController().signal);
    on('gap', (gap) => { window.gaps.push(gap.lost); }, new AbortController().signal);
})"""


class Cluster:
    """A scheduler that does what the test says."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.clock = StillClock()
        self.sources = fed(events, self.clock)
        self.history = self.sources.history
        refs = (getattr(event.what, "pod", None) for event in events)
        self._stubborn = next(ref for ref in refs if isinstance(ref, PodRef) and ref.name == "never-huge-0")

    def goes_on(self, seconds: float) -> None:
        """Time passes; nothing happens."""
        self.clock.time += seconds

    def tries(self, *attempts: int, gap: Gap | None = None) -> None:
        """A pod is tried, and fits nowhere."""
        what = [Attempt(self._stubborn, "s", number, "unschedulable", num_nodes=3) for number in attempts]
        self.history.take("abc", None, gap, [Event(self.history.now, one) for one in what])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(told_run(tmp_path)[1])
    yield made
    made.sources.close()


@pytest.fixture
def live(cluster: Cluster) -> Iterator[Served]:
    with serving(cluster.sources, TOKEN) as server:
        yield server


@pytest.fixture
def look_live(browser: Browser, live: Served) -> Iterator[Look]:
    looking = Look(browser, f"http://127.0.0.1:{live.port}", TOKEN)
    yield looking
    looking.close()


def words(page: Page) -> str:
    return page.locator(".time-words").inner_text()


def state(page: Page) -> str:
    return page.locator("header .run-state").inner_text()


def test_it_follows_the_present_until_somebody_looks_elsewhere(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("")
    until(page, lambda: state(page).startswith("live"), "it is live")
    before = words(page)
    assert "00:30:00 · 30 m" in before
    cluster.goes_on(60)
    until(page, lambda: "00:31:00 · 31 m" in words(page), "the present is shown")
    page.keyboard.press("w")
    until(page, lambda: "from=" in url(page), "another stretch is looked at")
    seen = words(page).partition(" · moment")[0]
    cluster.goes_on(60)
    until(page, lambda: "00:32:00" in words(page), "the moment is the present's still")
    assert words(page).startswith(seen)
    page.keyboard.press("l")
    until(page, lambda: "last=" in url(page), "it follows")
    assert "from=" not in url(page)
    cluster.goes_on(60)
    until(page, lambda: "– 00:33:00" in words(page), "the present is shown again")
    assert page.locator("header .run-state button").get_attribute("aria-pressed") == "true"


def test_the_headline_is_told_each_second(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("")
    card = page.locator("main .cards").first
    until(page, lambda: "that failed" in card.inner_text(), "the numbers of now are there")
    failed = cluster.history.num_failed
    cluster.tries(1, 2, 3)
    until(page, lambda: f"{failed + 3}" in card.inner_text().replace("\u202f", ""), "three more have failed")


def test_what_is_missing_is_told_and_can_be_put_away(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("")
    until(page, lambda: "that failed" in page.locator("main .cards").first.inner_text(), "the stream is read")
    cluster.tries(9, gap=Gap(7, 2, 8, "slow reader"))
    gap = page.locator(".notes .gap")
    until(page, lambda: gap.count() == 1, "the gap is told")
    assert gap.inner_text().startswith("7 events between ")
    assert " and 00:30:00 are missing: slow reader." in gap.inner_text()
    gap.locator("button").click()
    assert gap.count() == 0


def test_who_is_hidden_reads_nothing_and_catches_up_when_shown(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("")
    page.evaluate(DECISIONS)
    cluster.tries(1, 2)
    until(page, lambda: page.evaluate("() => told.join()") == "1,2", "they are told")
    hide = """(hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, arg=True)
    cluster.tries(3)
    cluster.goes_on(60)
    cluster.tries(4)
    page.evaluate(hide, arg=False)
    until(page, lambda: page.evaluate("() => told.join()") == "1,2,3,4", "each once")
    until(page, lambda: "00:31:00" in words(page), "the present is shown")
    assert page.evaluate("() => gaps.length") == 0


def test_a_server_that_is_gone_is_asked_again_and_goes_on_where_it_was(cluster: Cluster, browser: Browser) -> None:
    with serving(cluster.sources, TOKEN) as first:
        look = Look(browser, f"http://127.0.0.1:{first.port}", TOKEN)
        look.expected |= {"Failed to load resource", "ERR_", "the server does not answer"}
        page = look.at("")
        page.evaluate(DECISIONS)
        cluster.tries(1)
        until(page, lambda: page.evaluate("() => told.join()") == "1", "it is told")
    late = page.locator(".notes strong")
    until(page, lambda: late.count() == 1, "it says how old it is")
    assert "s ago" in state(page)
    assert "It is asked again in" in page.locator(".notes").last.inner_text()
    cluster.tries(2)
    with serving(cluster.sources, TOKEN, first.port):
        page.locator(".notes button").last.click()
        until(page, lambda: page.evaluate("() => told.join()") == "1,2", "it goes on where it was")
        until(page, lambda: not late.count(), "nothing is old")
        assert page.evaluate("() => gaps.length") == 0
        look.close()


def test_a_scheduler_that_is_not_heard_any_more_is_told_from_a_server_that_is(
    cluster: Cluster, look_live: Look
) -> None:
    page = look_live.at("")
    cluster.history.trouble = "connection refused"
    cluster.goes_on(40)
    notes = page.locator(".notes").last
    until(page, lambda: "connection refused" in notes.inner_text(), "why nothing comes")
    assert "What is shown is 15" in notes.inner_text()  # 113 s since it was heard, and 40
    cluster.tries(1)
    until(page, lambda: not notes.inner_text(), "it is heard again")


def test_pods_that_a_page_watches_are_told_of_until_it_is_left(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("")
    page.evaluate("""() => import('/fairway/ui/static/live.js').then(({ liveView }) => {
        window.seen = []; window.left = new AbortController();
        liveView(left.signal).onPod('default/never-huge-0', (told) => { seen.push(told.what.attempt); });
    })""")
    for attempt in range(1, 200):
        cluster.tries(attempt)
        if page.evaluate("() => seen.length"):
            break
        page.wait_for_timeout(50)
    last = attempt
    until(page, lambda: last in page.evaluate("() => seen"), "it is told of")
    page.evaluate("() => left.abort()")
    page.evaluate(DECISIONS)
    cluster.tries(900)
    until(page, lambda: 900 in page.evaluate("() => told"), "others hear of it")
    assert 900 not in page.evaluate("() => seen")


def test_a_cluster_s_token_is_asked_for_and_kept_nowhere(browser: Browser) -> None:
    """And whoever has no right is told which command gives it."""
    with pages_of(Scheduler()) as pages:
        begin(pages.recorder)
        wait_until(lambda: is_known(pages, 2), "two pods are known")
        context = browser.new_context(ignore_https_errors=True)
        page = context.new_page()
        page.goto(f"https://127.0.0.1:{pages.follower.port}/fairway/ui/")
        form = page.locator("main form")
        until(page, lambda: "kubectl create token" in form.inner_text(), "a token is asked for")
        page.locator("form input").fill("stranger")
        page.keyboard.press("Enter")
        until(page, lambda: form.locator("pre").count(), "there is a right missing")
        assert 'User "stranger" cannot get path "/fairway/api/v1/runs"' in form.inner_text()
        assert "kubectl create clusterrole see-fairway" in form.locator("pre").inner_text()
        page.locator("form input").fill("viewer")
        page.keyboard.press("Enter")
        until(page, lambda: state(page).startswith("live"), "the pages are shown")
        assert page.evaluate("() => JSON.stringify({ ...sessionStorage, ...localStorage })") == "{}"
        pages.recorder.pod_created(9.0, pod("c", uid="c", cpu=1), "fairway")
        pages.recorder.queue_moved(9.0, "fairway", "c", None, Place.ACTIVE, "PodAdd")
        card = page.locator("main .cards").first
        until(page, lambda: "waiting now\n2" in card.inner_text(), "what happens is shown")
        page.reload()
        until(page, form.count, "it is asked for again")
        context.close()


@pytest.mark.parametrize("size", [DESK, TELEPHONE], ids=["desk", "telephone"])
def test_what_is_old_or_missing_is_seen_by_everybody(cluster: Cluster, look_live: Look, size: tuple[int, int]) -> None:
    page = look_live.at("", size=size, is_watched=True)
    until(page, lambda: "that failed" in page.locator("main .cards").first.inner_text(), "the stream is read")
    cluster.tries(9, gap=Gap(7, 2, 8, "slow reader"))
    cluster.history.trouble = "connection refused"
    cluster.goes_on(40)
    notes = page.locator(".notes").last
    until(page, lambda: "refused" in notes.inner_text() and "missing" in notes.inner_text(), "both are told")
    schemes: tuple[Scheme, Scheme] = ("light", "dark")
    for scheme in schemes:
        seen = measured(page, look_live, scheme)
        assert {kind: seen[kind] for kind in FOUND} == {kind: [] for kind in FOUND}, scheme
        assert seen["scroll"] <= size[0]
    assert unnamed(page) == []


def test_the_heat_map_follows_the_present(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("nodes")
    until(page, lambda: state(page).startswith("live"), "it is live")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    cluster.goes_on(60)
    until(page, lambda: "00:31:00" in words(page), "the present is shown")
    until(page, lambda: any("/heat/" in url or "/lanes" in url for url in asked), "what is new of it is asked for")


def test_decisions_flow_at_the_top_and_hold_still_below_the_pointer(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("decisions")
    first = page.locator("main tbody tr:not(.gap)").first
    until(page, lambda: state(page).startswith("live"), "it is live")
    page.evaluate(DECISIONS)
    cluster.tries(71)
    until(page, lambda: "never-huge-0" in first.inner_text() and "71" in first.inner_text(), "it is the first row")
    page.locator("main tbody").hover()
    cluster.tries(72, 73)
    button = page.get_by_role("button", name="2 new")
    until(page, button.count, "how many are new")
    assert "71" in first.inner_text()
    button.click()
    until(page, lambda: "73" in first.inner_text(), "they are shown when somebody wants them")


def test_rows_of_pods_are_what_happened_last(cluster: Cluster, look_live: Look) -> None:
    page = look_live.at("pods?text=never-huge-0")
    row = page.locator("main tbody tr:not(.gap)").first
    assert "never-huge-0" in row.inner_text()
    until(page, lambda: "that" not in state(page) and state(page).startswith("live"), "it is live")
    for attempt in range(82, 200):
        cluster.tries(attempt)
        page.wait_for_timeout(100)
        if f"{attempt}" in row.inner_text():
            break
    until(page, lambda: f"{attempt}" in row.inner_text(), "the row has changed in its place")


def test_a_pod_is_asked_about_again_when_something_is_told_of_it(cluster: Cluster, look_live: Look) -> None:
    look_live.expected.add("Failed to load resource")  # why it waits nobody knows here
    cluster.tries(91)
    page = look_live.at("pods/default/never-huge-0")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for attempt in range(92, 200):
        cluster.tries(attempt)
        page.wait_for_timeout(100)
        if any(url.endswith("/pods/default/never-huge-0") for url in asked):
            break
    until(page, lambda: any("/why/default/never-huge-0" in url for url in asked), "why it waits is asked again, too")
