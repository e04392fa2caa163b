"""What every `EmbeddingLedger` promises, and what the tables say while indexing waits."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import psycopg
import pytest
from sakuin.adapters.supabase_client import connected
from sakuin.adapters.supabase_ledger import SupabaseLedger
from sakuin.ports.costs import EmbeddingLedger
from sakuin_local.database import Database

from tests.in_memory.ledger import MemoryLedger


@pytest.fixture(params=["memory", "supabase"])
def ledger(request: pytest.FixtureRequest, database: Database, sql: psycopg.Connection) -> EmbeddingLedger:
    """Each adapter in turn, with nothing spent."""
    if request.param == "memory":
        return MemoryLedger()
    sql.execute("delete from embedding_day")
    return SupabaseLedger(connected(database.rest_url, database.service_key))


def today() -> date:
    return datetime.now(UTC).date()


def test_a_day_begins_with_nothing_and_adds_up(ledger: EmbeddingLedger) -> None:
    began = today()
    assert ledger.spent() == 0
    ledger.add(700)
    ledger.add(3_000_000_000)
    # Over midnight it would be two days' sums.
    assert ledger.spent() == 3_000_000_700 or today() > began


def test_nothing_is_lost_when_workers_add_at_the_same_time(ledger: EmbeddingLedger) -> None:
    began = today()
    with ThreadPoolExecutor(4) as workers:
        list(workers.map(lambda _: ledger.add(1), range(40)))
    assert ledger.spent() == 40 or today() > began


def test_yesterday_s_tokens_do_not_count_today(database: Database, sql: psycopg.Connection) -> None:
    sql.execute("delete from embedding_day")
    sql.execute("insert into embedding_day values ((now() at time zone 'utc')::date - 1, 500)")
    assert SupabaseLedger(connected(database.rest_url, database.service_key)).spent() == 0
