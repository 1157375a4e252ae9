"""The JSON Schema of order-only scenarios, made from their types; published as docs/order-scenario.schema.json.

`python -m fairway.experiments.order_schema` prints it. What else has to hold is checked when a scenario is read.
"""

from __future__ import annotations

import json
import sys

from fairway.experiments.order_file import OrderFile
from fairway.scenario.schema import schema_of

__all__ = ["schema_text"]


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(schema_of(OrderFile, "Fairway order-only scenario"), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
