"""What is published about order-only scenarios says what the types say; examples are what they say they are."""

import re
from pathlib import Path

import msgspec
import pytest

from fairway.experiments.order_file import OrderSpec
from fairway.experiments.order_scenario import is_order_scenario, load_order_scenario
from fairway.experiments.order_schema import schema_text

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \| (.+) \|$", re.MULTILINE)
EXAMPLES = sorted(path.name for path in (ROOT / "examples" / "openb").glob("*.yaml"))


def test_every_field_is_documented() -> None:
    rows = {name: default for name, default, _, _ in ROW.findall((ROOT / "docs" / "openb.md").read_text())}
    fields = {field.encode_name: field for field in msgspec.structs.fields(OrderSpec)}
    assert list(rows) == list(fields)
    for name, default in rows.items():
        known = fields[name].default
        if known is None:
            assert default == "–"
        elif isinstance(known, str | int | float):
            assert default.strip("`") == msgspec.json.encode(known).decode()


def test_the_schema_is_up_to_date() -> None:
    assert (ROOT / "docs" / "order-scenario.schema.json").read_text() == schema_text(), (
        "python -m fairway.experiments.order_schema > docs/order-scenario.schema.json"
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    path = ROOT / "examples" / "openb" / name
    if name == "replay.yaml":
        assert not is_order_scenario(path)
        return
    assert is_order_scenario(path)
    scenario = load_order_scenario(path)
    assert len(scenario.keys()) == len(scenario.spec.traces) * len(scenario.policies) * scenario.spec.seeds
    for policy in scenario.policies:
        assert scenario.profile(policy).points["score"]


def test_other_files_are_no_order_scenarios(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: [broken")
    assert not is_order_scenario(tmp_path / "a.yaml")
    assert not is_order_scenario(tmp_path / "missing.yaml")
