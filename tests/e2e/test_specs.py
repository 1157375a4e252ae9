"""The choice of specs: expressions that the test program and Python read alike."""

from __future__ import annotations

import re

import pytest

from tests.e2e.specs import LEFT_OUT, SUITES, chosen_files, skipped_names, suite_of


@pytest.mark.parametrize("suite", SUITES)
def test_a_file_belongs_to_its_suite(suite: str) -> None:
    assert suite_of(f"k8s.io/kubernetes@v1.36.4/{chosen_files(suite)}framework.go") == suite


def test_a_file_of_another_suite_is_refused() -> None:
    with pytest.raises(ValueError, match="none of the suites"):
        suite_of("k8s.io/kubernetes@v1.36.4/test/e2e/common/node/pods.go")


@pytest.mark.parametrize(
    ("name", "is_left_out"),
    [
        ("[sig-scheduling] SchedulerPredicates [Serial] validates that NodeSelector is respected if matching", False),
        (
            "[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should provide basic identity",
            True,
        ),
        (
            "[sig-apps] StatefulSet Basic StatefulSet functionality [StatefulSetBasic] should have a working scale",
            False,
        ),
        ("[sig-apps] CronJob should not schedule jobs when suspended [Slow] [Conformance]", True),
        ("[sig-apps] CronJob should schedule multiple jobs concurrently [Conformance]", False),
        ("[sig-node] NoExecuteTaintManager Single Pod [Serial] evicts pods from tainted nodes", False),
        ("[sig-node] Security Context should support seccomp runtime/default [LinuxOnly]", True),
    ],
)
def test_specs_that_need_a_kubelet_are_left_out(name: str, is_left_out: bool) -> None:
    assert bool(re.search(skipped_names(), name)) == is_left_out


def test_no_expression_leaves_out_everything() -> None:
    for expressions in LEFT_OUT.values():
        for expression in expressions:
            assert not re.search(expression, "[sig-scheduling] [sig-apps] [sig-node] [Serial] [Conformance]")
