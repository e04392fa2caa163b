"""What a worker says about itself: whose work it does, how much, how long, how often for nothing."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class CurrentWork:
    """What a worker does now. A worker does one thing at a time, so there is one.

    `id` is what logs and calls to others carry; `milliseconds_left` says how long its invocation may still take.
    """

    id: str = ""
    milliseconds_left: Callable[[], float] = lambda: math.inf

    def __call__(self) -> str:
        return self.id

    def seconds_left(self) -> float:
        """How long the invocation may still take."""
        return self.milliseconds_left() / 1000


class EmfMeter:
    """A `Meter` whose numbers go to CloudWatch with the log: CloudWatch's embedded metric format.

    `activity` goes before the name of a leg, since searching and indexing use the same vendors.
    """

    def __init__(self, metrics: Metrics, activity: str) -> None:
        self._metrics = metrics
        self._activity = activity

    def count(self, name: str, value: float = 1) -> None:
        self._metrics.add_metric(name, MetricUnit.Count, value)

    def took(self, name: str, milliseconds: float) -> None:
        self._metrics.add_metric(f"{self._activity}{name}Milliseconds", MetricUnit.Milliseconds, milliseconds)


class Counting(Protocol):
    """The part of a meter that counts."""

    def count(self, name: str, value: float = 1) -> None: ...


def counted(
    search: Callable[P, T],
    meter: Counting,
    *,
    empty: Callable[[T], bool],
    degraded: Callable[[T], bool] = lambda _answer: False,
    name: str,
) -> Callable[P, T]:
    """The same search, counted as `name`, and as `{name}WithoutAnswer` where nothing was good enough.

    `{name}ByWordsAlone` are those that had to do without vectors. Zeros are counted too: their average is the share.
    """

    def searched(*args: P.args, **kwargs: P.kwargs) -> T:
        answer = search(*args, **kwargs)
        meter.count(name)
        meter.count(f"{name}WithoutAnswer", float(empty(answer)))
        meter.count(f"{name}ByWordsAlone", float(degraded(answer)))
        return answer

    return searched


def correlated(handler: Handler, work: CurrentWork, logger: Logger) -> Handler:
    """The handler of an HTTP function, whose logs and calls carry the id that the gateway gave the request."""

    def named(event: dict[str, Any], context: Any) -> dict[str, Any]:
        work.id = str(event.get("requestContext", {}).get("requestId") or context.aws_request_id)
        logger.set_correlation_id(work.id)
        return handler(event, context)

    return named


def work_id_of(attributes: Mapping[str, str], message: Mapping[str, Any], message_id: str) -> str:
    """Returns whose work a message of a queue is.

    Our own messages name it in an attribute; an event of ours names the request that it came from, S3's the upload
    (`x-amz-request-id`). A message that names nothing goes by its own id.
    """
    named = attributes.get("correlation_id") or _named_in(message)
    return named if isinstance(named, str) and named else message_id


def _named_in(message: Mapping[str, Any]) -> object:
    try:
        if "Records" in message:
            return message["Records"][0]["responseElements"]["x-amz-request-id"]
        return message["detail"].get("request_id") or message["id"]
    except (LookupError, TypeError, AttributeError):
        # Whether a message can be understood is judged elsewhere.
        return None
