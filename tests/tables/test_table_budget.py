"""A Table over the day's embedding budget waits and says so; what was searchable stays so; tomorrow it is ready."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.adapters.supabase_ledger import SupabaseLedger
from sakuin.entrypoints.sqs_tables import embed_handler
from sakuin.services.embed_chunks import EmbedChunks
from sakuin.services.embedding_budget import BudgetedEmbedder

from tests.entrypoints.events import Context, event
from tests.in_memory.ledger import MemoryLedger
from tests.tables.conftest import TableWorld, long

FIRST, SECOND = long("二次方程式の解の公式"), long("一次関数の傾き")
BUDGET = 100


@dataclass
class Days:
    """The embed queue's handler over a world, with a budget; `ledger` is set back when a day begins."""

    world: TableWorld
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    postponed: list[int] = field(default_factory=list)

    def deliver_all(self) -> int:
        """Gives the queue's messages to their workers; how many stay."""
        stay = []
        while self.world.queues.asked:
            message = self.world.queues.asked.pop(0)
            if message[0] == "index":
                self.world.deliver(message)
            elif self._embed(message):
                stay.append(message)
        self.world.queues.asked += stay
        return len(stay)

    def _embed(self, message: tuple[Any, ...]) -> bool:
        embedder = BudgetedEmbedder(self.world.embedder, self.ledger, BUDGET)
        handler = embed_handler(
            EmbedChunks(self.world.index, self.world.store, embedder),
            lambda _table, _reason: pytest.fail("it waits, it does not fail"),
            lambda _handle, seconds: self.postponed.append(seconds),
            Logger(service="days"),
            Metrics(namespace="Sakuin", service="days"),
            Tracer(disabled=True),
            say_waits=SupabaseLedger(self.world.client).say_waits,
        )
        _, project, table, ids = message
        record = event("embed_chunks.batch")["Records"][0]
        record["body"] = json.dumps({"embed": {"project_id": project, "table_id": table, "chunks": list(ids)}})
        return bool(handler({"Records": [record]}, Context())["batchItemFailures"])


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
    assert days.deliver_all() == 0
    assert world.status(tool)["state"] == "ready"

    days.ledger.add(BUDGET)
    world.replace(table, {"a": FIRST, "b": SECOND})
    assert days.deliver_all() == 1
    status = world.status(tool)
    assert (status["state"], status["last_error"]) == (
        "indexing",
        "The day's 100 embedding tokens are used up; indexing goes on at 00:00 UTC",
    )
    assert len(days.postponed) == 1
    assert world.found(endpoint) == {"/a"}

    days.ledger.tokens = 0
    assert days.deliver_all() == 0
    status = world.status(tool)
    assert (status["state"], status["last_error"]) == ("ready", None)
    assert world.found(endpoint) == {"/a", "/b"}


def test_a_table_that_waits_is_not_taken_for_one_that_is_stuck_until_its_day_is_over(world: TableWorld) -> None:
    days = Days(world)
    days.ledger.add(BUDGET)
    table = world.table({"a": FIRST})
    tool = world.tool(table, "")
    days.deliver_all()
    backdate(world, tool)
    assert table not in {stuck for _, stuck in world.index.stuck(900)}

    world.sql("update table_wait set until = now() - interval '20 minutes' where table_id = %s", table)
    assert table in {stuck for _, stuck in world.index.stuck(900)}
    days.ledger.tokens = 0
    assert days.deliver_all() == 0
    assert table not in {stuck for _, stuck in world.index.stuck(900)}


def test_a_table_that_is_gone_waits_for_nothing(world: TableWorld) -> None:
    table = world.table({"a": FIRST})
    world.call("delete_table", table=table, user=None)
    SupabaseLedger(world.client).say_waits(table, "it waits")
    assert world.sql("select 1 from table_wait where table_id = %s", table) == []
