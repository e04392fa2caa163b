"""Lambda between the queues and the product's own handlers."""

import io
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ParamSpec, TypeVar

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider
from sakuin.errors import Conflict, OverBudget, Unavailable
from sakuin.platform.queue_handler import QueueHandler, QueueWork
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.waiting import WorkRecords
from sakuin.wiring.clients import Telemetry

from tests.doubles.sqs import Message, worked_on
from tests.events import Context, a_telemetry

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Surprises:
    """Failures that no vendor, race or budget explains."""

    kept: list[Exception] = field(default_factory=list)

    def of(self, work: Callable[P, T]) -> Callable[P, T]:
        """Returns the same work, which records its surprises."""

        def done(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return work(*args, **kwargs)
            except (Unavailable, Conflict, OverBudget):
                raise
            except Exception as error:
                self.kept.append(error)
                raise

        return done

    def of_work(self, work: QueueWork[Any]) -> QueueWork[Any]:
        """Returns the same work of a queue, whose surprises are recorded."""
        return WatchedWork(work, self)

    def come_out(self) -> None:
        """Raises the first that is kept."""
        if self.kept:
            raise self.kept.pop()


@dataclass(frozen=True)
class WatchedWork:
    """The work of a queue that records its surprises."""

    work: Any
    surprises: Surprises

    def __getattr__(self, name: str) -> Any:
        return getattr(self.work, name)

    def process(self, request: Any, record: Any) -> None:
        self.surprises.of(self.work.process)(request, record)


@dataclass(frozen=True)
class Delivery:
    """Gives a message to the handler of its queue. `counts` what becomes of messages."""

    handlers: Mapping[str, QueueHandler]
    surprises: Surprises
    counts: Counter[str]

    def __call__(self, message: Message) -> bool:
        record = message.as_record()
        answer = self.handlers[message.queue].handle({"Records": [record]}, Context())
        self.surprises.come_out()
        done = not answer["batchItemFailures"]
        self.counts["messages done" if done else "messages failed"] += 1
        return done


class _Uncounted(AmazonCloudWatchEMFProvider):
    def flush_metrics(self, raise_on_empty_metrics: bool = False) -> None:
        self.clear_metrics()

    def add_metric(self, *args: Any, **kwargs: Any) -> None:
        """Schedules flush nothing, so nothing must pile up."""


@cache
def silent() -> tuple[Logger, Metrics]:
    """Returns a logger and metrics without output."""
    metrics: Any = Metrics(provider=_Uncounted(namespace="Sakuin", service="convergence"))
    return Logger(service="convergence", level="CRITICAL", stream=io.StringIO()), metrics


def silent_telemetry() -> Telemetry:
    """Returns the telemetry of a function without output."""
    return replace(a_telemetry(silent()[0]), metrics=silent()[1])


def handler_of(sqs: Any, queue: str, work: QueueWork[Any], records: WorkRecords) -> QueueHandler:
    """Returns the handler of a queue, as `wiring` does, by the clock of the queues."""
    logger, metrics = silent()
    return QueueHandler(
        worked_on(sqs, queue), work, records, logger, metrics, CurrentWork(), clock=lambda: float(sqs.now)
    )
