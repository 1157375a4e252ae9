"""How many pods of which ReplicaSet, in numbers."""

import pytest

from fairway.model import Deployment
from fairway.model.controllers import DeploymentSpec, DeploymentStrategy, RollingUpdate
from fairway.sim.controllers.rollout import Fences, proportions, scale_down_old

TEN = Fences(10, 3, 2)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(4, "25%", "25%", (5, 3), id="the default, four pods"),
        pytest.param(1, "25%", "25%", (2, 1), id="one pod: surge is rounded up, unavailability down"),
        pytest.param(10, 3, 2, (13, 8), id="numbers"),
        pytest.param(3, 0, "10%", (3, 2), id="both would be nothing"),
        pytest.param(0, "25%", "25%", (0, 0), id="no pods"),
        pytest.param(2, 0, 5, (2, 0), id="more than there are"),
    ],
)
def test_fences(replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]) -> None:
    rolling = RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    strategy = DeploymentStrategy(type="RollingUpdate", rolling_update=rolling)
    fences = Fences.of(Deployment(spec=DeploymentSpec(replicas=replicas, strategy=strategy)))
    assert (fences.max_total, fences.min_available) == expected


@pytest.mark.parametrize(
    ("sizes", "available", "new", "new_available", "expected"),
    [
        pytest.param([10], [10], 3, 0, [8], id="as many as may be missing"),
        pytest.param([8], [8], 5, 0, [8], id="not while the new ones are not there"),
        pytest.param([8], [7], 5, 0, [8], id="not even if an old one is ill"),
        pytest.param([8], [8], 5, 5, [3], id="as many as came"),
        pytest.param([8, 5], [0, 5], 0, 0, [3, 5], id="those that are ill first, within the limit"),
        pytest.param([2, 9], [2, 9], 2, 2, [0, 6], id="the oldest first"),
        pytest.param([3], [3], 10, 10, [0], id="the last of them"),
        pytest.param([], [], 10, 10, [], id="nothing to do"),
    ],
)
def test_old_sets_shrink(
    sizes: list[int], available: list[int], new: int, new_available: int, expected: list[int]
) -> None:
    assert scale_down_old(sizes, available, new, new_available, TEN) == expected


@pytest.mark.parametrize(
    ("sizes", "replicas", "before", "expected"),
    [
        pytest.param([8, 5], 15, 13, [11, 7], id="five more for three fifths and two fifths"),
        pytest.param([5, 8], 20, 13, [9, 14], id="up"),
        pytest.param([1, 1, 1], 10, 13, [1, 1, 11], id="of equals the newest takes what is left over"),
        pytest.param([8, 5], 5, 13, [5, 3], id="down"),
        pytest.param([8, 5], 0, 13, [0, 0], id="to nothing"),
        pytest.param([8, 5], 10, 13, [8, 5], id="unchanged"),
    ],
)
def test_scaling_in_proportion(sizes: list[int], replicas: int, before: int, expected: list[int]) -> None:
    fences = Fences(replicas, 3, 2)
    found = proportions(sizes, fences, before)
    assert found == expected
    assert sum(found) == (fences.max_total if replicas else 0)
