"""Metrics, and the correlation id of a worker's work in calls to vendors and messages."""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import httpx
from aws_lambda_powertools import Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import OutOfTime
from sakuin.texts.catalogue import coded

# OpenAI logs this header under its own name; the other vendors log the headers of a request.
OPENAI_HEADER = "x-client-request-id"
REQUEST_HEADER = "x-request-id"
# The attribute of a queue's message.
MESSAGE_ATTRIBUTE = "correlation_id"

_STARTED = "sakuin_started"
_UNSENDABLE = re.compile(r"[^\x21-\x7e]")
_LONGEST = 128


class Meter(Protocol):
    """Metrics. It raises nothing, and nothing depends on it."""

    def count(self, name: str, value: float = 1) -> None:
        """Adds to a counter."""

    def record_duration(self, name: str, milliseconds: float) -> None:
        """Records how long a call took."""


@dataclass(slots=True)
class CurrentWork:
    """The work that a worker does now; a worker does one thing at a time.

    Logs and calls carry its `id`; `milliseconds_left` returns the remaining time of the invocation. `clock` gives
    seconds.
    """

    id: str = ""
    milliseconds_left: Callable[[], float] = lambda: math.inf
    clock: Callable[[], float] = time.monotonic
    _until: float = math.inf

    def __call__(self) -> str:
        return self.id

    def seconds_left(self) -> float:
        """Returns the remaining time of the invocation, or of its current part."""
        return min(self.milliseconds_left() / 1000, self._until - self.clock())

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Limits the time of one part of the work. Raises `OutOfTime` if the invocation has less left."""
        if self.milliseconds_left() < seconds * 1000:
            raise OutOfTime(coded("work.next_part"))
        self._until = self.clock() + seconds
        try:
            yield
        finally:
            self._until = math.inf


class EmfMeter:
    """A `Meter` in CloudWatch's embedded metric format, which travels with the log.

    `activity` prefixes the names of durations: searching and indexing call the same vendors.
    """

    def __init__(self, metrics: Metrics, activity: str) -> None:
        self._metrics = metrics
        self._activity = activity

    def count(self, name: str, value: float = 1) -> None:
        self._metrics.add_metric(name, MetricUnit.Count, value)

    def record_duration(self, name: str, milliseconds: float) -> None:
        self._metrics.add_metric(f"{self._activity}{name}Milliseconds", MetricUnit.Milliseconds, milliseconds)


class _NoMeter:
    """A `Meter` without effect."""

    def count(self, name: str, value: float = 1) -> None:
        pass

    def record_duration(self, name: str, milliseconds: float) -> None:
        pass


NO_METER = _NoMeter()


def count_search(meter: Meter, name: str, *, is_empty: bool, degraded: str | None) -> None:
    """Counts a search as `name`, as `{name}WithoutAnswer` if it is empty, and as `{name}ByWordsAlone` if degraded.

    Zeros are counted too: the average of a counter is its share.
    """
    meter.count(name)
    meter.count(f"{name}WithoutAnswer", float(is_empty))
    meter.count(f"{name}ByWordsAlone", float(degraded is not None))


def work_id_of(attributes: Mapping[str, str], message: Mapping[str, Any], message_id: str) -> str:
    """Returns the correlation id of a message.

    Our own messages have it in an attribute, our events as the id of their request, S3's events as the id of the upload
    (`x-amz-request-id`). Without one it is the id of the message; the handler rejects an unknown message.
    """
    identifier: object = attributes.get(MESSAGE_ATTRIBUTE)
    with suppress(LookupError, TypeError, AttributeError):
        if not identifier and "Records" in message:
            identifier = message["Records"][0]["responseElements"]["x-amz-request-id"]
        identifier = identifier or message["detail"].get("request_id") or message["id"]
    return identifier if isinstance(identifier, str) and identifier else message_id


@contextmanager
def vendor_subsegment(tracer: Tracer, name: str) -> Iterator[Any]:
    """Records the block as a call of a vendor in the trace, with its failure but not the text of its error.

    X-Ray's SDK instruments boto3 by itself, but neither httpx nor httpx2, which the SDKs of the vendors use.
    """
    recorder: Any = tracer.provider
    subsegment = recorder.begin_subsegment(name, namespace="remote")
    try:
        yield subsegment
    except Exception:
        if subsegment is not None:
            subsegment.add_fault_flag()
        raise
    finally:
        recorder.end_subsegment()


class HttpSession(Protocol):
    """A client of httpx or httpx2: each SDK uses one."""

    event_hooks: Any


def instrument_client(session: HttpSession, meter: Meter, work: Callable[[], str], *, header: str, system: str) -> None:
    """Adds the id that `work` returns to each request of `session`, and records its duration for `system`.

    The hooks that the session has already stay.
    """

    def start(request: Any) -> None:
        request.extensions[_STARTED] = time.perf_counter()
        if work_id := sendable(work()):
            request.headers[header] = work_id

    def finish(response: Any) -> None:
        started = response.request.extensions.get(_STARTED)
        if started is not None:
            meter.record_duration(system, (time.perf_counter() - started) * 1000)

    hooks = session.event_hooks
    session.event_hooks = {
        "request": [*hooks.get("request", ()), start],
        "response": [*hooks.get("response", ()), finish],
    }


class TracedTransport(httpx.BaseTransport):
    """A transport whose requests are calls of Supabase in the trace."""

    def __init__(self, tracer: Tracer, transport: httpx.BaseTransport) -> None:
        self._tracer, self._transport = tracer, transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with vendor_subsegment(self._tracer, "supabase") as subsegment:
            response = self._transport.handle_request(request)
            if subsegment is not None:
                subsegment.put_http_meta("url", request.url.path)
                subsegment.put_http_meta("status", response.status_code)
        return response

    def close(self) -> None:
        self._transport.close()


def add_work_to_messages(client: Any, work: Callable[[], str]) -> Any:
    """Returns boto3's client of SQS, whose messages now have the id that `work` returns as an attribute."""

    def add_work(params: dict[str, Any], **_: Any) -> None:
        if work_id := sendable(work()):
            attribute = {"DataType": "String", "StringValue": work_id}
            for message in params.get("Entries", [params]):
                message.setdefault("MessageAttributes", {})[MESSAGE_ATTRIBUTE] = attribute

    for request in ("SendMessage", "SendMessageBatch"):
        client.meta.events.register(f"provide-client-params.sqs.{request}", add_work)
    return client


def sendable(work_id: str) -> str:
    """Returns the id as a header may contain it: visible ASCII, at most 128 characters."""
    return _UNSENDABLE.sub("", work_id)[:_LONGEST]
