"""What docs/exclusive-nodes.md shows is what happens: its commands and its configurations."""

import re

import yaml

from fairway.config import decode_configuration
from fairway.plugins.registry import REGISTRY
from tests.golden.transcript import ROOT, is_shown, run, shown_steps

PAGE = (ROOT / "docs" / "exclusive-nodes.md").read_text()
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_the_commands_print_what_is_shown() -> None:
    found = list(shown_steps(PAGE))
    assert len(found) == 2
    for step in found:
        printed = run(step.command)
        assert is_shown(step.printed, printed), printed


def test_the_configuration_is_that_of_the_example() -> None:
    assert (ROOT / "examples" / "exclusive" / "config.yaml").read_text() in PAGE


def test_every_configuration_is_one_that_fairway_reads() -> None:
    blocks = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]
    profiles = [block for block in blocks if "profiles" in block]
    assert len(profiles) == 3
    enabled = [decode_configuration({**HEADER, **block}, "page", REGISTRY).profiles[0].entries for block in profiles]
    assert [{"ExclusiveNode", "NearJob"} & set(entries) for entries in enabled] == [
        {"ExclusiveNode"},
        {"ExclusiveNode"},
        {"NearJob"},
    ]
