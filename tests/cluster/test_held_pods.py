"""Held pods against a naive state machine that knows nothing but the rules."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster.intents.held_pods import MAX_WAIT_SECONDS, HeldPods
from fairway.testing import pod

PLUGINS = ("A", "B", "C")
SECONDS = st.sampled_from([1.0, 5.0, 30.0, 2000.0])
NUMBERS = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("hold"), NUMBERS, st.dictionaries(st.sampled_from(PLUGINS), SECONDS, min_size=1)),
        st.tuples(st.just("allow"), NUMBERS, st.sampled_from(PLUGINS)),
        st.tuples(st.just("reject"), NUMBERS, st.sampled_from(PLUGINS)),
        st.tuples(st.just("preempt"), NUMBERS, st.just("A")),
        st.tuples(st.just("pass"), NUMBERS, st.sampled_from([0.5, 4.0, 40.0, 1000.0])),
        st.tuples(st.just("forget"), NUMBERS, st.none()),
        st.tuples(st.just("take"), NUMBERS, st.none()),
    ),
    max_size=30,
)


class Naive:
    """Every pod has its own list of waits; whatever happens first to it is what happens."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: dict[str, list[tuple[str, float]]] = {}  # by pod, in the order of holding: plugin, until
        self.since: dict[str, float] = {}
        self.fates: list[tuple[str, str]] = []  # pod, by whom rejected; "" if it may go

    def step(self, what: str, name: str, more: Any) -> None:
        if what == "hold" and name not in self.waits and all(who != name for who, _ in self.fates):
            self.since[name] = self.now
            self.waits[name] = [(plugin, self.now + min(most, 900.0)) for plugin, most in more.items()]
        elif what == "allow" and name in self.waits:
            self.waits[name] = [wait for wait in self.waits[name] if wait[0] != more]
            if not self.waits[name]:
                self.end(name, "")
        elif what in ("reject", "preempt") and name in self.waits:
            self.end(name, more)
        elif what == "pass":
            self.now += more
            for one in list(self.waits):
                plugin, until = min(self.waits[one], key=lambda wait: wait[1])
                if until <= self.now:
                    self.end(one, plugin)
        elif what == "forget":
            self.waits.pop(name, None)
            self.fates = [fate for fate in self.fates if fate[0] != name]
        elif what == "take" and self.fates:
            self.fates.pop(0)

    def end(self, name: str, by: str) -> None:
        del self.waits[name]
        self.fates.append((name, by))


@given(STEPS)
def test_a_pod_waits_for_all_and_the_first_verdict_counts(steps: list[tuple[str, int, Any]]) -> None:
    held, naive = HeldPods(), Naive()
    for what, number, more in steps:
        name = f"p{number}"
        uid = pod(name).metadata.uid
        was_held, fates = name in naive.waits, list(naive.fates)
        settled_now = [fate[0] for fate in naive.fates]
        naive.step(what, name, more)
        if what == "hold" and not was_held and name not in settled_now:
            held.hold(pod(name), "n", more, naive.now)
        elif what == "allow":
            assert held.allow(uid, more) is (was_held and name not in naive.waits)
        elif what == "reject":
            assert held.reject(uid, more, "no") is was_held
        elif what == "preempt":
            assert held.preempt(uid, more) is was_held
        elif what == "pass":
            held.expire(naive.now)
        elif what == "forget":
            held.forget(uid)
        elif what == "take":
            found = held.next_settled()
            assert (found is None) == (not fates)
            if found is not None:
                assert (found.held.pod.metadata.name, found.plugin) == fates[0]
                assert found.is_allowed == (not fates[0][1])
        assert {one.pod.metadata.name: dict.fromkeys(one.plugins) for one in held} == {
            name: dict.fromkeys(plugin for plugin, _ in waits) for name, waits in naive.waits.items()
        }
        assert held.has_settled == bool(naive.fates)
        deadlines = [until for waits in naive.waits.values() for _, until in waits]
        assert held.next_deadline() == (-float("inf") if naive.fates else min(deadlines, default=None))


def test_a_time_out_is_told_in_kube_schedulers_words_and_remembered() -> None:
    held = HeldPods()
    held.hold(pod("p"), "n", {"Slow": 2000, "Quick": 90}, 10)
    held.expire(99)
    assert len(held) == 1
    held.expire(100)
    settled = held.next_settled()
    assert settled is not None
    assert (settled.plugin, settled.reason) == (
        "Quick",
        "rejected due to timeout after waiting 1m30s at plugin Quick",
    )
    held.end(settled, 100)
    uid = pod("p").metadata.uid
    assert held.ended[uid][:4] == ("Quick", "n", 10, 100)
    held.hold(pod("p"), "n", {"Slow": 1e9}, 200)
    assert uid not in held.ended
    found = held.find(uid)
    assert found is not None
    assert found.deadline == 200 + MAX_WAIT_SECONDS
