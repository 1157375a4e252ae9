"""The service of decisions over a real connection: batches, resumes, gaps, limits, who may read, and how it ends."""

import itertools
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from fairway.stream.calls import stream_call
from fairway.stream.ring import Ring
from fairway.stream.stream_recorder import StreamRecorder
from fairway.stream.surroundings import ReadingRefused, Surroundings, Tls
from fairway.stream.told import Event, NodeSeen, PodSeen
from fairway.stream.watch_client import (
    CannotWatchError,
    Followed,
    StreamAddress,
    explain,
    follow,
    watch_request,
)
from fairway.stream.watch_service import MOST_READERS, WATCH, WatchService
from fairway.stream.wire import decisions_pb2 as wire
from fairway.testing import node, pod

SECONDS = 60
HERE = Surroundings(now=lambda: 1_700_000_000_000_000_000)


@contextmanager
def serving(
    recorder: StreamRecorder, around: Surroundings = HERE, tls: Tls | None = None, patience: float = 30.0
) -> Iterator[tuple[WatchService, str]]:
    service = WatchService(recorder, around, patience)
    port = service.start("127.0.0.1:0", tls)
    try:
        yield service, f"127.0.0.1:{port}"
    finally:
        service.stop()


def send(recorder: StreamRecorder, number: int) -> None:
    for _ in range(number):
        recorder.node_added(1.0, node(f"n{recorder.ring.next}"))


def watch(channel: grpc.Channel, **request: Any) -> Any:
    return stream_call(channel, WATCH, wire.Batch)(wire.WatchRequest(**request), timeout=SECONDS)


def read_numbers(call: Any, until: int) -> list[int]:
    numbers: list[int] = []
    for batch in call:
        assert not batch.HasField("gap")
        numbers += [event.sequence for event in batch.events]
        if numbers and numbers[-1] >= until:
            return numbers
    raise AssertionError("the stream ended")


def test_a_reader_gets_everything_from_now_on() -> None:
    recorder = StreamRecorder("s")
    send(recorder, 5)
    with serving(recorder) as (_, address), grpc.insecure_channel(address) as channel:
        call = watch(channel)
        assert next(call).resume == "s:6"  # it is there: nothing is missed after this
        send(recorder, 1000)
        assert read_numbers(call, 1005) == list(range(6, 1006))
        call.cancel()


def test_a_broken_connection_is_no_loss() -> None:
    recorder = StreamRecorder("s")
    with serving(recorder) as (_, address):
        resume, numbers = "s:1", []
        for _ in range(4):
            send(recorder, 300)
            with grpc.insecure_channel(address) as channel:
                for batch in watch(channel, resume=resume):
                    numbers += [event.sequence for event in batch.events]
                    resume = batch.resume
                    if batch.events:
                        break
        with grpc.insecure_channel(address) as channel:
            numbers += read_numbers(watch(channel, resume=resume), 1200)
    assert numbers == list(range(1, 1201))


def test_a_gap_is_told_and_counted() -> None:
    lost: dict[str, int] = {}
    around = Surroundings(now=HERE.now, count_lost=lambda why, number: lost.update({why: number}))
    recorder = StreamRecorder("s", Ring[Event](100))
    send(recorder, 1000)
    with serving(recorder, around) as (_, address), grpc.insecure_channel(address) as channel:
        batches = list(itertools.islice(watch(channel, resume="s:11"), 2))
    gap = batches[1].gap
    assert batches[0].resume == ""
    assert (gap.lost, gap.from_sequence, gap.to_sequence, gap.why) == (890, 11, 900, "too old")
    assert [event.sequence for event in batches[1].events] == list(range(901, 1001))
    assert lost == {"too old": 890}


def test_how_things_stand_comes_in_parts_of_a_bearable_size() -> None:
    recorder = StreamRecorder("s")
    send(recorder, 1200)
    with serving(recorder) as (_, address), grpc.insecure_channel(address) as channel:
        batches = list(itertools.islice(watch(channel, snapshot=True), 4))
    parts = [event.snapshot for batch in batches for event in batch.events]
    assert [len(part.nodes) for part in parts] == [500, 500, 200]
    assert [part.is_last for part in parts] == [False, False, True]
    assert [batch.resume for batch in batches] == ["", "", "", "s:1201"]


def test_large_batches_are_divided() -> None:
    recorder = StreamRecorder("s")
    for _ in range(40):
        recorder.ring.append(Event(0.0, NodeSeen("n" * 100_000, "", "", True, False, {})), 1)
    with serving(recorder) as (_, address), grpc.insecure_channel(address) as channel:
        sizes, numbers, resumes = [], [], []
        for batch in watch(channel, resume="s:1"):
            sizes.append(batch.ByteSize())
            numbers += [event.sequence for event in batch.events]
            resumes.append(batch.resume)
            if batch.resume == "s:41":
                break
        after = read_numbers(watch(channel, resume=resumes[1]), 40)
    assert max(sizes) < 2 << 20
    assert numbers == list(range(1, 41))
    assert after == numbers[numbers.index(int(resumes[1].split(":")[1])) :]


def test_filters_reach_the_reader() -> None:
    recorder = StreamRecorder("s")
    with serving(recorder) as (_, address), grpc.insecure_channel(address) as channel:
        call = watch(channel, kinds=[wire.KIND_POD_SEEN], pod_glob="b*")
        next(call)
        for name in ("a", "b"):
            recorder.node_added(0.0, node(name))
            recorder.pod_created(0.0, pod(name), "x")
        found = next(batch for batch in call if batch.events)
        assert [event.pod.pod.name for event in found.events] == ["b"]
        assert found.resume == "s:5"


def test_no_more_readers_than_there_is_room_for() -> None:
    recorder = StreamRecorder("s")
    with serving(recorder) as (service, address), grpc.insecure_channel(address) as channel:
        calls = [watch(channel) for _ in range(MOST_READERS)]
        for call in calls:
            next(call)
        assert service.num_readers == MOST_READERS
        with pytest.raises(grpc.RpcError) as refused:
            next(watch(channel))
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        calls[0].cancel()
        send(recorder, 3)
        assert read_numbers(calls[1], 3) == [1, 2, 3]


def test_who_does_not_read_is_sent_away_and_holds_nobody_up() -> None:
    recorder = StreamRecorder("s")
    with serving(recorder, patience=2.0) as (service, address), connected(address) as idle, connected(address) as keen:
        stopped, reading = watch(idle), watch(keen)
        next(stopped)
        next(reading)
        for _ in range(20_000):
            recorder.ring.append(Event(0.0, NodeSeen("n" * 1000, "", "", True, False, {})), 1)
        assert read_numbers(reading, 20_000) == list(range(1, 20_001))
        with pytest.raises(grpc.RpcError) as ended:
            wait_for_end(service, stopped)
        assert ended.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "nothing was read for 2 s" in str(ended.value.details())


def connected(address: str) -> grpc.Channel:
    """A connection of its own, which shares nothing with others in this process."""
    return grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])


def wait_for_end(service: WatchService, call: Any) -> None:
    """Reads nothing until the service has sent it away; then what is on its way, and how it ended."""
    pause = threading.Event()
    for _ in range(10 * SECONDS // 2):
        if service.num_readers == 1:
            break
        pause.wait(0.1)
    for _ in call:
        pass


# -- who may ----------------------------------------------------------------------------------------------------------


async def only_alice(token: str) -> ReadingRefused | None:
    return None if token == "alice" else ReadingRefused(403 if token else 401, f"not {token or 'nobody'}")


def test_who_may_not_read_is_told_why() -> None:
    around = Surroundings(now=HERE.now, refusal=only_alice)
    with serving(StreamRecorder("s"), around) as (_, address):
        for token, words in (("bob", "PERMISSION_DENIED: not bob"), ("", "UNAUTHENTICATED: not nobody")):
            with pytest.raises(CannotWatchError, match=words) as refused:
                next(follow(StreamAddress(address, token), watch_request(), lambda seconds: False))
            assert refused.value.is_refusal
            with pytest.raises(CannotWatchError, match=words):
                explain(StreamAddress(address, token), "default/a")
        assert next(follow(StreamAddress(address, "alice"), watch_request(), lambda seconds: False)).resume == "s:1"


def test_a_scheduler_that_does_not_lead_has_no_stream() -> None:
    around = Surroundings(now=HERE.now, is_leading=lambda: False)
    with serving(StreamRecorder("s"), around) as (_, address):
        with pytest.raises(CannotWatchError, match="UNAVAILABLE: this scheduler does not lead") as refused:
            next(follow(StreamAddress(address), watch_request(), lambda seconds: False))
        assert not refused.value.is_refusal


def test_over_tls() -> None:
    from fairway.live.api.certificates import self_signed  # noqa: PLC0415

    certificate, key = self_signed()
    with serving(StreamRecorder("s"), tls=lambda: (certificate, key)) as (_, address):
        here = StreamAddress(address.replace("127.0.0.1", "localhost"), authority=certificate)
        assert next(follow(here, watch_request(), lambda seconds: False)).resume == "s:1"
        with pytest.raises(CannotWatchError, match="UNAVAILABLE"):
            next(follow(StreamAddress(address), watch_request(), lambda seconds: False))


def test_a_certificate_that_is_replaced_is_served_from_then_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from fairway.live.api.certificate_files import CertificateFiles  # noqa: PLC0415
    from fairway.live.api.certificates import BadCertificate, self_signed  # noqa: PLC0415

    cert_file, key_file = tmp_path / "tls.crt", tmp_path / "tls.key"
    first, second = self_signed(), self_signed()

    def write(pair: tuple[bytes, bytes], at: int) -> None:
        for path, data in zip((cert_file, key_file), pair, strict=True):
            path.write_bytes(data)
            os.utime(path, (at, at))

    write(first, 1)
    with serving(StreamRecorder("s"), tls=CertificateFiles(str(cert_file), str(key_file))) as (_, address):

        def is_served(certificate: bytes) -> bool:
            here = StreamAddress(address.replace("127.0.0.1", "localhost"), authority=certificate)
            try:
                return next(follow(here, watch_request(), lambda seconds: False)).resume == "s:1"
            except CannotWatchError:
                return False

        assert (is_served(first[0]), is_served(second[0])) == (True, False)
        write(second, 2)
        assert (is_served(first[0]), is_served(second[0])) == (False, True)
        write((first[0], second[1]), 3)  # they do not belong together
        assert is_served(second[0])
        assert "the certificate for streaming is kept" in caplog.text
        cert_file.unlink()
        assert is_served(second[0])
    with pytest.raises(BadCertificate, match="can not be used"):
        CertificateFiles(str(cert_file), str(key_file))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"resume": "nonsense"}, "'nonsense' is no token"),
        ({"resume": "s:7"}, "is ahead of the stream"),
        ({"kinds": [77]}, "this version knows none of"),
    ],
)
def test_what_can_not_be_asked_for(request_: dict[str, Any], words: str) -> None:
    with serving(StreamRecorder("s")) as (_, address), grpc.insecure_channel(address) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            next(watch(channel, **request_))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert words in str(refused.value.details())


def test_a_pod_is_explained() -> None:
    async def why(name: str) -> bytes | None:
        return json.dumps({"pod": name}).encode() if name == "default/a" else None

    with serving(StreamRecorder("s"), Surroundings(now=HERE.now, explain=why)) as (_, address):
        assert json.loads(explain(StreamAddress(address), "default/a")) == {"pod": "default/a"}
        with pytest.raises(CannotWatchError, match="NOT_FOUND: there is no pod 'b'"):
            explain(StreamAddress(address), "b")


def test_a_taken_port_is_an_error_that_names_it() -> None:
    with serving(StreamRecorder("s")) as (_, address), pytest.raises(OSError, match=f"cannot listen on {address}"):
        WatchService(StreamRecorder("t"), HERE).start(address)


# -- following --------------------------------------------------------------------------------------------------------


def test_following_goes_on_with_the_next_leader() -> None:
    """The first process ends, another takes its place: a gap, how things stand, and on."""
    first, second = StreamRecorder("one"), StreamRecorder("two")
    service = WatchService(first, HERE)
    port = service.start("127.0.0.1:0")
    address = f"127.0.0.1:{port}"
    later: list[WatchService] = []
    said: list[str] = []

    def change_leaders(_: float) -> bool:
        if not later:
            send(second, 3)
            later.append(WatchService(second, HERE))
            later[0].start(address)
        return True

    followed = follow(StreamAddress(address), watch_request(snapshot=True), change_leaders, said.append)
    try:
        assert next(followed).resume == ""
        assert next(followed).resume == "one:1"
        send(first, 2)
        assert [number for number, _ in until_events(followed).events] == [1, 2]
        service.stop()
        batch = until_events(followed)
        assert batch.gap is not None
        assert (batch.gap.lost, batch.gap.why, batch.resume) == (3, "other leader", "two:4")
        send(second, 1)
        assert [number for number, _ in until_events(followed).events] == [4]
    finally:
        followed.close()
        for one in later:
            one.stop()
    assert "the stream is over" in said[0]


def until_events(followed: Iterator[Followed]) -> Followed:
    return next(batch for batch in followed if batch.events)


def test_times_have_a_beginning_on_a_real_clock() -> None:
    around = Surroundings(now=HERE.now, origin=1_600_000_000_123_456_789)
    recorder = StreamRecorder("s")
    with serving(recorder, around) as (_, address):
        followed = follow(StreamAddress(address), watch_request(resume="s:1"), lambda seconds: False)
        next(followed)
        recorder.pod_created(2.5, pod("a", uid="a"), "x")
        batch = until_events(followed)
        followed.close()
    assert batch.origin == 1_600_000_000_123_456_789
    (_, event), *_ = batch.events
    assert (event.time_seconds, type(event.what)) == (2.5, PodSeen)


def test_counts_are_told() -> None:
    told = threading.Event()
    counts: list[tuple[int, int, int]] = []

    def count(readers: int, events: int, kept: int) -> None:
        counts.append((readers, events, kept))
        if readers:
            told.set()

    recorder = StreamRecorder("s", Ring[Event](4))
    send(recorder, 9)
    around = Surroundings(now=HERE.now, count=count)
    with serving(recorder, around) as (_, address), grpc.insecure_channel(address) as channel:
        call = watch(channel)
        next(call)
        assert told.wait(SECONDS)
    assert counts[-1] == (1, 9, 4)
