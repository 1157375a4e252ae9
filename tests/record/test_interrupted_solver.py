"""A solver at work can be interrupted: nobody waits until its time is up."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("highspy", reason="the solver has no build for this Python")

# A market split, which takes an exact solver hours: half of each product's sales, for four products at once.
SOLVE = """
import random, threading
from fairway.record.quality.integer_program import IntegerProgram
program, random = IntegerProgram(), random.Random(1)
shops = range(40)
program.add_variables(len(shops), upper=1.0, cost=0.0)
for _ in range(5):
    sales = [random.randrange(100) for _ in shops]
    over = program.add_variables(2, upper=1e6, cost=1.0)
    split = dict(enumerate(map(float, sales))) | {over: 1.0, over + 1: -1.0}
    program.add_row(split, lower=float(sum(sales) // 2), upper=float(sum(sales) // 2))
threading.Timer(1.0, lambda: print("at work", flush=True)).start()
program.solve(600.0, "there is none")
print("solved", flush=True)
"""


@pytest.fixture
def solving() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", SOLVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_ctrl_c_ends_it_at_once(solving: subprocess.Popen[str]) -> None:
    assert solving.stdout is not None
    assert solving.stdout.readline() == "at work\n"
    solving.send_signal(signal.SIGINT)
    out, err = solving.communicate(timeout=120)  # of the 600 seconds that it was given
    assert out == ""
    assert err.rstrip().endswith("KeyboardInterrupt")
