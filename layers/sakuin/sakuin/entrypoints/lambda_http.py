"""An ASGI application behind API Gateway, kept running between invocations."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from mangum import Mangum

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def held_open(app: Any, running: Callable[[], AbstractAsyncContextManager[None]]) -> Handler:
    """A handler for `app` with `running` entered once, in one task, for as long as the worker lives.

    Entering it for each invocation, as a lifespan does, fails on the second: it may run only once.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    entered = loop.create_future()

    async def hold() -> None:
        async with running():
            entered.set_result(None)
            await asyncio.Event().wait()

    # The loop knows its tasks only weakly; the handler keeps this one.
    task = loop.create_task(hold())
    loop.run_until_complete(entered)
    mangum = Mangum(app, lifespan="off")

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        if task.done():
            raise RuntimeError("the held task ended")
        return dict(mangum(event, context))

    return handler


def observed(handler: Handler, logger: Logger, metrics: Metrics, tracer: Tracer) -> Handler:
    """The handler with one log line, metrics and a trace for each request; a failure becomes a 500."""

    @metrics.log_metrics
    @tracer.capture_lambda_handler(capture_response=False)
    @logger.inject_lambda_context
    def watched(event: dict[str, Any], context: Any) -> dict[str, Any]:
        started = time.perf_counter()
        try:
            answer = handler(event, context)
        except Exception:
            # An exception that leaves a handler costs its worker.
            logger.exception("request failed")
            answer = {"statusCode": 500, "headers": {"content-type": "text/plain"}, "body": "Something went wrong."}
        milliseconds = (time.perf_counter() - started) * 1000
        request = event.get("requestContext", {}).get("http", {})
        logger.info(
            "request answered",
            method=request.get("method"),
            path=request.get("path"),
            status=answer["statusCode"],
            milliseconds=round(milliseconds, 1),
        )
        metrics.add_metric("RequestMilliseconds", MetricUnit.Milliseconds, milliseconds)
        return answer

    return watched
