"""Decisions recorded from kube-scheduler: the engine has to make the same ones, to the letter.

One test a case, so that a failure names it; see README.md for what the cases hold.
"""

from pathlib import Path

import pytest

from fairway.conformance.corpus import CaseLine, case_name, read_lines
from fairway.conformance.corpus_run import check_line

CORPUS = Path(__file__).parent / "corpus"
LINES = list(read_lines([CORPUS]))
FOCUSES = {
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodeName",
    "NodePorts",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "SchedulingGates",
    "TaintToleration",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
    "config",
    "fuzz",
    "mixed",
    "preemption",
    "replay",
}


def test_every_focus_is_there() -> None:
    assert {file.name.removesuffix(".jsonl.gz") for file in CORPUS.iterdir()} == FOCUSES


@pytest.mark.parametrize("line", LINES, ids=case_name)
def test_decides_as_kube_scheduler_did(line: CaseLine) -> None:
    result = check_line(line)
    assert result.num_pods > 0
    assert result.mismatches == []
