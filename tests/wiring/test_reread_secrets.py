"""Secrets that a function reads again later are hidden too."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import boto3
import httpx
import pytest
from aws_lambda_powertools.utilities import parameters
from moto import mock_aws
from sakuin.platform.redaction import HIDDEN, Handler
from sakuin.platform.secrets import NamedSecret
from sakuin.settings import Settings
from sakuin.wiring.api import rest_endpoint
from sakuin.wiring.clients import secret_of, start_telemetry, supabase
from sakuin.wiring.mcp import mcp_endpoint

from tests.events import Context, event
from tests.wiring.test_settings import ENVIRONMENT, SECRET


@dataclass
class Rotated:
    """A function's environment, and an operator who replaces its secret."""

    environ: dict[str, str]
    client: Any

    def replace(self) -> list[str]:
        """Replaces the secrets and returns them; five minutes pass."""
        new = {name: f"replaced {name} {uuid4()}" for name, value in SECRET.items() if isinstance(value, str)}
        self.client.put_secret_value(SecretId=self.environ["SECRET_NAME"], SecretString=json.dumps({**SECRET, **new}))
        parameters.clear_caches()  # type: ignore[no-untyped-call]  # Powertools forgot its annotation
        return [value for name, value in new.items() if name != "supabase_publishable_key"]


@pytest.fixture
def rotated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rotated]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    # Powertools keeps a logger, and what it hides, by this name.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", f"rotated-{uuid4()}")
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name=ENVIRONMENT["SECRET_NAME"], SecretString=json.dumps(SECRET))
        parameters.clear_caches()  # type: ignore[no-untyped-call]
        away = {"SUPABASE_URL": "http://127.0.0.1:9", "TABLES_BUCKET": "tables", "EVENT_BUS_NAME": "bus"}
        yield Rotated({**ENVIRONMENT, **away}, client)
        parameters.clear_caches()  # type: ignore[no-untyped-call]


def test_the_api_reads_the_secret_of_users_and_mcp_does_not(rotated: Rotated) -> None:
    """Their tokens and webhooks are accepted by the secrets that stand there alone."""
    of_users = {"supabase_jwt_secret": "a secret of users' tokens", "hook_secret": "a secret of webhooks"}
    shared = {name: value for name, value in SECRET.items() if name not in of_users}
    rotated.client.put_secret_value(SecretId=rotated.environ["SECRET_NAME"], SecretString=json.dumps(shared))
    rotated.client.create_secret(Name="users", SecretString=json.dumps(of_users))
    handler = rest_endpoint({**rotated.environ, "USERS_SECRET_NAME": "users"})
    asked = event("api.status") | {"rawPath": "/hooks/supabase", "body": "{}"}
    asked["requestContext"]["http"] |= {"method": "POST", "path": "/hooks/supabase"}
    # An empty message is refused after its secret was accepted.
    for sent, status in (("a secret of webhooks", 422), ("another", 401)):
        asked["headers"] = {**asked["headers"], "x-sakuin-secret": sent}
        assert handler(asked, Context())["statusCode"] == status
    mcp_endpoint(rotated.environ)
    assert NamedSecret(rotated.environ["SECRET_NAME"]).now().hook_secrets == ()


@pytest.mark.parametrize(("build", "asked"), [(rest_endpoint, "api.status"), (mcp_endpoint, "mcp.list_tools")])
def test_a_function_of_http_hides_what_it_read_for_a_request(
    rotated: Rotated, build: Callable[[Mapping[str, str]], Handler], asked: str
) -> None:
    handler = build(rotated.environ)
    new = rotated.replace()
    assert handler(event(asked), Context())["statusCode"] == 401
    assert [start_telemetry("Any").redaction(f"said {secret}") for secret in new] == [f"said {HIDDEN}"] * len(new)


def test_a_client_of_supabase_hides_the_key_that_it_read_for_a_request(rotated: Rotated) -> None:
    settings, watched = Settings.read(rotated.environ), start_telemetry("Any")
    client = supabase(settings, secret_of(settings, watched).now(), watched)
    new = rotated.replace()
    # What the function has read is minutes old.
    parameters.clear_caches()
    asked = httpx.Request("GET", "http://127.0.0.1:9", headers=client.headers)
    next(client.basic_auth.auth_flow(asked))  # type: ignore[union-attr]
    assert [watched.redaction(f"said {secret}") for secret in new] == [f"said {HIDDEN}"] * len(new)
