"""What all `CircuitRecords` promise."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sakuin.adapters.supabase_circuits import SupabaseCircuits
from sakuin.adapters.supabase_client import connected
from sakuin.ports.circuits import CircuitRecord, CircuitRecords
from sakuin_local.database import Database

from tests.in_memory.circuits import MemoryCircuits

NAME = "openai-passages"


@pytest.fixture(params=["memory", "supabase"])
def records(request: pytest.FixtureRequest, database: Database, sql: psycopg.Connection) -> CircuitRecords:
    """Each adapter in turn, knowing nothing."""
    if request.param == "memory":
        return MemoryCircuits()
    sql.execute("truncate circuit")
    return SupabaseCircuits(connected(database.rest_url, database.service_key))


def claim(records: CircuitRecords, owner: str, *, opened_at: int = 100, now: int = 130) -> bool:
    return records.claimed(NAME, owner=owner, opened_at=opened_at, lease_until=now + 30, now=now)


def test_a_circuit_that_was_never_opened_is_not_known(records: CircuitRecords) -> None:
    assert records.read(NAME) is None
    assert not claim(records, "a")


def test_the_first_to_open_it_says_since_when(records: CircuitRecords) -> None:
    records.opened(NAME, failures=3, at=100)
    records.opened(NAME, failures=7, at=117)
    assert records.read(NAME) == CircuitRecord("OPEN", 3, 100)
    assert records.read("turbopuffer-writes") is None


def test_one_worker_alone_probes(records: CircuitRecords) -> None:
    records.opened(NAME, failures=3, at=100)
    with ThreadPoolExecutor(8) as workers:
        won = list(workers.map(lambda number: claim(records, f"worker {number}"), range(16)))
    assert won.count(True) == 1
    assert records.read(NAME) == CircuitRecord("HALF_OPEN", 3, 100, f"worker {won.index(True)}", 160)


def test_who_knows_an_older_outage_does_not_probe_this_one(records: CircuitRecords) -> None:
    records.opened(NAME, failures=3, at=100)
    assert not claim(records, "a", opened_at=70)


def test_a_prober_that_is_not_heard_of_is_replaced_when_its_lease_ends(records: CircuitRecords) -> None:
    records.opened(NAME, failures=3, at=100)
    assert claim(records, "a", now=130)
    assert not claim(records, "b", now=159)
    assert claim(records, "b", now=160)
    assert not claim(records, "c", now=160)


def test_a_late_failure_does_not_disturb_who_probes(records: CircuitRecords) -> None:
    records.opened(NAME, failures=3, at=100)
    claim(records, "a")
    records.opened(NAME, failures=3, at=131)
    known = records.read(NAME)
    assert known is not None
    assert (known.state, known.owner) == ("HALF_OPEN", "a")


def test_a_probe_closes_the_circuit_and_it_can_open_again(records: CircuitRecords) -> None:
    records.opened(NAME, failures=3, at=100)
    claim(records, "a")
    records.ended(NAME, opened_at=None)
    assert records.read(NAME) == CircuitRecord("CLOSED")
    records.opened(NAME, failures=4, at=500)
    assert records.read(NAME) == CircuitRecord("OPEN", 4, 500)


def test_a_probe_that_failed_leaves_it_open_since_then(records: CircuitRecords) -> None:
    records.opened(NAME, failures=3, at=100)
    claim(records, "a")
    records.ended(NAME, opened_at=133)
    assert records.read(NAME) == CircuitRecord("OPEN", 0, 133)
    assert claim(records, "b", opened_at=133, now=170)
