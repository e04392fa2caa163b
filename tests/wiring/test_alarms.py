"""Each alarm of the template rings once in the state that its runbook describes, and not in a healthy one.

Values of our metrics are what the product prints in that state. Those of AWS's metrics are what its documentation says:
a dead letter is one visible message, the average of `5xx` is its share of the requests.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from aws_lambda_powertools import Logger, Metrics
from sakuin.differences import ComparedPage, Difference
from sakuin.errors import Invalid, NotFound, OverBudget, SakuinError, Unavailable
from sakuin.mcp.answers import counted
from sakuin.platform.telemetry import EmfMeter, count_search
from sakuin.platform.waiting import WorkRecords, WorkRow
from sakuin.upkeep.canary import CanaryResult
from sakuin.upkeep.reconcile import DailyComparison, Reconcile
from sakuin_local.supabase.database import Database

from tests.contracts.openai_server import OpenAIServer
from tests.convergence.passing import work_ages
from tests.platform.test_queue_handler import Queue, Work
from tests.test_template import resources
from tests.upkeep.test_schedule import Parts
from tests.wiring.test_outages import AWAY, asked

ALARMS = resources("AWS::CloudWatch::Alarm")
AN_HOUR = 3600
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {"Maximum": max, "Sum": sum, "Average": fmean}
Values = Sequence[float]
# What happened in a period: values of the alarm's metric, or of its metrics by their ids.
Period = Values | Mapping[str, Values]


def number_of(alarm: Mapping[str, Any], period: Period) -> float | None:
    """Returns the number that an alarm compares in a period, None without one.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
    """
    if isinstance(period, Mapping):
        metrics = {metric["Id"]: metric for metric in alarm["Metrics"]}
        expression = metrics.pop("value")["Expression"]
        assert period.keys() <= metrics.keys()
        statistics = {name: STATISTICS[metric["MetricStat"]["Stat"]] for name, metric in metrics.items()}
        numbers = {name: statistics[name](period[name]) if period.get(name) else None for name in metrics}

        def fill(metric: Any, value: float) -> Any:
            if isinstance(metric, list):
                return [fill(number, value) for number in metric]
            return value if metric is None else metric

        functions = {"FILL": fill, "SUM": sum, "MAX": max, "METRICS": lambda: list(numbers.values())}
        return float(eval(expression, {"__builtins__": {}}, functions | numbers))  # noqa: S307
    return STATISTICS[alarm["Statistic"]](period) if period else None


def rings(alarm: Mapping[str, Any], periods: Sequence[Period]) -> bool:
    """Whether the values of the last periods, oldest first, put an alarm into the state ALARM; () is a period without.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
    """
    length = alarm["EvaluationPeriods"]
    nothing: Period = {} if "Metrics" in alarm else ()
    numbers = [number_of(alarm, period) for period in [*[nothing] * length, *periods][-length:]]
    breaches = [
        number > alarm["Threshold"] if number is not None else alarm["TreatMissingData"] == "breaching"
        for number in numbers
    ]
    return sum(breaches) >= alarm.get("DatapointsToAlarm", length)


@dataclass
class Product:
    """The product with its stand-ins, and the metrics that it prints."""

    environ: dict[str, str]
    openai: OpenAIServer
    database: Database
    records: WorkRecords
    capsys: pytest.CaptureFixture[str]

    def printed(self, metric: str) -> list[float]:
        """The values of a metric since the last call."""
        lines = [json.loads(line) for line in self.capsys.readouterr().out.splitlines() if '"_aws"' in line]
        return [value for line in lines for value in line.get(metric, ())]

    def failed_calls(self, *, is_broken: bool) -> Sequence[Period]:
        asked(self.environ | ({"SUPABASE_URL": AWAY} if is_broken else {}))
        return [{"calls": self.printed("ToolCallsFailed"), "requests": [0] * 99}] * 2

    def opened_circuits(self, *, is_broken: bool) -> Sequence[Period]:
        self.openai.statuses, self.openai.headers = [503] * 100 * is_broken, {}
        asked(self.environ, times=3)
        return [{"circuits": self.printed("CircuitsOpened")}] * 2

    def denied_calls(self, *, is_broken: bool) -> Sequence[Period]:
        self.openai.statuses = [401] * is_broken
        asked(self.environ)
        return [{"refused": self.printed("CallsDenied")}, {}, {}]

    def late_canary(self, *, is_broken: bool) -> Sequence[Values]:
        result = CanaryResult(arrived=True, found=not is_broken, milliseconds=75_000 if is_broken else 700)
        parts = Parts(self.records, canary=SimpleNamespace(run=lambda: result))
        parts.handle(canary=True)
        return [self.printed("CanaryMilliseconds")] * 2

    def searches_by_words_alone(self, *, is_broken: bool) -> Sequence[Period]:
        self.openai.statuses, self.openai.headers = [503] * 100 * is_broken, {}
        asked(self.environ)
        return [{"pages": self.printed("SearchesByWordsAlone")}] * 2

    def table_searches_by_words_alone(self, *, is_broken: bool) -> Sequence[Period]:
        metrics = Metrics(namespace="Sakuin", service="test")
        degraded = "OpenAI is away" if is_broken else None
        count_search(EmfMeter(metrics, "Search"), "TableSearches", is_empty=False, degraded=degraded)
        metrics.flush_metrics()
        return [{"tables": self.printed("TableSearchesByWordsAlone")}] * 2

    def spent_budget(self, *, is_broken: bool) -> Sequence[Period]:
        work = Work(OverBudget("The budget of the day is used up") if is_broken else None)
        Queue(self.records, self.records, work).deliver()
        return [{"used": self.printed("WorkOverBudget")}]

    def waiting_work(self, *, is_broken: bool) -> Sequence[Period]:
        if is_broken:
            row, since = WorkRow("file", "learns.yml"), datetime.now(UTC).isoformat()
            self.records.begin(row, "m1")
            self.records.wait(row, "m1", since=since, reason="away", vendor="openai", seconds=60)
            with psycopg.connect(self.database.dsn_postgres, autocommit=True) as sql:
                work_ages(sql, AN_HOUR + 400)
        Parts(self.records).handle()
        return [{"waiting": self.printed("OldestWaitingSeconds")}] * 2

    def full_database(self, *, is_broken: bool) -> Sequence[Values]:
        Parts(self.records, database_percent=81 if is_broken else 40).handle()
        return [self.printed("DatabasePercent")] * 3

    def differences(self, *, is_broken: bool) -> Sequence[Values]:
        materials: Any = SimpleNamespace(keys=lambda *_, **__: ComparedPage([Difference("gone", "a", "m", "r")], None))
        reconcile, metrics = (
            Reconcile(materials, materials, lambda: 0.0, lambda: True),
            Metrics(namespace="Sakuin", service="test"),
        )
        DailyComparison(lambda: reconcile, "keys", Logger(service="test"), metrics)("")
        metrics.flush_metrics()
        # A repair that has an effect leaves no difference the next day.
        found = self.printed("ReconcileFindings")
        return [found, found if is_broken else [0], found]

    def failing_maintenance(self, *, is_broken: bool) -> Sequence[Values]:
        errors = 0
        for _minute in range(5):
            try:
                Parts(self.records, Unavailable("away")).handle() if is_broken else Parts(self.records).handle()
            except Unavailable:
                errors += 1
        return [[errors]] * 2


def aws(broken: Sequence[Period], healthy: Sequence[Period]) -> Callable[..., Sequence[Period]]:
    """The values of metrics of AWS in both states."""
    return lambda _product, *, is_broken: broken if is_broken else healthy


def ages(of_queue: str, *seconds: float) -> Sequence[Period]:
    """The age of a queue's oldest message by the minute, in seconds, while other queues are empty."""
    return [{of_queue: [age]} for age in seconds]


STATES: Sequence[tuple[str, Callable[..., Sequence[Period]]]] = [
    *(("DeadLetters", aws([{"pages": [0], name: [1]}], [{"pages": [0]}])) for name in ("tables", "chunks")),
    ("DeadLetters", aws([{"pages": [1]}], [{}])),
    ("OldestMessage", aws(ages("pages", 310, 370, 430, 490, 550), ages("pages", 310, 370, 0, 490, 550))),
    ("OldestMessage", aws(ages("tables", 910, 970, 1030, 1090, 1150), ages("tables", *[310] * 5))),
    ("OldestMessage", aws(ages("chunks", *[3700] * 5), ages("chunks", *[3000] * 5))),
    # One of ten requests; one of a hundred.
    (
        "ErrorRate",
        aws([{"requests": [0] * 9 + [1]}, {}, {"requests": [0] * 9 + [1]}], [{"requests": [0] * 99 + [1]}] * 3),
    ),
    ("ErrorRate", Product.failed_calls),
    ("Throttles", aws([[5, 20]], [[3]])),
    ("Freshness", Product.late_canary),
    ("Maintain", Product.failing_maintenance),
    ("Vendor", Product.opened_circuits),
    ("Denied", Product.denied_calls),
    ("Denied", Product.spent_budget),
    ("Vendor", Product.waiting_work),
    ("DatabaseSize", Product.full_database),
    ("Reconcile", Product.differences),
    ("Vendor", Product.searches_by_words_alone),
    ("Vendor", Product.table_searches_by_words_alone),
]


@pytest.fixture
def product(
    empty_database: Database,
    environ: dict[str, str],
    openai: OpenAIServer,
    records: WorkRecords,
    capsys: pytest.CaptureFixture[str],
) -> Product:
    return Product(environ, openai, empty_database, records, capsys)


@pytest.mark.parametrize(("name", "state"), STATES)
def test_an_alarm_rings_in_its_state_and_not_in_a_healthy_one(
    name: str, state: Callable[..., Sequence[Period]], product: Product
) -> None:
    alarm = ALARMS[f"Sakuin{name}Alarm"]
    assert not rings(alarm, state(product, is_broken=False))
    assert rings(alarm, state(product, is_broken=True))


def test_every_alarm_has_a_state() -> None:
    assert {f"Sakuin{name}Alarm" for name, _ in STATES} == set(ALARMS)


@pytest.mark.parametrize("name", ["SakuinFreshnessAlarm", "SakuinMaintainAlarm"])
def test_an_alarm_rings_if_maintain_does_not_run(name: str) -> None:
    assert rings(ALARMS[name], [])


def test_a_canary_that_cannot_run_counts_as_late(product: Product) -> None:
    def run() -> CanaryResult:
        raise Unavailable("S3 refused the page", vendor="s3")

    with pytest.raises(Unavailable):
        Parts(product.records, canary=SimpleNamespace(run=run)).handle(canary=True)
    assert rings(ALARMS["SakuinFreshnessAlarm"], [product.printed("CanaryMilliseconds")] * 2)


@pytest.mark.parametrize(("error", "share"), [(Invalid("too long"), 0), (NotFound("x"), 0), (Unavailable("away"), 1)])
def test_a_caller_s_mistake_is_no_failure(error: SakuinError, share: float, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics(namespace="Sakuin", service="test")
    with pytest.raises(type(error)), counted(EmfMeter(metrics, "Search")):
        raise error
    metrics.flush_metrics()
    printed = json.loads(capsys.readouterr().out)
    assert (printed["ToolCalls"], printed["ToolCallsFailed"]) == ([1], [share])
