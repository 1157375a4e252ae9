"""Asking a profile that is in use, so that nobody can tell afterwards.

In: the profile of a running scheduler. Out: a context in which it may be asked what it would decide: what it draws by
lot, and where its next scan of the nodes begins, are put back, and extenders, which are programs elsewhere, are left
alone. Called by those who explain (`explain.scheduler_answer`); placing pods is not for inside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fairway.cycle.profile import Profile

__all__ = ["asked_aside"]


@contextlib.contextmanager
def asked_aside(profile: Profile) -> Iterator[None]:
    """Within: `decide` and `inspect` leave the profile as it was."""
    extenders, chance, start = profile.extenders, profile.random.getstate(), profile.sampler.start
    profile.extenders = ()
    try:
        yield
    finally:
        profile.extenders, profile.sampler.start = extenders, start
        profile.random.setstate(chance)
