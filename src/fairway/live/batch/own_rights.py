"""Whether we may do something, as the API server itself says.

In: a verb and a resource. Out: yes or no, before anything is begun that could not be brought to its end. A server that
does not know such questions is taken to allow it: the request itself will tell. Called by `batch_service`.
"""

from __future__ import annotations

import msgspec

from fairway.live.api.api_server import ApiServer

__all__ = ["may"]

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def may(api: ApiServer, verb: str, resource: str) -> bool:
    """In all namespaces. Raises `LiveProblem` if nobody answers."""
    asked = {"resourceAttributes": {"verb": verb, "resource": resource, "version": "v1"}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": asked}
    answer = await api.request("POST", PATH, body=msgspec.json.encode(body))
    if answer.status != 201:
        return True
    return bool(msgspec.json.decode(answer.body).get("status", {}).get("allowed", True))
