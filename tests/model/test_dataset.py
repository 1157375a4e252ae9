"""Datasets as Datashim writes them, in both of its groups, and as others write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairway.model import Dataset, DatasetInternal, decode_object, encode_json, load_yaml, object_name, validate_objects
from fairway.model.dataset import DataPlacement
from fairway.testing import dataset

GROUPS = ("datashim.io", "com.ie.ibm.hpsys")


def decode(kind: str, group: str = "datashim.io", **fields: Any) -> Any:
    written = {"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": {"name": "x", "namespace": "ns"}, **fields}
    return decode_object(json.dumps(written).encode())


@pytest.mark.parametrize("group", GROUPS)
def test_both_kinds_are_read_in_both_groups(group: str) -> None:
    data = decode("Dataset", group, status={"caching": {"status": "Pending"}, "provision": {"status": "OK"}})
    placements = {
        "gateways": [{"key": "kubernetes.io/hostname", "value": "n1"}],
        "datalocations": [{"key": "kubernetes.io/hostname", "value": "n2"}],
    }
    internal = decode("DatasetInternal", group, status={"caching": {"placements": placements}})
    assert isinstance(data, Dataset)
    assert isinstance(internal, DatasetInternal)
    found = internal.status.caching.placements
    assert found.gateways == (DataPlacement(key="kubernetes.io/hostname", value="n1"),)
    assert found.data_locations == (DataPlacement(key="kubernetes.io/hostname", value="n2"),)
    assert decode_object(encode_json(internal)) == internal


def test_what_is_not_there_or_not_known_is_no_error() -> None:
    bare = decode("Dataset", status=None, spec={"local": {"type": "COS", "secretAccessKey": "hush"}, "extra": [1]})
    assert bare.unready == ""
    assert bare.size is None
    assert b"hush" not in encode_json(bare)
    assert decode("DatasetInternal").status.caching.placements.gateways == ()
    odd = decode("DatasetInternal", status={"caching": {"placements": {"gateways": [{"more": 1}]}, "other": {}}})
    assert odd.status.caching.placements.gateways == (DataPlacement(),)


@pytest.mark.parametrize(
    ("size", "expected"),
    [("10Gi", 10 * 2**30), (5, 5), ("1500m", 2), ("-1", None), (-1, None), (0, None), ("abc", None), ("", None),
     (True, None), ([1], None), ({"a": 1}, None), ("9" * 400, None), (1e400, None)],
)  # fmt: skip
def test_sizes_that_can_be_none_are_none(size: Any, expected: int | None) -> None:
    assert dataset(size=size).size == expected


def test_the_size_may_be_told_by_an_annotation() -> None:
    assert dataset(annotations={"data.fairway.dev/size": "2Gi"}).size == 2 * 2**30
    assert dataset(size="1Gi", annotations={"data.fairway.dev/size": "2Gi"}).size == 2**30
    assert dataset(size="abc", annotations={"data.fairway.dev/size": "2Gi"}).size == 2 * 2**30


@pytest.mark.parametrize(
    ("provision", "caching", "expected"),
    [
        ("OK", "Pending", ""),
        ("OK", "Failed", ""),
        ("Pending", "OK", "Pending, soon"),
        ("Failed", "", "Failed, soon"),
        ("", "", ""),
        ("", "Disabled", ""),
        ("", "OK", ""),
        ("", "Initializing", "Initializing"),
    ],
)
def test_what_is_provisioned_can_be_used(provision: str, caching: str, expected: str) -> None:
    assert dataset(provision=provision, caching=caching, info="soon").unready == expected


def test_datasets_of_one_name_in_both_groups_are_two_objects() -> None:
    text = "---\n".join(f"apiVersion: {group}/v1alpha1\nkind: Dataset\nmetadata: {{name: x}}\n" for group in GROUPS)
    loaded = load_yaml(text.encode(), "data.yaml")
    assert [object_name(one.object) for one in loaded] == ["Dataset x", "Dataset.com.ie.ibm.hpsys x"]
    problems = [str(problem) for problem in validate_objects([*loaded, loaded[0]])]
    assert sum("is there twice" in problem for problem in problems) == 1
