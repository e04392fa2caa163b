"""The schedule's handler: what there was to do, and how much waits, also when a part of it fails."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from sakuin.bootstrap.instrumented import instrument
from sakuin.domain.reconciliation import Difference
from sakuin.entrypoints.redacting import Failed, Handler
from sakuin.errors import Unavailable
from sakuin.platform.unfinished_work import UnfinishedCounts
from sakuin.services.build_indexes import IndexesBuilt
from sakuin.services.maintain import Maintained
from sakuin.services.reconcile import Reconciled
from sakuin.upkeep.canary import CanaryResult
from sakuin.upkeep.schedule import Schedule

from tests.entrypoints.events import Context, a_watch


@dataclass
class Parts:
    """What the schedule calls; `whole` are the calls of reconciliation."""

    maintained: Maintained | Exception
    uncounted: bool = False
    failed: Sequence[str] = ()
    whole: list[bool] = field(default_factory=list)

    def maintain(self) -> Maintained:
        if isinstance(self.maintained, Exception):
            raise self.maintained
        return self.maintained

    def build(self) -> IndexesBuilt:
        return IndexesBuilt(0, 0, 0, None)

    def counts(self) -> UnfinishedCounts:
        if self.uncounted:
            raise Unavailable("Supabase did not answer", vendor="supabase")
        return UnfinishedCounts({"retrying": 1, "waiting": 7, "failed": 0}, 4000)

    def reconcile(self, *, whole: bool) -> Reconciled:
        self.whole.append(whole)
        found = [Difference("lost", "a table", "2 of 4 chunks.", "they are stored again")]
        return Reconciled(found, whole, self.failed)

    def run(self) -> CanaryResult:
        return CanaryResult(True, True, 900.0)


def handler(maintained: Maintained | Exception, **how: Any) -> Handler:
    parts: Any = Parts(maintained, **how)
    watch = a_watch(Logger(service="test", stream=io.StringIO()))
    schedule = Schedule(
        parts.maintain, parts.build, lambda: parts.reconcile, parts, parts, watch.logger, watch.metrics, watch.work
    )
    return instrument(schedule.handle, watch)


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
    with pytest.raises(Failed):
        handler(Unavailable("turbopuffer did not answer", vendor="turbopuffer"))({}, Context())
    assert metrics(capsys)["OldestWaitingSeconds"] == [4000]


def test_a_part_that_fails_is_raised_after_the_others_had_their_turn(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[bool] = []
    schedule = handler(Unavailable("turbopuffer did not answer", vendor="turbopuffer"), whole=asked, uncounted=True)
    with pytest.raises(Failed, match="turbopuffer"):
        schedule({}, Context())
    assert (asked, metrics(capsys)["ReconcileFindings"]) == ([False], [1])


def test_what_reconciling_found_is_counted_although_a_part_of_it_failed(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = handler(Maintained(sent=0, restarted=0, removed=0), failed=["keys: S3 did not answer"])
    with pytest.raises(Failed, match="Reconciling failed in part: keys: S3 did not answer"):
        schedule({"reconcile": True}, Context())
    assert metrics(capsys)["ReconcileFindings"] == [1]


def test_a_night_reconciles_everything_and_each_minute_continues_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[bool] = []
    schedule = handler(Maintained(sent=0, restarted=0, removed=0), whole=asked)
    minute = schedule({}, Context())
    assert (minute["differences"], minute["goes_on"], metrics(capsys)["ReconcileFindings"]) == (1, False, [1])
    assert schedule({"reconcile": True}, Context()) == {"differences": 1, "goes_on": True}
    assert asked == [False, True]


def test_the_canary_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    done = handler(Maintained(sent=0, restarted=0, removed=0))({"canary": True}, Context())
    assert (done["found"], metrics(capsys)["CanaryFound"]) == (True, [1.0])
