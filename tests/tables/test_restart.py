"""Restarts of stalled indexing of a Table."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject
from sakuin_local.supabase.database import Database

from tests.convergence.passing import time_passes_in
from tests.doubles.queue import MemoryQueues
from tests.worlds import FINGERPRINT, TableWorld, long, world_of

NO_STORE = "http://127.0.0.1:9"
A_DAY = 86_400


@dataclass
class Stalled:
    """A Table with a Tool, whose messages are lost."""

    world: TableWorld
    dsn: str
    table: str = ""
    tool: str = ""
    has_backlog: bool = False

    def __post_init__(self) -> None:
        self.table = self.world.table({"a": "b"})
        self.tool = self.world.tool(self.table, "")
        self.queues.asked.clear()

    @property
    def queues(self) -> MemoryQueues:
        return self.world.queues

    def passes(self, seconds: int) -> None:
        time_passes_in(self.dsn, seconds)

    def restarted(self) -> int:
        """Returns how many Tables maintenance restarts."""
        restart: Any = self.world.maintenance.restart_tables
        return int(replace(restart, has_backlog=lambda: self.has_backlog)())


@pytest.fixture
def stalled(empty_database: Database) -> Stalled:
    return Stalled(world_of(empty_database, NO_STORE), empty_database.dsn_postgres)


def test_where_there_is_no_message_two_minutes_without_a_sign_are_enough(stalled: Stalled) -> None:
    stalled.passes(100)
    assert stalled.restarted() == 0
    stalled.passes(25)
    assert stalled.restarted() == 1
    assert stalled.queues.asked == [("index", stalled.world.project, stalled.table, None, 0)]


def test_where_there_are_messages_the_table_s_may_be_among_them(stalled: Stalled) -> None:
    stalled.has_backlog = True
    stalled.passes(800)
    assert stalled.restarted() == 0
    stalled.passes(105)
    assert stalled.restarted() == 1


def test_two_at_once_restart_it_once(stalled: Stalled) -> None:
    stalled.passes(130)
    assert [stalled.restarted(), stalled.restarted()] == [1, 0]


def test_a_waiting_table_is_not_restarted(stalled: Stalled, unfinished: UnfinishedWorkStore) -> None:
    unfinished.defer(WorkSubject("table", stalled.table, FINGERPRINT.id), Defer(3600, "tomorrow"))
    stalled.passes(1000)
    assert stalled.restarted() == 0


def test_after_five_restarts_without_success_its_tools_say_so(stalled: Stalled) -> None:
    restarted = []
    for _ in range(6):
        stalled.passes(130)
        restarted.append(stalled.restarted())
    assert restarted == [1, 1, 1, 1, 1, 0]
    status = stalled.world.status(stalled.tool)
    assert status["state"] == "error"
    assert status["last_error"].startswith("Its indexing was started 5 times and stalled each time. Send it again with")
    assert len(stalled.queues.asked) == 5


WRONG = [
    {"search_index": {"state": "indexing", "heartbeat_at": "soon", "configured_at": "soon"}},
    {"search_index": {"state": "indexing", "heartbeat_at": "2026-13-45", "configured_at": 7}},
    {"search_index": {"state": "pending", "heartbeat_at": {}, "configured_at": [], "attempt": "many"}},
    {"search_index": {"state": "ready", "chunks_count": "many", "attempt": 1.5, "generation": "x"}},
    {"search_index": {"state": "ready", "chunks_count": 10**30}},
    {"search_index": "soon"},
    {"search_index": None},
    "soon",
    [],
]


def test_a_wrong_status_hides_no_table_and_the_next_scan_corrects_it(world: TableWorld) -> None:
    still = world.table({"a": long("止")})
    world.tool(still, "")
    world.queues.asked.clear()
    old = "jsonb_set(metadata, '{search_index,configured_at}', to_jsonb(now() - interval '1 hour'))"
    world.sql(f"update tool set metadata = {old} where table_id = %s", still)
    table, tool, _ = world.indexed({"a": long("隣", 300)})
    for number, metadata in enumerate(WRONG):
        world.sql("update tool set metadata = %s where id = %s", Jsonb(metadata), tool)
        assert still in {stalled for _, stalled in world.index.stalled_tables(120)}, metadata
        summaries = world.index.summaries([table])
        assert [each.table_id for each in summaries] == [table], metadata
        world.replace(table, {"a": long(f"直{number}", 300)})
        world.settle()
        status = world.status(tool)
        indexed = status["state"], status["chunks_count"], status["indexed_chunks_count"], status["attempt"]
        assert indexed == ("ready", 1, 1, 0), metadata
