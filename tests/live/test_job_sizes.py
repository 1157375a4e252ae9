"""What a record says of a job's size, while its members end one after the other."""

from __future__ import annotations

from typing import Any

from fairway.explain.queues.record_jobs import record_job
from fairway.live.batch.objects import JobRecordObject
from fairway.live.batch.outbox import ObjectKey, Outbox
from fairway.live.batch.record_codec import read_record
from fairway.live.batch.record_terms import read_terms
from fairway.model import ObjectMeta
from fairway.testing import pod
from tests.live.batch_server import BatchServer, DyingDoor
from tests.live.desk_room import DeskRoom
from tests.live.virtual_clock import VirtualClock


class Letters(Outbox):
    """Keeps what is written last."""

    def __init__(self) -> None:
        super().__init__(DyingDoor(BatchServer()), VirtualClock(), lambda: True, sends=False)
        self.status: dict[str, Any] = {}

    def put(self, key: ObjectKey, status: Any, payload: Any = None, **how: Any) -> None:
        """A letter to whomever."""
        if key.kind is JobRecordObject:
            self.status = status()
        super().put(key, status, payload, **how)

    def sizes(self) -> tuple[str, str, str]:
        """The job's state; what it asks for, as `fairway jobs` has it; and what its record says."""
        record = read_record(JobRecordObject(metadata=ObjectMeta(name="it", namespace="default"), status=self.status))
        assert record is not None
        return self.status["state"], record_job(record, read_terms(self.status), 1e9, 0).size, self.status["size"]


def test_a_job_that_is_over_had_the_size_that_it_had() -> None:
    letters = Letters()
    room = DeskRoom({"q": {}}, (4,), outbox=letters)
    for number in range(3):
        said = {"fairway.dev/gang": "it", "fairway.dev/gang-size": "3", "fairway.dev/queue": "q"}
        said |= {"fairway.dev/duration": f"{10 + 10 * number}", "fairway.dev/time-limit": "100s"}
        room.come(pod(f"it-{number}", cpu=1, annotations=said))
    room.settle()
    assert letters.sizes() == ("Running", "3 × 1 cpu", "3 × 1 cpu")
    room.pass_time(15.0)
    room.settle()
    assert letters.sizes()[1:] == ("2 × 1 cpu", "3 × 1 cpu"), "what it still uses, and what it is"
    room.pass_time(30.0)
    room.settle()
    assert letters.sizes() == ("Finished", "3 × 1 cpu", "3 × 1 cpu")
