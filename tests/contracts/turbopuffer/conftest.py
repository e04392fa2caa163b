"""`ChunkStore` over a stand-in with the limits of the service, and over the service.

The service is tested if TURBOPUFFER_API_KEY and TURBOPUFFER_BASE_URL are set. It charges for that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from os import environ

import pytest
from sakuin.platform.turbopuffer.client import connected
from sakuin.tables.turbopuffer import ChunkStore

from tests.contracts.turbopuffer.chunk_rows import PREFIX

ADDRESS, KEY = "TURBOPUFFER_BASE_URL", "TURBOPUFFER_API_KEY"
TESTED = ["stand-in", *(["service"] if {ADDRESS, KEY} <= environ.keys() else [])]


@contextmanager
def store_at(address: str, key: str) -> Iterator[ChunkStore]:
    store = ChunkStore(connected(address, key))
    yield store
    for namespace in store.namespaces(PREFIX):
        store.delete_namespace(namespace)


@pytest.fixture(params=TESTED)
def store(request: pytest.FixtureRequest, stand_in: str) -> Iterator[ChunkStore]:
    """The adapter and turbopuffer's SDK, without a namespace of these tests behind them."""
    address = (stand_in, "any") if request.param == "stand-in" else (environ[ADDRESS], environ[KEY])
    with store_at(*address) as store:
        yield store


@pytest.fixture
def local(stand_in: str) -> Iterator[ChunkStore]:
    """The same over the stand-in alone, for failures that a test asks for."""
    with store_at(stand_in, "any") as store:
        yield store
