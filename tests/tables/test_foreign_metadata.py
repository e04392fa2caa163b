"""`metadata` written by platforms: a wrong status affects no other Table."""

from psycopg.types.json import Jsonb
from sakuin.tables.reconcile import TableSummaries

from tests.worlds import FINGERPRINT, TableWorld, long

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
        summaries = TableSummaries(world.client, FINGERPRINT.id).of_tables([table])
        assert [each.table_id for each in summaries] == [table], metadata
        world.replace(table, {"a": long(f"直{number}", 300)})
        world.settle()
        status = world.status(tool)
        indexed = status["state"], status["chunks_count"], status["indexed_chunks_count"], status["attempt"]
        assert indexed == ("ready", 1, 1, 0), metadata
