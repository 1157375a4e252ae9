"""What can go wrong between Fairway and an API server, in words: what happened, why, what to do next.

In: a refused or failed request. Out: a `LiveProblem`, whose text the command line prints and whose `exit_code` it
returns. `connection` raises them; `problem_of` makes one from an answer of the API server, naming the verb and the
resource that a role is missing. Nothing here ever holds a token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fairway.exit_codes import UNREACHABLE
from fairway.model import DecodeError
from fairway.model.nesting import check_nesting
from fairway.words import excerpt

__all__ = [
    "OLDEST_SERVER",
    "BrokenKubeconfig",
    "Forbidden",
    "LiveProblem",
    "NoKubeconfig",
    "Target",
    "Unauthorized",
    "Unreachable",
    "UnsupportedServer",
    "check_version",
    "problem_of",
    "status_message",
    "target_of",
]

OLDEST_SERVER = (1, 30)
"""Older servers lack scheduling gates and serve other versions of what the plugins read."""

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class LiveProblem(Exception):  # noqa: N818 - it is shown to people as what it is
    """Something between us and the cluster; we can not go on. Its text has one line for each of the three."""

    exit_code: int = UNREACHABLE

    def __init__(self, what: str, why: str, fix: str) -> None:
        self.what, self.why, self.fix = map(excerpt, (what, why, fix))  # they quote files and servers
        super().__init__("\n  ".join((self.what, self.why, self.fix) if self.why else (self.what, self.fix)))


class NoKubeconfig(LiveProblem):
    """Nothing says which cluster is meant."""

    def __init__(self, looked_at: str) -> None:
        super().__init__(
            "no cluster to talk to",
            f"there is no kubeconfig at {looked_at}, and this is not a pod of a cluster",
            "give --kubeconfig FILE, set KUBECONFIG, or run inside a cluster with a service account",
        )


class BrokenKubeconfig(LiveProblem):
    """The file is there and does not work: unreadable, another format, no such context, a failing exec plugin."""

    def __init__(self, path: str, why: str, contexts: tuple[str, ...] = (), fix: str = "") -> None:
        listed = f"it has these contexts: {', '.join(contexts)}" if contexts else "check it with: kubectl config view"
        super().__init__(f"the kubeconfig {path} can not be used", why, fix or listed)


class Unreachable(LiveProblem):
    """No answer: refused, reset, timed out, no such host, a certificate that is not trusted."""

    def __init__(self, url: str, why: str) -> None:
        fix = "is the API server up, and is this its address? check with: kubectl version"
        self.is_lasting = "certificate" in why.lower()  # trying again will not help
        if self.is_lasting:
            fix = "the kubeconfig's certificate-authority has to be the one that signed the server's certificate"
        super().__init__(f"the API server at {url} can not be reached", why, fix)


class Unauthorized(LiveProblem):
    """401: the credentials are not, or no longer, good."""

    def __init__(self, url: str, why: str = "") -> None:
        super().__init__(
            f"the API server at {url} does not accept our credentials",
            why or "the token or client certificate has expired, was revoked, or belongs to another cluster",
            "log in again, or renew the kubeconfig; inside a cluster: is the service account still there?",
        )


@dataclass(frozen=True, slots=True)
class Target:
    """What a request wants, in the words of RBAC."""

    verb: str
    resource: str  # with subresource: pods/binding
    group: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # only of requests that are not about a resource

    def __str__(self) -> str:
        if self.path:
            return f"{self.verb} {self.path}"
        group = f".{self.group}" if self.group else ""
        resource, _, sub = self.resource.partition("/")
        what = f"{resource}{group}/{sub}" if sub else f"{resource}{group}"
        where = f" in namespace {self.namespace}" if self.namespace else " in all namespaces"
        return f"{self.verb} {what}{where}"


class Forbidden(LiveProblem):
    """403: who we are is known, and may not do this."""

    def __init__(self, target: Target, user: str = "", why: str = "") -> None:
        who = f"{user} may not" if user else "we may not"
        verbs = "list,watch" if target.verb in ("list", "watch") else target.verb  # nobody needs one without the other
        options = f"--verb={verbs} --resource={target.resource.partition('/')[0]}"
        if target.group:
            options += f".{target.group}"
        if "/" in target.resource:
            options += f"/{target.resource.partition('/')[2]}"
        kind = "role" if target.namespace else "clusterrole"
        fix = f"allow it: kubectl create {kind} NAME {options}, bound to that user; or use the chart's roles"
        super().__init__(f"not allowed: {who} {target}", why, fix if not target.path else "ask for access to that path")
        self.target = target


class UnsupportedServer(LiveProblem):
    """A server of a version that Fairway does not know how to talk to."""

    def __init__(self, url: str, version: str) -> None:
        oldest = ".".join(map(str, OLDEST_SERVER))
        super().__init__(
            f"the API server at {url} is Kubernetes {version}",
            f"Fairway needs {oldest} or newer",
            "upgrade the cluster, or try the scheduler against a snapshot of it: fairway sim",
        )


# -- from answers ------------------------------------------------------------------------------------------------------


def problem_of(url: str, method: str, path: str, status: int, body: bytes) -> LiveProblem | None:
    """The problem that an answer tells of, if it is one of who we are or what we may do."""
    message = status_message(body)
    if status == 401:
        return Unauthorized(url)
    if status != 403:
        return None
    user = re.search(r'User "([^"]*)"', message)
    return Forbidden(target_of(method, path), user[1] if user else "", message)


def status_message(body: bytes) -> str:
    """The sentence of a `Status` object; or the beginning of whatever came instead."""
    try:
        check_nesting(body, "")
        found = msgspec.json.decode(body)
    except (DecodeError, msgspec.DecodeError, UnicodeDecodeError):
        return body[:200].decode(errors="replace").strip()
    return str(found.get("message", "")) if isinstance(found, dict) else ""


def target_of(method: str, path: str, query: Mapping[str, Any] | None = None) -> Target:
    """Read a request's path as the API server's RequestInfo does."""
    path, _, text = path.partition("?")
    watching = str((query or {}).get("watch", "")).lower() in ("true", "1") or "watch=true" in text
    parts = path.strip("/").split("/")
    group = ""
    if parts[0] == "api" and len(parts) > 2:
        rest = parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return Target(VERBS.get(method, "get"), "", path=path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] != "status":
        namespace, rest = rest[1], rest[2:]
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    if len(rest) > 2:
        resource = f"{resource}/{'/'.join(rest[2:])}"
    verb = VERBS.get(method) or ("get" if name else "watch" if watching else "list")
    if method == "DELETE" and not name:
        verb = "deletecollection"
    return Target(verb, resource, group, namespace, name)


def check_version(url: str, body: bytes) -> tuple[int, int]:
    """The server's version from `/version`; raises `UnsupportedServer` if it is too old or not readable."""
    try:
        check_nesting(body, "")
        found = msgspec.json.decode(body)
        text = str(found["gitVersion"])
        major, minor = int(found["major"]), int(re.match(r"\d+", found["minor"])[0])  # type: ignore[index]
    except (DecodeError, msgspec.DecodeError, KeyError, TypeError, ValueError):
        raise UnsupportedServer(url, "of an unknown version") from None
    if (major, minor) < OLDEST_SERVER:
        raise UnsupportedServer(url, text)
    return major, minor
