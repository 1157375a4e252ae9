"""Pages in a real browser: Debian's chromium, driven through playwright, on a server of the runs of tests/web."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.looking import Look
from tests.browser.page_runs import page_server
from tests.pages.browser_check import find_chromium
from tests.web.conftest import api
from tests.web.served import Served

__all__ = ["api", "browser", "look"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Gone when tests of other folders come: playwright leaves a running loop in its thread, and they run their own."""
    path = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def page_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of the runs that every page is looked at with."""
    with page_server(tmp_path_factory.mktemp("page-runs")) as server:
        yield server


@pytest.fixture
def look(browser: Browser, api: Served) -> Iterator[Look]:
    """Opens pages, and fails the test for whatever a page complains of."""
    looking = Look(browser, f"http://127.0.0.1:{api.port}", api.token)
    yield looking
    looking.close()


@pytest.fixture
def look_at(browser: Browser, page_runs: Served) -> Iterator[Look]:
    """Opens pages of these runs, and fails the test for whatever a page complains of."""
    looking = Look(browser, f"http://127.0.0.1:{page_runs.port}", page_runs.token)
    yield looking
    looking.close()
