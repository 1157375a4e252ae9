"""What plugins ask to be written, sent to the API server.

In: a `Write`. Out: the object's resource version after it; `WriteError`, in the server's words, if it refuses or does
not answer. The scheduler's own service account has to be allowed to do it. Called by `pre_bind` and `LiveWorld`.
"""

from __future__ import annotations

import msgspec

from fairway.live.api.api_server import MERGE_PATCH, ApiServer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.watches.object_store import version_number
from fairway.model.writes import Create, Write, collection_path

__all__ = ["WriteError", "send"]


class WriteError(Exception):
    """It is not written, as far as we know."""


async def send(api: ApiServer, write: Write) -> int:
    """Do it; returns the resource version of the object then."""
    path = collection_path(write.api_version, write.kind, write.namespace)
    try:
        if isinstance(write, Create):
            answer = await api.request("POST", path, body=msgspec.json.encode(write.manifest))
        else:
            body = msgspec.json.encode(write.document())
            answer = await api.request("PATCH", f"{path}/{write.name}", body=body, content_type=MERGE_PATCH)
    except LiveProblem as problem:
        raise WriteError(problem.why) from problem
    if answer.status not in (200, 201):
        raise WriteError(status_message(answer.body) or f"the server answers {answer.status}")
    return version_number(msgspec.json.decode(answer.body)["metadata"]["resourceVersion"])
