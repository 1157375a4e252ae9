"""What docs/batch.md shows is what happens."""

import re

from fairway.scenario.scenario import decode_scenario
from tests.golden.transcript import ROOT, is_shown, run, shown_steps, steps

PAGE = (ROOT / "docs" / "batch.md").read_text()
TRANSCRIPT = (ROOT / "examples" / "scenarios" / "scenarios.txt").read_text()


def test_the_commands_print_what_is_shown() -> None:
    """Those of the transcript of the examples are run with it, and not again."""
    known = {step.command: step.printed for step in steps(TRANSCRIPT)}
    found = list(shown_steps(PAGE))
    assert len(found) == 4
    for step in found:
        printed = known.get(step.command) or run(step.command)
        assert is_shown(step.printed, printed), printed


def test_the_small_scenario_has_two_disciplines() -> None:
    (text,) = re.findall(r"```yaml\n(apiVersion.+?)```", PAGE, re.DOTALL)
    scenario = decode_scenario(text.encode(), "queue.yaml")
    batch = {name: scenario.batch(name) for name in ("easy", "walk")}
    queues = {name: section.queues["batch"].completed() for name, section in batch.items() if section is not None}
    assert {name: queue.discipline for name, queue in queues.items()} == {"easy": "easy", "walk": "walk"}
