"""Which accounts can be used, and which one a job is charged to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.accounts import ROOT, AccountTree
from fairway.batch.reasons import JobStanding, JobState, Refused
from fairway.model.batch import AccountSpec
from fairway.model.batch.queue import QueueAccounts

ACCOUNTS = {
    "physics": AccountSpec(),
    "ada": AccountSpec(parent="physics", namespaces=("ada-*",)),
    "course": AccountSpec(namespaces=("ada-course", "course-*")),
    "a": AccountSpec(parent="c"),
    "b": AccountSpec(parent="a"),
    "c": AccountSpec(parent="b"),
    "below": AccountSpec(parent="b"),
    "lost": AccountSpec(parent="phyics"),
    "below-lost": AccountSpec(parent="lost"),
    "self": AccountSpec(parent="self"),
}
TREE = AccountTree(ACCOUNTS)


def test_a_cycle_is_written_out_and_takes_all_below_it_and_nobody_else() -> None:
    cycle = "accounts form a cycle: a → c → b → a"
    lost = "parent phyics of account lost does not exist; did you mean physics?"
    assert TREE.problems == {
        "a": cycle,
        "b": cycle,
        "c": cycle,
        "below": cycle,
        "lost": lost,
        "below-lost": lost,
        "self": "accounts form a cycle: self → self",
    }
    assert TREE.usable == ["ada", "course", "physics"]
    assert TREE.children(ROOT) == ["course", "physics"]
    assert TREE.children("physics") == ["ada"]
    assert TREE.path("ada") == ["ada", "physics"]
    assert TREE.path("a") == TREE.path(ROOT) == []


def test_a_missing_parent_that_is_like_no_account_is_told_plainly() -> None:
    tree = AccountTree({"a": AccountSpec(parent="zzz")})
    assert tree.problems == {"a": "parent zzz of account a does not exist"}


def test_nobody_means_a_thousand_levels() -> None:
    deep = {f"a{level:04}": AccountSpec(parent=f"a{level - 1:04}" if level else "") for level in range(1000)}
    tree = AccountTree(deep)
    assert len(tree.usable) == 32
    assert tree.problems["a0999"] == "account a0032 is more than 32 levels deep"


BOTH = QueueAccounts()


@pytest.mark.parametrize(
    ("wish", "namespace", "rules", "account"),
    [
        pytest.param("ada", "ada-home", BOTH, "ada", id="named"),
        pytest.param("physics", "anywhere", BOTH, "physics", id="named, and open to all"),
        pytest.param("", "ada-home", BOTH, "ada", id="by its namespace"),
        pytest.param("", "ada-course", BOTH, "course", id="the most exact pattern counts"),
        pytest.param("ada", "ada-course", BOTH, "ada", id="a wish comes before the namespace"),
        pytest.param("", "elsewhere", BOTH, ROOT, id="nobody pays"),
        pytest.param("", "elsewhere", QueueAccounts(default="ada"), "ada", id="the queue's default is for all"),
        pytest.param("", "ada-home", QueueAccounts(default="physics", from_=()), "physics", id="the default alone"),
        pytest.param("ada", "ada-home", QueueAccounts(from_=("namespace",)), "ada", id="a wish that is no choice"),
    ],
)
def test_who_pays(wish: str, namespace: str, rules: QueueAccounts, account: str) -> None:
    assert TREE.charged(wish, namespace, "batch", rules) == account


@pytest.mark.parametrize(
    ("wish", "namespace", "rules", "reason", "words"),
    [
        pytest.param(
            "pyhsics",
            "x",
            BOTH,
            Refused.ACCOUNT_UNKNOWN,
            "there is no account pyhsics; did you mean physics?",
            id="misspelt",
        ),
        pytest.param(
            "zzz",
            "x",
            BOTH,
            Refused.ACCOUNT_UNKNOWN,
            "there is no account zzz; there are ada, course, physics",
            id="unknown",
        ),
        pytest.param(
            "below", "x", BOTH, Refused.ACCOUNT_UNKNOWN, "accounts form a cycle: a → c → b → a", id="below a cycle"
        ),
        pytest.param(
            "ada",
            "bob",
            BOTH,
            Refused.ACCOUNT_NOT_ALLOWED,
            "account ada is for namespaces ada-*, not for bob",
            id="another's",
        ),
        pytest.param(
            "physics",
            "ada-home",
            QueueAccounts(from_=("namespace", "annotation")),
            Refused.ACCOUNT_NOT_ALLOWED,
            "jobs of queue batch and namespace ada-home are charged to account ada; physics can not be named",
            id="the namespace comes first",
        ),
        pytest.param(
            "physics",
            "x",
            QueueAccounts(from_=()),
            Refused.ACCOUNT_NOT_ALLOWED,
            "jobs of queue batch and namespace x are charged to no account; physics can not be named",
            id="no wishes",
        ),
        pytest.param(
            "zzz",
            "ada-home",
            QueueAccounts(from_=("namespace",)),
            Refused.ACCOUNT_UNKNOWN,
            "there is no account zzz; there are ada, course, physics",
            id="a wish that is no choice, and unknown",
        ),
        pytest.param(
            "",
            "x",
            QueueAccounts(default="physic"),
            Refused.ACCOUNT_UNKNOWN,
            "there is no account physic, which queue batch names in accounts.default; did you mean physics?",
            id="the queue's default is misspelt",
        ),
    ],
)
def test_who_is_refused(wish: str, namespace: str, rules: QueueAccounts, reason: Refused, words: str) -> None:
    standing = TREE.charged(wish, namespace, "batch", rules)
    assert isinstance(standing, JobStanding)
    assert (standing.state, standing.reason, standing.words) == (JobState.REFUSED, reason, words)


def test_where_there_are_many_accounts_some_are_named_and_where_there_is_none_that_is_said() -> None:
    many = AccountTree({f"zz{number:02}": AccountSpec() for number in range(12)}).charged("abc", "x", "batch", BOTH)
    none = AccountTree({}).charged("abc", "x", "batch", BOTH)
    assert isinstance(many, JobStanding)
    assert isinstance(none, JobStanding)
    assert many.words.endswith("zz09 and 2 more")
    assert none.words == "there is no account abc; there are no accounts"


NAMES = st.sampled_from("abcdefg")


def naive_way_up(parents: dict[str, str], name: str) -> bool:
    """Does the way up from an account end at the root?"""
    for _ in range(len(parents) + 1):
        if name == "":
            return True
        if name not in parents:
            return False
        name = parents[name]
    return False


@given(parents=st.dictionaries(NAMES, st.one_of(st.just(""), NAMES)), amounts=st.dictionaries(NAMES, st.integers(0, 9)))
def test_what_can_be_used_has_a_way_to_the_root_and_parents_are_sums(
    parents: dict[str, str], amounts: dict[str, int]
) -> None:
    tree = AccountTree({name: AccountSpec(parent=parent) for name, parent in parents.items()})
    assert set(tree.usable) == {name for name in parents if naive_way_up(parents, name)}
    sums = tree.sums(amounts)
    assert set(sums) == set(tree.usable)
    for name in tree.usable:
        assert sums[name] == amounts.get(name, 0) + sum(sums[child] for child in tree.children(name))
