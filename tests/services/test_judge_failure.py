"""A message that failed comes back, is parked, or is dead."""

import pytest
from sakuin.domain.work import MAX_TRIES, Again, Dead, Parked
from sakuin.errors import CircuitOpen, Conflict, Invalid, OutOfTime, OverBudget, Refused, Unavailable
from sakuin.services.judge_failure import judged

NOON = 1_763_812_800.0
AWAY = Unavailable("The embedding service did not answer", vendor="openai")
REFUSED = Refused("The embedding service refused with 401: check openai_api_key", vendor="openai")


def verdict(
    error: Exception, *, tries: int = 1, parks: int = 0, waited: float = 0, chance: float = 1.0
) -> Again | Parked | Dead:
    return judged(error, tries=tries, now=NOON, chance=chance, parks=parks, waited=waited)


@pytest.mark.parametrize("error", [Invalid("It is wrong"), Conflict("Somebody was first"), Unavailable("away")])
def test_what_no_vendor_is_to_blame_for_is_tried_five_times(error: Exception) -> None:
    waits = [verdict(error, tries=tries) for tries in range(1, MAX_TRIES)]
    assert waits == [Again(seconds, str(error)) for seconds in (5, 30, 180, 720)]
    assert verdict(error, tries=MAX_TRIES) == Dead(str(error))


def test_a_vendor_s_hiccup_is_tried_again_and_its_outage_never_uses_up_the_tries() -> None:
    assert [type(verdict(AWAY, tries=tries)) for tries in range(1, 6)] == [Again, Again, Again, Parked, Parked]


def test_a_failure_says_which_vendor_is_to_blame() -> None:
    assert verdict(AWAY) == Again(5, "The embedding service did not answer", "openai")


def test_a_vendor_that_is_not_asked_costs_no_try() -> None:
    error = CircuitOpen("openai is not asked", vendor="openai", retry_after=20)
    assert isinstance(verdict(error, tries=1), Parked)


def test_parked_work_says_for_whom_it_waits() -> None:
    parked = verdict(AWAY, tries=4)
    assert isinstance(parked, Parked)
    assert (parked.vendor, parked.reason) == (
        "openai",
        "The embedding service did not answer; this waits for openai and goes on by itself",
    )


def test_the_waits_grow_up_to_a_quarter_of_an_hour_and_half_of_each_is_chance() -> None:
    outages = (0, 60, 600, 1200, 3600, 86_400)
    longest = [verdict(AWAY, tries=4, waited=seconds) for seconds in outages]
    shortest = [verdict(AWAY, tries=4, waited=seconds, chance=0.0) for seconds in outages]
    assert [parked.seconds for parked in longest if isinstance(parked, Parked)] == [60, 60, 300, 600, 900, 900]
    assert [parked.seconds for parked in shortest if isinstance(parked, Parked)] == [30, 30, 150, 300, 450, 450]


@pytest.mark.parametrize("tries", [1, 4])
def test_a_vendor_s_own_wish_is_waited_for(tries: int) -> None:
    said = verdict(Unavailable("429", vendor="openai", retry_after=700), tries=tries)
    assert not isinstance(said, Dead)
    assert said.seconds == 700


@pytest.mark.parametrize("tries", [1, 4])
def test_a_vendor_that_wants_to_be_left_alone_for_years_is_asked_within_a_quarter_of_an_hour(tries: int) -> None:
    said = verdict(Unavailable("429", vendor="openai", retry_after=315_360_000), tries=tries)
    assert not isinstance(said, Dead)
    assert said.seconds == 900


@pytest.mark.parametrize("tries", range(1, MAX_TRIES + 1))
def test_work_over_the_budget_goes_on_with_the_next_day_whatever_its_tries(tries: int) -> None:
    error = OverBudget("The day's tokens are used up")
    assert verdict(error, tries=tries) == Parked(12 * 3600, "The day's tokens are used up")


@pytest.mark.parametrize("tries", range(1, MAX_TRIES + 1))
def test_work_that_its_worker_had_no_time_for_goes_on_at_once_whatever_its_tries(tries: int) -> None:
    assert verdict(OutOfTime("There was no time"), tries=tries) == Parked(0, "There was no time")


def test_work_that_never_has_time_ends() -> None:
    assert verdict(OutOfTime("There was no time"), tries=5, parks=200) == Dead("There was no time")


def test_a_poison_that_looks_like_an_outage_ends_after_a_day_and_more() -> None:
    assert isinstance(verdict(AWAY, tries=4, parks=199), Parked)
    assert isinstance(verdict(AWAY, tries=4, parks=200), Again)
    assert isinstance(verdict(AWAY, tries=5, parks=200), Dead)


@pytest.mark.parametrize("tries", range(1, MAX_TRIES + 1))
def test_work_whose_key_is_refused_waits_at_once_and_says_what_to_mend(tries: int) -> None:
    assert verdict(REFUSED, tries=tries) == Parked(
        60,
        "The embedding service refused with 401: check openai_api_key; this waits for openai and goes on by itself "
        "once that is mended",
        "openai",
    )


def test_a_key_may_be_wrong_for_two_weeks_and_what_only_looks_so_ends() -> None:
    a_quarter_of_an_hour = 14 * 24 * 4
    assert isinstance(verdict(REFUSED, tries=5, parks=a_quarter_of_an_hour), Parked)
    assert verdict(REFUSED, tries=5, parks=2_000) == Dead(str(REFUSED))


def test_what_is_unexpected_is_told_without_its_words() -> None:
    said = verdict(RuntimeError("postgres://user:secret@host"), tries=5)
    assert said == Dead("Something unexpected went wrong; the log has it")
