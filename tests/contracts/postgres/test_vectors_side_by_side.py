"""Workers that store the same vectors at the same time, in any order, do not lock each other out."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.postgres import TableIndex

from tests.contracts.postgres.conftest import Knowledge
from tests.doubles.embedder import FINGERPRINT, vector_of
from tests.table_world import FINGERPRINT as OF_TABLES

# Without an order, one of four rounds ends in a deadlock.
_ROUNDS, _VECTORS = 20, 32


def store_in_two_orders(store: Callable[[Mapping[str, Vector]], None]) -> None:
    vector = vector_of("x")
    for number in range(_ROUNDS):
        hashes = [f"{number:032x}{place:032x}" for place in range(_VECTORS)]
        orders = [dict.fromkeys(order, vector) for order in (hashes, hashes[::-1])]
        with ThreadPoolExecutor(2) as workers:
            list(workers.map(store, orders))


def test_of_pages(knowledge: Knowledge) -> None:
    knowledge.index.record_index_version(FINGERPRINT)
    store_in_two_orders(lambda vectors: knowledge.index.store_vectors(vectors, FINGERPRINT))


def test_of_tables(knowledge: Knowledge, service: Client) -> None:
    project = call(service, "create_project", {"p_name": "p"})["id"]
    index = TableIndex(service, OF_TABLES)
    store_in_two_orders(lambda vectors: index.store_vectors(project, vectors))
