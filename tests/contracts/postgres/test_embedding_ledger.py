"""What `EmbeddingLedger` promises, and what the tables say while indexing waits."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import psycopg
import pytest
from sakuin.platform.openai.budget import EmbeddingLedger
from sakuin.platform.supabase.client import Client


@pytest.fixture
def ledger(service: Client, sql: psycopg.Connection) -> EmbeddingLedger:
    sql.execute("delete from embedding_day")
    return EmbeddingLedger(service)


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


def test_yesterday_s_tokens_do_not_count_today(ledger: EmbeddingLedger, sql: psycopg.Connection) -> None:
    sql.execute("insert into embedding_day values ((now() at time zone 'utc')::date - 1, 'embedding', 500)")
    assert ledger.spent() == 0
