"""`metadata` written by platforms: a wrong status affects no other Table."""

import pytest
from psycopg.types.json import Jsonb
from sakuin.tables.reconcile import TableSummaries

from tests.table_world import FINGERPRINT, TableWorld, long

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


@pytest.fixture
def wrong(world: TableWorld) -> tuple[str, str]:
    """A Table that is ready, and its Tool."""
    table, tool, _ = world.indexed({"a": long("隣")})
    return table, tool


@pytest.mark.parametrize("metadata", WRONG, ids=str)
def test_a_stalled_table_is_found_whatever_metadata_another_tool_has(
    world: TableWorld, wrong: tuple[str, str], metadata: object
) -> None:
    still = world.table({"a": long("止")})
    world.tool(still, "")
    old = "jsonb_set(metadata, '{search_index,configured_at}', to_jsonb(now() - interval '1 hour'))"
    world.sql(f"update tool set metadata = {old} where table_id = %s", still)  # noqa: S608
    world.sql("update tool set metadata = %s where id = %s", Jsonb(metadata), wrong[1])
    assert still in {table for _, table in world.index.stalled_tables(120)}


@pytest.mark.parametrize("metadata", WRONG, ids=str)
def test_every_table_is_checked_whatever_metadata_a_tool_has(
    world: TableWorld, wrong: tuple[str, str], metadata: object
) -> None:
    table, tool = wrong
    world.sql("update tool set metadata = %s where id = %s", Jsonb(metadata), tool)
    summaries = TableSummaries(world.client, FINGERPRINT.id).of_tables([table])
    assert [each.table_id for each in summaries] == [table]


@pytest.mark.parametrize("metadata", WRONG, ids=str)
def test_the_next_scan_corrects_a_status(world: TableWorld, wrong: tuple[str, str], metadata: object) -> None:
    table, tool = wrong
    world.sql("update tool set metadata = %s where id = %s", Jsonb(metadata), tool)
    world.replace(table, {"a": long("直")})
    world.settle()
    status = world.status(tool)
    assert (status["state"], status["chunks_count"], status["attempt"]) == ("ready", status["indexed_chunks_count"], 0)
