"""DefaultBinder: the name by which a profile says that decided pods are bound; the world binds."""

from __future__ import annotations

import pytest

from fairway.config import decode_configuration, default_configuration
from fairway.config.configuration import ConfigError
from fairway.cycle import Profile
from fairway.plugin import overrides
from fairway.plugins.default_binder import DefaultBinder
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster


def test_a_profile_has_it_where_it_binds_and_nowhere_else() -> None:
    config = default_configuration(REGISTRY).profiles[0]
    assert [point for point, names in config.points.items() if "DefaultBinder" in names] == ["bind"]
    profile = Profile(config, cluster(1))
    assert isinstance(profile.plugin("DefaultBinder"), DefaultBinder)
    assert "DefaultBinder" not in [plugin.name for plugin in profile.plugins]  # it is never asked


def test_a_profile_cannot_do_without_a_binder() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"bind": {"disabled": [{"name": "DefaultBinder"}]}}}],
    }
    with pytest.raises(ConfigError, match="enable DefaultBinder"):
        decode_configuration(config, "test", REGISTRY)


def test_it_says_nothing_about_nodes() -> None:
    plugin = DefaultBinder(cluster(1))
    assert [
        name for name in ("pre_enqueue", "pre_filter", "filter", "score", "reserve") if overrides(plugin, name)
    ] == []
