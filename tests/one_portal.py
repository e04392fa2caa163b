"""One event loop for all requests of Starlette's test client: a new one for each, with its thread, takes longer."""

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient


@pytest.fixture(scope="package", autouse=True)
def one_portal() -> Iterator[None]:
    """For a `conftest.py`: the loop of the folder's tests."""
    with start_blocking_portal() as portal, pytest.MonkeyPatch.context() as patched:
        patched.setattr(TestClient, "portal", portal)
        yield
