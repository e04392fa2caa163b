"""Sends the events of subscriptions to their addresses: messages of WebhookQueue.

A message is about a subscription whose feed has moved. Its events are read from the feed one after another, and the
cursor moves after each one that was received: whatever dies, it is sent again, with the same id. A failure sends a
message with a delay; other subscriptions do not wait for it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import anyio
from pydantic import BaseModel, ConfigDict, ValidationError

from sakuin.errors import Gone, Invalid, OverLimit, Unauthorized
from sakuin.mcp.callers import Caller
from sakuin.mcp.changes.due_subscriptions import message_of
from sakuin.mcp.changes.event_types import EventTypes, Happened
from sakuin.mcp.changes.subscriptions import Subscription, Subscriptions
from sakuin.mcp.changes.webhooks import CallbackFailed, Webhooks, new_id
from sakuin.platform.sqs import SqsQueue

# After the first, second, … failure in a row. SQS delays a message by 900 seconds at most.
_RETRY_SECONDS = (5, 30, 180, 900)
# The message leaves the rest to the next one: other subscriptions wait for a worker, too.
_SECONDS = 20.0
# A change is being written at this moment.
_WRITING_SECONDS = 2
# "Error Codes" of the document.
_FORBIDDEN = -32012


class WebhookMessage(BaseModel):
    """A message of WebhookQueue."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subscription: str
    attempt: int

    @property
    def subject(self) -> None:
        """None: the row of the subscription has its state."""


@dataclass(frozen=True, slots=True)
class SendWebhooks:
    """The work of WebhookQueue. `allow` takes a delivery of a payer; `OverLimit` if too few are left."""

    subscriptions: Subscriptions
    pages: EventTypes
    tools: EventTypes
    find_caller: Callable[[str, str | None], Caller]
    webhooks: Webhooks
    queue: SqsQueue
    allow: Callable[[str, int], None]
    clock: Callable[[], float] = time.monotonic

    def read(self, message: Mapping[str, Any]) -> WebhookMessage:
        """Returns the request in a message; `Invalid` for an unknown one."""
        try:
            return WebhookMessage.model_validate(message)
        except ValidationError as error:
            raise Invalid("The message is not one of this queue") from error

    def give_up(self, request: WebhookMessage, reason: str) -> None:
        """Does nothing: the subscription is due again after two minutes."""

    def process(self, request: WebhookMessage) -> None:
        """Sends the events of a subscription."""
        if not request.subscription:
            # Its handler then compares standing questions (`send_due`).
            return
        each = self.subscriptions.begin(request.subscription, request.attempt)
        if each is None:
            return
        if not each.url:
            self._look_at_gap(each)
            return
        try:
            self._send_events(each)
        except OverLimit as error:
            self.subscriptions.record(each, None, 0, received=False, seconds=round(error.retry_after))
        except CallbackFailed as error:
            self._fail(each, error)

    def _look_at_gap(self, each: Subscription) -> None:
        """Tells the feed if the question of a gap, which the operator watches, is answered."""
        happened = self.pages.after(None, each.name, each.arguments, each.cursor, 1)
        for event in happened.events:
            self.subscriptions.answer_gap(each, event["data"]["id"])
        matching = self.pages.matching(each.name, each.arguments, happened)
        self.subscriptions.record(
            each, happened.cursor, happened.position, received=False, seconds=0, matching=matching
        )

    def _send_events(self, each: Subscription) -> None:
        try:
            caller = self.find_caller(each.principal, each.mcp_id)
        except Unauthorized:
            self._terminate(each)
            return
        if not each.secret:
            # It was encrypted with a key that is replaced: the client brings it again.
            raise CallbackFailed("challenge_failed")
        types = self.pages.within(caller.folder) if each.mcp_id is None else self.tools
        cursor, until = each.cursor, self.clock() + _SECONDS
        while self.clock() < until:
            happened, messages = self._next(types, caller, each, cursor)
            for id, message in messages:
                self.allow(each.payer, 1)
                self._post(each, id, message)
            cursor, is_writing = happened.cursor, happened.more and not happened.events
            recorded = self.subscriptions.record(
                each,
                cursor,
                happened.position,
                received=bool(messages),
                seconds=None if happened.more else 0,
                matching=types.matching(each.name, each.arguments, happened),
            )
            if is_writing:
                self.queue.send([message_of(each.id, each.attempt)], delay_seconds=_WRITING_SECONDS, group=each.payer)
            if not recorded or is_writing or not happened.more:
                return
        self.subscriptions.record(each, None, 0, received=False, seconds=0)

    def _next(
        self, types: EventTypes, caller: Caller, each: Subscription, cursor: str
    ) -> tuple[Happened, Sequence[tuple[str, Mapping[str, Any]]]]:
        """Returns what happened next, and the messages about it with their ids."""
        try:
            happened = types.after(caller.endpoint, each.name, each.arguments, cursor, 1)
        except (Gone, Invalid):
            # Invalid: the key opens another folder now.
            happened = types.after(caller.endpoint, each.name, each.arguments, None, 0)
            return happened, [(new_id("gap"), {"type": "gap", "cursor": happened.cursor})]
        events = [event for event in happened.events if not _is_old(each, event)]
        return happened, [(event["eventId"], {**event, "cursor": happened.cursor}) for event in events]

    def _post(self, each: Subscription, id: str, message: Mapping[str, Any]) -> None:
        try:
            anyio.run(partial(self.webhooks.send, each.callback, id, message))
        except CallbackFailed as error:
            # 413 is about this message alone ("Delivery profile"); the next one may be shorter.
            if error.status != 413:
                raise

    def _terminate(self, each: Subscription) -> None:
        """Ends the subscription of a key or user without access, and says so once."""
        self.subscriptions.remove(each.id)
        error = {"code": _FORBIDDEN, "message": "The key or the user has no access any more"}
        try:
            self._post(each, new_id("terminated"), {"type": "terminated", "error": error})
        except CallbackFailed:
            # Nobody wants to know.
            return

    def _fail(self, each: Subscription, error: CallbackFailed) -> None:
        if error.status == 410:
            self.subscriptions.remove(each.id)
            return
        seconds = _RETRY_SECONDS[min(each.failures, len(_RETRY_SECONDS) - 1)]
        attempt = self.subscriptions.record_failure(each, error.reason, seconds)
        if attempt is not None:
            self.queue.send([message_of(each.id, attempt)], delay_seconds=seconds, group=each.payer)


def _is_old(each: Subscription, event: Mapping[str, Any]) -> bool:
    return each.not_before is not None and datetime.fromisoformat(event["timestamp"]) < each.not_before
