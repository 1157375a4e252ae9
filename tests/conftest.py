"""Settings for the whole test suite.

Property tests are deterministic by default: the same examples on every machine, no database, no deadline, so a slow
machine cannot fail them. `pytest --hypothesis-profile=explore` looks for new examples instead, and `few` is for those
who have seen them pass on another Python.

Commands that tests start can be interrupted, also where the tests themselves run in the background of a shell, which
makes them deaf to Ctrl-C, and all whom they start.

Tests with a control plane wait more than they compute. With `--dist worksteal` they all begin in the first worker's
share, so that one control plane does for them while the others compute; and there is one worker more than processors.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

WAITING = tuple(Path(__file__).parent / folder for folder in ("kube", "chaos"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.register_profile("few", derandomize=True, database=None, deadline=None, max_examples=15)
settings.load_profile("fixed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `--numprocesses auto` means."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those who wait come first, the longest of them before others, if there is somebody to compute meanwhile."""
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    waits = any(item.path.is_relative_to(folder) for folder in WAITING)
    return 2 if not waits else int(item.get_closest_marker("slow") is None)
