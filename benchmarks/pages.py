"""What pages cost: the heat map of 10,000 nodes over a day, by itself and in a browser, and what the API takes.

In: nothing; `--keep FOLDER` keeps the run that is made and uses it again. Out: a table with bounds (docs/pages.md);
exit code 1 if one is missed. The run is made of a million intervals by SQL, which is what a day of such a cluster comes
to. Times are of the wall clock, beside processor time, which other work on the machine does not lengthen. In a browser
(Debian's chromium, software rendering) wheel and pointer are moved as people do; the server is a process of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from fairway.record import Run
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate
from fairway.testing import node, pod
from fairway.web.byte_cache import ByteCache
from fairway.web.heat_map import HeatMap, HeatView
from fairway.web.heat_subject import NodeSubject
from tests.pages.browser_check import find_chromium
from tests.record.runs import lives
from tests.web.served import Served, at, served

NUM_NODES, NUM_INTERVALS, END = 10_000, 1_000_000, 86_400.0
DAY = Path(__file__).parents[1] / "examples" / "scenarios" / "day.yaml"
MOST_SECONDS, MOST_WHY_SECONDS = 0.2, 2.0
TIMES, WHY_TIMES = 20, 8
STEPS, PANNED_SECONDS = 60, 60.0
FRAMES = """() => { window.frames_ = []; const told = (at) => { window.frames_.push(at); requestAnimationFrame(told); };
    requestAnimationFrame(told); }"""
IS_THERE = """() => document.querySelector('main .picture')?.getAttribute('aria-busy') === 'false'"""


class Figure(NamedTuple):
    """A line of the table."""

    name: str
    value: float
    unit: str
    cpu_seconds: float
    bound: float | None = None

    @property
    def holds(self) -> bool:
        """Is it within its bound?"""
        return self.bound is None or self.value <= self.bound


def big_run(path: Path) -> None:
    """A day of 10,000 nodes and a million pods that ran for some minutes to hours."""
    made = lives(path, [node("first", cpu=32, memory="128Gi")], (pod("p", cpu=1), "first", 0.0, 0.0, 1.0), end=END)
    made.close()
    where, begin = f"(hash(i) % {NUM_NODES})::INTEGER", f"i * {END} / {NUM_INTERVALS}"
    times = f"{begin} AS from_seconds, least({END}, {begin} + 60 + hash(i + 1) % 14400) AS to_seconds"
    columns = {
        "nodes": "i AS node_id, 'node-' || i AS node, 'u-' || i AS uid,"
        """replace(manifest, '"first"', '"node-' || i || '"') AS manifest""",
        "pods": f"i AS pod_id, 'default/p-' || i AS pod, 'u-' || i AS uid, {where} AS node_id, "
        f"'node-' || {where} AS node",
        "occupancy": f"i AS pod_id, 'default/p-' || i AS pod, {where} AS node_id, 'node-' || {where} AS node, {times}, "
        "1000 * (1 + hash(i + 2) % 4) AS cpu_milli",
    }
    sizes = {"nodes": NUM_NODES, "pods": NUM_INTERVALS, "occupancy": NUM_INTERVALS}
    with duckdb.connect(str(path)) as connection:
        for table, replaced in columns.items():
            connection.execute(f"CREATE TEMP TABLE one AS SELECT * FROM {table}")
            connection.execute(f"DELETE FROM {table}")
            connection.execute(
                f"INSERT INTO {table} SELECT one.* REPLACE ({replaced}) FROM one, range({sizes[table]}) t(i)"
            )
            connection.execute("DROP TABLE one")
        connection.execute("DELETE FROM decisions")
        connection.execute("DELETE FROM queue_moves")


def peak_mib() -> float:
    """The most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(name: str, work: Callable[[], object], bound: float | None = None) -> Figure:
    """Seconds of the wall clock, and of the processor."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Figure(name, time.perf_counter() - wall, "s", time.process_time() - cpu, bound)


def heat_figures(path: Path) -> Iterator[Figure]:
    """Opening, the first picture, a finer tile, another order, a level of the largest of each row."""
    opened: list[Run] = []
    yield timed("run opened and looked through", lambda: opened.append(Run.open(path)))
    (run,) = opened
    yield Figure("memory after that", peak_mib(), "MiB", 0.0)
    heat = HeatMap(NodeSubject(run), run.end_seconds, ByteCache(), "run")
    view = HeatView("cpu")
    yield timed("order: intervals read and sorted", lambda: heat.order(view))
    # 10,000 nodes and a day on a picture of 900 by 1,440: rows of 16 nodes, columns of 64 seconds.
    picture = [(x, y) for x in range(6) for y in range(3)]
    yield timed("first picture: a level of 625 by 1,350 cells", lambda: heat.tile(view, 6, 4, 0, 0), 2.5)
    yield timed("its other 17 tiles", lambda: [heat.tile(view, 6, 4, x, y) for x, y in picture])
    yield timed("100 tiles of single nodes and 4 seconds", lambda: [heat.tile(view, 2, 0, x, 9) for x in range(84)])
    yield timed("one tile of all nodes and a thousandth of a second", lambda: heat.tile(view, -10, 6, 99_999, 0))
    yield timed(
        "a level of the largest share of each 16", lambda: heat.tile(view._replace(statistic="max"), 6, 4, 0, 0)
    )
    yield timed("the level by mean load", lambda: heat.tile(view._replace(order="load"), 6, 4, 0, 0))
    yield timed("the level of memory", lambda: heat.tile(view._replace(resource="memory"), 6, 4, 0, 0))
    yield Figure("most memory", peak_mib(), "MiB", 0.0, 400.0)


class Server:
    """`fairway ui` as people start it, and what it takes."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "fairway", "ui", str(path)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def cpu_seconds(self) -> float:
        """So far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mib(self) -> float:
        """The most memory that it had."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

    def close(self) -> None:
        """As Ctrl-C does."""
        self._process.terminate()
        self._process.wait(60)


def frame_figures(page: Page, server: Server, name: str, steps: Callable[[int], None]) -> Iterator[Figure]:
    """How far frames were apart while somebody did something, step by step."""
    page.evaluate("() => { window.frames_ = []; }")
    cpu = server.cpu_seconds()
    for step in range(STEPS):
        steps(step)
        page.wait_for_timeout(16)
    frames = np.diff(page.evaluate("() => window.frames_"))
    spent = server.cpu_seconds() - cpu
    yield Figure(f"{name}: frame, half of them", float(np.median(frames)), "ms", spent)
    yield Figure(f"{name}: frame, p95", float(np.quantile(frames, 0.95)), "ms", spent, 33.4)
    yield Figure(f"{name}: longest frame", float(frames.max()), "ms", spent)


def until_there(page: Page) -> None:
    """Until no tile is missing."""
    while not page.evaluate(IS_THERE):
        page.wait_for_timeout(5)


def browser_figures(path: Path) -> Iterator[Figure]:
    """The first whole picture, frames while zooming and panning, and a minute of panning."""
    server = Server(path)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        num_bytes: list[float] = []
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda event: num_bytes.append(event["encodedDataLength"]))
        address, _, token = server.url.partition("#")
        begin, cpu = time.perf_counter(), server.cpu_seconds()
        page.goto(f"{address}nodes#{token}")
        until_there(page)
        seconds = time.perf_counter() - begin
        yield Figure("first whole picture in a browser", seconds, "s", server.cpu_seconds() - cpu, 2.5)
        yield Figure("bytes to it", sum(num_bytes) / 1e6, "MB", 0.0, 1.0)
        page.evaluate(FRAMES)
        box = page.locator("main canvas").first.bounding_box()
        assert box is not None
        left, top, width, height = box["x"] + 140, box["y"] + 20, box["width"] - 180, box["height"] - 60
        page.mouse.move(left + width / 3, top + height / 2)
        yield from frame_figures(page, server, "zooming in", lambda _: page.mouse.wheel(0, -100))
        page.mouse.down()

        def drag(step: int) -> None:
            page.mouse.move(left + width / 3 + 8 * (step % STEPS), top + height / 2 + 3 * (step % STEPS))

        yield from frame_figures(page, server, "panning", drag)
        page.mouse.up()
        yield from frame_figures(page, server, "zooming out", lambda _: page.mouse.wheel(0, 100))
        for _ in range(STEPS // 4):
            page.mouse.wheel(0, -100)
        until_there(page)
        begin, cpu, step = time.perf_counter(), server.cpu_seconds(), 0
        while time.perf_counter() - begin < PANNED_SECONDS:
            if step % STEPS == 0:
                page.mouse.up()
                page.mouse.move(left + width / 3, top + height / 2)
                page.mouse.down()
            drag(step if step // STEPS % 2 else -step)
            page.wait_for_timeout(16)
            step += 1
        page.mouse.up()
        spent = server.cpu_seconds() - cpu
        yield Figure(f"a minute of panning, {step} steps: the server's processor", spent, "s", spent, 10.0)
        yield Figure("most memory of the server", server.peak_mib(), "MiB", 0.0, 400.0)
        used = page.evaluate("() => performance.memory.usedJSHeapSize / 2 ** 20")
        yield Figure("script heap of the page", used, "MiB", 0.0)
        yield Figure("bytes in all", sum(num_bytes) / 1e6, "MB", 0.0)
        browser.close()
    server.close()


def day_run(path: Path, policy: str) -> None:
    """The day example: 1,000 nodes, 20,000 pods."""
    simulate(load_scenario(DAY), record=path, policy=policy)


def day_questions(api: Served) -> Iterator[tuple[str, str]]:
    """Every route but tiles and why, as pages ask them: what it is, and its URL."""
    (moment,) = api.sources.find("day").rows("SELECT median(time_seconds) AS at FROM decisions")
    (waited,) = api.sources.find("day").rows("SELECT pod, attempts FROM pods ORDER BY attempts DESC, pod_id LIMIT 1")
    namespace, _, name = waited["pod"].partition("/")
    when = moment["at"]
    yield "runs", "/runs"
    yield "metrics", "/runs/day/metrics"
    yield "waits", "/runs/day/waits"
    for what in ("utilisation", "waiting", "queue", "nodes-used", "decisions", "refusals", "gpu-causes"):
        yield f"curve of {what}", f"/runs/day/curves/{what}"
    yield "nodes", f"/runs/day/nodes?at={when}&order=load"
    yield "cell", f"/runs/day/heat/cpu/cell?time={when}&node=323&z=6&k=0&order=name"
    yield "lanes", at("runs", "day", "lanes", node=[f"node-{number}" for number in range(60)])
    yield "devices", "/runs/day/devices?order=label:model"
    yield "pods, longest wait first", "/runs/day/pods?sort=-wait"
    yield "pods refused by one plugin", "/runs/day/pods?refused-by=NodeResourcesFit&text=large"
    yield "story of the pod most often tried", at("runs", "day", "pods", namespace, name)
    yield "decisions", f"/runs/day/decisions?outcome=unschedulable&from={when}"
    yield "one decision", "/runs/day/decisions/12345"
    yield "queue", f"/runs/day/queue?at={when}"
    yield "who waits for what", f"/runs/day/waiting?at={when}"
    yield "search", "/runs/day/search?text=large-1"
    yield "comparison", "/compare?run=day&run=packed"


def api_figures(paths: list[str]) -> Iterator[Figure]:
    """What a page waits for: the first answer of each route, and the 95th percentile of those after it."""
    with served(paths) as api:
        for name, url in day_questions(api):
            yield timed(f"{name}: first", lambda url=url: api.ask(url))  # type: ignore[misc]
            cpu = time.process_time()
            seconds = answer_seconds(api, [url] * TIMES)
            yield Figure(f"{name}: p95", p95(seconds), "s", (time.process_time() - cpu) / TIMES, MOST_SECONDS)
        tiles = [
            f"/runs/day/heat/{resource}/{z}/0/{x}/0" for resource in ("cpu", "memory") for z in (4, 6) for x in (0, 3)
        ]
        seconds = answer_seconds(api, tiles * 5)
        yield Figure("tiles: slowest", max(seconds), "s", 0.0)
        yield Figure("tiles: p95", p95(seconds), "s", 0.0, MOST_SECONDS)
        waiting = api.ask("/runs/day/pods?sort=-attempts&limit=1000").columns["pod"]
        asked = [at("runs", "day", "why", *key.split("/")) for key in waiting[:: len(waiting) // WHY_TIMES][:WHY_TIMES]]
        seconds = answer_seconds(api, [asked[0], *asked])
        yield Figure("why: first, with its process", seconds[0], "s", 0.0)
        yield Figure("why: p95 of other pods", p95(seconds[2:]), "s", 0.0, MOST_WHY_SECONDS)
        yield Figure("most memory of the server", peak_mib(), "MiB", 0.0)


def answer_seconds(api: Served, urls: list[str]) -> list[float]:
    """How long each takes."""
    seconds = []
    for url in urls:
        begin = time.perf_counter()
        reply = api.ask(url)
        seconds.append(time.perf_counter() - begin)
        if reply.status != 200:
            raise SystemExit(f"{url}: {reply.status} {reply.body[:500]!r}")
    return seconds


def p95(seconds: list[float]) -> float:
    """So long at most, in 95 of 100 cases."""
    return float(np.quantile(seconds, 0.95, method="higher"))


def main() -> int:
    """Measure, print, and say whether all bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="the folder of the run, kept and used again")
    parser.add_argument("--heat", action="store_true", help="the heat map of the large run only")
    parser.add_argument("--api", action="store_true", help="the API on the day example only")
    parser.add_argument("--browser", action="store_true", help="the heat map in a browser only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(arguments.keep or folder) / "pages.duckdb"
        if not path.exists() and not arguments.api:
            big_run(path)
            print("made", path)  # in this process: its memory counts, so measure with --keep a second time
        figures = [] if arguments.api or arguments.browser else list(heat_figures(path))
        if not arguments.api and not arguments.heat:
            figures += browser_figures(path)
        if not arguments.heat and not arguments.browser:
            days = [path.with_name("day.duckdb"), path.with_name("packed.duckdb")]
            for day, policy in zip(days, ("default", "packed"), strict=True):
                if not day.exists():
                    day_run(day, policy)
            figures += api_figures([str(day) for day in days])
    for figure in figures:
        bound = "" if figure.bound is None else f"  at most {figure.bound:g}{'' if figure.holds else ': MISSED'}"
        print(f"{figure.name:<52} {figure.value:9.3f} {figure.unit:<4} cpu {figure.cpu_seconds:7.3f} s{bound}")
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
