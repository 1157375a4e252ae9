"""Every waiting job has one reason, and a way out: taking away what the reason names changes it, or starts the job.

A job is given any of the things that keep jobs waiting, all at once. The reason has to be the first of them in the
order of the closed list; then that one thing is taken away, and so on until nothing is left and the job runs. What else
keeps jobs joins by one more entry in `HINDRANCES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.reasons import JobState, Reason
from fairway.model import Pod
from fairway.model.pod import PodSchedulingGate
from tests.batch.room import Room, job

BEGIN = 50.0
FIRST = "j-0"


def _change(room: Room, **parts: Any) -> None:
    api = room.simulation.api
    for pod in api.objects("Pod"):
        if pod.metadata.name.startswith("j-") and not pod.spec.node_name:
            meta, spec = pod.metadata, pod.spec
            if "without" in parts:
                kept = {key: value for key, value in meta.annotations.items() if key != parts["without"]}
                meta = msgspec.structs.replace(meta, annotations=kept)
            if parts.get("opens"):
                spec = msgspec.structs.replace(spec, scheduling_gates=())
            api.update(msgspec.structs.replace(pod, metadata=meta, spec=spec))


def _remove(room: Room, prefix: str) -> None:
    api = room.simulation.api
    for pod in api.objects("Pod"):
        if pod.metadata.name.startswith(prefix):
            api.remove(pod)


def _add_member(room: Room) -> None:
    api = room.simulation.api
    first = api.find("Pod", "default", FIRST)
    assert first is not None
    api.create(msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, name="j-1", uid="")))


HINDRANCES: dict[Reason, Callable[[Room], None]] = {
    Reason.HELD: lambda room: _change(room, without="fairway.dev/hold"),
    Reason.GATED: lambda room: _change(room, opens=True),
    Reason.GANG_INCOMPLETE: _add_member,
    Reason.BEGIN_TIME: lambda room: room.until(BEGIN + 1.0),
    Reason.RESOURCES: lambda room: _remove(room, "full"),
}
"""What keeps a job, in the order of the list, and how it is taken away."""


def hindered(kinds: set[Reason]) -> Room:
    said: dict[str, str] = {}
    if Reason.HELD in kinds:
        said["hold"] = "true"
    if Reason.BEGIN_TIME in kinds:
        said["begin"] = f"+{BEGIN:g}s"
    if Reason.GANG_INCOMPLETE in kinds:
        said |= {"gang": "j", "gang_size": "2"}
    pod: Pod = job(FIRST, 1, 500.0, 600.0, **said)
    if Reason.GATED in kinds:
        gates = (PodSchedulingGate(name="example.com/later"),)
        pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=gates))
    others = [job(f"full-{number}", 4, 900.0, 900.0) for number in range(1)] if Reason.RESOURCES in kinds else []
    return Room([*((0.0, each) for each in others), (1.0, pod)], (4,))


@settings(max_examples=32, deadline=None)
@given(kinds=st.sets(st.sampled_from(list(HINDRANCES))))
def test_taking_away_what_the_reason_names_leads_to_the_next_one_and_then_to_a_start(kinds: set[Reason]) -> None:
    room = hindered(kinds)
    room.until(2.0)
    key = "default/j" if Reason.GANG_INCOMPLETE in kinds else f"default/{FIRST}"
    left = [reason for reason in Reason if reason in kinds]
    while left:
        found = room.desk.book.find(key)
        assert found is not None
        assert (found.state, found.standing.reason) == (JobState.QUEUED, left[0])
        HINDRANCES[left.pop(0)](room)
        room.until(room.simulation.timeline.now() + 31.0)
        if room.simulation.timeline.now() > BEGIN and Reason.BEGIN_TIME in left:
            left.remove(Reason.BEGIN_TIME)
    found = room.desk.book.find(key)
    assert found is not None
    assert found.state is JobState.RUNNING


@settings(max_examples=20, deadline=None)
@given(before=st.integers(0, 4), gone=st.integers(0, 4))
def test_whoever_is_behind_others_says_how_many_and_moves_up_as_they_go(before: int, gone: int) -> None:
    arrivals = [(0.0, job("full", 4, 900.0, 900.0))]
    arrivals += [(1.0 + number, job(f"ahead-{number}", 4, 10.0, 10.0)) for number in range(before)]
    room = Room([*arrivals, (20.0, job(FIRST, 4, 10.0, 10.0))], (4,))
    room.until(25.0)
    for number in range(min(gone, before)):
        _remove(room, f"ahead-{number}")
    room.until(60.0)
    left = max(before - gone, 0)
    standing = room.find(FIRST).standing
    assert standing.reason is (Reason.PRIORITY if left else Reason.RESOURCES)
    assert standing.detail.get("jobs", 0) == left
