"""Retries, dead letters, and which of two events of a file counts."""

from dataclasses import replace

import pytest
from psycopg.types.json import Jsonb
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import WorkMessage, WorkSubject

from tests.platform.unfinished_work.conftest import A_DAY, A_PAGE, Work, age, page


def test_a_retry_says_why_and_since_when_and_belongs_to_its_queue(work: Work) -> None:
    work.store.record_retry(A_PAGE, "it failed", vendor="openai", seconds=30)
    work.passes(20)
    work.store.record_retry(A_PAGE, "it failed again", vendor=None, seconds=180)
    row = work.row(A_PAGE.id)
    assert (row.kind, row.state, row.reason, row.vendor, row.attempts) == (
        "file",
        "retrying",
        "it failed again",
        None,
        2,
    )
    assert row.body == "the first event"
    assert 20 <= age(row) <= 60
    assert 100 < work.pause(A_PAGE.id) <= 180
    assert work.due() == []


def test_finished_work_has_no_row(work: Work) -> None:
    work.retry("a")
    work.finish("a")
    assert work.states() == {}
    work.finish("a")
    work.store.finish(WorkSubject("table", "00000000-0000-4000-8000-000000000001"), vendor_answered=True)


def test_a_retry_that_its_queue_forgot_is_sent_again(work: Work) -> None:
    work.store.record_retry(A_PAGE, "it failed", vendor=None, seconds=30)
    work.passes(200)
    assert work.due() == []
    work.passes(11)
    assert work.store.claim_due(limit=10) == [WorkMessage("material", "the first event")]
    assert work.states() == {A_PAGE.id: "waiting"}


def test_a_claim_is_one_s_own_for_three_minutes_and_then_anybody_s(work: Work) -> None:
    work.defer("a", vendor=None, seconds=0)
    assert (work.due(), work.due()) == (["a"], [])
    work.passes(170)
    assert work.due() == []
    work.passes(11)
    assert work.due() == ["a"]


def test_a_dead_letter_is_kept_with_its_reason_for_fifteen_days(work: Work) -> None:
    work.retry("a")
    work.passes(3600)
    work.store.record_dead_letter(page("a"), "the page is poison")
    work.passes(14 * A_DAY)
    assert work.due() == []
    row = work.row("a")
    assert (row.state, row.reason, row.attempts, row.retry_at) == ("failed", "the page is poison", 2, None)
    assert 14 * A_DAY <= age(row) < 14 * A_DAY + 60
    work.passes(A_DAY + 1)
    assert (work.due(), work.states()) == ([], {})


def test_a_redriven_dead_letter_starts_again(work: Work) -> None:
    work.retry("a")
    work.passes(3 * A_DAY)
    work.store.record_dead_letter(page("a"), "it failed")
    work.passes(A_DAY)
    work.retry("a")
    assert (work.row("a").state, age(work.row("a")) < 60) == ("retrying", True)


@pytest.mark.parametrize(("outcome", "states"), [("failed", {"a": "failed"}), ("applied", {}), ("superseded", {})])
def test_a_receipt_finishes_a_version_but_for_a_dead_letter_s(work: Work, outcome: str, states: dict[str, str]) -> None:
    work.store.record_dead_letter(page("a"), "the page is poison")
    receipt = {"key": "a", "version_id": "v1", "sequencer": "0A"}
    work.sql.execute("select record_upload_result(%s, %s, 'so')", [Jsonb(receipt), outcome])
    assert work.states() == states


def test_an_older_event_does_not_hide_a_newer_one(work: Work) -> None:
    newer = replace(A_PAGE, sequencer="0B", message=WorkMessage("material", "the second event"))
    for first, second in ((A_PAGE, newer), (newer, A_PAGE)):
        work.store.defer(first, Defer(0, "away"))
        work.store.defer(second, Defer(0, "away"))
        assert work.due() == ["the second event"]
        work.store.finish(newer, vendor_answered=True)


@pytest.mark.parametrize("is_first", [False, True])
def test_no_event_hides_a_request_about_the_current_state(work: Work, is_first: bool) -> None:
    current = replace(A_PAGE, sequencer="", message=WorkMessage("material", "compare"))
    for subject in (current, A_PAGE) if is_first else (A_PAGE, current):
        work.store.defer(subject, Defer(0, "away"))
    assert work.due() == ["compare"]
    work.store.finish(replace(A_PAGE, sequencer="09"), vendor_answered=True)
    assert len(work.states()) == 1


def test_a_newer_event_or_the_current_version_finishes_an_event_and_an_older_one_does_not(work: Work) -> None:
    for finishing in ("0C", ""):
        work.store.defer(replace(A_PAGE, sequencer="0B"), Defer(600, "away"))
        work.store.finish(A_PAGE, vendor_answered=True)
        assert len(work.states()) == 1
        work.store.finish(replace(A_PAGE, sequencer=finishing), vendor_answered=True)
        assert work.states() == {}
