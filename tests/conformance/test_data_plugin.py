"""With DataLocality enabled, pods that use no data are scheduled as kube-scheduler schedules them, to the letter.

A part of the recorded decisions is made again, in clusters that have datasets besides.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairway.conformance.corpus import Case, decode_case
from fairway.conformance.corpus_run import check_case
from fairway.model import ApiObject, Node
from fairway.testing import dataset, dataset_internal
from tests.conformance.test_corpus import LINES

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {"multiPoint": {"enabled": [{"name": "DataLocality", "weight": 7}]}},
            "pluginConfig": [{"name": "DataLocality", "args": {"mode": "require"}}],
        }
    ],
}
EVERY = 6


def cases() -> list[Case]:
    """Some of each focus, with the default plugins."""
    found = [decode_case(line) for line in LINES[::EVERY]]
    return [case for case in found if case.config is None]


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.focus}-{case.name}")
def test_pods_without_data_go_where_they_went(case: Case) -> None:
    names = [thing.name for thing in case.objects if isinstance(thing, Node)]
    data: list[ApiObject] = [dataset("images"), dataset_internal("images", gateways=names[:1], copies=names[-2:])]
    assert case.expect
    found = check_case(replace(case, config=CONFIG, objects=[*case.objects, *data]))
    assert found.mismatches == []


def test_there_are_cases_of_most_kinds() -> None:
    assert len({case.focus for case in cases()}) > 10
