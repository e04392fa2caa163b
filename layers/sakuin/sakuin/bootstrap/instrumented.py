"""How a function logs, counts and traces its invocations."""

from collections.abc import Callable, Mapping
from typing import Any

from sakuin.bootstrap.watching import Watch
from sakuin.entrypoints.redacting import Failed, Handler


def instrument(handle: Callable[[Mapping[str, Any], Any], dict[str, Any]], watch: Watch) -> Handler:
    """Returns the handler with metrics, a trace, and failures that leave it without a secret."""

    @watch.metrics.log_metrics
    @watch.tracer.capture_lambda_handler(capture_response=False)
    @watch.logger.inject_lambda_context
    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        try:
            return handle(event, context)
        except Exception as error:
            # The runtime and the trace would show all of it.
            watch.logger.exception("failed")
            raise Failed(watch.redaction(f"{type(error).__name__}: {error}")) from None

    return handler
