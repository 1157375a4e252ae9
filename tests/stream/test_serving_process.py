"""A stream that another process serves: what readers get, who answers them, and who takes its place when it ends."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest

from fairway.cycle import Outcome
from fairway.live.api.certificates import self_signed
from fairway.queue import Place
from fairway.record import Recorder, Scored
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.stream.noting import NoteTaker
from fairway.stream.serving.serving_process import MOST_UNSENT, ServingProcess
from fairway.stream.stream_recorder import StreamRecorder
from fairway.stream.surroundings import Surroundings, Tls
from fairway.stream.told import Event, Snapshot
from fairway.stream.watch_client import CannotWatchError, Followed, StreamAddress, explain, follow, watch_request
from fairway.testing import node, pod
from tests.kube.processes import wait_until
from tests.record.runs import placed, profile
from tests.stream.test_watch_service import HERE, only_alice, read_numbers, watch

SCHEDULER = "default-scheduler"


@contextmanager
def served(
    around: Surroundings = HERE, tls: Tls | None = None, most_unsent: int = MOST_UNSENT
) -> Iterator[tuple[ServingProcess, NoteTaker, str]]:
    process = ServingProcess("s", most_unsent)
    port = process.start("127.0.0.1:0", around, tls)
    try:
        yield process, NoteTaker(process.notes.append), f"127.0.0.1:{port}"
    finally:
        process.stop()


def first(address: StreamAddress | str) -> Followed:
    here = StreamAddress(address) if isinstance(address, str) else address
    return next(follow(here, watch_request(), lambda seconds: False))


def live_a_life(recorder: Recorder) -> None:
    """All that a recorder can be told."""
    small, large = node("n1", uid="u1", cpu=1), node("n1", uid="u1", cpu=4, labels={"disk": "ssd"})
    important, victim = pod("b", uid="b", cpu=1, priority=9), pod("a", uid="a", cpu=1, node="n1", priority=1)
    crowded = profile([small], [victim]).decide(important)
    assert crowded.outcome is Outcome.UNSCHEDULABLE
    recorder.node_added(0.0, small)
    recorder.pod_created(1.0, pod("a", uid="a", cpu=1, owner="Job/j", priority=1), SCHEDULER)
    recorder.queue_moved(1.0, SCHEDULER, "a", None, Place.ACTIVE, "PodAdd")
    recorder.queue_moved(1.5, SCHEDULER, "a", Place.ACTIVE, None, "Done")
    recorder.decided(2.0, SCHEDULER, 1, placed(victim, "n1"), 0.5, [Scored("n1", 90, {"NodeResourcesFit": 90})])
    recorder.bound(3.0, "a", "n1", "0-1")
    recorder.acknowledged(3.5, "a", 3.25)
    recorder.started(4.0, "a")
    recorder.pod_created(5.0, important, SCHEDULER)
    recorder.decided(5.0, SCHEDULER, 1, crowded, 0.25)
    recorder.queue_moved(5.0, SCHEDULER, "b", None, Place.UNSCHEDULABLE, "ScheduleAttemptFailure")
    recorder.leaves(6.0, "a")
    recorder.node_changed(7.0, large, NodeChange.RESIZED)
    recorder.resized(7.5, pod("a", uid="a", cpu=2))
    recorder.node_gone(8.0, "n1", NodeEnd.DELETED)
    recorder.lost(8.0, "a")
    recorder.node_added(9.0, large)
    recorder.regained(9.0, "a")
    recorder.ended(10.0, "a", PodEnd.PREEMPTED)


def test_it_tells_what_would_have_been_told_here() -> None:
    here = StreamRecorder("s")
    live_a_life(here)
    told = here.ring.read(1, 99).events
    assert len({type(event.what) for event in told}) == 7  # all but snapshots
    with served() as (_, recorder, address):
        following = follow(StreamAddress(address), watch_request(top_scores=9), lambda seconds: True)
        assert next(following).resume == "s:1"
        live_a_life(recorder)
        got: list[Event] = []
        for followed in following:
            assert followed.gap is None
            got += [event for _, event in followed.events]
            if len(got) >= len(told):
                break
        following.close()
    assert got == told


def test_a_stop_sends_what_there_is() -> None:
    with served() as (process, recorder, address), grpc.insecure_channel(address) as channel:
        call = watch(channel)
        assert next(call).resume == "s:1"
        for number in range(1000):
            recorder.node_added(1.0, node(f"n{number}"))
        process.stop()
        assert read_numbers(call, 1000) == list(range(1, 1001))
        with pytest.raises(grpc.RpcError) as over:
            next(call)
        assert over.value.code() is grpc.StatusCode.UNAVAILABLE
        process.start(address, HERE)  # for the one that stops it


def test_who_may_read_and_why_pods_wait_is_answered_here() -> None:
    async def why(name: str) -> bytes | None:
        return b'{"pod": "a"}' if name == "default/a" else None

    with served(Surroundings(now=HERE.now, refusal=only_alice, explain=why)) as (_, _, address):
        with pytest.raises(CannotWatchError, match="PERMISSION_DENIED: not bob"):
            first(StreamAddress(address, "bob"))
        assert first(StreamAddress(address, "alice")).resume == "s:1"
        assert explain(StreamAddress(address, "alice"), "default/a") == '{"pod": "a"}'
        with pytest.raises(CannotWatchError, match="NOT_FOUND"):
            explain(StreamAddress(address, "alice"), "default/b")


def test_an_answer_that_fails_is_no_end(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(name: str) -> bytes | None:
        raise ValueError(f"nothing is known of {name}")

    with served(Surroundings(now=HERE.now, explain=broken)) as (_, _, address):
        with pytest.raises(CannotWatchError, match="nothing is known of default/a"):
            explain(StreamAddress(address), "default/a")
        assert first(address).resume == "s:1"
    assert "a reader of the stream gets no answer" in caplog.text


def test_who_leads_is_known_there() -> None:
    leading = [False]
    with served(Surroundings(now=HERE.now, is_leading=lambda: leading[0])) as (_, _, address):
        with pytest.raises(CannotWatchError, match="this scheduler does not lead"):
            first(address)
        leading[0] = True
        assert first(address).resume == "s:1"
        with grpc.insecure_channel(address) as channel:
            call = watch(channel)
            next(call)
            leading[0] = False
            with pytest.raises(grpc.RpcError) as over:
                next(call)
            assert over.value.code() is grpc.StatusCode.UNAVAILABLE


def test_who_led_for_a_moment_only_is_not_taken_for_who_leads() -> None:
    leading = [False]

    def leads() -> bool:
        was, leading[0] = leading[0], False
        return was

    async def welcome(token: str) -> None:
        leading[0] = True  # for the one look that goes with this answer

    with (
        served(Surroundings(now=HERE.now, refusal=welcome, is_leading=leads)) as (_, _, address),
        grpc.insecure_channel(address) as channel,
        pytest.raises(grpc.RpcError) as over,
    ):
        list(watch(channel))
    assert over.value.code() is grpc.StatusCode.UNAVAILABLE


def is_read(address: StreamAddress | str) -> bool:
    try:
        return bool(first(address).resume)
    except CannotWatchError:
        return False


def test_how_it_stands_is_counted_here() -> None:
    counts: list[tuple[int, int, int]] = []
    lost: dict[str, int] = {}
    around = Surroundings(
        now=HERE.now,
        count=lambda *numbers: counts.append(numbers),
        count_lost=lambda why, number: lost.update({why: number}),
    )
    with served(around) as (_, recorder, address), grpc.insecure_channel(address) as channel:
        recorder.node_added(1.0, node("n"))
        call = watch(channel, resume="other:1")
        wait_until(lambda: counts[-1] == (1, 1, 1), "it is counted that somebody reads")
        call.cancel()
        again = node("n")
        for _ in range(66_000):
            recorder.node_changed(2.0, again, NodeChange.CHANGED)
        wait_until(lambda: counts[-1][1:] == (66_001, 65_536), "it is counted what is kept")
        gap = next(batch for batch in watch(channel, resume="s:2") if batch.HasField("gap")).gap
        assert gap.lost == 66_001 - 65_536 - 1
        wait_until(lambda: lost == {"too old": gap.lost}, "it is counted what was lost")


def test_a_certificate_that_is_replaced_is_served_from_then_on() -> None:
    pairs = [self_signed(), self_signed()]
    in_force = [pairs[0]]
    with served(tls=lambda: in_force[0]) as (_, _, address):
        before, after = (
            StreamAddress(address.replace("127.0.0.1", "localhost"), authority=certificate) for certificate, _ in pairs
        )
        assert (is_read(before), is_read(after)) == (True, False)
        in_force[0] = pairs[1]
        wait_until(lambda: is_read(after), "the new certificate is served")
        assert not is_read(before)


def test_a_taken_address_is_an_error_that_names_it() -> None:
    with served() as (_, _, address), pytest.raises(OSError, match=f"cannot listen on {address}"):
        ServingProcess("t").start(address, HERE)


def pid_of(process: ServingProcess) -> int:
    assert process.pid is not None
    return process.pid


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_all_of_a_group_do_not_end_it_before_its_time(number: signal.Signals) -> None:
    with served() as (process, recorder, address), grpc.insecure_channel(address) as channel:
        pid = pid_of(process)
        call = watch(channel)
        next(call)
        os.kill(pid, number)
        recorder.node_added(1.0, node("n1"))
        assert read_numbers(call, 1) == [1]
    assert not is_there(pid)


def standing(address: str) -> tuple[str, list[Snapshot]]:
    """How things stand there, and in which stream."""
    parts: list[Snapshot] = []
    following = follow(StreamAddress(address), watch_request(snapshot=True), lambda seconds: False)
    for followed in following:
        parts += [event.what for _, event in followed.events if isinstance(event.what, Snapshot)]
        if parts and parts[-1].is_last:
            following.close()
            return followed.resume.partition(":")[0], parts
    raise AssertionError("the stream ended")


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_another_takes_its_place_and_knows_how_things_stand(how: str, caplog: pytest.LogCaptureFixture) -> None:
    most_unsent = MOST_UNSENT if how == "killed" else 200_000
    with served(most_unsent=most_unsent) as (process, recorder, address):
        live_a_life(recorder)
        recorder.pod_created(11.0, pod("c", uid="c", cpu=3), SCHEDULER)
        recorder.bound(12.0, "c", "n1")
        wait_until(lambda: len(standing(address)[1][0].bound) == 1, "all of it was told")
        name, before = standing(address)
        assert name == "s"
        pid = pid_of(process)
        os.kill(pid, signal.SIGKILL if how == "killed" else signal.SIGSTOP)

        def is_other() -> bool:
            for _ in range(1000 if how == "stopped" else 0):  # until more waits than may
                recorder.node_changed(13.0, node("n1", uid="u1", cpu=4, labels={"disk": "ssd"}), NodeChange.RESIZED)
            return process.pid not in (pid, None) and is_read(address)

        wait_until(is_other, "another process serves")
        recorder.pod_created(14.0, pod("d", uid="d"), SCHEDULER)
        recorder.queue_moved(14.0, SCHEDULER, "d", None, Place.ACTIVE, "PodAdd")
        wait_until(lambda: len(standing(address)[1][0].queue) == 2, "it is told what happens next")
        name, after = standing(address)
        assert name != "s"
        assert [len(part.nodes) for part in after] == [1]
        assert [part.bound for part in after] == [part.bound for part in before]
        assert [one.pod.name for part in after for one in part.queue] == ["b", "d"]
        recorder.ended(15.0, "c", PodEnd.SUCCEEDED)
        wait_until(lambda: standing(address)[1][0].bound == (), "a pod that was bound before has left")
        assert not is_there(pid)
    assert "the stream's process is replaced" in caplog.text


def test_what_can_not_be_written_is_said_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with served() as (_, recorder, address), grpc.insecure_channel(address) as channel:
        call = watch(channel)
        next(call)
        recorder.node_added(1.0, node("n1"))
        recorder.node_gone(1.0, "\ud800", NodeEnd.DELETED)
        recorder.node_added(1.0, node("n2"))
        assert read_numbers(call, 2) == [1, 2]
        call.cancel()
    assert "something can not be told on the stream: node_gone" in caplog.text


def test_nobody_waits_for_it() -> None:
    """A process that takes nothing holds neither the one that appends nor the one that sends."""
    with served() as (process, recorder, _):
        pid = pid_of(process)
        os.kill(pid, signal.SIGSTOP)
        for number in range(20_000):
            recorder.node_gone(1.0, f"n{number}", NodeEnd.DELETED)
        wait_until(lambda: not process.notes, "notes are taken all the same")
        os.kill(pid, signal.SIGCONT)
