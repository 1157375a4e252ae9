"""Who may ask this process something: decided by the API server, as kube-scheduler has it decided.

In: a request's path, verb and bearer token. Out: None, or who asks, if it is allowed; else the status and the sentence
to refuse it with. `DelegatedAccess` asks by TokenReview and SubjectAccessReview and remembers the answers for ten
seconds, tokens only as hashes; strangers can make it ask only so often, and those it has known good lately have turns
of their own. `LoopbackAccess` is for a server that only this machine can reach. `http_server` asks.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.api.rate_limit import RateLimit

__all__ = ["Access", "Asked", "DelegatedAccess", "LoopbackAccess", "NoAccess", "User"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

CACHE_SECONDS = 10.0
MAX_CACHED = 4096
KNOWN_SECONDS = 3600.0
REVIEWS_PER_SECOND, REVIEW_BURST = 20.0, 40
"""Of each kind of people: those known good, and strangers."""

LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "[::1]"))


@dataclass(frozen=True, slots=True)
class User:
    """Somebody the API server knows."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants."""

    path: str
    verb: str  # the HTTP method in lower case
    host: str = ""  # the Host header
    token: str = field(default="", repr=False)  # never shown


@dataclass(frozen=True, slots=True)
class NoAccess:
    """Why not."""

    status: int
    message: str


class Access(Protocol):
    """Decides who may ask what."""

    async def refusal(self, asked: Asked) -> NoAccess | None:
        """None: go ahead."""


class LoopbackAccess:
    """Everybody on this machine may. Names other than this machine's own are refused: a web page that had its own name
    point here would otherwise speak with us through its visitor's browser.
    """

    async def refusal(self, asked: Asked) -> NoAccess | None:
        """None: go ahead."""
        host = asked.host.rsplit(":", 1)[0] if not asked.host.endswith("]") else asked.host
        if host in LOCAL_HOSTS:
            return None
        return NoAccess(403, f'forbidden: this server is for this machine only, not for "{host}"')

    async def admitted(self, asked: Asked) -> User | NoAccess:
        """They are all one."""
        return await self.refusal(asked) or ANONYMOUS


class DelegatedAccess:
    """The API server knows who somebody is, and what they may do."""

    def __init__(self, api: ApiServer, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._users: _Remembered[User | None] = _Remembered(clock)
        self._verdicts: _Remembered[bool] = _Remembered(clock)
        self._known_good: _Remembered[None] = _Remembered(clock, KNOWN_SECONDS)  # tokens that opened something
        self._turns = {known: RateLimit(REVIEWS_PER_SECOND, REVIEW_BURST, clock) for known in (True, False)}

    async def refusal(self, asked: Asked) -> NoAccess | None:
        """None: go ahead."""
        found = await self.admitted(asked)
        return found if isinstance(found, NoAccess) else None

    async def admitted(self, asked: Asked) -> User | NoAccess:
        """The same, and who it is."""
        if not asked.token.isascii():  # nobody's, and what it is made of may not be text at all
            return NoAccess(401, "Unauthorized")
        key = hashlib.sha256(asked.token.encode()).hexdigest() if asked.token else ""
        turns = self._turns[self._known_good.recall(key) is not None]
        try:
            found = await self._admitted(asked, key, turns)
        except _TooMany:
            return NoAccess(429, "too many requests have to be reviewed; try again later")
        if isinstance(found, User) and key:
            self._known_good.remember(key, None)
        return found

    async def _admitted(self, asked: Asked, key: str, turns: RateLimit) -> User | NoAccess:
        try:
            user = await self._user(asked.token, key, turns) if asked.token else ANONYMOUS
            if user is None:
                return NoAccess(401, "Unauthorized")
            if MASTERS in user.groups or await self._may(user, asked, turns):
                return user
        except (LiveProblem, _ReviewFailed) as problem:
            logger.warning("access to %s can not be decided: %s", asked.path, problem)
            return NoAccess(500, f'Internal Server Error: "{asked.path}": the API server can not be asked')
        return NoAccess(403, f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"')

    async def _user(self, token: str, key: str, turns: RateLimit) -> User | None:
        """Whose token is it? None: nobody's."""
        known = self._users.recall(key)
        if known is not None:
            return known[0]
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        status = await self._review("/apis/authentication.k8s.io/v1/tokenreviews", review, turns)
        user = None
        if status.get("authenticated"):
            found = status.get("user") or {}
            extra = {name: tuple(values) for name, values in (found.get("extra") or {}).items()}
            user = User(found.get("username", ""), tuple(found.get("groups") or ()), found.get("uid", ""), extra)
        self._users.remember(key, user)
        return user

    async def _may(self, user: User, asked: Asked, turns: RateLimit) -> bool:
        spec: dict[str, Any] = {
            "user": user.name,
            "groups": list(user.groups),
            "nonResourceAttributes": {"path": asked.path, "verb": asked.verb},
        }
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = {name: list(values) for name, values in user.extra.items()}
        key = hashlib.sha256(msgspec.json.encode(spec)).hexdigest()
        known = self._verdicts.recall(key)
        if known is not None:
            return known[0]
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        status = await self._review("/apis/authorization.k8s.io/v1/subjectaccessreviews", review, turns)
        allowed = bool(status.get("allowed")) and not status.get("denied")
        self._verdicts.remember(key, allowed)
        return allowed

    async def _review(self, path: str, review: dict[str, Any], turns: RateLimit) -> dict[str, Any]:
        if not turns.take():
            raise _TooMany
        body = msgspec.json.encode(review)
        answer = await self._api.request("POST", path, query={"timeout": "10s"}, body=body, timeout=10.0)
        if answer.status not in (200, 201):
            raise _ReviewFailed(f"{answer.status} {status_message(answer.body)}")
        status: dict[str, Any] = msgspec.json.decode(answer.body).get("status") or {}
        return status


class _TooMany(Exception):  # noqa: N818 - not an error of ours
    """The API server is not bothered with this one."""


class _ReviewFailed(Exception):  # noqa: N818 - not an error of ours
    """The API server did not review."""


class _Remembered(Generic[T]):
    """Answers that stay good for a while, the newest of them."""

    def __init__(self, clock: Clock, seconds: float = CACHE_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._found: OrderedDict[str, tuple[T, float]] = OrderedDict()

    def recall(self, key: str) -> tuple[T, float] | None:
        found = self._found.get(key)
        return found if found is not None and self._clock.monotonic() < found[1] else None

    def remember(self, key: str, value: T) -> None:
        self._found.pop(key, None)
        self._found[key] = (value, self._clock.monotonic() + self._seconds)
        while len(self._found) > MAX_CACHED:
            self._found.popitem(last=False)
