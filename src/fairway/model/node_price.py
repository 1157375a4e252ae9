"""What an hour of a node costs, as its labels say.

In: a node's labels. Out: a number in whatever currency, or None. Read by the metrics of a run (`record.placement`), by
scenarios, which may write the label (`scenario.prices`), and by `why`, which proposes the cheapest node that helps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

__all__ = ["PRICE", "price_of"]

PRICE: Final = "fairway.dev/price"
"""The label that says it."""


def price_of(labels: Mapping[str, str]) -> float | None:
    """The price that these labels name; None if they do not say, or nothing that makes sense."""
    try:
        price = float(labels.get(PRICE, ""))
    except ValueError:
        return None
    return price if math.isfinite(price) and price >= 0 else None
