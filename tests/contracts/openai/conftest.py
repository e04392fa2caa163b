"""OpenAI on the loopback interface."""

from collections.abc import Iterator

import pytest

from tests.contracts.openai_server import OpenAIServer, openai_server


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        yield running
