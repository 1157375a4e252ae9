"""What counts as a difference where kube-scheduler's own answer is a race."""

from fairway.conformance.difference import OTHER_ERRORS, differences

EXPECTED = {"result": "error", "error": "running B: broken"}


def test_any_error_that_was_met_may_be_told() -> None:
    seen = {"result": "error", "error": "running A: broken", OTHER_ERRORS: ("running B: broken",)}
    assert differences(EXPECTED, seen) == []


def test_an_error_that_nobody_met_is_a_difference() -> None:
    seen = {"result": "error", "error": "running A: broken", OTHER_ERRORS: ("running C: broken",)}
    assert [one.field for one in differences(EXPECTED, seen)] == ["error"]


def test_an_error_where_none_is_expected_is_a_difference() -> None:
    seen = {"result": "error", "error": "running A: broken", OTHER_ERRORS: ("",)}
    assert [one.field for one in differences({"result": "error", "error": ""}, seen)] == ["error"]
