"""The run that most tests here ask."""

import pytest

from tests.explain.queues.queue_runs import queue_run


@pytest.fixture(scope="session")
def queues(tmp_path_factory: pytest.TempPathFactory) -> str:
    return queue_run(tmp_path_factory.mktemp("queues"))
