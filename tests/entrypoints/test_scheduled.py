"""The schedule's handler: what there was to do, and how much waits, also when a part of it fails."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.domain.reconciliation import Difference
from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.redacting import Handler
from sakuin.entrypoints.scheduled import schedule_handler
from sakuin.errors import Unavailable
from sakuin.platform.unfinished_work import UnfinishedCounts
from sakuin.services.canary import CanarySeen
from sakuin.services.maintain import Maintained
from sakuin.services.reconcile import Reconciled

from tests.entrypoints.events import Context


def handler(
    maintained: Maintained | Exception,
    *,
    whole: list[bool] | None = None,
    uncounted: bool = False,
    failed: Sequence[str] = (),
) -> Handler:
    def maintain() -> Maintained:
        if isinstance(maintained, Exception):
            raise maintained
        return maintained

    def canary() -> CanarySeen:
        return pytest.fail("nobody asked for it")

    def counts() -> UnfinishedCounts:
        if uncounted:
            raise Unavailable("Supabase did not answer", vendor="supabase")
        return UnfinishedCounts({"retrying": 1, "waiting": 7, "failed": 0}, 4000)

    def reconcile(asked: bool) -> Reconciled:
        (whole if whole is not None else []).append(asked)
        return Reconciled([Difference("lost", "a table", "2 of 4 chunks.", "they are stored again")], asked, failed)

    return schedule_handler(
        maintain,
        canary,
        Logger(service="test", stream=io.StringIO()),
        Metrics(namespace="Sakuin", service="test"),
        Tracer(disabled=True),
        CurrentWork(),
        counts=counts,
        reconcile=reconcile,
    )


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    written: dict[str, Any] = next(
        json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line
    )
    return written


def test_what_was_resumed_and_what_waits_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    done = handler(Maintained(sent=1, restarted=2, removed=0, resumed=3))({}, Context())
    said = metrics(capsys)
    assert (done["resumed"], said["WorkResumed"], said["TablesRestarted"]) == (3, [3], [2])
    assert (said["WaitingWork"], said["OldestWaitingSeconds"]) == ([7], [4000])


def test_what_waits_is_counted_while_a_vendor_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Unavailable):
        handler(Unavailable("turbopuffer did not answer", vendor="turbopuffer"))({}, Context())
    assert metrics(capsys)["OldestWaitingSeconds"] == [4000]


def test_a_part_that_fails_is_raised_after_the_others_had_their_turn(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[bool] = []
    schedule = handler(Unavailable("turbopuffer did not answer", vendor="turbopuffer"), whole=asked, uncounted=True)
    with pytest.raises(Unavailable, match="turbopuffer"):
        schedule({}, Context())
    assert (asked, metrics(capsys)["ReconcileFindings"]) == ([False], [1])


def test_what_reconciling_found_is_counted_although_a_part_of_it_failed(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = handler(Maintained(sent=0, restarted=0, removed=0), failed=["keys: S3 did not answer"])
    with pytest.raises(Unavailable, match="Reconciling failed in part: keys: S3 did not answer"):
        schedule({"reconcile": True}, Context())
    assert metrics(capsys)["ReconcileFindings"] == [1]


def test_a_night_reconciles_everything_and_each_minute_continues_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[bool] = []
    schedule = handler(Maintained(sent=0, restarted=0, removed=0), whole=asked)
    minute = schedule({}, Context())
    assert (minute["differences"], minute["goes_on"], metrics(capsys)["ReconcileFindings"]) == (1, False, [1])
    assert schedule({"reconcile": True}, Context()) == {"differences": 1, "goes_on": True}
    assert asked == [False, True]
