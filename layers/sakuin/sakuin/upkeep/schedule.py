"""The handler of the schedule: maintenance each minute, the canary every five minutes."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import OutOfTime
from sakuin.platform.run_all import rotated
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.waiting import WorkRecords
from sakuin.upkeep.canary import NOT_RUN, Canary
from sakuin.upkeep.index_versions import BuildIndexVersions
from sakuin.upkeep.maintain import LONGEST_PART


@dataclass(frozen=True, slots=True)
class Schedule:
    """Handles the events of the schedule; `{"canary": true}` requests the canary.

    `mark_maintained` is called when a run of each minute ends without an error.
    """

    maintain: Callable[[], dict[str, int]]
    build: BuildIndexVersions
    canary: Canary
    records: WorkRecords
    database_percent: Callable[[], float]
    logger: Logger
    metrics: Metrics
    current: CurrentWork
    mark_maintained: Callable[[], None]
    clock: Callable[[], float] = time.monotonic

    def handle(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Returns the result. The first error is raised after the last part."""
        self.current.id = context.aws_request_id
        self.logger.append_keys(correlation_id=self.current.id)
        if event.get("canary"):
            return self._run_canary()
        results: dict[str, Any] = {}
        failures: list[Exception] = []
        parts = rotated((self._maintain, self._build_indexes), self.clock() / 60)
        for part in (self._count_waiting, *parts):
            try:
                results |= part()
            except OutOfTime:
                # It comes earlier in another minute.
                continue
            except Exception as error:
                # An unavailable vendor must not stop the parts that do not need it.
                failures.append(error)
        if failures:
            raise failures[0]
        self.mark_maintained()
        return results

    def _maintain(self) -> dict[str, Any]:
        results = self.maintain()
        self.logger.info("maintained", results=results)
        self.metrics.add_metric("TablesRestarted", MetricUnit.Count, results.get("restarted", 0))
        return results

    def _build_indexes(self) -> dict[str, Any]:
        with self.current.limited(LONGEST_PART):
            self.logger.info("indexes built", **asdict(self.build()))
        return {}

    def _count_waiting(self) -> dict[str, Any]:
        """Writes the metrics of waiting work at once: an invocation that dies writes none at its end."""
        waiting = self.records.waiting()
        self.metrics.add_metric("WaitingWork", MetricUnit.Count, waiting.count)
        self.metrics.add_metric("OldestWaitingSeconds", MetricUnit.Seconds, waiting.oldest_seconds)
        try:
            self.metrics.add_metric("DatabasePercent", MetricUnit.Percent, self.database_percent())
        finally:
            self.metrics.flush_metrics()
        return {}

    def _run_canary(self) -> dict[str, Any]:
        result = NOT_RUN
        try:
            result = self.canary.run()
        finally:
            self.logger.info("canary", **asdict(result))
            self.metrics.add_metric("CanaryMilliseconds", MetricUnit.Milliseconds, result.milliseconds)
            self.metrics.add_metric("CanaryFound", MetricUnit.Count, float(result.found))
        return asdict(result)
