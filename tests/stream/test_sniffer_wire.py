"""The sniffer's protocol, both ends: bytes by hand, many producers at once, and services that are slow or not there."""

import asyncio
import threading
from collections import Counter

import grpc
import grpc.aio
import pytest

from fairway.stream.address import Address
from fairway.stream.calls import unary_call
from fairway.stream.go_time import NANOSECONDS, parse_go_time
from fairway.stream.message import Message
from fairway.stream.sniffer_client import SnifferProducer, notify
from fairway.stream.sniffer_service import SEND, SnifferService
from fairway.stream.wire.sniffer_pb2 import SendRequest, SendResponse

TIME = "2024-04-21 20:54:05.171920853 +0000 UTC m=+78.753596979"


def by_hand(*fields: tuple[int, str]) -> bytes:
    """A message of strings, from the numbers of its fields: tag, length, text."""
    return b"".join(bytes([number << 3 | 2, len(text)]) + text.encode() for number, text in fields)


WHOLE = SendRequest(endpoint="e", pod="p", node="n", event="v", payload="l", timestamp=TIME)
VECTOR = by_hand((1, "e"), (2, "p"), (3, "n"), (4, "v"), (5, "l"), (6, TIME))


def test_bytes_are_those_of_the_field_numbers() -> None:
    assert WHOLE.SerializeToString() == VECTOR
    assert SendRequest.FromString(VECTOR) == WHOLE
    assert SendRequest(pod="only").SerializeToString() == by_hand((2, "only"))
    assert SendResponse().SerializeToString() == b""


def test_unknown_fields_are_ignored() -> None:
    assert SendRequest.FromString(VECTOR + by_hand((9, "new"))).pod == "p"


def sent(pod: str, timestamp: str = TIME) -> SendRequest:
    return SendRequest(endpoint="schedulePod", pod=pod, node="n1", event="ScheduleSuccess", timestamp=timestamp)


async def send_raw(port: int, data: bytes) -> None:
    """As a client that knows nothing but the method's name and its bytes."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/api.SnifferService/Send", request_serializer=bytes, response_deserializer=bytes)
        assert await call(data, timeout=20) == b""


def test_a_service_takes_from_two_hundred_producers_at_once() -> None:
    taken: list[Message] = []

    async def story() -> None:
        service = SnifferService(taken.append)
        port = await service.start("127.0.0.1:0")
        bodies = [by_hand((1, "preStop"), (2, f"pod-{number}"), (4, "preStop"), (6, TIME)) for number in range(200)]
        await asyncio.gather(*(send_raw(port, body) for body in bodies))
        await service.stop()
        assert service.num_taken == 200

    asyncio.run(story())
    assert Counter(message.name for message in taken) == Counter(f"pod-{number}" for number in range(200))
    assert taken[0] == Message("Pod", taken[0].name, "preStop", "preStop", timestamp=TIME)


def test_a_full_buffer_refuses_and_counts() -> None:
    entered, go_on = threading.Event(), threading.Event()
    taken: list[str] = []

    def take(message: Message) -> None:
        entered.set()
        assert go_on.wait(30)
        taken.append(message.name)

    async def story() -> None:
        service = SnifferService(take, most_waiting=2)
        port = await service.start("127.0.0.1:0")
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = unary_call(channel, SEND, SendResponse)
            await call(sent("a"), timeout=20)
            assert await asyncio.to_thread(entered.wait, 30)
            await call(sent("b"), timeout=20)
            await call(sent("c"), timeout=20)
            with pytest.raises(grpc.RpcError) as refused:
                await call(sent("d"), timeout=20)
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        go_on.set()
        await service.stop()
        assert (service.num_taken, service.num_refused) == (3, 1)

    asyncio.run(story())
    assert taken == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("request_", "code", "words"),
    [
        (sent("a", "noon"), grpc.StatusCode.INVALID_ARGUMENT, "timestamp 'noon' is no time"),
        (sent(""), grpc.StatusCode.INVALID_ARGUMENT, "pod is empty"),
        (sent("a" * 70_000), grpc.StatusCode.RESOURCE_EXHAUSTED, "larger than max"),
    ],
)
def test_what_is_no_message_is_refused(request_: SendRequest, code: grpc.StatusCode, words: str) -> None:
    taken: list[Message] = []

    async def story() -> None:
        service = SnifferService(taken.append)
        port = await service.start("127.0.0.1:0")
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.RpcError) as refused:
                await unary_call(channel, SEND, SendResponse)(request_, timeout=20)
            assert refused.value.code() is code
            assert words in str(refused.value.details())
            await unary_call(channel, SEND, SendResponse)(sent("good"), timeout=20)
        await service.stop()

    asyncio.run(story())
    assert [message.name for message in taken] == ["good"]


def test_a_taken_port_is_an_error_that_names_it() -> None:
    async def story() -> None:
        first, second = SnifferService(print), SnifferService(print)
        port = await first.start("127.0.0.1:0")
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            await second.start(f"127.0.0.1:{port}")
        await first.stop()

    asyncio.run(story())


def test_a_producer_sends_in_the_background_with_times_of_gos_form() -> None:
    taken: list[Message] = []
    counts: Counter[str] = Counter()
    clock = iter(range(5 * NANOSECONDS, 10 * NANOSECONDS, 1000))

    async def story() -> None:
        service = SnifferService(taken.append)
        port = await service.start("127.0.0.1:0")
        producer = SnifferProducer(
            Address("127.0.0.1", port), lambda: next(clock), lambda result, number: counts.update({result: number})
        )
        for number in range(300):
            producer.tell("bindingCycle", "BindingSuccess", f"pod-{number}", "n1")
        await asyncio.to_thread(producer.stop)
        await service.stop()

    asyncio.run(story())
    assert counts == {"sent": 300}
    assert {message.name for message in taken} == {f"pod-{number}" for number in range(300)}
    assert all(parse_go_time(message.timestamp).is_exact for message in taken)


def test_a_dead_service_holds_nobody_up_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    counts: Counter[str] = Counter()
    producer = SnifferProducer(
        Address("127.0.0.1", 1), lambda: NANOSECONDS, lambda result, number: counts.update({result: number})
    )
    for number in range(6000):
        producer.tell("schedulePod", "ScheduleSuccess", f"pod-{number}", "n1")
    producer.stop()
    assert counts.total() == 6000
    assert counts["sent"] == 0
    assert len([record for record in caplog.records if "is not told everything" in record.getMessage()]) == 1


def test_a_hook_is_told_what_went_wrong_and_never_raises() -> None:
    assert "UNAVAILABLE" in notify("127.0.0.1:1", WHOLE)
