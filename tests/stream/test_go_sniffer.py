"""Programs of others, in Go and made from the protocol's field list, with our service and our producer."""

import asyncio

import pytest

from fairway.live.api.clock import wall_nanoseconds
from fairway.stream.address import parse_address
from fairway.stream.go_time import parse_go_time
from fairway.stream.message import Message
from fairway.stream.sniffer_client import SnifferProducer, notify
from fairway.stream.sniffer_service import SnifferService
from fairway.stream.wire.sniffer_pb2 import SendRequest
from tests.stream import go_sniffer

pytestmark = pytest.mark.slow
TIME = "2024-04-21 20:54:05.171920853 +0000 UTC m=+78.753596979"


def test_a_client_in_go_tells_our_service() -> None:
    taken: list[Message] = []
    told = [
        {"endpoint": "schedulePod", "pod": "a", "node": "n1", "event": "ScheduleSuccess", "timestamp": TIME},
        {"endpoint": "bindingCycle", "pod": "a", "node": "n1", "event": "BindingSuccess", "timestamp": TIME},
        {"pod": "b", "payload": "ignored", "event": "ünïcödé"},
    ]

    async def story() -> None:
        service = SnifferService(taken.append)
        port = await service.start("127.0.0.1:0")
        await asyncio.to_thread(go_sniffer.send, f"127.0.0.1:{port}", told)
        await service.stop()

    asyncio.run(story())
    assert taken == [
        Message("Pod", "a", "schedulePod", "ScheduleSuccess", "n1", timestamp=TIME),
        Message("Pod", "a", "bindingCycle", "BindingSuccess", "n1", timestamp=TIME),
        Message("Pod", "b", event="ünïcödé"),
    ]


def test_our_producer_tells_a_server_in_go() -> None:
    with go_sniffer.go_server() as server:
        producer = SnifferProducer(parse_address(server.address), wall_nanoseconds)
        for number in range(100):
            producer.tell("schedulePod", "ScheduleSuccess", f"pod-{number}", "n1")
        assert notify(server.address, SendRequest(endpoint="preStop", pod="hook", timestamp=TIME)) == ""
        messages = server.wait_for(101)
        producer.stop()
    assert {message["pod"] for message in messages} == {"hook", *(f"pod-{number}" for number in range(100))}
    assert all(parse_go_time(message["timestamp"]).is_exact for message in messages)
    assert {message["payload"] for message in messages} == {""}
