"""Tables on the real adapters: each call of a worker stops at a gate."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from sakuin.platform.calls import Ask, background
from sakuin.platform.supabase.client import connected
from sakuin.tables.turbopuffer.client import connected as store_connected
from sakuin.tables.turbopuffer.store import TurbopufferChunkStore
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store
from supabase import Client
from turbopuffer import DefaultHttpxClient

from tests.convergence.gates import Gate, away, gated, shunned

_CIRCUIT = "turbopuffer's circuit"


@dataclass(frozen=True)
class TablesHouse:
    """What all schedules share: a database, a store, and the gated connections to them."""

    client: Client
    store: TurbopufferChunkStore
    stand_in: Store
    sql: psycopg.Connection


@contextmanager
def tables_house(database: Database, folder: Path) -> Iterator[TablesHouse]:
    """Opens the house."""
    stand_in = Store(folder / "turbopuffer.sqlite")
    with served(application(stand_in)) as port, psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        client = connected(database.rest_url, database.service_key)
        gated(client.session, "supabase")
        session = DefaultHttpxClient()
        gated(session, "turbopuffer")
        # A request that is done again is a fate of the schedule's, so the client does none by itself.
        puffer = store_connected(f"http://127.0.0.1:{port}", "any", session).with_options(max_retries=0)
        # A row a request: what is stored of a batch may be any part of it.
        circuit = Gate(
            Retried(replace(background(), sleep=lambda _: None)), _CIRCUIT, away("turbopuffer"), shunned("turbopuffer")
        )
        yield TablesHouse(client, TurbopufferChunkStore(puffer, 1, circuit.ask, circuit.ask), stand_in, sql)


@dataclass(frozen=True)
class Retried:
    """What stands behind the gate of a circuit."""

    ask: Ask
