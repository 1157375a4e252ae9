"""From accounts, what is settled and what runs, to the factor of each user."""

import math
from collections.abc import Iterator

import pytest

from fairway.batch.accounts import AccountTree, FairShares, OpenJobs, Payer, open_interval
from fairway.batch.fair_tree import ShareNode
from fairway.batch.usage import DecayedUsage
from fairway.model.batch import AccountSpec, UserShares
from tests.batch.accounts.memory_books import ran

TREE = AccountTree(
    {
        "science": AccountSpec(shares=3),
        "physics": AccountSpec(
            parent="science", users={"ada": UserShares(shares=2), "eve": UserShares(shares="parent")}
        ),
        "bio": AccountSpec(shares="parent", parent="science"),
        "broken": AccountSpec(parent="nowhere", users={"mel": UserShares()}),
    }
)


def flat(node: ShareNode, depth: int = 0) -> Iterator[tuple[str, int | None, float]]:
    """The tree as indented lines."""
    yield f"{'  ' * depth}{node.key}{' (user)' * node.is_user}", node.shares, node.usage
    for child in node.children:
        yield from flat(child, depth + 1)


def test_the_tree_has_everybody_who_was_named_or_seen_and_can_be_charged() -> None:
    jobs = OpenJobs()
    shares = FairShares(TREE, jobs, half_life=100.0, interval=0.0)
    shares.join("bio", "bob")
    shares.join("broken", "mel")
    shares.join("", "guest")
    shares.load("physics", {"ada": DecayedUsage(40.0, 0.0), "zoe": DecayedUsage(8.0, 50.0)})
    jobs.put("u", Payer("bio", "bob"), ran((0, 100), rate=1.0))
    bob = 0.5 * 100 / math.log(2)
    zoe = 8 / math.sqrt(2)
    expected = [
        ("", 1, 20 + zoe + bob),
        ("  /guest (user)", 1, 0.0),
        ("  science", 3, 20 + zoe + bob),
        ("    bio", None, bob),
        ("      bio/bob (user)", 1, bob),
        ("    physics", 1, 20 + zoe),
        ("      physics/ada (user)", 2, 20.0),
        ("      physics/eve (user)", None, 0.0),
        ("      physics/zoe (user)", 1, zoe),
    ]
    found = list(flat(shares.root(100.0)))
    assert [line[:2] for line in found] == [line[:2] for line in expected]
    assert [line[2] for line in found] == pytest.approx([line[2] for line in expected])
    factors = shares.factors(100.0)
    assert set(factors) == {
        Payer("", "guest"),
        Payer("bio", "bob"),
        Payer("physics", "ada"),
        Payer("physics", "eve"),
        Payer("physics", "zoe"),
    }
    assert factors[Payer("", "guest")] == 1.0  # has used nothing
    assert factors[Payer("physics", "eve")] > factors[Payer("physics", "ada")] > factors[Payer("bio", "bob")]


def test_where_nobody_wrote_accounts_down_users_share_fairly() -> None:
    jobs = OpenJobs()
    shares = FairShares(AccountTree({}), jobs)
    jobs.put("u", Payer("", "ada"), open_interval((), 0.0, 4.0))
    shares.join("", "bob")
    assert shares.factors(1000.0) == {Payer("", "ada"): 0.5, Payer("", "bob"): 1.0}


def test_a_burst_is_not_free() -> None:
    jobs = OpenJobs()
    shares = FairShares(AccountTree({}), jobs, interval=30.0)
    jobs.put("u", Payer("", "ada"), (), released_rate=1.0)
    shares.join("", "bob")
    assert shares.factors(0.0)[Payer("", "ada")] == 0.5


def test_accounts_may_change_while_jobs_run() -> None:
    jobs = OpenJobs()
    shares = FairShares(TREE, jobs)
    jobs.put("u", Payer("bio", "bob"), open_interval((), 0.0, 4.0))
    assert Payer("bio", "bob") in shares.factors(10.0)
    shares.tree = AccountTree({"physics": AccountSpec(users={"new": UserShares()})})
    assert set(shares.factors(10.0)) == {Payer("physics", name) for name in ("ada", "eve", "new")}
    shares.tree = TREE
    assert Payer("bio", "bob") in shares.factors(10.0)


def test_a_clock_that_is_set_back_makes_nothing_heavier() -> None:
    shares = FairShares(AccountTree({}), OpenJobs(), half_life=10.0)
    shares.load("", {"ada": DecayedUsage(4.0, 100.0)})
    assert shares.usage(50.0) == {Payer("", "ada"): 4.0}
