"""Label columns: made when asked for, right from then on."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster.labels import LabelColumns

Labels = Mapping[str, str] | None


def texts(columns: LabelColumns, key: str, num_rows: int) -> list[str | None]:
    column = columns.column(key)
    return [None if number < 0 else column.values[number] for number in column.ids[:num_rows].tolist()]


def test_a_column_is_made_from_the_rows_there_are() -> None:
    rows: list[Labels] = [{"zone": "a"}, None, {"zone": "b", "disk": "ssd"}, {"zone": "a"}]
    columns = LabelColumns(rows, capacity=8)
    assert texts(columns, "zone", 4) == ["a", None, "b", "a"]
    assert texts(columns, "disk", 4) == [None, None, "ssd", None]
    assert columns.column("zone").ids[4:].tolist() == [-1] * 4


def test_setting_a_row_tells_which_columns_changed() -> None:
    rows: list[Labels] = [{"zone": "a", "disk": "ssd"}]
    columns = LabelColumns(rows, capacity=4)
    columns.column("zone")
    columns.column("disk")
    changed = columns.set(0, {"zone": "b", "disk": "ssd"})
    assert [column.key for column in changed] == ["zone"]
    assert columns.set(0, {"zone": "b", "disk": "ssd", "unasked": "x"}) == []
    assert [column.key for column in columns.set(0, None)] == ["zone", "disk"]


def test_an_empty_value_is_not_an_absent_label() -> None:
    columns = LabelColumns([{"zone": ""}, {}], capacity=2)
    assert texts(columns, "zone", 2) == ["", None]


def test_a_truth_table_ends_in_the_verdict_on_absent_labels() -> None:
    columns = LabelColumns([{"zone": "a"}, {}, {"zone": "b"}], capacity=4)
    column = columns.column("zone")
    table = column.truth_table(lambda value: value == "b", absent=True)
    assert table[column.ids].tolist() == [False, True, True, True]
    empty = columns.column("nobody").truth_table(lambda value: True, absent=False)
    assert empty.tolist() == [False]


LABELS = st.none() | st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["", "1", "2"]))


@given(st.lists(st.tuples(st.integers(0, 5), LABELS), max_size=20), st.integers(0, 20))
def test_columns_asked_for_early_and_late_agree(changes: list[tuple[int, Labels]], asked_at: int) -> None:
    rows: list[Labels] = [None] * 6
    columns = LabelColumns(rows, capacity=6)
    for step, (row, labels) in enumerate(changes):
        if step == asked_at:
            columns.column("x")
        if step == 10:
            columns.grow(12)
        columns.set(row, labels)
    for key in ("x", "y"):
        assert texts(columns, key, 6) == [None if labels is None else labels.get(key) for labels in rows]


def test_keys_that_no_node_has_get_no_column() -> None:
    rows: list[Labels] = [{"zone": "a"}, {}]
    columns = LabelColumns(rows, capacity=2)
    asked = [columns.column(f"key-{number}") for number in range(100)]
    assert all(column is asked[0] for column in asked)
    assert asked[0].ids.tolist() == [-1, -1]
    assert ("zone" in columns, "key-1" in columns) == (True, False)
    version = columns.keys_version
    columns.set(1, {"key-1": "x"})
    assert texts(columns, "key-1", 2) == [None, "x"]
    assert columns.keys_version > version


def test_a_column_ends_with_the_last_node_that_has_the_key() -> None:
    columns = LabelColumns([{"zone": "a"}, {"zone": "b"}], capacity=2)
    column = columns.column("zone")
    columns.set(0, None)
    assert columns.column("zone") is column
    columns.set(1, {})
    assert columns.column("zone") is columns.column("nobody")
    columns.set(1, {"zone": "c"})
    assert texts(columns, "zone", 2) == [None, "c"]


def test_values_of_nodes_that_are_gone_are_forgotten() -> None:
    columns = LabelColumns([{"host": "first"}, {"host": "other"}], capacity=2)
    column = columns.column("host")
    for number in range(100):
        columns.set(0, {"host": f"host-{number}"})
    assert (column.values.num_held, len(column.values)) == (2, 3)
    assert texts(columns, "host", 2) == ["host-99", "other"]
