"""A Table over the day's embedding budget waits and says so; what was searchable stays so; tomorrow it is ready."""

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.adapters.supabase_work import SupabaseWork
from sakuin.entrypoints.sqs_tables import embed_handler
from sakuin.services.embed_chunks import EmbedChunks
from sakuin.services.embedding_budget import BudgetedEmbedder
from sakuin.services.every_index import EmbedEverywhere
from sakuin.services.send_due_work import SendDueWork
from sakuin.services.work_in_hand import WorkInHand

from tests.entrypoints.events import Context, event
from tests.in_memory.ledger import MemoryLedger
from tests.in_memory.work import MemoryWorkQueues
from tests.tables.conftest import FINGERPRINT, TableWorld, long

FIRST, SECOND = long("二次方程式の解の公式"), long("一次関数の傾き")
BUDGET = 100


@dataclass
class Days:
    """The embed queue's handler over a world, with a budget."""

    world: TableWorld
    ledger: MemoryLedger = field(default_factory=MemoryLedger)

    @property
    def rows(self) -> SupabaseWork:
        return SupabaseWork(self.world.client)

    def deliver_all(self) -> None:
        """Gives the queue's messages to their workers; none stays in the queue."""
        while self.world.queues.asked:
            message = self.world.queues.asked.pop(0)
            if message[0] == "index":
                self.world.deliver(message)
            else:
                _, project, table, ids = message
                asked = {"project_id": project, "table_id": table, "chunks": list(ids)}
                self._embed(json.dumps({"embed": asked}), str(uuid4()))

    def waiting(self, table: str) -> list[str]:
        """The states of the messages about a Table that are not done."""
        return [row.state for row in self.rows.rows(subjects=[table])]

    def next_day(self) -> None:
        """Midnight has passed, and maintenance runs."""
        self.ledger.tokens = 0
        self.world.sql("update work set until = now() where state = 'parked'")
        queues = MemoryWorkQueues()
        SendDueWork(self.rows, queues, lambda *_: pytest.fail("it waits, it does not fail"))()
        for work in queues.sent:
            self._embed(work.body, work.id)

    def _embed(self, body: str, name: str) -> None:
        embedder = BudgetedEmbedder(self.world.embedder, self.ledger, BUDGET)
        logger = Logger(service="days")
        handler = embed_handler(
            EmbedEverywhere(lambda: {FINGERPRINT.id: EmbedChunks(self.world.index, self.world.store, embedder)}),
            lambda _table, _reason: pytest.fail("it waits, it does not fail"),
            lambda _handle, _seconds: pytest.fail("it is parked, its queue does not keep it"),
            logger,
            Metrics(namespace="Sakuin", service="days"),
            Tracer(disabled=True),
            hold=lambda taken: WorkInHand(self.rows, taken, pytest.fail),
        )
        record: dict[str, Any] = event("embed_chunks.batch")["Records"][0]
        answer = handler({"Records": [record | {"messageId": name, "body": body}]}, Context())
        assert answer == {"batchItemFailures": []}


def backdate(world: TableWorld, tool: str) -> None:
    """Makes the last sign of life an hour old."""
    world.sql(
        "update tool set metadata = jsonb_set(metadata, '{search_index,heartbeat_at}', "
        "to_jsonb(now() - interval '1 hour')) where id = %s",
        tool,
    )


def test_a_table_over_the_budget_waits_says_so_and_is_ready_the_next_day(world: TableWorld) -> None:
    days = Days(world)
    table = world.table({"a": FIRST})
    tool = world.tool(table, "")
    endpoint = world.endpoint(tool)
    days.deliver_all()
    assert (days.waiting(table), world.status(tool)["state"]) == ([], "ready")

    days.ledger.add(BUDGET)
    world.replace(table, {"a": FIRST, "b": SECOND})
    days.deliver_all()
    status = world.status(tool)
    assert (status["state"], status["last_error"]) == (
        "indexing",
        "The day's 100 embedding tokens are used up; indexing goes on at 00:00 UTC",
    )
    assert days.waiting(table) == ["parked"]
    assert world.found(endpoint) == {"/a"}

    days.next_day()
    status = world.status(tool)
    assert (status["state"], status["last_error"]) == ("ready", None)
    assert days.waiting(table) == []
    assert world.found(endpoint) == {"/a", "/b"}


def test_a_table_that_waits_is_not_taken_for_one_that_is_stuck(world: TableWorld) -> None:
    days = Days(world)
    days.ledger.add(BUDGET)
    table = world.table({"a": FIRST})
    tool = world.tool(table, "")
    days.deliver_all()
    backdate(world, tool)
    assert table not in {stuck for _, stuck in world.index.stuck(120)}

    # Nobody knows of its message any more.
    world.sql("delete from work where subject = %s", table)
    assert table in {stuck for _, stuck in world.index.stuck(120)}
    days.ledger.tokens = 0
    world.queues.index(world.project, table)
    days.deliver_all()
    assert table not in {stuck for _, stuck in world.index.stuck(120)}


def test_a_table_that_is_gone_waits_for_nothing(world: TableWorld) -> None:
    days = Days(world)
    days.ledger.add(BUDGET)
    table = world.table({"a": FIRST})
    world.tool(table, "")
    days.deliver_all()
    world.call("delete_table", table=table)
    days.next_day()
    assert days.waiting(table) == []


def test_a_sign_of_life_of_the_worker_is_one_of_the_tool(world: TableWorld) -> None:
    days = Days(world)
    days.ledger.add(BUDGET)
    table = world.table({"a": FIRST})
    tool = world.tool(table, "")
    days.deliver_all()
    backdate(world, tool)
    long_ago = world.status(tool)["heartbeat_at"]
    days.rows.beat([row.id for row in days.rows.rows(subjects=[table])])
    assert world.status(tool)["heartbeat_at"] > long_ago
    days.next_day()
