"""Logs as they come: other zones, ends of lines, compression and prefixes change nothing of what was told."""

import gzip
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairway.stream.message import line_of
from fairway.stream.sniffed import Sniffed
from fairway.stream.sniffed_log import SniffedLog, read_log
from tests.stream.test_sniffed import SHARED, real_log, step

LIFE = [
    step("ScheduleSuccess", 0),
    step("BindingSuccess", 0.25),
    step("postStart", 1),
    step("preStop", 11.000000001),
    step("ScheduleSuccess", 3, "q"),
    step("BindingSuccess", 3.5, "q"),
]


def first_form(line: str) -> str:
    told = json.loads(line)
    return "  DEBUG:  " + json.dumps({"pod": told.pop("name"), **{key: told[key] for key in told if key != "object"}})


LINES = [line_of(message) for message in LIFE]
FIRST = [first_form(line) for line in LINES]


def read(folder: Path, data: bytes, name: str = "sniffer.log") -> tuple[Sniffed, SniffedLog]:
    (folder / name).write_bytes(data)
    return read_log(str(folder / name))


def joined(lines: list[str], end: str = "\n") -> bytes:
    return "".join(line + end for line in lines).encode()


PLAIN = joined(LINES)
DAY = "2024-04-23T19:51:07.123456789"


@pytest.mark.parametrize(
    ("data", "num_lines", "num_skipped"),
    [
        pytest.param(PLAIN, 6, 0, id="the second form"),
        pytest.param(joined(FIRST), 6, 0, id="the first form"),
        pytest.param(joined([*FIRST[:3], *LINES[3:]]), 6, 0, id="mixed"),
        pytest.param(joined(LINES, "\r\n"), 6, 0, id="lines end as on Windows"),
        pytest.param(b"\xef\xbb\xbf" + PLAIN, 6, 0, id="a byte order mark"),
        pytest.param(PLAIN.rstrip(), 6, 0, id="no end of the last line"),
        pytest.param(PLAIN + PLAIN[:40], 7, 1, id="the last line was cut off"),
        pytest.param(PLAIN + b"\0" * 512, 7, 1, id="a disk that was full"),
        pytest.param(b"\n \n" + PLAIN.replace(b"\n", b"\n\n"), 6, 0, id="blank lines"),
        pytest.param(gzip.compress(PLAIN), 6, 0, id="compressed, whatever it is called"),
        pytest.param(gzip.compress(PLAIN[:200]) + gzip.compress(PLAIN[200:]), 6, 0, id="compressed in pieces"),
        pytest.param(PLAIN * 3, 18, 0, id="each line three times"),
        pytest.param(joined([*LINES[4:], *LINES[:4]]), 6, 0, id="producers one after the other"),
        pytest.param(joined([line for pair in zip(LINES[::2], LINES[1::2], strict=True) for line in pair[::-1]]), 6, 0,
                     id="neighbours changed places"),
        pytest.param(joined([f"[pod/sniffer-0/sniffer] {line}" for line in FIRST]), 6, 0, id="kubectl logs --prefix"),
        pytest.param(joined([f"{DAY}Z {line}" for line in FIRST]), 6, 0, id="kubectl logs --timestamps"),
        pytest.param(joined([f"{DAY}+02:00 stdout F {line}" for line in LINES]), 6, 0, id="a runtime's file"),
        pytest.param(joined(FIRST).replace(b"  DEBUG:", b"\x1b[36m  DEBUG:\x1b[0m"), 6, 0, id="colours"),
        pytest.param(joined(["nonsense " + LINES[0], *LINES]), 7, 1, id="another prefix is none"),
    ],
)  # fmt: skip
def test_the_same_is_told(tmp_path: Path, data: bytes, num_lines: int, num_skipped: int) -> None:
    sniffed, log = read(tmp_path, data)
    plain, _ = read(tmp_path, PLAIN)
    assert (sniffed.pods, sniffed.nodes, sniffed.origin, sniffed.end) == (
        plain.pods, plain.nodes, plain.origin, plain.end
    )  # fmt: skip
    assert (log.num_lines, log.num_skipped) == (num_lines, num_skipped)


def test_methods_that_nobody_knows_are_noted(tmp_path: Path) -> None:
    unknown = [step("Frobnicated", 5), step("", 6)._replace(endpoint="frobnicate")]
    sniffed, log = read(tmp_path, joined([*LINES, *map(line_of, unknown)]))
    assert [(note.subject, note.reason) for note in sniffed.notes] == [("a", "Frobnicated"), ("a", "frobnicate")]
    assert log.num_skipped == 0
    assert sniffed.pods == read(tmp_path, PLAIN)[0].pods


# -- a real log in other zones -----------------------------------------------------------------------------------------

TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)? \+0000 UTC")
ZONES = [(0, "UTC"), (120, "CEST"), (-420, "PDT"), (345, "+0545"), (-210, "-0330"), (840, "+14")]


def in_zone(minutes: int, name: str) -> Callable[[re.Match[str]], str]:
    def local(match: re.Match[str]) -> str:
        moment = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) + timedelta(minutes=minutes)
        hours, rest = divmod(abs(minutes), 60)
        return f"{moment:%Y-%m-%d %H:%M:%S}{match[2] or ''} {'-' if minutes < 0 else '+'}{hours:02}{rest:02} {name}"

    return local


@real_log
def test_producers_in_other_zones_tell_the_same(tmp_path: Path) -> None:
    lines = gzip.decompress((SHARED / "sniffer.log.gz").read_bytes()).decode().splitlines()
    moved = [TIME.sub(in_zone(*ZONES[number % len(ZONES)]), line) for number, line in enumerate(lines)]
    assert sum(line != other for line, other in zip(lines, moved, strict=True)) > 3000
    there, _ = read(tmp_path, joined(moved))
    here, _ = read_log(str(SHARED / "sniffer.log.gz"))
    assert (there.pods, there.nodes, there.origin, there.end) == (here.pods, here.nodes, here.origin, here.end)
