"""Events of MCP (SEP-3415): the methods that list event types, poll them, and subscribe to webhooks.

Rules are from the working group's document, https://github.com/modelcontextprotocol/experimental-ext-triggers-events
(docs/design-sketch-proposal.md at 082166f0), which SEP-3415 made an extension. Their sections are in quotation marks.
"""

import base64
import binascii
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread
from mcp import MCPError
from mcp.server import Server
from mcp_types import INVALID_PARAMS, RequestParams
from pydantic import BaseModel, Field

from sakuin.errors import Gone, Invalid, NotFound, OverLimit, SakuinError
from sakuin.mcp.callers import Caller
from sakuin.mcp.changes.event_types import EventTypes, Happened
from sakuin.mcp.changes.subscriptions import Subscription, Subscriptions, subscription_id
from sakuin.mcp.changes.webhooks import Callback, CallbackFailed, Webhooks
from sakuin.mcp.messages import protocol_error

if TYPE_CHECKING:
    from mcp.server.context import ServerMiddleware

# "Error Codes".
_NOT_FOUND, _FORBIDDEN, _EXHAUSTED, _UNSUPPORTED, _CALLBACK = -32011, -32012, -32013, -32014, -32015
_EXTENSION = "io.modelcontextprotocol/events"
_MOST_EVENTS = 50
_NEXT_POLL_MS = 30_000
# "Subscription TTL": what is granted if the client suggests nothing, and the limits of what it suggests.
_USUAL_SECONDS, _LEAST_SECONDS, _MOST_SECONDS = 86_400, 60, 7 * 86_400
_SECRET = "whsec_"  # noqa: S105 - the prefix of secrets, and no secret


class ListParams(RequestParams):
    """The parameters of `events/list`. There is one page, so that no cursor is right."""

    cursor: str | None = None


class _EventParams(RequestParams):
    name: str = Field(max_length=64)
    arguments: dict[str, Any] | None = None


class PollParams(_EventParams):
    """The parameters of `events/poll`. `cursor` None: from now on."""

    cursor: str | None = Field(default=None, max_length=2000)
    max_age_ms: int | None = Field(default=None, ge=0, le=10**12)
    max_events: int = Field(default=_MOST_EVENTS, ge=1)


class Delivery(BaseModel):
    """Where events are sent. Only `events/subscribe` has the secret."""

    mode: str = "webhook"
    url: str
    secret: str = ""


class SubscribeParams(_EventParams):
    """The parameters of `events/subscribe`. `ttl_ms` None: the client wants no end."""

    delivery: Delivery
    cursor: str | None = Field(default=None, max_length=2000)
    max_age_ms: int | None = Field(default=None, ge=0, le=10**12)
    ttl_ms: int | None = Field(default=_USUAL_SECONDS * 1000, gt=0)


class UnsubscribeParams(_EventParams):
    """The parameters of `events/unsubscribe`."""

    delivery: Delivery


@dataclass(frozen=True, slots=True)
class WebhookMethods:
    """Subscribes to webhooks. `allow_host` takes a challenge of a host; `OverLimit` if it gets too many."""

    subscriptions: Subscriptions
    webhooks: Webhooks
    allow_host: Callable[[str, int], None]

    async def subscribe(self, types: EventTypes, caller: Caller, params: SubscribeParams) -> dict[str, Any]:
        """Returns the subscription, added or refreshed, after the address has proved that it wants the events."""
        id = self._id(types, caller, params)
        secret, url = params.delivery.secret, params.delivery.url
        if not _is_secret(secret):
            raise Invalid("'delivery.secret' must be whsec_ and 24 to 64 bytes in base64")
        begins, truncated = await anyio.to_thread.run_sync(_beginning, types, caller, params)
        existing, verified = await anyio.to_thread.run_sync(self.subscriptions.read, id, caller.principal, url)
        if not verified:
            await anyio.to_thread.run_sync(self.allow_host, f"callbacks of {_host(url)}", 1)
            await self.webhooks.challenge(Callback(url, id, [secret]))
        replaced = existing.secret if existing and existing.secret != secret else None
        floor = _floor(params.max_age_ms) if params.cursor else None
        row = {
            "id": id,
            "principal": caller.principal,
            "payer": caller.payer,
            "name": params.name,
            "url": url,
            "owner": caller.endpoint.project_id if caller.endpoint else "",
            "mcp_id": caller.endpoint.id if caller.endpoint else None,
            "arguments": params.arguments or {},
            "cursor": begins.cursor,
            "position": begins.position,
            "not_before": floor and floor.isoformat(),
        }

        def save() -> Subscription:
            seconds = _granted_seconds(params.ttl_ms)
            return self.subscriptions.save(row, secret, replaced=replaced, seconds=seconds, verified=not verified)

        saved = await anyio.to_thread.run_sync(save)
        return _granted(saved, existing, truncated=truncated and existing is None)

    async def unsubscribe(self, types: EventTypes, caller: Caller, params: UnsubscribeParams) -> dict[str, Any]:
        """Ends a subscription."""
        if not await anyio.to_thread.run_sync(self.subscriptions.remove, self._id(types, caller, params)):
            raise MCPError(_NOT_FOUND, "There is no such subscription.", {"kind": "subscription"})
        return {}

    def _id(self, types: EventTypes, caller: Caller, params: SubscribeParams | UnsubscribeParams) -> str:
        """Returns the id of the subscription, after a check of what the client sent."""
        if not caller.principal:
            raise MCPError(_FORBIDDEN, "Webhooks need a key. Without one, poll the events.")
        if params.delivery.mode != "webhook":
            data = {"feature": "deliveryMode", "value": params.delivery.mode[:64]}
            raise MCPError(_UNSUPPORTED, "Events are sent by webhook. Others are polled: events/poll.", data)
        arguments, url = params.arguments or {}, params.delivery.url
        types.check(params.name, arguments)
        self.webhooks.check(url)
        mcp_id = caller.endpoint.id if caller.endpoint else None
        return subscription_id(caller.principal, mcp_id, url, params.name, arguments)


def change_handshake(server: Server[Any], change: Callable[[Any, dict[str, Any]], Awaitable[dict[str, Any]]]) -> None:
    """Has a server change its answers to `initialize` and `server/discover`, by the context of the request."""

    async def changed(context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        answer = await call_next(context)
        return await change(context, answer) if isinstance(answer, dict) else answer

    # The SDK calls it with these names. It stands in the way of no other request.
    def handshake(ctx: Any, call_next: Callable[[Any], Coroutine[Any, Any, Any]]) -> Coroutine[Any, Any, Any]:
        return changed(ctx, call_next) if ctx.method in ("server/discover", "initialize") else call_next(ctx)

    server.middleware.append(cast("ServerMiddleware[Any]", handshake))


def add_events(
    server: Server[Any], types: EventTypes, caller_of: Callable[[Any], Caller], webhooks: WebhookMethods | None = None
) -> None:
    """Has a server announce and answer events. `caller_of` returns the caller of a request."""

    async def list_events(_context: Any, params: ListParams) -> dict[str, Any]:
        if params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "There is one page of events. Leave 'cursor' out.")
        return {"events": types.listed(["poll", "webhook"] if webhooks else ["poll"])}

    async def poll_events(context: Any, params: PollParams) -> dict[str, Any]:
        caller = caller_of(context)
        own = types.within(caller.folder)
        return await _answered(anyio.to_thread.run_sync(_polled, own, caller, params))

    async def subscribe(context: Any, params: SubscribeParams) -> dict[str, Any]:
        caller = caller_of(context)
        return await _answered(_offered(webhooks).subscribe(types.within(caller.folder), caller, params))

    async def unsubscribe(context: Any, params: UnsubscribeParams) -> dict[str, Any]:
        caller = caller_of(context)
        return await _answered(_offered(webhooks).unsubscribe(types.within(caller.folder), caller, params))

    async def announce(_context: Any, answer: dict[str, Any]) -> dict[str, Any]:
        # The SDK's own capabilities have no such member.
        return answer | {"capabilities": {**answer.get("capabilities", {}), "events": {"listChanged": False}}}

    server.extensions[_EXTENSION] = {"listChanged": False}
    change_handshake(server, announce)
    server.add_request_handler("events/list", ListParams, list_events)
    server.add_request_handler("events/poll", PollParams, poll_events)
    server.add_request_handler("events/subscribe", SubscribeParams, subscribe)
    server.add_request_handler("events/unsubscribe", UnsubscribeParams, unsubscribe)


def _offered(webhooks: WebhookMethods | None) -> WebhookMethods:
    if webhooks is None:
        raise MCPError(_UNSUPPORTED, "No webhooks here.", {"feature": "deliveryMode", "value": "webhook"})
    return webhooks


async def _answered(work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Returns the answer, or raises an error of the protocol."""
    try:
        return await work
    except NotFound as error:
        raise MCPError(_NOT_FOUND, str(error), {"kind": "event"}) from error
    except OverLimit as error:
        raise MCPError(_EXHAUSTED, str(error), {"limit": "subscriptions"}) from error
    except CallbackFailed as error:
        raise MCPError(_CALLBACK, str(error), {"reason": error.reason}) from error
    except SakuinError as error:
        raise protocol_error(error) from error


def _polled(types: EventTypes, caller: Caller, params: PollParams) -> dict[str, Any]:
    """Returns the events of a type after a cursor.

    `truncated`: some are left out, since the cursor was too old or they are older than `max_age_ms`.
    """
    arguments = params.arguments or {}
    types.check(params.name, arguments)
    limit = min(params.max_events, _MOST_EVENTS)
    try:
        happened = types.after(caller.endpoint, params.name, arguments, params.cursor, limit)
    except Gone:
        return _poll_result(types.after(caller.endpoint, params.name, arguments, None, 0), truncated=True)
    floor = _floor(params.max_age_ms)
    young = [event for event in happened.events if not _is_before(event, floor)]
    return _poll_result(happened, young, truncated=len(young) < len(happened.events))


def _poll_result(happened: Happened, events: Any = (), *, truncated: bool = False) -> dict[str, Any]:
    return {
        "events": list(events),
        "cursor": happened.cursor,
        "truncated": truncated,
        "hasMore": happened.more,
        "nextPollMs": _NEXT_POLL_MS,
    }


def _beginning(types: EventTypes, caller: Caller, params: SubscribeParams) -> tuple[Happened, bool]:
    """Returns where a new subscription begins, and whether events after the client's cursor are left out."""
    arguments = params.arguments or {}
    is_gone = False
    if params.cursor is not None:
        try:
            first = types.after(caller.endpoint, params.name, arguments, params.cursor, 1)
            is_old = any(_is_before(event, _floor(params.max_age_ms)) for event in first.events)
            return Happened((), params.cursor, True, 0), is_old
        except Gone:
            is_gone = True
    return types.after(caller.endpoint, params.name, arguments, None, 0), is_gone


def _granted_seconds(ttl_ms: int | None) -> int:
    """Returns the lifetime that a client gets; none is without end."""
    return _MOST_SECONDS if ttl_ms is None else min(max(ttl_ms // 1000, _LEAST_SECONDS), _MOST_SECONDS)


def _granted(saved: Subscription, existing: Subscription | None, *, truncated: bool) -> dict[str, Any]:
    """Returns the answer to a client, of a refresh with "Webhook Delivery Status"."""
    granted = {
        "id": saved.id,
        "refreshBefore": saved.expires_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "cursor": saved.cursor,
        "truncated": truncated,
    }
    if existing is None:
        return granted
    status = {"active": existing.is_active, "lastDeliveryAt": saved.status["delivered_at"]}
    status |= {"lastError": saved.status["last_error"] if existing.failures else None}
    failed = existing.status["failed_since"]
    return granted | {"deliveryStatus": status | ({"failedSince": failed} if failed else {})}


def _floor(max_age_ms: int | None) -> datetime | None:
    return None if max_age_ms is None else datetime.now(UTC) - timedelta(milliseconds=max_age_ms)


def _is_before(event: Mapping[str, Any], floor: datetime | None) -> bool:
    return floor is not None and datetime.fromisoformat(event["timestamp"]) < floor


def _is_secret(secret: str) -> bool:
    try:
        return secret.startswith(_SECRET) and 24 <= len(base64.b64decode(secret[len(_SECRET) :], validate=True)) <= 64
    except (binascii.Error, ValueError):
        return False


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
