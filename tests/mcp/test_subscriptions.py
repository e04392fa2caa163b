"""Subscriptions to events and their webhooks: from the client's request to what the receiver has."""

import base64
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sakuin.errors import OverLimit
from sakuin.mcp.app import McpApp
from sakuin.mcp.callers import Caller
from sakuin.mcp.changes.due_subscriptions import send_due
from sakuin.mcp.changes.event_types import page_events
from sakuin.mcp.changes.events import WebhookMethods
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.changes.send_webhooks import SendWebhooks
from sakuin.mcp.changes.subscriptions import Subscriptions
from sakuin.mcp.changes.webhooks import Webhooks
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server
from sakuin.platform.sqs import SqsQueue

from tests.builders import a_page
from tests.doubles.queue import MessageList
from tests.emptied import emptied
from tests.events import ring
from tests.mcp.receiver import Receiver, receiver
from tests.mcp.wire import STATELESS, Answer, Ask, message, named
from tests.worlds import World, Worlds

ADDED = "explanation.added"
A, B, C = (
    {"rule-a": "公式: 係数を代入する。"},
    {"def-b": "判別式: 符号を調べる。"},
    {"tip-c": "検算: 代入して確かめる。"},
)


def a_secret() -> str:
    return f"whsec_{base64.b64encode(os.urandom(32)).decode()}"


SECRET = a_secret()


class Product:
    """A library with one page, its endpoint, and the worker of the queue."""

    def __init__(self, world: World, to: Receiver) -> None:
        self.world, self.to, self.sent = world, to, MessageList()
        self.queue = SqsQueue(self.sent, "webhook")
        types = page_events(ChangeFeed(world.client, world.read.url))
        self.subscriptions = Subscriptions(world.client, lambda: "key")
        self.access: str | None = ""
        self.work = SendWebhooks(
            self.subscriptions, types, types, self._caller, Webhooks(True), self.queue, lambda _payer, _events: None
        )
        self.methods = WebhookMethods(self.subscriptions, Webhooks(True), lambda _host, _challenges: None)
        tools = KnowledgeTools(world, world.read)
        self.ask = Ask(McpApp(knowledge_server(tools, "1.2.3", types, self.methods), ring))

    def _caller(self, principal: str, _mcp_id: str | None) -> Caller:
        if self.access is None:
            raise LookupError
        return Caller(None, self.access, principal)

    def call(self, method: str, name: str = ADDED, **params: Any) -> Answer:
        body = message(method, STATELESS, name=name, **params)
        return self.ask(body, **named(method, STATELESS))

    def subscribe(self, name: str = ADDED, secret: str = SECRET, **params: Any) -> Any:
        delivery = {"mode": "webhook", "url": self.to.url, "secret": secret}
        answer = self.call("events/subscribe", name, delivery=delivery, **params)
        assert answer.status == 200, answer.body
        return answer.json.get("result") or answer.json["error"]

    def unsubscribe(self, name: str = ADDED) -> Answer:
        return self.call("events/unsubscribe", name, delivery={"url": self.to.url})

    def deliver(self, work: SendWebhooks | None = None) -> int:
        """Delivers messages until there are none; returns how many."""
        count = 0
        while True:
            send_due(self.world.client, self.queue, 10)
            pending, self.sent.sent = self.sent.sent, []
            for body, _delay in pending:
                count += 1
                self.process(body, work)
            if not pending:
                return count

    def process(self, body: dict[str, Any], work: SendWebhooks | None = None) -> None:
        """Has a worker process a message. It has a thread of its own: its event loop is not that of the endpoint."""
        with ThreadPoolExecutor(1) as worker:
            worker.submit((work or self.work).process, self.work.read(body)).result()

    def row(self) -> Any:
        rows = self.world.sql.execute("select to_jsonb(s) from event_subscription s").fetchall()
        return rows[0][0] if rows else None


@pytest.fixture
def product(a_world: Worlds, sql: psycopg.Connection) -> Iterator[Product]:
    emptied(sql)
    world = a_world()
    world.put("x.html", a_page(A))
    with receiver(SECRET) as to:
        yield Product(world, to)
    emptied(sql)


def test_an_event_arrives_signed_once_and_with_a_cursor_that_goes_on(product: Product) -> None:
    granted = product.subscribe()
    assert product.to.challenges == 1
    assert granted.keys() >= {"id", "refreshBefore", "cursor", "truncated"}
    product.world.put("y.html", a_page(B | C))
    product.deliver()
    assert product.to.events == [(ADDED, "y#def-b"), (ADDED, "y#tip-c")]
    first, second = product.to.received
    for event, headers in zip(product.to.received, product.to.headers, strict=True):
        assert headers["webhook-id"] == event["eventId"]
        assert headers["x-mcp-subscription-id"] == granted["id"]
    polled = [
        product.call("events/poll", cursor=cursor).json["result"]["events"]
        for cursor in (granted["cursor"], first["cursor"], second["cursor"])
    ]
    assert [[event["eventId"] for event in events] for events in polled] == [
        [first["eventId"], second["eventId"]],
        [second["eventId"]],
        [],
    ]
    assert product.deliver() == 0


def test_a_refresh_keeps_the_place_and_tells_how_deliveries_went(product: Product) -> None:
    granted = product.subscribe(ttlMs=120_000)
    product.world.put("y.html", a_page(B))
    product.to.answers = [500]
    assert product.deliver() == 2
    refreshed = product.subscribe(ttlMs=None)
    assert refreshed["id"] == granted["id"]
    assert product.call("events/poll", cursor=refreshed["cursor"]).json["result"]["events"] == []
    assert refreshed["refreshBefore"] > granted["refreshBefore"]
    delivered = product.row()["delivered_at"]
    assert refreshed["deliveryStatus"] == {"active": True, "lastDeliveryAt": delivered, "lastError": None}
    assert product.to.challenges == 1
    assert product.to.events == [(ADDED, "y#def-b")]


@pytest.mark.parametrize("status", [0, 300, 302, 401, 429, 500, 503])
def test_a_receiver_that_fails_gets_the_event_again_later(product: Product, status: int) -> None:
    product.subscribe()
    product.world.put("y.html", a_page(B))
    product.to.answers = [status]
    send_due(product.world.client, product.queue, 10)
    ((body, _),) = product.sent.sent
    product.sent.sent = []
    product.process(body)
    (again,) = product.sent.sent
    assert again[1] == 5
    assert product.to.events == []
    row = product.row()
    assert (row["failures"], bool(row["failed_since"])) == (1, True)
    # A message that SQS delivers twice, after another has followed it, does nothing.
    product.process(body)
    product.process(again[0])
    assert product.to.events == [(ADDED, "y#def-b")]
    assert product.row()["failures"] == 0


def test_after_many_failures_nothing_is_sent_until_the_client_refreshes(product: Product) -> None:
    product.subscribe()
    product.world.put("y.html", a_page(B))
    product.to.answers = [500] * 8
    assert product.deliver() == 8
    assert product.subscribe()["deliveryStatus"]["active"] is False
    assert product.deliver() == 1
    assert product.to.events == [(ADDED, "y#def-b")]


def test_410_ends_a_subscription_and_413_is_about_one_event(product: Product) -> None:
    product.subscribe()
    product.to.answers = [413]
    product.world.put("y.html", a_page(B | C))
    product.deliver()
    assert product.to.events == [(ADDED, "y#tip-c")]
    product.to.answers = [410]
    product.world.put("z.html", a_page(B))
    product.deliver()
    assert product.row() is None


def test_a_secret_is_replaced_with_overlap(product: Product, sql: psycopg.Connection) -> None:
    new = a_secret()
    product.subscribe()
    product.to.secrets.append(new)
    product.subscribe(secret=new)
    product.world.put("y.html", a_page(B))
    product.deliver()
    assert len(product.to.headers[-1]["webhook-signature"].split()) == 2
    sql.execute("update event_subscription set previous_until = now()")
    product.world.put("z.html", a_page(C))
    product.deliver()
    assert len(product.to.headers[-1]["webhook-signature"].split()) == 1
    assert len(product.to.events) == 2
    assert SECRET not in json.dumps(product.row())
    assert new not in json.dumps(product.row())


def test_a_subscription_that_expired_or_ended_is_sent_nothing(product: Product, sql: psycopg.Connection) -> None:
    granted = product.subscribe()
    sql.execute("update event_subscription set expires_at = now()")
    product.world.put("y.html", a_page(B))
    assert product.deliver() == 0
    assert product.row() is None
    # The client's cursor is where it goes on.
    assert product.subscribe(cursor=granted["cursor"])["truncated"] is False
    assert product.deliver() == 1
    assert product.to.events == [(ADDED, "y#def-b")]
    assert product.unsubscribe().json["result"] is not None
    assert product.unsubscribe().code == -32011
    product.world.put("z.html", a_page(C))
    assert product.deliver() == 0


def test_what_is_older_than_the_client_wants_is_left_out(product: Product, sql: psycopg.Connection) -> None:
    cursor = product.call("events/poll", cursor=None).json["result"]["cursor"]
    product.world.put("y.html", a_page(B))
    sql.execute("update change set changed_at = changed_at - interval '1 hour' where subject = 'y#def-b'")
    assert product.subscribe(cursor=cursor, maxAgeMs=60_000)["truncated"] is True
    product.world.put("z.html", a_page(C))
    product.deliver()
    assert product.to.events == [(ADDED, "z#tip-c")]


def test_a_feed_that_has_forgotten_what_came_says_so(product: Product, sql: psycopg.Connection) -> None:
    product.subscribe("explanation.removed")
    sql.execute("update change_feed set last = 9, deleted = 9")
    product.world.put("y.html", a_page(B))
    product.deliver()
    (gap,) = product.to.received
    assert gap.keys() == {"type", "cursor"}
    assert gap["type"] == "gap"
    assert product.to.headers[0]["webhook-id"].startswith("msg_gap_")


@pytest.mark.parametrize("place", range(1, 8))
def test_a_worker_that_is_killed_loses_no_event(product: Product, sql: psycopg.Connection, place: int) -> None:
    """It dies before or after its call number `place`; the message comes again, or the row is due again."""
    product.subscribe()
    product.world.put("y.html", a_page(B | C))
    send_due(product.world.client, product.queue, 10)
    ((body, _),) = product.sent.sent
    product.sent.sent = []
    killed = replace(product.work, subscriptions=Killed(product.subscriptions, place))
    with suppress(SystemExit):
        product.process(body, killed)
    product.process(body)
    sql.execute("update event_subscription set due_at = now()")
    product.deliver()
    assert list(dict.fromkeys(product.to.events)) == [(ADDED, "y#def-b"), (ADDED, "y#tip-c")]
    ids = [event["eventId"] for event in product.to.received]
    assert len(set(ids)) == 2
    assert len(ids) <= 3


class Killed:
    """Subscriptions whose worker ends before call number `place`, or, if that is even, after half as many."""

    def __init__(self, real: Subscriptions, place: int) -> None:
        self._real, self._left, self._after = real, (place + 1) // 2, place % 2 == 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)

        def call(*given: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise SystemExit
            done = method(*given, **named)
            if self._left == 0:
                raise SystemExit
            return done

        return call


@pytest.mark.parametrize(
    ("delivery", "params", "code"),
    [
        ({"secret": "whsec_short"}, {}, -32602),
        ({"secret": "no prefix"}, {}, -32602),
        ({"url": "ftp://example.com/"}, {}, -32602),
        ({"mode": "push"}, {}, -32014),
        ({}, {"name": "tool.ready"}, -32011),
        ({}, {"arguments": {"in": "junior"}}, -32602),
        ({}, {"cursor": "rubbish"}, -32602),
        ({}, {"ttlMs": 0}, -32602),
        ({"url": "http://127.0.0.1:9/"}, {}, -32015),
    ],
)
def test_a_wrong_subscription_is_an_error_of_the_protocol(
    product: Product, delivery: dict[str, Any], params: dict[str, Any], code: int
) -> None:
    given = {"mode": "webhook", "url": product.to.url, "secret": SECRET} | delivery
    answer = product.call("events/subscribe", **({"name": ADDED, "delivery": given} | params))
    assert answer.code == code
    assert product.row() is None


def test_an_address_that_does_not_want_events_gets_none(product: Product) -> None:
    for echo in ("another", None, 5):
        product.to.echo = lambda _challenge, echo=echo: echo  # type: ignore[method-assign, misc]
        error = product.subscribe()
        assert (error["code"], error["data"]) == (-32015, {"reason": "challenge_failed"})
    product.to.secrets = []
    assert product.subscribe()["data"] == {"reason": "http_4xx"}
    assert product.row() is None


def test_a_key_has_so_many_subscriptions(product: Product, sql: psycopg.Connection) -> None:
    sql.execute("select set_quotas('{\"subscriptions\": 1}')")
    try:
        product.subscribe()
        error = product.subscribe("explanation.removed")
        assert (error["code"], error["data"]) == (-32013, {"limit": "subscriptions"})
        assert "refreshBefore" in product.subscribe()
    finally:
        sql.execute("select set_quotas('{\"subscriptions\": 100}')")


def test_what_is_over_the_quota_of_deliveries_comes_later(product: Product) -> None:
    def refuse(_payer: str, _events: int) -> None:
        raise OverLimit("too many", retry_after=30)

    product.subscribe()
    product.world.put("y.html", a_page(B))
    assert product.deliver(replace(product.work, allow=refuse)) == 1
    row = product.row()
    assert (row["failures"], product.to.events) == (0, [])
    product.world.sql.execute("update event_subscription set due_at = now()")
    product.deliver()
    assert product.to.events == [(ADDED, "y#def-b")]


def test_a_key_of_one_folder_hears_of_no_other(product: Product) -> None:
    product.access = "junior"
    product.subscribe()
    product.world.put("senior/y.html", a_page(B))
    product.world.put("junior/y.html", a_page(C))
    product.deliver()
    # The cursor was of a key for everything: what was between is not told.
    assert [each.get("type") for each in product.to.received] == ["gap"]
    product.world.put("senior/z.html", a_page(B))
    product.world.put("junior/z.html", a_page(C))
    product.deliver()
    assert product.to.events == [(ADDED, "junior/z#tip-c")]


def test_without_a_key_nobody_subscribes(product: Product) -> None:
    tools = KnowledgeTools(product.world, product.world.read)
    server = knowledge_server(tools, "1.2.3", product.work.pages, product.methods)
    ask = Ask(McpApp(server, ring, allow_public=lambda _principal, _searches: None))
    body = message("events/subscribe", STATELESS, name=ADDED, delivery={"url": product.to.url, "secret": SECRET})
    assert ask(body, path="/public/mcp", **named("events/subscribe", STATELESS)).code == -32012


def test_a_replaced_key_of_the_deployment_waits_for_a_refresh(product: Product) -> None:
    product.subscribe()
    product.world.put("y.html", a_page(B))
    other = replace(product.work, subscriptions=Subscriptions(product.world.client, lambda: "another"))
    product.deliver(other)
    assert (product.to.events, product.row()["failures"] > 0) == ([], True)
    product.subscribe()
    product.deliver()
    assert product.to.events == [(ADDED, "y#def-b")]
