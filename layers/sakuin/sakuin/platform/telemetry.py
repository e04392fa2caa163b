"""Whose work a worker does, how much, how long, and the ids that its calls carry."""

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit


class Meter(Protocol):
    """Numbers for people who look at graphs later. It raises nothing, and nothing depends on it."""

    def count(self, name: str, value: float = 1) -> None:
        """Adds up."""

    def took(self, name: str, milliseconds: float) -> None:
        """How long one thing took."""


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


# The vendors' own names: OpenAI keeps the one in its logs, the others show a request's headers in theirs.
OPENAI_HEADER = "x-client-request-id"

REQUEST_HEADER = "x-request-id"

# What goes along with a message of a queue.
MESSAGE_ATTRIBUTE = "correlation_id"


_STARTED = "sakuin_started"

_UNSENDABLE = re.compile(r"[^\x21-\x7e]")

_LONGEST = 128


class Session(Protocol):
    """A client of httpx, or of httpx2: each SDK has one inside."""

    event_hooks: Any


def instrument_client(session: Session, meter: Meter, work: Callable[[], str], *, header: str, leg: str) -> None:
    """Has each request of `session` carry what `work` says in `header`, and counts its milliseconds for `leg`.

    What the session does for itself already it goes on doing.
    """

    def leaves(request: Any) -> None:
        request.extensions[_STARTED] = time.perf_counter()
        if work_id := sendable(work()):
            request.headers[header] = work_id

    def answers(response: Any) -> None:
        started = response.request.extensions.get(_STARTED)
        if started is not None:
            meter.took(leg, (time.perf_counter() - started) * 1000)

    hooks = session.event_hooks
    session.event_hooks = {
        "request": [*hooks.get("request", ()), leaves],
        "response": [*hooks.get("response", ()), answers],
    }


def name_work_in_messages(client: Any, work: Callable[[], str]) -> Any:
    """boto3's client of SQS, whose messages carry what `work` says as an attribute."""

    def add_work(params: dict[str, Any], **_: Any) -> None:
        if work_id := sendable(work()):
            attribute = {"DataType": "String", "StringValue": work_id}
            for message in params.get("Entries", [params]):
                message.setdefault("MessageAttributes", {})[MESSAGE_ATTRIBUTE] = attribute

    for request in ("SendMessage", "SendMessageBatch"):
        client.meta.events.register(f"provide-client-params.sqs.{request}", add_work)
    return client


def sendable(work_id: str) -> str:
    """The id as a header may hold it: visible ASCII, not too long."""
    return _UNSENDABLE.sub("", work_id)[:_LONGEST]
