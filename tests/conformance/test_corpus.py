"""Decisions recorded from kube-scheduler: the engine has to make the same ones, to the letter.

One test a case, so that a failure names it; see README.md for what the cases hold.
"""

from pathlib import Path

import pytest

from fairway.config.gangs import Gangs
from fairway.conformance.corpus import CaseLine, case_name, read_lines
from fairway.conformance.corpus_run import check_line

CORPUS = Path(__file__).parent / "corpus"
WHOLE = Path(__file__).parents[3] / "shared" / "parity-gang"
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
    "gang-all",
    "gang-basic",
    "gang-preempt",
    "gang-topology",
    "gang-wap",
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


@pytest.mark.skipif(not WHOLE.is_dir(), reason=f"the whole corpus of groups is not there: no folder {WHOLE}")
@pytest.mark.parametrize("file", sorted(WHOLE.glob("*.jsonl.gz")), ids=lambda file: file.name)
def test_decides_about_all_groups_as_kube_scheduler_did(file: Path) -> None:
    results = [check_line(line) for line in read_lines([file])]
    assert results
    assert [result for result in results if result.mismatches] == []


# -- pods that belong to nobody ----------------------------------------------------------------------------------------

ALONE = [line for line in LINES if not Path(line.file).name.startswith("gang-")]
MODES = {
    "fairway": Gangs(),
    "kube": Gangs(mode="kube", topology=True, workload_preemption=True),
    "coscheduling": Gangs(mode="coscheduling"),
    "pfnet": Gangs(mode="pfnet", prefix="gang.example.com"),
}


@pytest.mark.parametrize("mode", MODES)
def test_pods_alone_are_decided_about_as_without_gangs(mode: str) -> None:
    results = [check_line(line, MODES[mode]) for line in ALONE[:: 2 if mode == "fairway" else 5]]
    assert len(results) > 50
    assert [result for result in results if result.mismatches] == []
