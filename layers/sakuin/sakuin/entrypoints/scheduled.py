"""Calls of the schedule: each minute what must be true in the end, from time to time the canary."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.entrypoints.observing import CurrentWork, Handler
from sakuin.services.canary import CanarySeen
from sakuin.services.maintain import Maintained


def schedule_handler(
    maintain: Callable[[], Maintained],
    canary: Callable[[], CanarySeen],
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    current: CurrentWork,
) -> Handler:
    """A Lambda handler for the schedule; `{"canary": true}` asks for the canary."""

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
        done = asdict(maintain())
        logger.info("maintained", **done)
        metrics.add_metric("TablesRestarted", MetricUnit.Count, done["restarted"])
        return done

    return handler
