"""A rate limit: a bucket that fills with so many tokens a second, up to a burst.

Out: `turn`, which comes back when it is one's turn, first come, first served; or `take`, which says whether it is now.
Used for requests to the API server (`--kube-api-qps` and `--kube-api-burst`; off by default, since its own flow control
knows better what it can take), for what strangers can make us ask it (`authorization`), and for connections to us
(`front_door`).
"""

from __future__ import annotations

from fairway.live.api.clock import Clock

__all__ = ["RateLimit"]


class RateLimit:
    """Hands out turns."""

    def __init__(self, per_second: float, burst: int, clock: Clock) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs a positive rate and a burst of at least 1, not {per_second}, {burst}")
        self._interval = 1.0 / per_second
        self._burst = burst
        self._clock = clock
        self._full_at = clock.monotonic()  # when the bucket will be full again if nobody takes anything

    def take(self) -> bool:
        """Take a token if there is one."""
        now = self._clock.monotonic()
        full_at = max(self._full_at, now) + self._interval
        if full_at - self._burst * self._interval > now + 1e-9:
            return False
        self._full_at = full_at
        return True

    async def turn(self) -> float:
        """Come back when a token is there; it is taken then. Says how long that took."""
        now = self._clock.monotonic()
        self._full_at = max(self._full_at, now) + self._interval
        wait = self._full_at - self._burst * self._interval - now
        if wait > 0:
            await self._clock.sleep(wait)
        return max(wait, 0.0)
