"""The environment of a function: its secret, its variables, its vendors."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aws_lambda_powertools.utilities import parameters
from sakuin.platform.secrets import Secrets
from sakuin.settings import Settings
from sakuin.wiring.clients import Clients, start_telemetry
from sakuin_local.supabase.database import Database

from tests.contracts.openai_server import OpenAIServer, openai_server
from tests.contracts.scripted_server import Said, scripted_server
from tests.environment import environment
from tests.events import ring


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        yield running


@pytest.fixture
def members(database: Database) -> dict[str, object]:
    """The functions' secret."""
    return {
        "supabase_service_key": database.service_key,
        "openai_api_key": "sk-test",
        "knowledge_key_hashes": ring.hashes(),
        "admin_key_hashes": ring.hashes(),
        "turbopuffer_api_key": "any",
    }


@pytest.fixture
def environ(
    database: Database, openai: OpenAIServer, members: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """The environment of a function."""
    with secrets_manager(members) as aws:
        process = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
        for name, value in {**process, "AWS_ENDPOINT_URL": aws, "POWERTOOLS_SERVICE_NAME": "test"}.items():
            monkeypatch.setenv(name, value)
        parameters.clear_caches()
        yield environment(
            MATERIALS_BUCKET="b",
            MATERIAL_QUEUE_URL="q",
            SECRET_NAME="sakuin",
            SUPABASE_URL=database.rest_url,
            OPENAI_BASE_URL=openai.url,
            EMBEDDING_MODEL="characters",
            LEARNS_MODEL="",
            TURBOPUFFER_BASE_URL="http://127.0.0.1:9",
        )
        parameters.clear_caches()


@pytest.fixture
def clients(environ: dict[str, str], members: dict[str, object]) -> Clients:
    """What a function uses from outside."""
    return Clients(Settings.read(environ), Secrets.read(members, "sakuin"), start_telemetry("Any"))


@contextmanager
def secrets_manager(members: dict[str, object]) -> Iterator[str]:
    """Serves a Secrets Manager with one secret; yields its address."""
    secret = {"Name": "sakuin", "SecretString": json.dumps(members)}
    with scripted_server(Said(body=json.dumps(secret).encode())) as aws:
        yield aws.url
