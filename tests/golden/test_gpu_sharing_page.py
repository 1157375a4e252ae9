"""What docs/gpu-sharing.md shows is what happens: its commands, its configuration and its arguments."""

import re

import msgspec

from fairway.plugins.registry import REGISTRY
from tests.golden.transcript import ROOT, is_shown, run, shown_steps

PAGE = (ROOT / "docs" / "gpu-sharing.md").read_text()


def test_the_commands_print_what_is_shown() -> None:
    found = list(shown_steps(PAGE))
    assert found
    for step in found:
        printed = run(step.command)
        assert is_shown(step.printed, printed), printed


def test_the_configuration_is_that_of_the_example() -> None:
    assert (ROOT / "examples" / "gpu-sharing" / "fgd.yaml").read_text() in PAGE


def test_every_policy_and_argument_is_listed() -> None:
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| .* \| (.*) ?\|$", PAGE, re.MULTILINE)}
    for name in ("FGD", "BestFit", "DotProduct", "PWR", "GpuPacking", "GpuClustering", "Random"):
        args = REGISTRY[name].args
        fields = () if args is None else msgspec.structs.fields(args)
        assert set(re.findall(r"`(\w+)`", rows[name])) == {field.encode_name for field in fields}
