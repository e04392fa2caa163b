"""Tables that wait for a vendor: one row each, probed, resumed, without blocking others."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from sakuin.errors import CircuitOpen
from sakuin.platform.embedding import Vector
from sakuin.tables.nodes import namespace

from tests.doubles.chunk_store import WatchedStore
from tests.doubles.embedder import MemoryEmbedder
from tests.worlds import TableWorld, long

# 66 chunks, so three messages.
MANY = [long(f"二次方程式の解の公式その{number}", 200) for number in range(66)]
ONE = {"a": long("一次関数の傾き", 200)}


@dataclass
class VendorEmbedder(MemoryEmbedder):
    """An embedder that may be away; `asked` counts all calls."""

    is_away: bool = False
    asked: int = 0

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += 1
        if self.is_away:
            raise CircuitOpen("openai keeps failing", vendor="openai")
        return super().passages(texts)


@dataclass
class Outage:
    """Tables made while the vendor of embeddings is away."""

    world: TableWorld
    embedder: VendorEmbedder

    def make(self, document: object) -> tuple[str, str]:
        """Makes a Table and its Tool and delivers their messages."""
        table = self.world.table(document)
        tool = self.world.tool(table, "")
        self.world.take_all()
        return table, tool

    def chunks_asked_for(self) -> list[int]:
        """Returns the number of chunks of each message that can be received; -1 for a scan."""
        asked = [json.loads(message.body) for message in self.world.waiting]
        return [len(each["embed"]["chunks"]) if "embed" in each else -1 for each in asked]

    def state(self, table: str) -> list[tuple[str, str | None]]:
        return [(row.state, row.vendor) for row in self.world.unfinished_rows(table)]


@pytest.fixture
def outage(world: TableWorld) -> Outage:
    world.embedder = VendorEmbedder(is_away=True)
    return Outage(world.on_sqs(), world.embedder)


def test_a_waiting_table_is_one_row_one_batch_probes_and_one_scan_sends_the_rest(outage: Outage) -> None:
    table, tool = outage.make(MANY)
    assert outage.state(table) == [("waiting", "openai")]
    assert outage.world.sqs.messages == []
    status = outage.world.status(tool)
    said = "openai keeps failing; this waits for openai and continues automatically"
    assert (status["state"], status["last_error"]) == ("indexing", said)
    asked = outage.embedder.asked
    outage.world.minutes(3)
    assert outage.state(table) == [("waiting", "openai")]
    assert 1 <= outage.embedder.asked - asked <= 3

    outage.embedder.is_away = False
    outage.world.passes(900)
    outage.world.minute()
    # The batch that failed last.
    assert outage.chunks_asked_for() == [2]
    assert outage.world.take()
    assert outage.world.waiting == []
    outage.world.minute()
    assert outage.chunks_asked_for() == [-1]
    assert outage.world.take()
    assert outage.chunks_asked_for() == [32, 32]
    outage.world.take_all()
    status = outage.world.status(tool)
    assert (status["state"], status["indexed_chunks_count"], status["last_error"]) == ("ready", 66, None)
    assert outage.state(table) == []


def test_a_waiting_table_does_not_block_the_next(outage: Outage) -> None:
    table, _ = outage.make(MANY)
    outage.embedder.is_away = False
    other = outage.world.beside()
    other.queues = outage.world.queues
    their_tool = other.tool(other.table(ONE), "")
    outage.world.take_all()
    assert other.status(their_tool)["state"] == "ready"
    assert outage.state(table) == [("waiting", "openai")]


def test_a_busy_namespace_does_not_block_another_project(world: TableWorld) -> None:
    world.on_sqs()
    table = world.table(ONE)
    busy = namespace(world.project, table)

    def hot() -> None:
        raise CircuitOpen("turbopuffer is busy", vendor="turbopuffer", namespace=busy, retry_after=30)

    store, world.store = world.store, WatchedStore(world.store, before={"upsert": hot})
    tool = world.tool(table, "")
    world.take_all()
    world.store = store
    assert [(row.state, row.vendor) for row in world.unfinished_rows(table)] == [("waiting", None)]
    other = world.beside()
    other.queues = world.queues
    their_tool = other.tool(other.table(ONE), "")
    world.take_all()
    assert (other.status(their_tool)["state"], world.status(tool)["state"]) == ("ready", "indexing")
    world.minutes(2)
    assert world.status(tool)["state"] == "ready"
