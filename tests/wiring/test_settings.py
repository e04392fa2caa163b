"""Settings and secrets: errors for missing ones; those that are read again later are hidden, too."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import boto3
import jwt
import pytest
from aws_lambda_powertools.utilities import parameters
from moto import mock_aws
from sakuin.errors import Misconfigured, Unavailable
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.platform.aws import Handler
from sakuin.platform.redaction import HIDDEN
from sakuin.platform.secrets import NamedSecret, Secrets, search_secret
from sakuin.platform.supabase.client import call
from sakuin.settings import Settings
from sakuin.wiring import api, mcp
from sakuin.wiring.clients import Clients, start_telemetry

from tests.environment import ENVIRONMENT
from tests.events import Context, event

SECRET = {"supabase_service_key": "service-key", "openai_api_key": "openai-key", "admin_key_hashes": ["admin-hash"]}
# That of `mcp`.
SEARCH_SECRET = {
    "supabase_search_key": "search-key",
    "openai_api_key": "openai-key",
    "knowledge_key_hashes": ["knowledge-hash"],
}


@pytest.mark.parametrize("name", sorted(ENVIRONMENT.keys() - {"POWERTOOLS_LOG_LEVEL"}))
def test_a_missing_setting_is_named(name: str) -> None:
    with pytest.raises(Misconfigured, match=rf"^{name} is not set\. Add it to the environment"):
        Settings.read({key: text for key, text in ENVIRONMENT.items() if key != name})


@pytest.mark.parametrize("name", ["SUPABASE_URL", "EMBEDDING_MODEL", "TOOL_QUEUE_URL", "LIMITS"])
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(Misconfigured, match=rf"^{name} is empty\. Set its parameter"):
        Settings.read(ENVIRONMENT | {name: value})


def test_a_number_that_is_none_names_its_setting() -> None:
    with pytest.raises(Misconfigured, match=r"CHUNK_SIZE_CHARS must be a whole number, not 'many'"):
        Settings.read(ENVIRONMENT | {"CHUNK_SIZE_CHARS": "many"})


@pytest.mark.parametrize(
    ("variable", "texts"),
    [
        # A space stands for no model.
        ("LEARNS_MODEL", {"": "", " ": "", "gpt-4.1-mini": "gpt-4.1-mini"}),
        ("MATERIAL_PREFIX", {"": "", "/": "", "site": "site/", "/a/site/": "a/site/"}),
        (
            "BOX_SELECTORS",
            {
                **{"": DEFAULT_BOX_SELECTORS, " , ": DEFAULT_BOX_SELECTORS, ".note-box": (".note-box",)},
                ".rule-box,  aside.hint ": (".rule-box", "aside.hint"),
                "div:is(.a, .b), [data-box='x,y'], .c": ("div:is(.a, .b)", "[data-box='x,y']", ".c"),
            },
        ),
    ],
)
def test_a_setting_is_read_from_its_text(variable: str, texts: dict[str, object]) -> None:
    for text, value in texts.items():
        assert getattr(Settings.read(ENVIRONMENT | {variable: text}), variable.lower()) == value


@pytest.mark.parametrize(
    ("secret", "member"), [(secret, member) for secret in (SECRET, SEARCH_SECRET) for member in secret]
)
@pytest.mark.parametrize("value", [None, 5, ""])
def test_a_missing_member_of_a_secret_is_named_without_values(
    secret: dict[str, object], member: str, value: object
) -> None:
    with pytest.raises(Misconfigured, match=f"sakuin/prod has no member '{member}'") as raised:
        Secrets.read({**secret, member: value}, "sakuin/prod")
    assert not any(text in str(raised.value) for text in ("service-key", "openai-key", "-hash"))


def test_no_secret_is_in_a_representation() -> None:
    shown = repr(Secrets.read({**SECRET, **SEARCH_SECRET}, "sakuin/prod"))
    assert not any(text in shown for text in ("-key", "-value", "-hash"))


MAIN = ENVIRONMENT["SECRET_NAME"]

SECRETS: dict[str, dict[str, Any]] = {MAIN: dict(SECRET), search_secret(MAIN): dict(SEARCH_SECRET)}


@dataclass
class Rotated:
    """A function's environment, and an operator who replaces its secret."""

    environ: dict[str, str]
    client: Any

    def replace(self, name: str) -> list[str]:
        """Replaces a secret and returns its new members; five minutes pass."""
        members = SECRETS[name]
        new = {member: f"replaced {member} {uuid4()}" for member, value in members.items() if isinstance(value, str)}
        self.client.put_secret_value(SecretId=name, SecretString=json.dumps({**members, **new}))
        parameters.clear_caches()
        return list(new.values())


@pytest.fixture
def rotated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rotated]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    # Powertools keeps a logger, and what it hides, by this name.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", f"rotated-{uuid4()}")
    with mock_aws():
        client = boto3.client("secretsmanager")
        for name, members in SECRETS.items():
            client.create_secret(Name=name, SecretString=json.dumps(members))
        parameters.clear_caches()
        away = {"SUPABASE_URL": "http://127.0.0.1:9", "TABLES_BUCKET": "tables", "EVENT_BUS_NAME": "bus"}
        yield Rotated({**ENVIRONMENT, **away}, client)
        parameters.clear_caches()


def test_the_api_reads_the_secret_of_users_and_mcp_does_not(rotated: Rotated) -> None:
    """Their tokens are accepted by the secret that stands there alone."""
    signing = "a secret of users' tokens, of thirty-two bytes"
    shared = {**SECRET, "supabase_publishable_key": "sb_publishable_x"}
    rotated.client.put_secret_value(SecretId=rotated.environ["SECRET_NAME"], SecretString=json.dumps(shared))
    rotated.client.create_secret(Name="users", SecretString=json.dumps({"supabase_jwt_secret": signing}))
    handler = api.handler(Clients.of({**rotated.environ, "USERS_SECRET_NAME": "users"}, "Api"))
    claims = {"sub": str(uuid4()), "aud": "authenticated", "role": "authenticated", "exp": 4_000_000_000}
    claims |= {"iss": f"{rotated.environ['SUPABASE_URL']}/auth/v1"}
    asked = event("api.status") | {"rawPath": "/v1/projects"}
    asked["requestContext"]["http"] |= {"path": "/v1/projects"}
    # An accepted token reaches Supabase, which is away.
    for secret, status in ((signing, 503), ("another secret, of thirty-two bytes or more", 401)):
        asked["headers"] = {**asked["headers"], "authorization": f"Bearer {jwt.encode(claims, secret, 'HS256')}"}
        assert handler(asked, Context())["statusCode"] == status
    mcp.handler(Clients.of({**rotated.environ, "SECRET_NAME": search_secret(MAIN)}, "Search"))
    assert NamedSecret(search_secret(MAIN)).now().jwt_secrets == ()


@pytest.mark.parametrize(
    ("build", "asked", "secret"),
    [(api.handler, "api.status", MAIN), (mcp.handler, "mcp.list_tools", search_secret(MAIN))],
)
def test_a_function_of_http_hides_what_it_read_for_a_request(
    rotated: Rotated, build: Callable[[Clients], Handler], asked: str, secret: str
) -> None:
    handler = build(Clients.of({**rotated.environ, "SECRET_NAME": secret}, "Any"))
    new = rotated.replace(secret)
    assert handler(event(asked), Context())["statusCode"] == 401
    assert [start_telemetry("Any").redaction(f"said {secret}") for secret in new] == [f"said {HIDDEN}"] * len(new)


def test_a_client_of_supabase_hides_the_key_that_it_read_for_a_request(rotated: Rotated) -> None:
    clients = Clients.of(rotated.environ, "Any")
    watched, client = clients.telemetry, clients.supabase
    new = rotated.replace(MAIN)
    # What the function has read is minutes old.
    parameters.clear_caches()
    with pytest.raises(Unavailable):
        call(client, "f", {})
    assert [watched.redaction(f"said {secret}") for secret in new] == [f"said {HIDDEN}"] * len(new)
