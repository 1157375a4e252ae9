"""A made-up workload as a case of a corpus, so that the reference and Fairway are given the very same input.

In: what `fairway.bench.workloads` makes up. Out: one line of JSON. Used by the tests of the reference and by
`benchmarks/reference.py`.
"""

from __future__ import annotations

import msgspec

from fairway.bench.workloads import BenchWorkload

__all__ = ["case_of"]


def case_of(name: str, workload: BenchWorkload) -> bytes:
    """The workload's nodes and pods; nothing is expected of them."""
    case = {
        "name": name,
        "focus": "bench",
        "config": None,
        "objects": list(map(msgspec.Raw, workload.objects)),
        "pods": list(map(msgspec.Raw, workload.pods)),
    }
    return msgspec.json.encode(case) + b"\n"
