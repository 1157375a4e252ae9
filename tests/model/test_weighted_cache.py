"""What is remembered is bounded by its weight."""

from fairway.model.weighted_cache import WeightedCache


def test_the_longest_unused_go_first() -> None:
    asked: list[str] = []

    def make(key: str) -> str:
        asked.append(key)
        return key.upper()

    cache = WeightedCache(make, len, limit=6)
    assert [cache(key) for key in ("aa", "bb", "cc", "aa")] == ["AA", "BB", "CC", "AA"]
    assert (asked, cache.weight) == (["aa", "bb", "cc"], 6)
    cache("dd")  # bb goes
    assert [cache(key) for key in ("aa", "cc", "dd")] == ["AA", "CC", "DD"]
    assert asked == ["aa", "bb", "cc", "dd"]
    cache("bb")
    assert asked[-1] == "bb"


def test_a_heavy_one_is_kept_alone() -> None:
    cache = WeightedCache(str.upper, len, limit=6)
    for key in ("aa", "bb", "x" * 100):
        cache(key)
    assert (len(cache), cache.weight) == (1, 100)
    cache("aa")
    assert (len(cache), cache.weight) == (1, 2)


def test_what_fails_is_not_remembered() -> None:
    cache = WeightedCache(int, len, limit=6)
    for _ in range(2):
        try:
            cache("x")
        except ValueError:
            continue
        raise AssertionError("a number was made of x")
    assert (len(cache), cache.weight) == (0, 0)
