"""Calls of the schedule: each minute what must be true in the end, from time to time the canary."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.redacting import Handler
from sakuin.errors import Unavailable
from sakuin.platform.unfinished_work import UnfinishedCounts
from sakuin.services.canary import CanarySeen
from sakuin.services.maintain import Maintained
from sakuin.services.reconcile import Reconciled

# The rest is in the count.
_MOST_LOGGED = 50


def schedule_handler(
    maintain: Callable[[], Maintained],
    canary: Callable[[], CanarySeen],
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    current: CurrentWork,
    *,
    counts: Callable[[], UnfinishedCounts] = lambda: UnfinishedCounts({}),
    reconcile: Callable[[bool], Reconciled] = lambda _whole: Reconciled(),
) -> Handler:
    """A Lambda handler for the schedule; `{"canary": true}` asks for the canary. `counts` counts unfinished work.

    `reconcile` looks at a little each minute, and at everything for `{"reconcile": true}`. A part that fails is raised
    after the others had their turn.
    """

    def maintained() -> dict[str, Any]:
        done = asdict(maintain())
        logger.info("maintained", **done)
        metrics.add_metric("TablesRestarted", MetricUnit.Count, done["restarted"])
        metrics.add_metric("WorkResumed", MetricUnit.Count, done["resumed"])
        return done

    def counted() -> dict[str, Any]:
        _count(counts(), metrics)
        return {}

    def reconciled(*, whole: bool) -> dict[str, Any]:
        run = reconcile(whole)
        for one in run.differences[:_MOST_LOGGED]:
            logger.warning(
                "difference found", rule=one.rule, where=one.where, difference=one.message, repair=one.repair
            )
        metrics.add_metric("ReconcileFindings", MetricUnit.Count, len(run.differences))
        if run.failed:
            raise Unavailable("Reconciling failed in part: " + "; ".join(run.failed))
        return {"differences": len(run.differences), "goes_on": run.goes_on}

    @metrics.log_metrics
    @tracer.capture_lambda_handler(capture_response=False)
    @logger.inject_lambda_context
    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        current.id = context.aws_request_id
        logger.append_keys(correlation_id=current.id)
        if event.get("canary"):
            seen = canary()
            logger.info("canary seen", **asdict(seen))
            metrics.add_metric("CanaryMilliseconds", MetricUnit.Milliseconds, seen.milliseconds)
            metrics.add_metric("CanaryArrived", MetricUnit.Count, float(seen.arrived))
            return asdict(seen)
        if event.get("reconcile"):
            return reconciled(whole=True)
        done: dict[str, Any] = {}
        failures: list[Exception] = []
        for part in (maintained, counted, partial(reconciled, whole=False)):
            try:
                done |= part()
            except Exception as error:
                # What waits is counted, and lost events are looked for, while a vendor of another part is away.
                failures.append(error)
        if failures:
            raise failures[0]
        return done

    return handler


def _count(counts: UnfinishedCounts, metrics: Metrics) -> None:
    metrics.add_metric("WaitingWork", MetricUnit.Count, counts.states.get("waiting", 0))
    metrics.add_metric("OldestWaitingSeconds", MetricUnit.Seconds, counts.oldest_waiting_seconds)
