"""Equal values share a number."""

from fairway.cluster.interning import Interner


def test_numbers_are_dense_and_stable() -> None:
    interner: Interner[str] = Interner()
    assert [interner.id_of(word) for word in ("a", "b", "a", "c", "b")] == [0, 1, 0, 2, 1]
    assert interner.values == ["a", "b", "c"]
    assert (len(interner), interner[2]) == (3, "c")


def test_looking_does_not_give_out_numbers() -> None:
    interner = Interner(("a",))
    assert (interner.find("a"), interner.find("b")) == (0, -1)
    assert interner.values == ["a"]


def test_it_may_start_with_values() -> None:
    interner = Interner(("cpu", "memory"))
    assert interner.id_of("memory") == 1
    assert interner.id_of("gpu") == 2
