"""The handler of the schedule: maintenance each minute, reconciliation each night, the canary every five minutes."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Unavailable
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.upkeep.canary import NOT_RUN, Canary
from sakuin.upkeep.index_versions import BuildIndexVersions
from sakuin.upkeep.maintain import LONGEST_PART, Maintain
from sakuin.upkeep.reconcile import RUN_SECONDS, Reconcile

# The metric counts all of them.
_MOST_LOGGED = 50


@dataclass(frozen=True, slots=True)
class Schedule:
    """Handles the events of the schedule; `{"canary": true}` and `{"reconcile": true}` request these parts.

    `reconcile` gives the reconciliation of the active index version.
    """

    maintain: Maintain
    build: BuildIndexVersions
    reconcile: Callable[[], Reconcile]
    canary: Canary
    unfinished: UnfinishedWorkStore
    database_percent: Callable[[], float]
    logger: Logger
    metrics: Metrics
    current: CurrentWork

    def handle(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Returns the result. The first error is raised after the last part."""
        self.current.id = context.aws_request_id
        self.logger.append_keys(correlation_id=self.current.id)
        if event.get("canary"):
            return self._run_canary()
        if event.get("reconcile"):
            return self._begin_reconciliation()
        done: dict[str, Any] = {}
        failures: list[Exception] = []
        for part in (self._count_unfinished, self._maintain, self._build_indexes, self._continue_reconciliation):
            try:
                done |= part()
            except Exception as error:
                # An unavailable vendor must not stop the parts that do not need it.
                failures.append(error)
        if failures:
            raise failures[0]
        return done

    def _maintain(self) -> dict[str, Any]:
        counts = asdict(self.maintain())
        self.logger.info("maintained", **counts)
        self.metrics.add_metric("TablesRestarted", MetricUnit.Count, counts["restarted"])
        self.metrics.add_metric("WorkResumed", MetricUnit.Count, counts["resumed"])
        return counts

    def _build_indexes(self) -> dict[str, Any]:
        with self.current.limited(LONGEST_PART):
            self.logger.info("indexes built", **asdict(self.build()))
        return {}

    def _count_unfinished(self) -> dict[str, Any]:
        """Writes the metrics of waiting work at once: an invocation that dies writes none at its end."""
        counts = self.unfinished.counts()
        self.metrics.add_metric("WaitingWork", MetricUnit.Count, counts.states.get("waiting", 0))
        self.metrics.add_metric("OldestWaitingSeconds", MetricUnit.Seconds, counts.oldest_waiting_seconds)
        try:
            self.metrics.add_metric("DatabasePercent", MetricUnit.Percent, self.database_percent())
        finally:
            self.metrics.flush_metrics()
        return {}

    def _begin_reconciliation(self) -> dict[str, Any]:
        failures = 1
        try:
            run = self._reconcile(whole=True)
            failures = 0
        finally:
            self.metrics.add_metric("ReconcileFailed", MetricUnit.Count, failures)
        return run

    def _continue_reconciliation(self) -> dict[str, Any]:
        return self._reconcile(whole=False)

    def _reconcile(self, *, whole: bool) -> dict[str, Any]:
        # The page that is compared last may take as long as another part.
        seconds = max(0.0, min(RUN_SECONDS, self.current.seconds_left() - LONGEST_PART - 1))
        with self.current.limited(seconds + LONGEST_PART):
            run = self.reconcile()(whole=whole, seconds=seconds)
        for one in run.differences[:_MOST_LOGGED]:
            self.logger.warning(
                "difference found", rule=one.rule, where=one.where, difference=one.message, repair=one.repair
            )
        self.metrics.add_metric("ReconcileFindings", MetricUnit.Count, len(run.differences))
        if run.failed:
            raise Unavailable("Reconciliation failed in part: " + "; ".join(run.failed))
        return {"differences": len(run.differences), "goes_on": run.goes_on}

    def _run_canary(self) -> dict[str, Any]:
        result = NOT_RUN
        try:
            result = self.canary.run()
        finally:
            self.logger.info("canary", **asdict(result))
            self.metrics.add_metric("CanaryMilliseconds", MetricUnit.Milliseconds, result.milliseconds)
            self.metrics.add_metric("CanaryFound", MetricUnit.Count, float(result.found))
        return asdict(result)
