"""What docs/data.md shows is what happens: its commands, its configuration, its arguments, its sums and its picture."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import msgspec
import pytest
import yaml
from matplotlib import pyplot as plt

from fairway.config import decode_configuration
from fairway.model import to_builtins
from fairway.plugins.registry import REGISTRY
from fairway.record import Run
from tests.golden.transcript import ROOT, is_shown, run, scratch, shown_steps

PAGE = (ROOT / "docs" / "data.md").read_text()
DAY = "--policy ignore --policy prefer --policy require"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def day() -> Iterator[Path]:
    """Where the three runs of a day are."""
    with scratch() as folder:
        (step,) = (step for step in shown_steps(PAGE) if DAY in step.command)
        printed = run(step.command, folder)
        assert is_shown(step.printed, printed), printed
        yield folder


def test_the_short_commands_print_what_is_shown() -> None:
    with scratch() as folder:
        for step in shown_steps(PAGE):
            if DAY not in step.command:
                printed = run(step.command, folder)
                assert is_shown(step.printed, printed), printed


@pytest.mark.slow
def test_the_sums_are_those_of_the_day(day: Path) -> None:
    extra, remote = {}, {}
    for policy in ("ignore", "prefer", "require"):
        with Run.open(day / f"day-{policy}.duckdb") as opened:
            data = opened.metrics().data
            assert data is not None
            extra[policy], remote[policy] = data.extra_hours, data.remote_gib
    saved = [round(extra["ignore"]) - round(extra[policy]) for policy in ("prefer", "require")]
    told = re.search(r"run ([\d,]+) hours longer.*?saves ([\d,]+) of\s+these, `require` ([\d,]+)", PAGE, re.DOTALL)
    assert told is not None
    assert [int(text.replace(",", "")) for text in told.groups()] == [round(extra["ignore"]), *saved]
    assert remote["ignore"] is not None
    assert remote["prefer"] is not None
    assert 0.45 < remote["prefer"] / remote["ignore"] < 0.55  # "half"


@pytest.mark.slow
def test_the_picture_is_made_of_the_day(day: Path) -> None:
    mpl.use("Agg")
    (code,) = blocks("python")
    with contextlib.chdir(day):
        exec(code, {})
    plt.close("all")
    made, shown = ((folder / "data-policies.svg").read_text() for folder in (day, ROOT / "docs" / "figures"))
    labels = re.compile(r"<!-- (.+?) -->")  # what is written in the picture; fonts differ from machine to machine
    assert labels.findall(made) == labels.findall(shown)


def test_the_configuration_is_one() -> None:
    found = [yaml.safe_load(block) for block in blocks("yaml")]
    (written,) = (one for one in found if one.get("kind") == "KubeSchedulerConfiguration")
    (profile,) = decode_configuration(written, "data.md", REGISTRY).profiles
    assert profile.weights["DataLocality"] == 5


def test_every_argument_is_listed_with_its_default() -> None:
    rows = {row[0]: yaml.safe_load(row[1]) for row in re.findall(r"^\| `(\w+)` \| `(.+?)` \|", PAGE, re.MULTILINE)}
    args = REGISTRY["DataLocality"].args
    assert args is not None
    defaults = {field.encode_name: getattr(args(), field.name) for field in msgspec.structs.fields(args)}
    for name, default in defaults.items():
        plain = to_builtins(default)
        assert rows[name] == ([dict(rung) for rung in plain] if name == "ladder" else plain), name
    assert set(rows) == set(defaults)
