import json
from typing import Any

import pytest
import yaml
from hypothesis import event, given
from hypothesis import strategies as st
from msgspec import inspect

from fairway.scenario.scenario import ScenarioError, complete, decode_scenario, to_yaml
from fairway.scenario.scenario_file import API_VERSION, KIND, ScenarioFile
from fairway.scenario.schema import json_schema

FIELD_NAMES = sorted({name for struct in json_schema()["$defs"].values() for name in struct["properties"]})
WORDS = [API_VERSION, KIND, "15s", "1h30m", "2Gi", "poisson", "choices", "lose", "NoSchedule", "n-{}", "all", "*", "{"]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELD_NAMES) | st.text(), inner),
)


def shaped(shape: inspect.Type) -> st.SearchStrategy[Any]:
    """Values that are mostly of the type, so that what comes after decoding is reached too."""
    match shape:
        case inspect.Metadata():
            return shaped(shape.type)
        case inspect.UnionType():
            return st.one_of(*(shaped(option) for option in shape.types))
        case inspect.VarTupleType():
            return st.lists(shaped(shape.item_type), max_size=2)
        case inspect.DictType():
            return st.dictionaries(st.sampled_from(["a", "nvidia.com/gpu"]), shaped(shape.value_type), max_size=2)
        case inspect.StructType():
            tag = {shape.tag_field: st.just(shape.tag)} if shape.tag_field else {}
            needed = {field.encode_name: shaped(field.type) for field in shape.fields if field.required}
            others = {field.encode_name: shaped(field.type) for field in shape.fields if not field.required}
            return st.fixed_dictionaries({**tag, **needed}, optional=others)
        case inspect.LiteralType():
            return st.sampled_from(shape.values)
    return LEAVES.get(type(shape), st.none())


NUMBERS = st.integers(0, 5) | st.sampled_from([0.5, "1", "2Gi", "30s"])
LEAVES: dict[type, st.SearchStrategy[Any]] = {
    inspect.BoolType: st.booleans(),
    inspect.IntType: NUMBERS,
    inspect.FloatType: NUMBERS,
    inspect.CustomType: NUMBERS,
    inspect.StrType: st.sampled_from(["a", "b-{}", "1e3", "1", "10m", ""]),
}
SHAPED = shaped(inspect.type_info(ScenarioFile))


SPECS = st.builds(lambda spec: {"apiVersion": API_VERSION, "kind": KIND, "spec": spec}, JSON_VALUES)


@given(JSON_VALUES | SPECS | SHAPED)
def test_any_values_are_a_scenario_that_reads_back_or_a_scenario_error(data: Any) -> None:
    completed = None
    try:
        scenario = decode_scenario(data, "fuzz.yaml")
        assert decode_scenario(to_yaml(scenario).encode(), "fuzz.yaml") == scenario
        event("accepted")
        completed = complete(scenario)
    except ScenarioError as error:
        event("refused")
        lines = str(error).splitlines()
    else:
        lines = []
    assert all(line.startswith("fuzz.yaml: ") for line in lines)
    if completed is not None:
        assert complete(decode_scenario(to_yaml(completed).encode(), "elsewhere/fuzz.yaml")) == completed


@given(
    st.binary()
    | st.text().map(str.encode)
    | JSON_VALUES.map(lambda value: json.dumps(value).encode())
    | JSON_VALUES.map(lambda value: yaml.safe_dump(value, allow_unicode=True).encode(errors="replace"))
)
def test_any_text_is_a_scenario_error(text: bytes) -> None:
    with pytest.raises(ScenarioError, match=r"^fuzz\.yaml: "):
        decode_scenario(text, "fuzz.yaml")
