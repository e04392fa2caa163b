"""Each key and secret is replaced while the real function `mcp` answers: over Secrets Manager, PostgREST, Postgres."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import psycopg
import pytest
from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.constants import DEFAULT_PROVIDERS
from moto import mock_aws
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.platform.secrets import Secrets, search_secret
from sakuin.platform.supabase.client import call, connected
from sakuin.wiring import mcp
from sakuin.wiring.clients import Clients
from sakuin_cli.deployment_keys import DeploymentKeys, StoredSecret
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import Keys

from tests.environment import ENVIRONMENT
from tests.events import Context, event
from tests.wiring.test_settings import SECRET as MEMBERS

NAME = "sakuin/prod"


@dataclass
class Worker:
    """A worker of the function `mcp`, which remembers for itself what it has read of the secret."""

    environment: dict[str, str]
    read: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.remembers()
        self.handler = mcp.handler(Clients.of(self.environment, "Search"))

    def remembers(self) -> None:
        """From now on this one runs: Powertools keeps what was read for a whole process."""
        DEFAULT_PROVIDERS["secrets"] = parameters.SecretsProvider()
        DEFAULT_PROVIDERS["secrets"].store = self.read

    def status(self, key: str, path: str = "/mcp") -> int:
        """What a `tools/list` is answered with."""
        self.remembers()
        asked = event("mcp.list_tools")
        asked["headers"]["authorization"] = f"Bearer {key}"
        asked["rawPath"] = asked["requestContext"]["http"]["path"] = path
        return int(self.handler(asked, Context())["statusCode"])


@dataclass
class Deployment:
    """The function `mcp` as it is deployed, with two workers, and the operator who replaces its keys."""

    workers: tuple[Worker, Worker]
    keys: DeploymentKeys
    database: Database

    def five_minutes_pass(self) -> None:
        for worker in self.workers:
            worker.read.clear()

    def status(self, key: str, path: str = "/mcp") -> int:
        """What both workers say."""
        (said,) = {worker.status(key, path) for worker in self.workers}
        return said

    def call(self, function: str, **arguments: Any) -> Any:
        client = connected(self.database.rest_url, self.database.service_key)
        return call(client, function, {f"p_{name}": value for name, value in arguments.items()})

    def endpoint(self, key: str) -> str:
        project = self.call("create_project", name="p")["id"]
        key_hash = hash_of_key(key)
        made = self.call("create_mcp", project=project, name="e", key_hash=key_hash, tools=[])
        return str(made["id"])


@pytest.fixture
def deployment(database: Database) -> Iterator[Deployment]:
    with mock_aws():
        client = boto3.client("secretsmanager")
        members = {"openai_api_key": "sk", "supabase_search_key": Keys(database.jwt_secret).search}
        name = search_secret(NAME)
        client.create_secret(Name=name, SecretString=json.dumps({**members, "knowledge_key_hashes": []}))
        parameters.clear_caches()
        environment = {**ENVIRONMENT, "SUPABASE_URL": database.rest_url, "SECRET_NAME": name}
        keys = DeploymentKeys({"knowledge": StoredSecret(client, name)})
        yield Deployment((Worker(environment), Worker(environment)), keys, database)
        DEFAULT_PROVIDERS.pop("secrets")
        parameters.clear_caches()


def test_an_api_key_is_replaced_without_a_moment_when_none_opens(deployment: Deployment) -> None:
    old, key = deployment.keys.create("knowledge")
    _, fresh = deployment.keys.create("knowledge")
    deployment.five_minutes_pass()
    assert (deployment.status(key), deployment.status(fresh)) == (200, 200)
    deployment.keys.remove(old.hash)
    deployment.five_minutes_pass()
    assert (deployment.status(key), deployment.status(fresh)) == (401, 200)


def test_a_new_key_of_the_library_opens_at_a_worker_that_has_read_the_secret_before(deployment: Deployment) -> None:
    _, old = deployment.keys.create("knowledge")
    deployment.five_minutes_pass()
    assert deployment.status(old) == 200
    _, key = deployment.keys.create("knowledge")
    assert (deployment.status(key), deployment.status(old)) == (200, 200)


def test_an_endpoint_s_key_is_replaced_with_an_overlap(deployment: Deployment, database: Database) -> None:
    deployment.keys.create("knowledge")
    deployment.five_minutes_pass()
    key, fresh = new_key(), new_key()
    endpoint = deployment.endpoint(key)
    wanted = hash_of_key(fresh)
    deployment.call("rotate_mcp", mcp=endpoint, key_hash=wanted, overlap_seconds=60)
    path = f"/mcp/{endpoint}"
    assert (deployment.status(key, path), deployment.status(fresh, path)) == (200, 200)
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        sql.execute("update mcp set previous_key_until = now() where id = %s", (endpoint,))
    assert (deployment.status(key, path), deployment.status(fresh, path)) == (401, 200)


def secrets(**members: object) -> Secrets:
    return Secrets.read({**MEMBERS, **members}, NAME)


@pytest.mark.parametrize("value", ["a string", [""], [5], None])
def test_a_list_of_previous_ones_that_is_none_is_not_guessed_at(value: object) -> None:
    with pytest.raises(Exception, match="no member 'previous_jwt_secrets' that is a list of strings"):
        secrets(previous_jwt_secrets=value)
