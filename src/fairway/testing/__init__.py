"""For tests, Fairway's own and those of users' plugins: builders, a clock that obeys, the check every plugin passes.

from fairway.testing import check_plugin, cluster, node, pod

def test_my_plugin_keeps_its_word():
    check_plugin(MyPlugin)
"""

from fairway.testing.builders import cluster, node, pod
from fairway.testing.clock import FakeClock
from fairway.testing.data_builders import dataset, dataset_internal
from fairway.testing.notation import near
from fairway.testing.plugin_check import check_plugin
from fairway.testing.quality_check import QualityReport, check_quality
from fairway.testing.situations import Situation, situations
from fairway.testing.storage_builders import claim, storage_class, volume

__all__ = [
    "FakeClock",
    "QualityReport",
    "Situation",
    "check_plugin",
    "check_quality",
    "claim",
    "cluster",
    "dataset",
    "dataset_internal",
    "near",
    "node",
    "pod",
    "situations",
    "storage_class",
    "volume",
]
