"""What docs/gpu-sharing.md shows is what happens: its commands, its configuration and its arguments."""

import re

import msgspec

from fairway.config.plugin_args import ARGS
from fairway.model import gpu_args
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
    policies = [name for name, kind in ARGS.items() if kind.__module__ == gpu_args.__name__ and name != "GpuShare"]
    for name in [*policies, "GpuPacking"]:
        assert name in REGISTRY
        fields = msgspec.structs.fields(ARGS[name]) if name in ARGS else ()
        assert set(re.findall(r"`(\w+)`", rows[name])) == {field.encode_name for field in fields}
