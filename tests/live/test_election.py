from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from fairway.config.config_file import LeaderElection as ElectionSettings
from fairway.live.election import BadElectionSettings, LeaseCandidate, new_identity
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.model.duration import Duration
from tests.live.lease_server import LEASE, LeaseServer
from tests.live.virtual_clock import VirtualClock, settle

GET = ("GET", f"{LEASE}/kube-scheduler")
PUT = ("PUT", f"{LEASE}/kube-scheduler")
POST = ("POST", LEASE)
EVENT = ("POST", "/api/v1/namespaces/kube-system/events")


@dataclass
class Candidate:
    """A scheduler process, as far as leader election goes; each has a clock of its own."""

    server: LeaseServer
    name: str
    clock: VirtualClock = field(default_factory=VirtualClock)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    metrics: SchedulerMetrics = field(default_factory=SchedulerMetrics)
    started: int = 0
    ended: bool | None = None

    def __post_init__(self) -> None:
        self.election = LeaseCandidate(
            self.server,
            ElectionSettings(),
            self.clock,
            identity=self.name,
            metrics=self.metrics,
            jitter=lambda: 0.0,
        )
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        self.ended = await self.election.run(self.stop, self._start)

    def _start(self) -> None:
        self.started += 1

    @property
    def is_leading(self) -> bool:
        return self.election.is_leading()


def scenario(story: Callable[[], Awaitable[None]]) -> None:
    """Run a story, and end what it started."""

    async def tell() -> None:
        await story()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run(tell())


def test_first_candidate_makes_the_lease_and_leads() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        assert one.started == 1
        assert one.is_leading
        assert server.requests[:2] == [GET, POST]
        assert set(server.requests[2:]) == {PUT, EVENT}  # renewed at once, as client-go does
        assert server.bodies[0] == {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
            "spec": {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-01T00:00:00.000000Z",
                "renewTime": "2026-01-01T00:00:00.000000Z",
                "leaseTransitions": 0,
            },
        }
        lease_queries = [
            query for query, request in zip(server.queries, server.requests, strict=True) if request != EVENT
        ]
        assert all(query == {"timeout": "5s"} for query in lease_queries)

    scenario(story)


def test_leader_renews_every_two_seconds_without_reading() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        server.requests.clear()
        await one.clock.advance(10.0)
        assert server.requests == [PUT] * 5
        assert server.spec["renewTime"] == "2026-01-01T00:00:10.000000Z"
        assert server.spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"
        assert server.spec["leaseTransitions"] == 0

    scenario(story)


def test_event_tells_who_became_leader() -> None:
    async def story() -> None:
        server = LeaseServer()
        Candidate(server, "one")
        await settle()
        (event,) = server.events
        assert event["message"] == "one became leader"
        assert event["reason"] == "LeaderElection"
        assert event["source"] == {"component": "default-scheduler"}
        assert event["involvedObject"]["uid"] == "lease-1"
        assert event["type"] == "Normal"

    scenario(story)


def test_standby_reads_and_takes_over_when_the_record_has_not_changed_for_its_duration() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        two = Candidate(server, "two")
        await settle()
        server.requests.clear()
        for _ in range(3):  # the clocks of the two run alike
            await one.clock.advance(2.0)
            await two.clock.advance(2.0)
        assert two.started == 0
        assert server.requests == [PUT, GET] * 3
        # now one is gone; two has seen the last renewal at 6 s of its clock
        await two.clock.advance(14.0)
        assert two.started == 0
        await two.clock.advance(2.0)
        assert two.started == 1
        assert server.spec["holderIdentity"] == "two"
        assert server.spec["leaseTransitions"] == 1

    scenario(story)


def test_standby_judges_by_its_own_clock_not_by_what_is_written() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        two = Candidate(server, "two")
        two.clock.set_wall_clock(1_800_000_000.0)  # years ahead: the lease looks long expired
        await settle()
        for _ in range(10):
            await one.clock.advance(2.0)
            await two.clock.advance(2.0)
        assert two.started == 0
        assert one.is_leading

    scenario(story)


@pytest.mark.parametrize("seconds", [10.0, 15.0, 3600.0])
def test_thawed_leader_leads_no_more(seconds: float) -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        assert one.is_leading
        one.clock.jump(seconds)  # SIGSTOP, SIGCONT
        assert not one.is_leading  # before anything else has run
        await one.clock.advance(0.0)
        await one.clock.advance(2.0)
        assert one.ended is False
        assert not one.is_leading
        assert server.spec["holderIdentity"] == "one"  # nobody else wanted it; the next process takes it
        assert server.events[-1]["message"] == "one stopped leading"

    scenario(story)


def test_leader_frozen_for_less_goes_on() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        one.clock.jump(9.0)
        assert one.is_leading
        await one.clock.advance(4.0)
        assert one.ended is None
        assert one.is_leading

    scenario(story)


def test_never_two_leaders_whatever_the_freeze() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        two = Candidate(server, "two")
        await settle()
        one_runs = True
        for step in range(120):
            if step == 20:
                one_runs = False  # frozen
            if step == 100:
                one_runs = True
            if one_runs:
                await one.clock.advance(0.5)
            else:
                one.clock.jump(0.5)
            await two.clock.advance(0.5)
            assert not (one.is_leading and two.is_leading)
        assert two.is_leading
        assert one.ended is False

    scenario(story)


@pytest.mark.parametrize("fault", ["silent", "500", "409"])
def test_leader_that_can_not_renew_stops_at_the_deadline(fault: str) -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        if fault == "silent":
            server.silent = True
        else:
            server.statuses["PUT"] = int(fault)
        await one.clock.advance(9.5)
        assert one.is_leading
        assert one.ended is None
        await one.clock.advance(0.5)
        assert not one.is_leading
        assert one.ended is False
        assert b'leader_election_master_status{name="kube-scheduler"} 0.0' in one.metrics.render()

    scenario(story)


def test_whoever_takes_over_knows_when_somebody_last_led() -> None:
    """Killed: when it last renewed the lease. Given up: when it did that. The first one knows of nobody."""

    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        assert one.election.last_led is None
        server.spec["renewTime"] = "2026-01-01T00:00:10.500000Z"  # as if it was killed after that
        two = Candidate(server, "two")
        await settle()
        await two.clock.advance(30.0)
        assert two.is_leading
        assert two.election.last_led == dt.datetime(2026, 1, 1, 0, 0, 10, 500_000, dt.UTC).timestamp()
        await two.clock.advance(10.0)
        assert two.election.last_led == dt.datetime(2026, 1, 1, 0, 0, 10, 500_000, dt.UTC).timestamp()
        two.stop.set()
        await settle()
        await two.election.release()
        three = Candidate(server, "three")
        await settle()
        assert three.is_leading
        assert three.election.last_led == two.clock.now()

    scenario(story)


@pytest.mark.parametrize("text", ["", "yesterday", None])
def test_a_lease_that_says_nothing_of_its_renewal_tells_of_nobody(text: str | None) -> None:
    async def story() -> None:
        server = LeaseServer()
        Candidate(server, "one")
        await settle()
        server.spec["renewTime"] = text
        two = Candidate(server, "two")
        await settle()
        await two.clock.advance(30.0)
        assert two.is_leading
        assert two.election.last_led is None

    scenario(story)


def test_failed_renewal_reads_then_writes_within_the_same_try() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        server.requests.clear()
        server.statuses["PUT"] = 500
        await one.clock.advance(2.0)
        assert server.requests == [PUT, GET, PUT]
        server.statuses.clear()
        server.requests.clear()
        await one.clock.advance(2.0)
        assert server.requests == [PUT]
        assert b'leader_election_slowpath_total{name="kube-scheduler"} 1.0' in one.metrics.render()

    scenario(story)


def test_certainty_counts_from_when_the_renewal_was_sent() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        server.held = asyncio.Event()
        await one.clock.advance(2.0)  # a renewal is on its way, and slow
        one.clock.jump(7.0)
        server.held.set()
        await settle()  # answered at 9 s, sent at 2 s: good until 12 s
        one.clock.jump(2.9)
        assert one.is_leading
        one.clock.jump(0.2)
        assert not one.is_leading

    scenario(story)


def test_leader_stops_at_once_when_somebody_wrote_over_its_name() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        assert server.lease is not None
        server.lease = {
            "metadata": {**server.lease["metadata"], "resourceVersion": "99"},
            "spec": {**server.spec, "holderIdentity": "thief"},
        }
        await one.clock.advance(2.0)
        assert not one.is_leading
        assert one.ended is False
        assert server.spec["holderIdentity"] == "thief"

    scenario(story)


def test_lease_that_was_deleted_is_made_anew() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        server.lease = None
        await one.clock.advance(2.0)
        assert one.is_leading
        assert server.spec["holderIdentity"] == "one"

    scenario(story)


def test_release_lets_a_standby_take_over_at_its_next_look() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        two = Candidate(server, "two")
        await settle()
        one.stop.set()
        await settle()
        assert one.ended is True
        assert one.is_leading  # what is under way may be finished
        await one.election.release()
        assert not one.is_leading
        assert server.spec == {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 0,
        }
        await two.clock.advance(2.0)
        assert two.is_leading
        assert server.spec["leaseTransitions"] == 1

    scenario(story)


def test_release_leaves_a_lease_that_is_somebody_elses() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        server.spec["holderIdentity"] = "other"
        one.stop.set()
        await settle()
        await one.election.release()
        assert server.spec["holderIdentity"] == "other"

    scenario(story)


def test_stop_while_standing_by_ends_without_a_word() -> None:
    async def story() -> None:
        server = LeaseServer()
        Candidate(server, "one")
        await settle()
        two = Candidate(server, "two")
        await settle()
        server.requests.clear()
        two.stop.set()
        await settle()
        assert two.ended is True
        assert two.started == 0
        await two.election.release()
        assert PUT not in server.requests

    scenario(story)


def test_health_fails_only_for_a_leader_that_has_long_not_renewed() -> None:
    async def story() -> None:
        server = LeaseServer()
        one = Candidate(server, "one")
        await settle()
        two = Candidate(server, "two")
        await settle()
        one.clock.jump(34.0)
        two.clock.jump(1000.0)
        assert one.election.fault() is None
        assert two.election.fault() is None
        one.clock.jump(1.5)
        assert "kube-scheduler" in (one.election.fault() or "")

    scenario(story)


@pytest.mark.parametrize(
    ("lease", "renew", "retry"), [(10, 10, 2), (15, 16, 2), (15, 10, 9)], ids=["equal", "shorter", "too few tries"]
)
def test_periods_that_can_not_work_are_refused(lease: float, renew: float, retry: float) -> None:
    settings = ElectionSettings(
        lease_duration=Duration(lease), renew_deadline=Duration(renew), retry_period=Duration(retry)
    )
    with pytest.raises(BadElectionSettings):
        LeaseCandidate(LeaseServer(), settings, VirtualClock())


def test_every_process_has_another_identity() -> None:
    assert new_identity() != new_identity()
