"""Each key and secret is replaced while the real function `mcp` answers: over Secrets Manager, PostgREST, Postgres."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.constants import DEFAULT_PROVIDERS
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.platform.secrets import Secrets, search_secret
from sakuin_cli.deployment_keys import DeploymentKeys, StoredSecret
from sakuin_local.supabase.database import Database

from tests.isolation.stack import Stack, stack_of
from tests.wiring.test_settings import SECRET as MEMBERS


@dataclass
class Worker:
    """A worker of the function `mcp`, which remembers for itself what it has read of the secret."""

    stack: Stack
    read: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.remembers()
        self.stack = replace(self.stack, mcp=self.stack.functions.mcp())

    def remembers(self) -> None:
        """From now on this one runs: Powertools keeps what was read for a whole process."""
        DEFAULT_PROVIDERS["secrets"] = parameters.SecretsProvider()
        DEFAULT_PROVIDERS["secrets"].store = self.read

    def status(self, key: str, endpoint: str | None) -> int:
        """Returns the status of the answer to a `tools/list`."""
        self.remembers()
        return self.stack.rpc(endpoint, "tools/list", key).status


@dataclass
class Deployment:
    """The function `mcp` as it is deployed, with two workers, and the operator who replaces its keys."""

    stack: Stack
    workers: tuple[Worker, Worker]
    keys: DeploymentKeys

    def five_minutes_pass(self) -> None:
        for worker in self.workers:
            worker.read.clear()

    def status(self, key: str, endpoint: str | None = None) -> int:
        """Returns the status that both workers answer with."""
        (status,) = {worker.status(key, endpoint) for worker in self.workers}
        return status


@pytest.fixture
def deployment(database: Database, stand_in: str) -> Iterator[Deployment]:
    with stack_of(database, stand_in) as stack:
        secret = StoredSecret(boto3.client("secretsmanager"), search_secret(stack.secret))
        yield Deployment(stack, (Worker(stack), Worker(stack)), DeploymentKeys({"knowledge": secret}))
        DEFAULT_PROVIDERS.pop("secrets")


def test_an_api_key_is_replaced_without_a_moment_when_none_opens(deployment: Deployment) -> None:
    old, key = deployment.keys.create("knowledge")
    _, fresh = deployment.keys.create("knowledge")
    deployment.five_minutes_pass()
    assert (deployment.status(key), deployment.status(fresh)) == (200, 200)
    deployment.keys.remove(old)
    deployment.five_minutes_pass()
    assert (deployment.status(key), deployment.status(fresh)) == (401, 200)


def test_a_new_key_of_the_library_opens_at_a_worker_that_has_read_the_secret_before(deployment: Deployment) -> None:
    _, old = deployment.keys.create("knowledge")
    deployment.five_minutes_pass()
    assert deployment.status(old) == 200
    _, key = deployment.keys.create("knowledge")
    assert (deployment.status(key), deployment.status(old)) == (200, 200)


def test_an_endpoint_s_key_is_replaced_with_an_overlap(deployment: Deployment) -> None:
    tables, (key, fresh) = deployment.stack.workers, (new_key(), new_key())
    endpoint = tables.endpoint()
    for made, seconds in ((key, 0), (fresh, 60)):
        tables.call("rotate_mcp", mcp=endpoint, key_hash=hash_of_key(made), overlap_seconds=seconds)
    assert (deployment.status(key, endpoint), deployment.status(fresh, endpoint)) == (200, 200)
    deployment.stack.sql.execute("update mcp set previous_key_until = now() where id = %s", (endpoint,))
    assert (deployment.status(key, endpoint), deployment.status(fresh, endpoint)) == (401, 200)


def secrets(**members: object) -> Secrets:
    return Secrets.read({**MEMBERS, **members}, "sakuin/prod")


@pytest.mark.parametrize("value", ["a string", [""], [5], None])
def test_a_list_of_previous_ones_that_is_none_is_not_guessed_at(value: object) -> None:
    with pytest.raises(Exception, match="no member 'previous_jwt_secrets' that is a list of strings"):
        secrets(previous_jwt_secrets=value)
