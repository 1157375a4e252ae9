"""gRPC without generated servicers: handlers and calls from a service's name, a method's and its messages' types.

In: the types that `make protos` made. Out: what grpc wants to have. These few lines are all that a generated servicer
would be, and they are typed.
"""

from __future__ import annotations

from typing import Any, Protocol

import grpc

__all__ = ["handlers", "stream_call", "unary_call"]


class Wire(Protocol):
    """A message that knows its bytes."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - protobuf's name
        """Its bytes."""


def handlers(
    service: str, unary: dict[str, tuple[type[Any], Any]], streaming: dict[str, tuple[type[Any], Any]] | None = None
) -> grpc.GenericRpcHandler[Any, Any]:
    """The methods of a service: by name, the type of the request and the coroutine that answers; `streaming` ones
    answer in bytes, again and again.
    """
    methods: dict[str, Any] = {}
    for name, (request, answer) in unary.items():
        methods[name] = grpc.unary_unary_rpc_method_handler(answer, request.FromString, _bytes_of)
    for name, (request, answer) in (streaming or {}).items():
        methods[name] = grpc.unary_stream_rpc_method_handler(answer, request.FromString)
    return grpc.method_handlers_generic_handler(service, methods)


def unary_call(channel: Any, method: str, answer: type[Any]) -> Any:
    """A method that answers once, such as `/api.SnifferService/Send`; the channel may be of either kind."""
    return channel.unary_unary(method, request_serializer=_bytes_of, response_deserializer=answer.FromString)


def stream_call(channel: Any, method: str, answer: type[Any]) -> Any:
    """A method that answers again and again."""
    return channel.unary_stream(method, request_serializer=_bytes_of, response_deserializer=answer.FromString)


def _bytes_of(message: Wire) -> bytes:
    return message.SerializeToString()
