"""RandomScore: anything between 0 and 100, but the same again for the same seed, pod and node."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.config.plugin_args import decode_args
from fairway.model import Pod
from fairway.plugin import Problem
from fairway.plugins.random_score import RandomScore, RandomScoreArgs
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview


def scores(incoming: Pod, names: list[str], args: Any = None) -> dict[str, int]:
    return Interview(RandomScore(cluster([node(name) for name in names]), args), incoming).answers().scores


NAMES = [f"n{number}" for number in range(2000)]


def test_scores_are_spread_over_the_whole_range() -> None:
    found = scores(pod(), NAMES).values()
    assert set(found) <= set(range(101))
    assert len(set(found)) == 101
    assert 48 < sum(found) / len(found) < 52


def test_a_score_depends_on_the_node_s_name_and_not_on_the_others() -> None:
    few = scores(pod(), ["n7", "n3"])
    assert few == {name: scores(pod(), NAMES[:10])[name] for name in ("n3", "n7")}


@pytest.mark.parametrize(
    ("other", "args", "is_same"),
    [
        pytest.param(pod(), None, True, id="the same pod"),
        pytest.param(pod(labels={"a": "b"}), None, True, id="other labels"),
        pytest.param(pod(), RandomScoreArgs(seed=0), True, id="the seed it has anyway"),
        pytest.param(pod(), RandomScoreArgs(seed=1), False, id="another seed"),
        pytest.param(pod("other"), None, False, id="another pod"),
        pytest.param(pod(uid="other"), None, False, id="another uid"),
    ],
)
def test_who_gets_the_same_scores(other: Pod, args: Any, is_same: bool) -> None:
    assert (scores(other, NAMES[:50], args) == scores(pod(), NAMES[:50])) is is_same


@pytest.mark.parametrize("args", [{"sed": 1}, {"seed": "one"}], ids=["unknown field", "not a number"])
def test_wrong_arguments_are_refused(args: Any) -> None:
    problems: list[Problem] = []
    decode_args("RandomScore", RandomScore.Args, args, "args", problems)
    assert [problem.path for problem in problems] == [f"args.{next(iter(args))}"]
