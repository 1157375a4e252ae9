"""In-tree volumes in the words of their CSI drivers."""

from __future__ import annotations

import msgspec
import pytest

from fairway.cluster.volumes.csi_migration import Migrated, migrate_inline, migrate_volume
from fairway.model import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeSpec,
    PortworxVolumeSource,
    Value,
    Volume,
    VolumeNodeAffinity,
)

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def ebs(name: str) -> AWSElasticBlockStoreVolumeSource:
    return AWSElasticBlockStoreVolumeSource(volume_id=name)


GCE = GCEPersistentDiskVolumeSource(pd_name="d")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param({"aws_elastic_block_store": ebs("vol-1")}, ("ebs.csi.aws.com", "vol-1"), id="EBS"),
        pytest.param({"aws_elastic_block_store": ebs("aws://z/vol-1")}, ("ebs.csi.aws.com", "vol-1"), id="EBS, zone"),
        pytest.param({"aws_elastic_block_store": ebs("aws:///vol-1")}, ("ebs.csi.aws.com", "vol-1"), id="EBS, no zone"),
        pytest.param(
            {"gce_persistent_disk": GCE},
            ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
            id="Compute Engine",
        ),
        pytest.param(
            {"azure_disk": AzureDiskVolumeSource(disk_name="n", disk_uri="/d")},
            ("disk.csi.azure.com", "/d"),
            id="Azure",
        ),
        pytest.param({"cinder": CinderVolumeSource(volume_id="d")}, ("cinder.csi.openstack.org", "d"), id="Cinder"),
        pytest.param(
            {"portworx_volume": PortworxVolumeSource(volume_id="d")}, ("pxd.portworx.com", "d"), id="Portworx"
        ),
        pytest.param({"azure_file": AzureFileVolumeSource(share_name="d")}, None, id="Azure file is not migrated"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_handles(source: dict[str, Value], expected: tuple[str, str] | None) -> None:
    inline = migrate_inline(msgspec.structs.replace(Volume(), **source))
    assert inline == (None if expected is None else Migrated(*expected))
    bound = migrate_volume(PersistentVolume(spec=msgspec.structs.replace(PersistentVolumeSpec(), **source)))
    assert bound == inline


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({ZONE: "us-east1-b"}, "zones/us-east1-b", id="one zone"),
        pytest.param({BETA_ZONE: "us-east1-b"}, "zones/us-east1-b", id="one zone, the old label"),
        pytest.param({BETA_ZONE: "us-east1-b", ZONE: "else"}, "zones/us-east1-b", id="the old label first"),
        pytest.param({ZONE: "us-east1-b__us-east1-c"}, "regions/us-east1", id="two zones"),
        pytest.param({ZONE: "b__c"}, "zone in unexpected format", id="no region in the zone"),
        pytest.param({ZONE: "us-east1-b__us-west1-b"}, r"map\[us-east1:{} us-west1:{}\]", id="two regions"),
    ],
)
def test_compute_engine_disks_have_their_zone_in_the_handle(labels: dict[str, str], handle: str) -> None:
    disk = PersistentVolume(metadata=ObjectMeta(labels=labels), spec=PersistentVolumeSpec(gce_persistent_disk=GCE))
    if "/" not in handle:
        with pytest.raises(ValueError, match=handle):
            migrate_volume(disk)
        return
    found = migrate_volume(disk)
    assert found is not None
    assert found.handle == f"projects/UNSPECIFIED/{handle}/disks/d"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param(
            {"aws_elastic_block_store": ebs("aws://z/disk")},
            r"Invalid format for AWS volume \(aws://z/disk\)",
            id="EBS",
        ),
        pytest.param(
            {"azure_disk": AzureDiskVolumeSource(kind="Shared")},
            r"kind\(Shared\) is not supported in csi migration",
            id="Azure",
        ),
    ],
)
def test_what_can_not_be_translated(source: dict[str, Value], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        migrate_inline(msgspec.structs.replace(Volume(), **source))
    with pytest.raises(ValueError, match=words):
        migrate_volume(PersistentVolume(spec=msgspec.structs.replace(PersistentVolumeSpec(), **source)))


def affinity(*terms: dict[str, tuple[str, ...]]) -> VolumeNodeAffinity:
    return VolumeNodeAffinity(
        required=NodeSelector(
            node_selector_terms=tuple(
                NodeSelectorTerm(
                    match_expressions=tuple(
                        NodeSelectorRequirement(key=key, operator="In" if values else "Exists", values=values)
                        for key, values in term.items()
                    )
                )
                for term in terms
            )
        )
    )


@pytest.mark.parametrize(
    ("labels", "before", "after"),
    [
        pytest.param({}, None, None, id="anywhere"),
        pytest.param({}, affinity({ZONE: ("a",)}), affinity({EBS_ZONE: ("a",)}), id="a zone"),
        pytest.param(
            {},
            affinity({BETA_ZONE: ("a",), BETA_REGION: ("r",)}),
            affinity({EBS_ZONE: ("a",), REGION: ("r",)}),
            id="old keys",
        ),
        pytest.param(
            {},
            affinity({ZONE: ("a",), REGION: ("r",)}),
            affinity({EBS_ZONE: ("a",), REGION: ("r",)}),
            id="region stays",
        ),
        pytest.param({ZONE: "a"}, None, affinity({EBS_ZONE: ("a",)}), id="from the label"),
        pytest.param({BETA_ZONE: "b__ a__"}, None, affinity({EBS_ZONE: ("a", "b")}), id="from the old label, several"),
        pytest.param(
            {ZONE: "a"},
            affinity({"x": ("1",)}, {"y": ("2",)}),
            affinity({"x": ("1",), EBS_ZONE: ("a",)}, {"y": ("2",), EBS_ZONE: ("a",)}),
            id="the label joins every term",
        ),
        pytest.param({ZONE: "b"}, affinity({ZONE: ("a",)}), affinity({EBS_ZONE: ("a",)}), id="affinity before label"),
        pytest.param(
            {ZONE: "b"},
            affinity({ZONE: ()}),
            affinity({ZONE: (), EBS_ZONE: ("b",)}),
            id="a zone without values says nothing",
        ),
        pytest.param({ZONE: ""}, affinity({"x": ("1",)}), affinity({"x": ("1",)}), id="an empty label"),
    ],
)
def test_affinity_in_the_drivers_labels(
    labels: dict[str, str], before: VolumeNodeAffinity | None, after: VolumeNodeAffinity | None
) -> None:
    spec = PersistentVolumeSpec(aws_elastic_block_store=ebs("vol-1"), node_affinity=before)
    found = migrate_volume(PersistentVolume(metadata=ObjectMeta(labels=labels), spec=spec))
    assert found is not None
    assert found.node_affinity == after
