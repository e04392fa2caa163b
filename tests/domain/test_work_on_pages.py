"""What is being done about a page is not asked for again; what died of one version is no reason to leave the next."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sakuin.domain.reconciliation import Difference, HeldObject
from sakuin.domain.work import WorkState
from sakuin.domain.work_on_pages import AT_WORK, BURIED, WorkOnPage, left_to_work

WRITTEN = datetime(2026, 11, 22, tzinfo=UTC)
HELD = HeldObject("s/a.html", "v2", WRITTEN)
STALE = Difference("stale", "s/a.html", "It is old.", "asked")
GONE = replace(STALE, rule="gone")
DEAD = WorkOnPage("a", "dead", WRITTEN, "s/a.html", "v2")
LOOK = replace(DEAD, version_id=None, looks=True)


def repair(work: WorkOnPage, difference: Difference = STALE, held: HeldObject | None = HELD) -> str:
    (left,) = left_to_work([difference], [held] if held else [], [work], prefix="s/")
    return left.repair


@pytest.mark.parametrize("state", ["in_hand", "waiting", "parked"])
def test_what_is_done_or_waits_is_left_to_its_work(state: WorkState) -> None:
    assert repair(WorkOnPage("a", state, WRITTEN)) == AT_WORK
    assert repair(WorkOnPage("b", state, WRITTEN)) == "asked"


def test_a_page_that_is_gone_does_not_wait_for_a_vendor() -> None:
    assert repair(WorkOnPage("a", "parked", WRITTEN), GONE) == "asked"
    assert repair(WorkOnPage("a", "in_hand", WRITTEN), GONE) == AT_WORK


def test_what_died_of_this_very_version_is_left_to_its_dead_letter() -> None:
    assert repair(DEAD) == BURIED
    assert repair(replace(DEAD, version_id="v1")) == "asked"
    assert repair(replace(DEAD, key="s/A.html")) == "asked"
    assert repair(replace(DEAD, version_id=None), GONE, None) == BURIED


def test_a_look_died_of_what_was_there_when_it_was_sent() -> None:
    assert repair(LOOK) == BURIED
    assert repair(replace(LOOK, sent_at=WRITTEN - timedelta(seconds=1))) == "asked"
    assert repair(LOOK, GONE, None) == BURIED


def test_a_page_that_was_to_be_applied_again_and_died_hides_nothing() -> None:
    assert repair(WorkOnPage("a", "dead", WRITTEN)) == "asked"


def test_a_file_beside_the_pages_goes_by_its_key() -> None:
    unread = Difference("unread", "s/learns.yml", "It was not read.", "asked")
    assert repair(WorkOnPage("s/learns.yml", "waiting", WRITTEN), unread) == AT_WORK
