"""Calls to vendors carry the id of the work they are for, and are timed."""

import re
import time
from collections.abc import Callable
from typing import Any, Protocol

from sakuin.ports.costs import Meter

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


def watched(session: Session, meter: Meter, work: Callable[[], str], *, header: str, leg: str) -> None:
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


def messages_with_work(client: Any, work: Callable[[], str]) -> Any:
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
