"""Webhooks of subscriptions: to each subscriber only what its key may read, as long as it may."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sakuin.errors import Unauthorized
from sakuin.mcp.callers import of_key, of_user
from sakuin.mcp.changes.due_subscriptions import send_due
from sakuin.mcp.changes.send_webhooks import SendWebhooks
from sakuin.platform.keys import LibraryKeys, hash_of_key
from sakuin.platform.secrets import search_secret
from sakuin.platform.supabase.client import connected
from sakuin.upkeep.refused_questions import WatchedGaps
from sakuin.wiring import send_webhooks
from sakuin.wiring.clients import Clients

from tests.builders import a_page
from tests.database_server import DatabaseServer
from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.stack import Stack, stack_of
from tests.mcp.receiver import Receiver, receiver
from tests.worlds import World

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
READY = "tool.ready"


@pytest.fixture(scope="module")
def stack(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory, stand_in: str) -> Iterator[Stack]:
    copy = database_server.copy(tmp_path_factory.mktemp("webhooks"))
    with copy as database, stack_of(database, stand_in, WEBHOOKS="private") as made:
        yield made


@pytest.fixture
def tenants(stack: Stack) -> tuple[Tenant, Tenant]:
    return moved_in(stack, "三角比"), moved_in(stack, "数列")


def subscribe(
    stack: Stack, mcp_id: str | None, key: str | None, to: Receiver, method: str = "subscribe", name: str = READY
) -> int:
    delivery = {"mode": "webhook", "url": to.url, "secret": SECRET}
    return stack.rpc(mcp_id, f"events/{method}", key, name=name, arguments={}, delivery=delivery).status


def worker(stack: Stack) -> tuple[Clients, SendWebhooks]:
    """Returns the worker as it is deployed: with the secret and the database role of searches."""
    clients = Clients.of({**os.environ, "SECRET_NAME": search_secret(stack.secret)}, "Webhooks")
    return clients, send_webhooks.webhook_work(clients)


def deliver(stack: Stack) -> None:
    clients, work = worker(stack)
    send_due(clients.supabase, clients.webhook_queue(), 10)
    sqs, url = clients.aws("sqs"), clients.settings.webhook_queue_url
    for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        with ThreadPoolExecutor(1) as thread:
            thread.submit(work.process, work.read(json.loads(message["Body"]))).result()
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def changed(stack: Stack, tenant: Tenant) -> None:
    """Has the Tool of a tenant be ready again."""
    query = "update tool set metadata = jsonb_set(metadata, '{search_index,state}', %s) where id = %s"
    for state in ('"indexing"', '"ready"'):
        stack.sql.execute(query, (state, tenant.ids["tool_id"]))
    stack.sql.execute(
        "update change set number = null, generation = generation + 1 where subject = %s", (tenant.ids["tool_id"],)
    )


def test_each_project_is_sent_its_own_events_and_nobody_else_s(stack: Stack, tenants: tuple[Tenant, Tenant]) -> None:
    owner, other = tenants
    with receiver(SECRET) as mine, receiver(SECRET) as theirs:
        for tenant, to in ((owner, mine), (other, theirs)):
            assert subscribe(stack, tenant.ids["mcp_id"], tenant.key, to) == 200
        changed(stack, owner)
        deliver(stack)
        assert mine.events == [(READY, owner.ids["tool_id"])]
        assert theirs.events == []
        assert not [value for value in other.ids.values() if value in str(mine.received)]


def test_the_answer_to_a_watched_gap_is_sent_to_keys_of_the_whole_library_alone(stack: Stack) -> None:
    client = connected(stack.database.rest_url, stack.database.service_key)
    junior, gaps = LibraryKeys(client).create("junior", folder="junior"), WatchedGaps(client)
    with receiver(SECRET) as whole, receiver(SECRET) as folder:
        for key, to in ((stack.knowledge_key, whole), (junior, folder)):
            assert subscribe(stack, None, key, to, name="gap.answered") == 200
        gaps.watch("解の公式")
        World(stack.database, client, stack.sql).put("x.html", a_page({"rule-a": "解の公式: 係数を代入する。"}))
        for _ in range(3):
            deliver(stack)
        ((name, question),) = whole.events
        assert (name, question, folder.events) == ("gap.answered", "解の公式", [])
    (gap,) = gaps.all()
    assert gap.answer == whole.received[-1]["data"]["answer"]


def test_the_key_of_another_neither_subscribes_nor_ends(stack: Stack, tenants: tuple[Tenant, Tenant]) -> None:
    owner, other = tenants
    with receiver(SECRET) as to:
        assert subscribe(stack, owner.ids["mcp_id"], owner.key, to) == 200
        for mcp_id, key in ((owner.ids["mcp_id"], other.key), (owner.ids["mcp_id"], None), (None, owner.key)):
            for method in ("subscribe", "unsubscribe"):
                assert subscribe(stack, mcp_id, key, to, method) == 401
        # The same address and event of another key is another subscription.
        delivery = {"url": to.url}
        answer = stack.rpc(other.ids["mcp_id"], "events/unsubscribe", other.key, name=READY, delivery=delivery)
        assert answer.json["error"]["code"] == -32011
        changed(stack, owner)
        deliver(stack)
        assert to.events == [(READY, owner.ids["tool_id"])]


def test_a_replaced_key_is_told_so_and_is_sent_nothing_more(stack: Stack, tenants: tuple[Tenant, Tenant]) -> None:
    owner, _ = tenants
    with receiver(SECRET) as to:
        assert subscribe(stack, owner.ids["mcp_id"], owner.key, to) == 200
        stack.sql.execute("update mcp set api_key_hash = repeat('a', 64) where id = %s", (owner.ids["mcp_id"],))
        changed(stack, owner)
        deliver(stack)
        assert [(each["type"], each["error"]["code"]) for each in to.received] == [("terminated", -32012)]
        changed(stack, owner)
        deliver(stack)
        assert len(to.received) == 1


def test_a_caller_is_found_by_what_it_may_read_now(stack: Stack, tenants: tuple[Tenant, Tenant]) -> None:
    owner, other = tenants
    keys = LibraryKeys(connected(stack.database.rest_url, stack.database.service_key))
    junior = keys.create("junior", folder="junior")
    old = keys.create("old", expires_at=datetime.now(UTC) + timedelta(days=1))
    keys.remove(hash_of_key(old))
    _, work = worker(stack)
    mcp_id = owner.ids["mcp_id"]
    assert work.find_caller(of_key(hash_of_key(stack.knowledge_key)), None).folder == ""
    assert work.find_caller(of_key(hash_of_key(junior)), None).folder == "junior"
    endpoint = work.find_caller(of_user(owner.user), mcp_id).endpoint
    assert endpoint is not None
    assert [tool.id for tool in endpoint.tools] == [owner.ids["tool_id"]]
    for principal, where in (
        (of_key(hash_of_key(old)), None),
        (of_key(hash_of_key(owner.key)), None),
        (of_key(hash_of_key(other.key)), mcp_id),
        (of_user(other.user), mcp_id),
        (of_user(owner.user), None),
    ):
        with pytest.raises(Unauthorized):
            work.find_caller(principal, where)
