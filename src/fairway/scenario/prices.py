"""Prices of nodes, from a scenario or a file: what an hour of each costs.

In: names of nodes (patterns with * and ?) or instance types, each with a price; written in the scenario, or the path of
a file that has nothing else. Out: nodes with the label `fairway.dev/price`, by which metrics and `why` go. What a
node says itself counts; of several entries that fit, the first. Called by `build_workload`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from fairway.config.fields import shown
from fairway.config.text import parse_text
from fairway.model import DecodeError, Node
from fairway.model.node_price import PRICE
from fairway.model.text_file import read_bytes

__all__ = ["priced", "read_prices"]

INSTANCE_TYPES: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
FORM: Final = "names of nodes or instance types, each with the price of an hour, such as m5.large: 0.096"


def read_prices(given: str | Mapping[str, float], folder: str) -> dict[str, float]:
    """The prices by name; `ValueError` says what is wrong with them."""
    if isinstance(given, str):
        path = os.path.join(folder, given)  # noqa: PTH118 - "" is the folder we are in
        try:
            given = parse_text(read_bytes(path))
        except DecodeError as error:
            raise ValueError(str(error)) from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if not isinstance(given, Mapping):
            raise ValueError(f"{path}: {shown(given)} are no prices; allowed: {FORM}")
    for name, price in given.items():
        if not _is_price(price):
            raise ValueError(f"{shown(price)} is no price of {name}; allowed: a number, 0 or more")
    return {str(name): float(price) for name, price in given.items()}


def priced(node: Node, prices: Mapping[str, float]) -> Node:
    """The node with what it costs, if anybody says."""
    labels = node.metadata.labels
    if PRICE in labels:
        return node
    names = [node.metadata.name, *(labels[key] for key in INSTANCE_TYPES if key in labels)]
    for pattern, price in prices.items():
        if any(fnmatchcase(name, pattern) for name in names):
            metadata = msgspec.structs.replace(node.metadata, labels={**labels, PRICE: f"{price:g}"})
            return msgspec.structs.replace(node, metadata=metadata)
    return node


def _is_price(price: Any) -> bool:
    return isinstance(price, int | float) and not isinstance(price, bool) and math.isfinite(price) and price >= 0
