"""IN from files: one format, one file. Every reader gives a `Workload`, which the simulator plays.

Readers stream, tell their progress, and report what they could not use by file and line; with `strict` the first such
line is a `fairway.model.DecodeError`.
"""

from fairway.model.text_file import Progress
from fairway.trace.annotations import (
    ARRIVAL,
    DURATION,
    FAIL_AFTER,
    FAIL_PROBABILITY,
    GANG,
    GANG_SIZE,
    GROUP,
    QOS,
    START_LATENCY,
    TIME_LIMIT,
    USER,
    check_annotations,
    parse_seconds,
    seconds_annotation,
    seconds_text,
)
from fairway.trace.arrival_times import ArrivalPattern, Bursts, Diurnal, Even, Poisson
from fairway.trace.distribution import Choices, Distributed, Exponential, Lognormal, Uniform
from fairway.trace.manifests import read_manifests
from fairway.trace.node_groups import NodeGroup, NodeTaint, Racks, group_problems, make_nodes
from fairway.trace.openb import OpenbOptions, read_openb
from fairway.trace.snapshot import read_snapshot
from fairway.trace.swf import SwfOptions, read_swf
from fairway.trace.synthetic import synthetic
from fairway.trace.synthetic_spec import SyntheticClass, SyntheticSpec, spec_problems
from fairway.trace.topology import RACK, SERVER, assign_racks
from fairway.trace.workload import Arrival, Arrivals, Workload, combine

__all__ = [
    "ARRIVAL",
    "DURATION",
    "FAIL_AFTER",
    "FAIL_PROBABILITY",
    "GANG",
    "GANG_SIZE",
    "GROUP",
    "QOS",
    "RACK",
    "SERVER",
    "START_LATENCY",
    "TIME_LIMIT",
    "USER",
    "Arrival",
    "ArrivalPattern",
    "Arrivals",
    "Bursts",
    "Choices",
    "Distributed",
    "Diurnal",
    "Even",
    "Exponential",
    "Lognormal",
    "NodeGroup",
    "NodeTaint",
    "OpenbOptions",
    "Poisson",
    "Progress",
    "Racks",
    "SwfOptions",
    "SyntheticClass",
    "SyntheticSpec",
    "Uniform",
    "Workload",
    "assign_racks",
    "check_annotations",
    "combine",
    "group_problems",
    "make_nodes",
    "parse_seconds",
    "read_manifests",
    "read_openb",
    "read_snapshot",
    "read_swf",
    "seconds_annotation",
    "seconds_text",
    "spec_problems",
    "synthetic",
]
