"""How a function answers HTTP requests."""

import time
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from sakuin.bootstrap.watching import Watch
from sakuin.domain.redaction import without
from sakuin.entrypoints.redacting import Handler


def http_handler(answer: Handler, watch: Watch) -> Handler:
    """The handler with one log line, metrics and a trace for each request.

    Logs and calls carry the id that the gateway gave the request, no answer holds a known secret, and a failure becomes
    a 500: an exception that leaves a handler costs its worker.
    """
    logger = watch.logger

    @watch.metrics.log_metrics
    @watch.tracer.capture_lambda_handler(capture_response=False)
    @logger.inject_lambda_context
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        started = time.perf_counter()
        request = event.get("requestContext", {})
        watch.work.id = str(request.get("requestId") or context.aws_request_id)
        logger.set_correlation_id(watch.work.id)
        try:
            answered = answer(event, context)
        except Exception:
            logger.exception("request failed")
            answered = {"statusCode": 500, "headers": {"content-type": "text/plain"}, "body": "Something went wrong."}
        milliseconds = (time.perf_counter() - started) * 1000
        logger.info(
            "request answered",
            method=request.get("http", {}).get("method"),
            path=request.get("http", {}).get("path"),
            status=answered["statusCode"],
            milliseconds=round(milliseconds, 1),
        )
        watch.metrics.add_metric("RequestMilliseconds", MetricUnit.Milliseconds, milliseconds)
        body = answered.get("body")
        if isinstance(body, str) and (clean := without(body, watch.redaction.known)) != body:
            logger.error("an answer held a secret", path=event.get("rawPath"))
            return {**answered, "body": clean}
        return answered

    return handle
