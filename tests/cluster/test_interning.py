"""Equal values share a number."""

from fairway.cluster.interning import CountedInterner, Interner


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


def test_an_id_is_stable_while_it_is_held_and_then_given_to_another_value() -> None:
    interner: CountedInterner[str] = CountedInterner()
    assert [interner.hold(word) for word in ("a", "b", "a")] == [0, 1, 0]
    version = interner.version
    interner.release(0)
    assert (interner.find("a"), interner.version) == (0, version)
    interner.release(0)
    assert (interner.find("a"), interner.num_held, interner.values) == (-1, 1, [None, "b"])
    assert interner.version > version
    assert interner.hold("c") == 0
    assert (interner[0], len(interner)) == ("c", 2)


def test_first_values_are_held_for_ever() -> None:
    interner = CountedInterner(("nothing",))
    interner.hold("nothing")
    interner.release(0)
    assert interner.find("nothing") == 0
