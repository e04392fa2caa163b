"""Work that waits for a time or for a vendor, and its probes."""

from collections.abc import Callable

import pytest
from sakuin.platform.retry import Defer

from tests.platform.unfinished_work.conftest import A_DAY, Work, age, page


def test_what_waits_for_a_time_waits_exactly_so_long_and_comes_back_in_portions(work: Work) -> None:
    work.defer("a", "b", "c", vendor=None, seconds=3600)
    work.passes(3500)
    assert work.due() == []
    work.passes(101)
    assert [work.due(limit=2), work.due(limit=2)] == [["a", "b"], ["c"]]


def test_work_that_failed_for_too_long_is_not_deferred(work: Work) -> None:
    assert work.store.defer(page("a"), Defer(60, "away", "openai", longest=2 * A_DAY))
    work.passes(A_DAY)
    assert work.store.defer(page("a"), Defer(60, "away", "openai", longest=2 * A_DAY))
    work.passes(A_DAY + 1)
    before = work.row("a")
    assert not work.store.defer(page("a"), Defer(60, "still away", "openai", longest=2 * A_DAY))
    assert work.row("a") == before
    assert work.store.defer(page("a"), Defer(60, "tomorrow", None, longest=None))


@pytest.mark.parametrize("state", ["retrying", "waiting"])
def test_a_last_delivery_keeps_the_start_of_the_failures(work: Work, state: str) -> None:
    work.defer("a") if state == "waiting" else work.retry("a")
    work.passes(3 * A_DAY)
    work.store.record_last_delivery(page("a"), "no answer")
    assert work.states() == {"a": "failed"}
    assert not work.store.defer(page("a"), Defer(60, "away", "openai", longest=2 * A_DAY))
    work.store.record_dead_letter(page("a"), "away")
    assert age(work.row("a")) < 60


def test_a_last_delivery_that_may_wait_after_all_is_no_failure(work: Work) -> None:
    work.retry("a")
    work.passes(1200)
    work.store.record_last_delivery(page("a"), "no answer")
    work.defer("a", longest=2 * A_DAY)
    assert (work.row("a").state, work.row("a").reason) == ("waiting", "away")
    assert 1200 <= age(work.row("a")) < 1260


@pytest.mark.parametrize(
    ("trouble", "shortest", "longest"),
    [(0, 30, 60), (100, 30, 60), (600, 150, 300), (1200, 300, 600), (3600, 450, 900), (A_DAY, 450, 900)],
)
def test_waits_grow_to_a_quarter_hour_and_half_is_chance(work: Work, trouble: int, shortest: int, longest: int) -> None:
    work.retry("a")
    work.passes(trouble)
    for _ in range(10):
        work.defer("a", seconds=0)
        assert shortest - 5 <= work.pause("a") <= longest + 5


def test_what_a_vendor_asks_for_is_waited_for(work: Work) -> None:
    work.defer("a", seconds=700)
    assert 690 < work.pause("a") <= 700


def test_of_what_waits_for_a_vendor_one_goes_as_a_probe(work: Work) -> None:
    work.defer("a", "b", "c")
    work.defer("other", vendor="turbopuffer")
    work.passes(61)
    assert sorted(work.due()) == ["a", "other"]
    assert work.due() == []
    work.passes(100)
    assert work.due() == []
    # Nothing came of the probes: others follow.
    work.passes(81)
    assert len(work.due()) == 2


def test_a_vendor_that_answers_lets_the_others_go_in_portions(work: Work) -> None:
    work.defer("a", "b", "c", "d")
    work.defer("other", vendor="turbopuffer", seconds=600)
    work.passes(61)
    assert work.due() == ["a"]
    work.finish("a")
    assert [work.due(limit=2), work.due(limit=2)] == [["b", "c"], ["d"]]


@pytest.mark.parametrize(
    ("then", "seconds", "due"),
    [
        # Its vendor failed again: the others wait, too, and another one is next.
        (lambda work: work.defer("a", seconds=300), [250, 60], [[], ["b"]]),
        # Its queue delivers it again: it is still the probe.
        (lambda work: work.retry("a", vendor="openai", seconds=30), [61], [[]]),
        # It failed for another reason.
        (lambda work: work.retry("a"), [0], [["b"]]),
        (lambda work: work.finish("a"), [0], [["b", "c"]]),
    ],
)
def test_what_came_of_a_probe_decides_about_the_others(
    work: Work, then: Callable[[Work], None], seconds: list[int], due: list[list[str]]
) -> None:
    work.defer("a", "b", "c")
    work.passes(61)
    assert work.due() == ["a"]
    then(work)
    for passing, names in zip(seconds, due, strict=True):
        work.passes(passing)
        assert work.due() == names


def test_a_retry_in_an_hour_blocks_no_probe(work: Work) -> None:
    work.retry("a", vendor="openai", seconds=3600)
    work.defer("b")
    work.passes(61)
    assert work.due() == ["b"]


def test_any_answer_of_a_vendor_releases_the_waiting_work_and_no_work_without_a_call(work: Work) -> None:
    work.defer("a", "b", seconds=600)
    work.retry("new", vendor="openai")
    work.finish("new", vendor_answered=False)
    assert work.due() == []
    work.retry("new", vendor="openai")
    work.finish("new")
    assert work.due() == ["a", "b"]


def test_released_work_waits_again_if_the_vendor_fails_again(work: Work) -> None:
    work.defer("a", "b", "c", "d")
    work.passes(61)
    work.due()
    work.finish("a")
    assert work.due(limit=1) == ["b"]
    work.defer("b")
    work.passes(61)
    assert len(work.due()) == 1
