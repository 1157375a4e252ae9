"""The worked example of docs/batch.md, "Books", computed again."""

import datetime as dt
import re

import msgspec
import yaml

from fairway.batch.accounts import (
    MILLI,
    AccountTree,
    Books,
    BudgetGate,
    OpenJobs,
    Payer,
    RecordBook,
    RefundCause,
    book_differences,
    budget_states,
    change_rate,
    charge_lines,
    close_interval,
    job_rate,
    open_interval,
    refund_last_run,
)
from fairway.batch.job import BilledJob
from fairway.model.batch import AccountSpec
from tests.batch.accounts.memory_books import MemoryBooks, StoreView
from tests.golden.transcript import ROOT

PAGE = (ROOT / "docs" / "batch.md").read_text().partition("## Books")[2].partition("\n## ")[0]
HALF_LIFE = 7 * 86400.0
REQUESTS = {"cpu": 8000, "memory": 32 << 30, "nvidia.com/gpu": 2}


def block(language: str, number: int = 0) -> str:
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return blocks[number]


def at(text: str) -> float:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


def clock(time: float) -> str:
    return f"{dt.datetime.fromtimestamp(time, dt.UTC):%m-%d %H:%M}"


def units(milli: float) -> str:
    return f"{milli / MILLI:,.0f}".replace(",", " ")


def test_the_example_is_what_comes_out() -> None:
    physics = msgspec.convert(yaml.safe_load(block("yaml")), AccountSpec)
    dearer = msgspec.structs.replace(physics, weights={**physics.weights, "nvidia.com/gpu": 30.0})
    tree, store, jobs = AccountTree({"physics": physics}), MemoryBooks(), OpenJobs()
    job = BilledJob("1", "ml/train", "physics", "ada", "batch", REQUESTS)
    store.add(RecordBook(job))
    rate = job_rate(physics, [REQUESTS])
    assert f"{rate:g} units a second" in PAGE

    first = close_interval(open_interval((), at("2026-11-30T22:00"), rate), at("2026-11-30T23:00"))
    intervals = open_interval(refund_last_run(first, RefundCause.NODE_LOST), at("2026-11-30T23:30"), rate)
    jobs.put("1", Payer("physics", "ada"), intervals)
    quarter_to = at("2026-11-30T23:45")
    states = budget_states(tree, {}, jobs, quarter_to)
    standing = BudgetGate(tree, states).stop("physics", rate, 4.75 * 3600)
    assert standing is not None
    assert " ".join(block("text", 1).split()) == standing.words

    intervals = change_rate(intervals, at("2026-12-01"), job_rate(dearer, [REQUESTS]))
    end = at("2026-12-01T00:30")
    books = Books(StoreView(store), jobs, HALF_LIFE)
    books.finish("1", intervals, end)
    for seconds in (10, 40):
        books.settle("physics", end + seconds)
    lines = [
        f"{clock(line.start)}  {clock(line.end)}  {line.rate:5g}  {units(line.charge):>9}  {line.kind:<7} {line.reason}"
        for line in charge_lines(job, store.record_of("1").intervals, end)
    ]
    assert block("text", 0).splitlines() == [
        "FROM         TO            RATE     CHARGE  KIND    REASON",
        *(line.rstrip() for line in lines),
    ]

    book = store.book()
    assert list(book_differences("physics", book, [store.record_of("1")], store.lines.values(), end)) == []
    faded = book.users["ada"].usage.at(end + HALF_LIFE, HALF_LIFE)
    for number in (book.settled, *book.periods["month"].values(), faded * MILLI):
        assert units(number) in " ".join(PAGE.split())
