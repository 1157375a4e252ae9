"""A pass in steps, while all else goes on: what happens in between changes what is free, and is seen by the next one.

In: the steps of a pass (`Desk.pass_steps`), the machine that it plans on. Out: the same steps, safe to be left between
two of them for as long as anybody likes. Time stands still on the machine meanwhile, so that whoever has a slot now is
not too late for it. A pass is given up if nodes come that it does not know; what it has promised by then stands.
"""

from __future__ import annotations

from collections.abc import Callable

from fairway.batch.machine import Machine
from fairway.plan import PassOutcome, Steps

__all__ = ["beside_others"]


def beside_others(
    machine: Machine, steps: Steps[PassOutcome], given_up: Callable[[], None]
) -> Steps[PassOutcome | None]:
    """What the pass comes to; None: it was given up. `given_up` is called then, and if it is closed."""
    is_over = False
    try:
        outcome = yield from _beside_others(machine, steps)
        is_over = outcome is not None
        return outcome
    finally:
        if not is_over:
            steps.close()
            given_up()


def _beside_others(machine: Machine, steps: Steps[PassOutcome]) -> Steps[PassOutcome | None]:
    is_disturbed = False
    while True:
        try:
            next(steps)
        except StopIteration as end:
            if is_disturbed:
                machine.calendar.has_changed = machine.calendar.has_gained = True  # the pass has looked at neither
            outcome: PassOutcome = end.value
            return outcome
        calendar = machine.calendar
        changed, gained = calendar.has_changed, calendar.has_gained
        calendar.has_changed = calendar.has_gained = False
        machine.is_held = True
        try:
            yield
        finally:
            machine.is_held = False
            is_disturbed |= calendar.has_changed or calendar.has_gained
            calendar.has_changed |= changed
            calendar.has_gained |= gained
        if machine.calendar is not calendar:
            return None
