"""A scheduler is killed between any two steps of settling, on a real API server: the next one charges exactly once.

The steps are those of `fairway.batch.accounts.books`; each is a request, and a proxy kills whoever sends it: before the
server hears of it, or when it is done and nobody was told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.kube.api import Api, Json
from tests.kube.batch import batch_kinds, job, node, ours, queue, start, status_of, until
from tests.kube.control_plane import ControlPlane
from tests.kube.cuts import Cut, killed_at
from tests.kube.jobs import PATIENCE
from tests.kube.processes import wait_until

RECORD: Final = r"/jobrecords/it/status(\?|$)"
ACCOUNT: Final = r"/accounts/physics/status(\?|$)"


CUTS: Final = (
    Cut("before the record is final", "PUT", RECORD, '"final":true', "reset"),
    Cut("after the record is final", "PUT", RECORD, '"final":true'),
    Cut("after the account has the charge", "PUT", ACCOUNT, r'"settling":\["'),
    Cut("before the record is settled", "PUT", RECORD, '"settled":true', "reset"),
    Cut("after the record is settled", "PUT", RECORD, '"settled":true'),
    Cut("after the record may go", "PATCH", r"/jobrecords/it(\?|$)", "finalizers"),
    Cut("after the account forgot it", "PUT", ACCOUNT, r'"settled":[1-9](?!.*"settling":\[")'),
)


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        api.create(node("a", "2"))
        api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}))
        api.create(queue())
        control_plane.start_kubelet()
        yield api


def book(api: Api) -> Json:
    found: Json = api.get("Account", "physics").get("status", {}).get("book", {})
    return found


def is_done_with(api: Api, *records: tuple[str, str]) -> bool:
    """Settled, forgotten by the account, and without our finalizer."""
    found = [api.get("JobRecord", *each) for each in records]
    are_settled = all(each["status"].get("settled") and "finalizers" not in each["metadata"] for each in found)
    return are_settled and not book(api).get("settling")


def charge(status: Json) -> int:
    """What a job costs by its intervals, in thousandths: every line of it, added up here."""
    intervals: list[dict[str, Any]] = status["ledger"]["state"]["intervals"]
    return sum(round((each["end"] - each["start"]) * each["rate"] * 1000) for each in intervals)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.title)
def test_a_job_is_charged_once_whenever_its_scheduler_is_killed(
    control_plane: ControlPlane, api: Api, namespace: str, cut: Cut
) -> None:
    with killed_at(control_plane, cut):
        api.create(job("it", namespace, cpu="2", runs="2s"))
    start(control_plane)
    until(api, "it", namespace, "Finished", "Succeeded")
    wait_until(lambda: is_done_with(api, ("it", namespace)), "its record is done with", PATIENCE)
    status = status_of(api, "it", namespace)
    assert book(api)["settled"] == charge(status) == round(status["charge"] * 1000) > 0
