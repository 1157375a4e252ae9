"""What pods need of devices: by annotations, by whole GPUs, and what makes no sense."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.model import validate_object
from fairway.model.device_need import (
    GPU_COUNT,
    GPU_INDEX,
    GPU_MILLI,
    GPU_MODEL,
    GPU_RESOURCE,
    DeviceNeed,
    binding_annotations,
    device_need,
    device_problem,
    pinned_devices,
    with_devices,
)
from fairway.testing import pod


@pytest.mark.parametrize(
    ("said", "requests", "expected"),
    [
        pytest.param({}, {}, None, id="nothing"),
        pytest.param({GPU_MILLI: "470"}, {}, DeviceNeed(1, 470), id="a share"),
        pytest.param({GPU_MILLI: "1000", GPU_COUNT: "1"}, {}, DeviceNeed(1, 1000), id="a whole device"),
        pytest.param({GPU_COUNT: "4"}, {}, DeviceNeed(4, 1000), id="several, and no word of milli"),
        pytest.param({GPU_MILLI: "1000", GPU_COUNT: "8"}, {}, DeviceNeed(8, 1000), id="several"),
        pytest.param({GPU_COUNT: "0", GPU_MILLI: "0"}, {}, None, id="none, said aloud"),
        pytest.param({}, {GPU_RESOURCE: 2}, DeviceNeed(2, 1000), id="as a resource"),
        pytest.param({GPU_COUNT: "2"}, {GPU_RESOURCE: 2}, DeviceNeed(2, 1000), id="both ways, the same"),
        pytest.param({GPU_MODEL: "T4"}, {GPU_RESOURCE: 1}, DeviceNeed(1, 1000, ("T4",)), id="a model of whole ones"),
        pytest.param({GPU_MODEL: "T4"}, {}, None, id="a model of nothing"),
        pytest.param(
            {GPU_MILLI: "5", GPU_MODEL: "V100M16|V100M32"}, {}, DeviceNeed(1, 5, ("V100M16", "V100M32")), id="models"
        ),
        pytest.param({GPU_MILLI: "5", GPU_INDEX: "3"}, {}, DeviceNeed(1, 5, (), (3,)), id="pinned"),
        pytest.param({GPU_COUNT: "2", GPU_INDEX: "2-0"}, {}, DeviceNeed(2, 1000, (), (2, 0)), id="pinned to two"),
    ],
)
def test_needs(said: dict[str, str], requests: dict[str, Any], expected: DeviceNeed | None) -> None:
    wanted = pod(annotations=said, requests=requests)
    assert device_need(wanted) == expected
    assert device_problem(wanted) is None


@pytest.mark.parametrize(
    ("said", "requests", "key", "words"),
    [
        pytest.param({GPU_MILLI: "0"}, {}, GPU_MILLI, "from 1 to 1000", id="a share of nothing"),
        pytest.param({GPU_MILLI: "0", GPU_COUNT: "1"}, {}, GPU_MILLI, "from 1 to 1000", id="one device, nothing of it"),
        pytest.param({GPU_MILLI: "1001"}, {}, GPU_MILLI, "from 1 to 1000", id="more than a device"),
        pytest.param({GPU_MILLI: "500", GPU_COUNT: "2"}, {}, GPU_MILLI, "only a single device", id="shares of several"),
        pytest.param({GPU_MILLI: "half"}, {}, GPU_MILLI, "whole number, not 'half'", id="no number"),
        pytest.param({GPU_MILLI: "0.5"}, {}, GPU_MILLI, "whole number", id="a fraction"),
        pytest.param({GPU_MILLI: "-5"}, {}, GPU_MILLI, "whole number", id="negative"),
        pytest.param({GPU_COUNT: "1.5"}, {}, GPU_COUNT, "whole number", id="one and a half devices"),
        pytest.param({GPU_COUNT: ""}, {}, GPU_COUNT, "whole number", id="an empty count"),
        pytest.param({GPU_COUNT: "0", GPU_MILLI: "300"}, {}, GPU_COUNT, "from 1 to", id="a share of no device"),
        pytest.param({GPU_COUNT: "99999"}, {}, GPU_COUNT, "from 1 to", id="a slip of the pen"),
        pytest.param({GPU_COUNT: "1"}, {GPU_RESOURCE: 2}, GPU_COUNT, "ask in one way", id="a contradiction"),
        pytest.param({GPU_MILLI: "5", GPU_INDEX: "a"}, {}, GPU_INDEX, "one device", id="no index"),
        pytest.param({GPU_MILLI: "5", GPU_INDEX: "0-1"}, {}, GPU_INDEX, "one device", id="too many"),
        pytest.param({GPU_COUNT: "2", GPU_INDEX: "1-1"}, {}, GPU_INDEX, "2 different", id="the same twice"),
    ],
)
def test_problems(said: dict[str, str], requests: dict[str, Any], key: str, words: str) -> None:
    wanted = pod(annotations=said, requests=requests)
    problem = device_problem(wanted)
    assert device_need(wanted) is None
    assert problem is not None
    assert problem[0] == key
    assert words in problem[1]
    (error,) = validate_object(wanted)
    assert key in error.field
    assert words in error.problem


def test_the_devices_of_a_binding() -> None:
    bound = with_devices(pod(annotations={GPU_COUNT: "2"}), (0, 3))
    assert bound.metadata.annotations == {GPU_COUNT: "2", GPU_INDEX: "0-3"}
    assert pinned_devices(bound) == (0, 3)
    assert binding_annotations(bound) == {GPU_INDEX: "0-3"}
    assert binding_annotations(pod()) == {}
