"""The Lambda handlers of requests, queues and the schedule, with logs, metrics and redaction."""

import gc
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities import parameters

from sakuin.platform.aws import Handler, session
from sakuin.platform.http_errors import HttpError
from sakuin.platform.queue_handler import QueueHandler, QueueWork
from sakuin.platform.redaction import Failed, hide
from sakuin.platform.retry import QueueName
from sakuin.platform.waiting import SECONDS, WorkRecords
from sakuin.wiring.clients import Clients, Telemetry

if TYPE_CHECKING:
    from sakuin.upkeep.daily_counts import DailyCounts

_JSON = {"content-type": "application/json"}


def instrument(handle: Callable[[Mapping[str, Any], Any], dict[str, Any]], telemetry: Telemetry) -> Handler:
    """Returns the handler with metrics, a trace and redacted failures. Calls of vendors know the time that is left."""

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        try:
            return handle(event, context)
        except Exception as error:
            # The runtime and the trace would show the whole error.
            telemetry.logger.exception("failed")
            raise Failed(telemetry.redaction(f"{type(error).__name__}: {error}")) from None

    return _observed(handler, telemetry)


def _observed(handle: Callable[[Any, Any], dict[str, Any]], telemetry: Telemetry) -> Handler:
    """Returns the handler with Powertools' metrics, trace and log of an invocation."""

    @telemetry.metrics.log_metrics
    @telemetry.tracer.capture_lambda_handler(capture_response=False)
    @telemetry.logger.inject_lambda_context
    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        telemetry.work.milliseconds_left = context.get_remaining_time_in_millis
        return handle(event, context)

    return handler


def http_handler(
    answer: Handler,
    telemetry: Telemetry,
    answer_event: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    counts: "DailyCounts | None" = None,
) -> Handler:
    """Returns the handler with a log line, metrics and a trace for each request.

    `answer_event` answers other functions, which may invoke this one. Only requests through the gateway have a context.
    `counts` has the questions of the day.
    Logs and calls have the id of the gateway's request. Known secrets are redacted in answers. A failure becomes a 500,
    because an exception would end the worker.
    """
    logger = telemetry.logger

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        started = time.perf_counter()
        if counts is not None:
            counts.begin_request()
        request = event.get("requestContext", {})
        telemetry.work.id = str(request.get("requestId") or context.aws_request_id)
        logger.set_correlation_id(telemetry.work.id)
        try:
            if answer_event is None or "requestContext" in event:
                response = answer(event, context)
            else:
                response = answer_event(event)
        except Exception:
            logger.exception("request failed")
            failure = HttpError(500, "Something went wrong.").body(telemetry.work.id)
            response = {"statusCode": 500, "headers": _JSON, "body": json.dumps(failure)}
        milliseconds = (time.perf_counter() - started) * 1000
        names = {name: request.get("http", {}).get(name) for name in ("method", "path")}
        status = response["statusCode"]
        logger.info("request answered", **names, status=status, milliseconds=round(milliseconds, 1))
        telemetry.metrics.add_metric("RequestMilliseconds", MetricUnit.Milliseconds, milliseconds)
        if counts is not None:
            counts.end_request(milliseconds)
        body = response.get("body")
        if isinstance(body, str) and (clean := hide(body, telemetry.redaction.known)) != body:
            logger.error("a secret in an answer is redacted", path=event.get("rawPath"))
            return {**response, "body": clean}
        return response

    return _observed(handle, telemetry)


def queue_handler(name: QueueName, work: QueueWork[Any], clients: Clients) -> Handler:
    """Returns the handler of a queue."""
    settings, telemetry = clients.settings, clients.telemetry
    queue = clients.queue(settings.queue_urls[name])
    handler = QueueHandler(
        replace(queue, name=name, dead_letters_url=settings.dead_letter_urls[name]),
        work,
        WorkRecords(clients.short_supabase(SECONDS)),
        telemetry.logger,
        telemetry.metrics,
        telemetry.work,
    )
    return instrument(handler.handle, telemetry)


P = ParamSpec("P")
T = TypeVar("T")
# Registers a function that is called when a snapshot becomes a worker.
Register = Callable[[Callable[[], None]], object]


def without_gc(build: Callable[P, T]) -> Callable[P, T]:
    """Returns `build` without garbage collection.

    Imports make objects that stay. To check them again and again takes a sixth of a start. Frozen objects are not
    checked later either.
    """

    @wraps(build)
    def build_without_gc(*args: P.args, **kwargs: P.kwargs) -> T:
        gc.disable()
        try:
            return build(*args, **kwargs)
        finally:
            gc.freeze()
            gc.enable()

    return build_without_gc


def restorable(build: Callable[[], Handler], register: Register | None = None) -> Handler:
    """Returns the handler of `build`, which is built again after each restore.

    A snapshot may be weeks old: its connections are closed, its keys may be rotated, and all workers would share its
    random values.
    """
    build = without_gc(build)
    handlers = [build()]

    def rebuild() -> None:
        session.cache_clear()
        parameters.clear_caches()  # type: ignore[no-untyped-call]  # Powertools has no annotation
        # The handler of the snapshot stays referenced, because its event loop has a task that never ends.
        handlers.append(build())

    (register or _register_with_lambda)(rebuild)

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return handlers[-1](event, context)

    return handler


def http_function(name: str, activity: str) -> Handler:
    """Returns the handler of a function that answers requests, by its module here, which is imported while it is built.

    The names of its durations begin with `activity`.
    """

    def build() -> Handler:
        handler: Handler = import_module(f"sakuin.wiring.{name}").handler(Clients.of(os.environ, activity))
        return handler

    return restorable(build)


def _register_with_lambda(rebuild: Callable[[], None]) -> None:
    try:
        hooks = import_module("snapshot_restore_py")
    except ModuleNotFoundError:
        # Lambda's runtime has this module. Without it nothing is restored.
        return
    hooks.register_after_restore(rebuild)
