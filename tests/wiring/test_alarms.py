"""Each alarm of the template rings once in the state that its runbook describes, and not in a healthy one.

Values of our metrics are what the product prints in that state. Those of AWS's metrics are what its documentation says:
a dead letter is one visible message, the average of `5xx` is its share of the requests.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from aws_lambda_powertools import Metrics
from sakuin.errors import Invalid, NotFound, OverBudget, SakuinError, Unavailable
from sakuin.mcp.answers import counted
from sakuin.platform.retry import Defer
from sakuin.platform.telemetry import EmfMeter, count_search
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject
from sakuin.upkeep.canary import CanaryResult
from sakuin_local.supabase.database import Database

from tests.contracts.openai_server import OpenAIServer
from tests.convergence.passing import work_ages
from tests.platform.test_queue_handler import Queue, Work
from tests.test_template import resources
from tests.upkeep.test_schedule import Parts
from tests.wiring.test_search_in_outages import AWAY, asked

ALARMS = resources("AWS::CloudWatch::Alarm")
AN_HOUR = 3600
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {"Maximum": max, "Sum": sum, "Average": fmean}
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}
Values = Sequence[float]


def rings(alarm: Mapping[str, Any], periods: Sequence[Values]) -> bool:
    """Whether the values of the last periods, oldest first, put an alarm into the state ALARM; () is a period without.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
    """
    length = alarm["EvaluationPeriods"]
    breaches = [
        COMPARISONS[alarm["ComparisonOperator"]](STATISTICS[alarm["Statistic"]](values), alarm["Threshold"])
        if values
        else alarm["TreatMissingData"] == "breaching"
        for values in [*[()] * length, *periods][-length:]
    ]
    return sum(breaches) >= alarm.get("DatapointsToAlarm", length)


@dataclass
class Product:
    """The product with its stand-ins, and the metrics that it prints."""

    environ: dict[str, str]
    openai: OpenAIServer
    database: Database
    unfinished: UnfinishedWorkStore
    capsys: pytest.CaptureFixture[str]

    def printed(self, metric: str) -> list[float]:
        """The values of a metric since the last call."""
        lines = [json.loads(line) for line in self.capsys.readouterr().out.splitlines() if '"_aws"' in line]
        return [value for line in lines for value in line.get(metric, ())]

    def failed_calls(self, *, is_broken: bool) -> Sequence[Values]:
        asked(self.environ | ({"SUPABASE_URL": AWAY} if is_broken else {}))
        return [self.printed("ToolCallsFailed")] * 2

    def opened_circuits(self, *, is_broken: bool) -> Sequence[Values]:
        self.openai.statuses, self.openai.headers = [503] * 100 * is_broken, {}
        asked(self.environ, times=3)
        return [self.printed("CircuitsOpened")] * 2

    def denied_calls(self, *, is_broken: bool) -> Sequence[Values]:
        self.openai.statuses = [401] * is_broken
        asked(self.environ)
        return [self.printed("CallsDenied"), (), ()]

    def late_canary(self, *, is_broken: bool) -> Sequence[Values]:
        result = CanaryResult(arrived=True, found=not is_broken, milliseconds=75_000 if is_broken else 700)
        parts = Parts(self.unfinished, canary=SimpleNamespace(run=lambda: result))
        parts.handle(canary=True)
        return [self.printed("CanaryMilliseconds")] * 2

    def searches_by_words_alone(self, *, is_broken: bool) -> Sequence[Values]:
        self.openai.statuses, self.openai.headers = [503] * 100 * is_broken, {}
        asked(self.environ)
        return [self.printed("SearchesByWordsAlone")] * 2

    def table_searches_by_words_alone(self, *, is_broken: bool) -> Sequence[Values]:
        metrics = Metrics(namespace="Sakuin", service="test")
        degraded = "OpenAI is away" if is_broken else None
        count_search(EmfMeter(metrics, "Search"), "TableSearches", is_empty=False, degraded=degraded)
        metrics.flush_metrics()
        return [self.printed("TableSearchesByWordsAlone")] * 2

    def spent_budget(self, *, is_broken: bool) -> Sequence[Values]:
        work = Work(OverBudget("The budget of the day is used up") if is_broken else None)
        Queue(self.unfinished, self.unfinished, "", work).deliver()
        return [self.printed("WorkOverBudget")]

    def waiting_work(self, *, is_broken: bool) -> Sequence[Values]:
        if is_broken:
            self.unfinished.defer(WorkSubject("file", "a.html"), Defer(60, "away", "openai"))
            with psycopg.connect(self.database.dsn_postgres, autocommit=True) as sql:
                work_ages(sql, AN_HOUR + 400)
        Parts(self.unfinished).handle()
        return [self.printed("OldestWaitingSeconds")] * 2

    def full_database(self, *, is_broken: bool) -> Sequence[Values]:
        Parts(self.unfinished, database_percent=81 if is_broken else 40).handle()
        return [self.printed("DatabasePercent")] * 3

    def differences(self, *, is_broken: bool) -> Sequence[Values]:
        Parts(self.unfinished).handle(reconcile=True)
        # The double has one difference in each run; a repair that has an effect leaves none in the next night.
        found = self.printed("ReconcileFindings")
        return [found, found if is_broken else [0], found]

    def failed_reconciliation(self, *, is_broken: bool) -> Sequence[Values]:
        with pytest.raises(Unavailable) if is_broken else nullcontext():
            Parts(self.unfinished, failed=["keys: away"] * is_broken).handle(reconcile=True)
        return [self.printed("ReconcileFailed")]

    def failing_maintenance(self, *, is_broken: bool) -> Sequence[Values]:
        errors = 0
        for _minute in range(5):
            try:
                Parts(self.unfinished, Unavailable("away")).handle() if is_broken else Parts(self.unfinished).handle()
            except Unavailable:
                errors += 1
        return [[errors]] * 2


def aws(broken: Sequence[Values], healthy: Sequence[Values]) -> Callable[..., Sequence[Values]]:
    """The values of a metric of AWS in both states."""
    return lambda _product, *, is_broken: broken if is_broken else healthy


DEAD_LETTER = aws([[1]], [[0]])
STATES: Mapping[str, Callable[..., Sequence[Values]]] = {
    "SakuinDeadLettersAlarm": DEAD_LETTER,
    "SakuinToolDeadLettersAlarm": DEAD_LETTER,
    "SakuinEmbedDeadLettersAlarm": DEAD_LETTER,
    "SakuinWebhookDeadLettersAlarm": DEAD_LETTER,
    # Seconds, by the minute; chunks by five minutes.
    "SakuinOldestMessageAlarm": aws([[310], [370], [430], [490], [550]], [[310], [370], [0], [490], [550]]),
    "SakuinToolOldestMessageAlarm": aws([[910], [970], [1030], [1090], [1150]], [[310]] * 5),
    "SakuinWebhookOldestMessageAlarm": aws([[1900]] * 5, [[1700]] * 5),
    "SakuinEmbedOldestMessageAlarm": aws([[3700], [4000], [4300]], [[3000]] * 3),
    # One of ten requests; one of a hundred.
    "SakuinErrorRateAlarm": aws([[0] * 9 + [1], (), [0] * 9 + [1]], [[0] * 99 + [1]] * 3),
    # The canary calls the function twice in five minutes.
    "SakuinSilenceAlarm": aws([()], [[1] * 12]),
    "SakuinThrottlesAlarm": aws([[5, 20]], [[3]]),
    "SakuinFailedCallsAlarm": Product.failed_calls,
    "SakuinFreshnessAlarm": Product.late_canary,
    "SakuinMaintainAlarm": Product.failing_maintenance,
    "SakuinVendorAlarm": Product.opened_circuits,
    "SakuinDeniedAlarm": Product.denied_calls,
    "SakuinEmbeddingBudgetAlarm": Product.spent_budget,
    "SakuinWaitingWorkAlarm": Product.waiting_work,
    "SakuinDatabaseSizeAlarm": Product.full_database,
    "SakuinReconcileAlarm": Product.differences,
    "SakuinReconcileFailedAlarm": Product.failed_reconciliation,
    "SakuinWordsAloneAlarm": Product.searches_by_words_alone,
    "SakuinTableWordsAloneAlarm": Product.table_searches_by_words_alone,
}


@pytest.fixture
def product(
    empty_database: Database,
    environ: dict[str, str],
    openai: OpenAIServer,
    unfinished: UnfinishedWorkStore,
    capsys: pytest.CaptureFixture[str],
) -> Product:
    return Product(environ, openai, empty_database, unfinished, capsys)


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_rings_in_its_state_and_not_in_a_healthy_one(name: str, product: Product) -> None:
    assert not rings(ALARMS[name], STATES[name](product, is_broken=False))
    assert rings(ALARMS[name], STATES[name](product, is_broken=True))


@pytest.mark.parametrize("name", ["SakuinFreshnessAlarm", "SakuinWaitingWorkAlarm"])
def test_an_alarm_rings_if_maintain_writes_no_metric(name: str) -> None:
    assert rings(ALARMS[name], [])


def test_a_canary_that_cannot_run_counts_as_late(product: Product) -> None:
    def run() -> CanaryResult:
        raise Unavailable("S3 refused the page", vendor="s3")

    with pytest.raises(Unavailable):
        Parts(product.unfinished, canary=SimpleNamespace(run=run)).handle(canary=True)
    assert rings(ALARMS["SakuinFreshnessAlarm"], [product.printed("CanaryMilliseconds")] * 2)


@pytest.mark.parametrize(("error", "share"), [(Invalid("too long"), 0), (NotFound("x"), 0), (Unavailable("away"), 1)])
def test_a_caller_s_mistake_is_no_failure(error: SakuinError, share: float, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics(namespace="Sakuin", service="test")
    with pytest.raises(type(error)), counted(EmfMeter(metrics, "Search")):
        raise error
    metrics.flush_metrics()
    printed = json.loads(capsys.readouterr().out)
    assert (printed["ToolCalls"], printed["ToolCallsFailed"]) == ([1], [share])


def test_too_few_periods_do_not_ring() -> None:
    alarm = ALARMS["SakuinErrorRateAlarm"]
    assert not rings(alarm, [[1]])
    assert rings(alarm, [[1], [1]])
