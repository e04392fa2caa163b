"""What services need of the database."""

import pytest
from sakuin.platform.unfinished_work import UnfinishedWorkStore, short_client
from sakuin_local.database import Database


@pytest.fixture
def unfinished(empty_database: Database) -> UnfinishedWorkStore:
    """The table of unfinished work, empty."""
    return UnfinishedWorkStore(short_client(empty_database.rest_url, empty_database.service_key))
