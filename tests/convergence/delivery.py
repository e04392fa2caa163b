"""Lambda between the queues and the product's own handlers, with rows of work that no thread writes beside them."""

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ParamSpec, TypeVar

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider
from sakuin.domain.work import Begun, Ended, Taken
from sakuin.entrypoints.sqs import Handler
from sakuin.errors import Conflict, OverBudget, Unavailable
from sakuin.ports.work import WorkRows
from sakuin.services.work_told import WorkTold

from tests.convergence.queues import Message
from tests.entrypoints.events import Context

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Surprises:
    """What failed in another way than a vendor, a race or an empty purse makes work fail."""

    kept: list[Exception] = field(default_factory=list)

    def of(self, work: Callable[P, T]) -> Callable[P, T]:
        """The same work, whose surprises are kept."""

        def done(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return work(*args, **kwargs)
            except (Unavailable, Conflict, OverBudget):
                raise
            except Exception as error:
                self.kept.append(error)
                raise

        return done

    def come_out(self) -> None:
        """Raises the first that is kept."""
        if self.kept:
            raise self.kept.pop()


@dataclass(frozen=True)
class Delivery:
    """Gives a message to the handler of its queue."""

    handlers: Mapping[str, Handler]
    surprises: Surprises

    def __call__(self, message: Message) -> bool:
        """Whether it is done, so that its queue may delete it."""
        answer = self.handlers[message.queue]({"Records": [message.as_record()]}, Context())
        self.surprises.come_out()
        return not answer["batchItemFailures"]


@dataclass(frozen=True)
class Holding:
    """Has rows say what a worker has in hand, before its work instead of beside it: signs of life are the schedule's.

    `counts` what becomes of messages.
    """

    rows: WorkRows
    counts: Counter[str]

    def __call__(self, taken: Sequence[Taken]) -> "_Held":
        told = WorkTold(self.rows, taken, lambda _problem: None)
        told.begin()
        return _Held(told, self.counts)


@dataclass(frozen=True)
class _Held:
    told: WorkTold
    counts: Counter[str]

    def begun(self, work_id: str) -> Begun:
        return self.told.begun(work_id)

    def let_go(self, ended: Sequence[Ended]) -> bool:
        self.counts.update(f"messages ended as {type(one.outcome).__name__.lower()}" for one in ended)
        return self.told.let_go(ended)


class _Uncounted(AmazonCloudWatchEMFProvider):
    def flush_metrics(self, raise_on_empty_metrics: bool = False) -> None:
        self.clear_metrics()


@cache
def unwatched() -> tuple[Logger, Metrics, Tracer]:
    """What handlers watch themselves with, that says nothing."""
    metrics: Any = Metrics(provider=_Uncounted(namespace="Sakuin", service="convergence"))
    return Logger(service="convergence", level="CRITICAL", stream=io.StringIO()), metrics, Tracer(disabled=True)
