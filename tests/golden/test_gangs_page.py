"""What docs/gangs.md shows is what happens: its commands."""

from tests.golden.transcript import ROOT, is_shown, run, shown_steps

PAGE = (ROOT / "docs" / "gangs.md").read_text()


def test_the_commands_print_what_is_shown() -> None:
    found = [step for step in shown_steps(PAGE) if step.printed and step.command.startswith("fairway why")]
    assert found
    for step in found:
        printed = run(step.command)
        assert is_shown(step.printed, printed), printed
