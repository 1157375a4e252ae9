"""Which answers are remembered, and for how long."""

from typing import Any

from fairway.cluster import PodClass
from fairway.cycle.answer_cache import FEWEST, KEPT_BYTES, TRIAL_BYTES, AnswerCache
from fairway.testing import cluster, node, pod

MANY_ROWS = KEPT_BYTES  # answers over so many rows are larger than all room there is


def classes(number: int, **each: Any) -> list[PodClass]:
    made = cluster(node("n"))
    made.read_annotations(None)
    return [made.classify(pod(f"p{place}", labels={"job": str(place)}, **each)) for place in range(number)]


def fill(cache: AnswerCache, some: list[PodClass], num_rows: int) -> None:
    for pod_class in some:
        cache.add(pod_class, object(), num_rows)  # type: ignore[arg-type]


def test_classes_that_never_come_again_take_little_room() -> None:
    cache = AnswerCache(())
    fill(cache, classes(5 * FEWEST), MANY_ROWS)
    assert len(cache) == FEWEST


def test_a_class_that_comes_again_is_kept() -> None:
    cache = AnswerCache(())
    some = classes(4 * FEWEST)
    fill(cache, some[:1], MANY_ROWS)
    first = cache.find(some[0])
    assert first is not None
    fill(cache, some[1:], MANY_ROWS)
    assert cache.find(some[0]) is first
    assert cache.find(some[1]) is None


def test_a_class_that_comes_again_after_it_was_forgotten_is_kept_too() -> None:
    cache = AnswerCache(())
    some = classes(4 * FEWEST)
    fill(cache, some, MANY_ROWS)
    assert cache.find(some[0]) is None
    fill(cache, some[:1], MANY_ROWS)
    fill(cache, classes(2 * FEWEST, cpu=1), MANY_ROWS)
    assert cache.find(some[0]) is not None


def test_huge_pods_are_forgotten_sooner() -> None:
    cache = AnswerCache(())
    annotation = "x" * (TRIAL_BYTES // 12 // 4)
    some = classes(8, annotations={"example.com/story": annotation})
    fill(cache, some, 16)
    assert len(cache) < 4
    assert cache.find(some[-1]) is not None


def test_what_plugins_keep_in_a_class_goes_with_the_answers() -> None:
    keeper = object()
    cache = AnswerCache((keeper,))
    some = classes(2)
    for pod_class in some:
        pod_class.kept[keeper] = "much"
        pod_class.kept["other"] = "not ours"
    fill(cache, some, 16)
    cache.clear()
    assert [pod_class.kept for pod_class in some] == [{"other": "not ours"}] * 2
    assert len(cache) == 0
