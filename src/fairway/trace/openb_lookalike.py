"""A small synthetic look-alike of the openb trace, for the demo and the tests.

In: a folder, a seed and sizes. Out: files with the names, columns and proportions of the real ones: a node list, pod
lists (`default`, and one in which pods are particular about the model), nothing of the trace itself. What is drawn
here resembles the trace in its mix of shapes and its idle times; results on it are not results on the trace.
`python -m fairway.trace.openb_lookalike FOLDER` writes it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from fairway.own_file import check_own, replacing

__all__ = ["write_lookalike"]

NODE_HEADER: Final = "sn,cpu_milli,memory_mib,gpu,model"
POD_HEADER: Final = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
LABEL: Final = "lookalike.txt"
WORDS: Final = (
    "Made up by Fairway from a seed: these lists have the form of the openb trace, and none of its content.\n"
)
WHAT: Final = "a look-alike of the trace"
DAY: Final = 86_400
WINDOW: Final = 10 * DAY  # seconds within which the pods are created


class _NodeShape(NamedTuple):
    weight: int  # of a hundred nodes
    num_gpu: int
    vcpu: int
    memory_gib: int
    model: str


class _PodShape(NamedTuple):
    weight: int
    milli_cpu: int
    memory_mib: int
    num_gpu: int
    gpu_milli: int


NODES: Final = (
    _NodeShape(44, 8, 96, 384, "G2"),
    _NodeShape(32, 2, 104, 512, "T4"),
    _NodeShape(11, 2, 16, 120, "P100"),
    _NodeShape(5, 4, 32, 128, "V100M16"),
    _NodeShape(4, 8, 128, 768, "G3"),
    _NodeShape(3, 8, 96, 768, "V100M32"),
    _NodeShape(1, 1, 128, 1024, "A10"),
)
PODS: Final = (
    _PodShape(13, 3152, 12288, 1, 810),
    _PodShape(11, 11300, 49152, 1, 1000),
    _PodShape(8, 11400, 61440, 1, 1000),
    _PodShape(6, 3152, 12288, 1, 1000),
    _PodShape(5, 11908, 40960, 1, 470),
    _PodShape(14, 6000, 24576, 1, 1000),
    _PodShape(9, 8000, 30720, 1, 1000),
    _PodShape(4, 4000, 15258, 1, 320),
    _PodShape(4, 7300, 20480, 1, 650),
    _PodShape(5, 2000, 8192, 1, 220),
    _PodShape(4, 5000, 16384, 1, 460),
    _PodShape(2, 1000, 4096, 1, 50),
    _PodShape(5, 8000, 32768, 0, 0),
    _PodShape(4, 16000, 65536, 0, 0),
    _PodShape(3, 32000, 131072, 0, 0),
    _PodShape(1, 24000, 98304, 2, 1000),
    _PodShape(1, 48000, 196608, 4, 1000),
    _PodShape(1, 88000, 327680, 8, 1000),
)
MODELS: Final = ("T4", "T4", "T4", "G2", "P100", "V100M16|V100M32")
PARTICULAR: Final = 0.33  # of the pods with devices, in the second list
PHASES: Final = ("Running", "Running", "Running", "Failed", "Pending", "Succeeded")
QOS: Final = ("LS", "LS", "LS", "BE", "BE", "Burstable")


def write_lookalike(
    folder: str | os.PathLike[str], *, seed: int = 0, num_nodes: int = 60, num_pods: int = 400
) -> list[Path]:
    """Write the files; the same seed and sizes give the same bytes."""
    if num_nodes < 1 or num_pods < 1:
        raise ValueError("a look-alike needs nodes and pods")
    generator = np.random.default_rng(seed)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    plain, particular = _pod_lines(generator, num_pods)
    files = {
        "openb_node_list_gpu_node.csv": [NODE_HEADER, *_node_lines(num_nodes)],
        "openb_pod_list_default.csv": [POD_HEADER, *plain],
        "openb_pod_list_gpuspec33.csv": [POD_HEADER, *particular],
    }
    label = target / LABEL
    for name in files:
        check_own(target / name, WHAT, _is_lookalike)
    with replacing(label, WHAT, _is_label) as beside:
        beside.write_text(WORDS, encoding="utf-8")
    for name, lines in files.items():
        with replacing(target / name, WHAT, _is_lookalike) as beside:
            beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [target / name for name in files]


def _is_lookalike(path: Path) -> bool:
    """The lists look like the trace's own, which is the point of them; a label beside them tells that they are not."""
    label = path.with_name(LABEL)
    return label.is_file() and _is_label(label)


def _is_label(path: Path) -> bool:
    return path.read_text(encoding="utf-8", errors="replace") == WORDS


def _node_lines(num_nodes: int) -> list[str]:
    """Shapes in their proportions, as near as so many nodes come to them."""
    shares = np.cumsum([shape.weight for shape in NODES]) / 100
    places = np.searchsorted(shares, (np.arange(num_nodes) + 0.5) / num_nodes)
    lines = []
    for number, place in enumerate(places.tolist()):
        shape = NODES[place]
        cells = (f"openb-node-{number:04}", shape.vcpu * 1000, shape.memory_gib * 1024, shape.num_gpu, shape.model)
        lines.append(",".join(map(str, cells)))
    return lines


def _pod_lines(generator: np.random.Generator, num_pods: int) -> tuple[list[str], list[str]]:
    """The pods without, and with, wishes about the model."""
    weights = np.array([shape.weight for shape in PODS], float)
    shapes = generator.choice(len(PODS), num_pods, p=weights / weights.sum())
    created = np.sort(generator.integers(0, WINDOW, num_pods))
    seconds = np.maximum(generator.lognormal(6.3, 1.8, num_pods), 1).astype(np.int64)  # the median is nine minutes
    waits = generator.integers(0, 4, num_pods)
    plain, particular = [], []
    for number in range(num_pods):
        shape = PODS[shapes[number]]
        phase, qos = PHASES[generator.integers(len(PHASES))], QOS[generator.integers(len(QOS))]
        wants = generator.random() < PARTICULAR and shape.num_gpu == 1
        model = MODELS[generator.integers(len(MODELS))] if wants else ""
        scheduled = created[number] + waits[number]
        times = f"{created[number]},{scheduled + seconds[number]},{'' if phase == 'Pending' else scheduled}"
        size = f"{shape.milli_cpu},{shape.memory_mib},{shape.num_gpu},{shape.gpu_milli}"
        name = f"openb-pod-{number:04}"
        plain.append(f"{name},{size},,{qos},{phase},{times}")
        particular.append(f"{name},{size},{model},{qos},{phase},{times}")
    return plain, particular


if __name__ == "__main__":
    for path in write_lookalike(*sys.argv[1:2] or ["openb-lookalike"]):
        sys.stdout.write(f"{path}\n")
