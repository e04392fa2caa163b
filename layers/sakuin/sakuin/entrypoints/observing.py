"""What a worker says about itself: whose work it does, how much, how long, how often for nothing."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.ports.costs import Meter


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


class _NoMeter:
    """A `Meter` that counts nothing."""

    def count(self, name: str, value: float = 1) -> None:
        pass

    def took(self, name: str, milliseconds: float) -> None:
        pass


NO_METER = _NoMeter()


def count_search(meter: Meter, name: str, *, is_empty: bool, degraded: str | None) -> None:
    """Counts a search as `name`, and as `{name}WithoutAnswer` if nothing was good enough.

    `{name}ByWordsAlone` are searches that had to do without vectors. Zeros are counted too: their average is the share.
    """
    meter.count(name)
    meter.count(f"{name}WithoutAnswer", float(is_empty))
    meter.count(f"{name}ByWordsAlone", float(degraded is not None))


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
