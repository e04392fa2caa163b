"""Tokens and keys of Supabase: which open the API and MCP of a project that signs with a key pair."""

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm
from sakuin.platform.supabase.client import ACTING_USER, connected, credentials, database_credentials
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import User
from sakuin_cli.deployment_keys import new_database_key
from sakuin_local.addresses import free_port
from sakuin_local.places import TOOLS
from sakuin_local.processes import Programs
from sakuin_local.supabase import postgrest
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.postgres import Postgres

from tests.isolation.gateway import PUBLISHABLE, SECRET
from tests.isolation.stack import PREVIOUS_JWT_SECRET, Stack, stack_of
from tests.rest_prefix import served_below_prefix

OWN, FOREIGN = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())

USER = str(uuid4())

ANOTHER = "the secret of another project, as long as Supabase's are"
# The last one is that of the stack, whose port is known when it has started.
issuers = [""]


def public(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    described: dict[str, Any] = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return described | {"kid": "one", "alg": "ES256", "use": "sig"}


@pytest.fixture(scope="module")
def stack(database: Database, stand_in: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A deployment with a PostgREST that accepts both kinds of signature, as the hosted one does."""
    secret = base64.urlsafe_b64encode(database.jwt_secret.encode()).decode().rstrip("=")
    jwks = {"keys": [public(OWN), {"kty": "oct", "k": secret, "alg": "HS256"}]}
    with (
        postgrest_of(database, tmp_path_factory.mktemp("postgrest"), jwks) as rest,
        stack_of(replace(database, rest_url=rest), stand_in, LIBRARY_FOR_USERS="true") as open_stack,
    ):
        open_stack.gateway.jwks = {"keys": [public(OWN)]}
        issuers.append(open_stack.issuer)
        yield open_stack


@contextmanager
def postgrest_of(database: Database, folder: Path, jwks: dict[str, Any]) -> Iterator[str]:
    """A PostgREST that accepts what these keys signed; its address with Supabase's prefix."""
    where, programs, port = urlsplit(database.dsn), Programs(folder), free_port()
    try:
        postgrest.start(
            programs,
            Postgres(where.port or 0, where.password or "", where.path.removeprefix("/")),
            program=postgrest.postgrest_program(TOOLS),
            port=port,
            admin_port=free_port(),
            jwt_secret=json.dumps(jwks),
        )
        with served_below_prefix(port) as rest:
            yield rest
    finally:
        programs.stop()


def claims(**other: object) -> dict[str, object]:
    made = {"sub": USER, "aud": "authenticated", "role": "authenticated", "iss": issuers[-1]}
    made |= {"exp": int(time.time()) + 600}
    return {name: value for name, value in {**made, **other}.items() if value is not None}


def by_key(key: ec.EllipticCurvePrivateKey = OWN, headers: dict[str, Any] | None = None, **other: object) -> str:
    return jwt.encode(claims(**other), key, "ES256", headers={"kid": "one", **(headers or {})})


def by_secret(stack: Stack, **other: object) -> str:
    return jwt.encode(claims(**other), stack.database.jwt_secret, "HS256")


def unsigned(algorithm: str, signature: str = "", **other: object) -> str:
    """A token that names its own algorithm."""
    parts = ({"alg": algorithm, "typ": "JWT", "kid": "one"}, claims(**other))
    written = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*written, signature])


def confused(_stack: Stack) -> str:
    """Signed with the published key as if it were a shared secret."""
    pem = OWN.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    told = unsigned("HS256").removesuffix(".")
    signature = hmac.digest(pem, told.encode(), "sha256")
    return f"{told}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


FORGED: dict[str, Callable[[Stack], str]] = {
    "no token": lambda _: "",
    "no JWT": lambda _: "a.b.c",
    "an API key": lambda _: "sk_sakuin_x",
    "three dots": lambda _: "...",
    "the service key": lambda _: SECRET,
    "the publishable key": lambda _: PUBLISHABLE,
    "the service role's token": lambda stack: stack.database.service_key,
    "the anonymous role's token": lambda stack: stack.database.anon_key,
    "no signature": lambda _: unsigned("none"),
    "no signature, in capitals": lambda _: unsigned("NONE"),
    "any signature under none": lambda _: unsigned("none", by_key().rpartition(".")[2]),
    "a key pair's signature under HS256": lambda _: unsigned("HS256", by_key().rpartition(".")[2]),
    "the public key as a secret": confused,
    "HS512": lambda stack: jwt.encode(claims(), stack.database.jwt_secret.ljust(64, "x"), "HS512"),
    "another project's secret": lambda _: jwt.encode(claims(), ANOTHER, "HS256"),
    "another project's key": lambda _: by_key(FOREIGN),
    "a key that nobody published": lambda _: by_key(FOREIGN, {"kid": "two"}),
    "a name of a key that leads elsewhere": lambda _: by_key(FOREIGN, {"kid": "../../../one"}),
    "a name of a key that is SQL": lambda _: by_key(FOREIGN, {"kid": "one' or '1'='1"}),
    "a key inside the token": lambda _: by_key(FOREIGN, {"jwk": public(FOREIGN)}),
    "an address of keys inside the token": lambda _: by_key(FOREIGN, {"jku": "http://127.0.0.1:9/keys"}),
    "changed after it was signed": lambda _: ".".join(
        [by_key().split(".")[0], unsigned("ES256", sub=str(uuid4())).split(".")[1], by_key().split(".")[2]]
    ),
    "too old": lambda _: by_key(exp=int(time.time()) - 60),
    "too old, by the secret": lambda stack: by_secret(stack, exp=int(time.time()) - 60),
    "not valid yet": lambda _: by_key(nbf=int(time.time()) + 600),
    "for ever": lambda _: by_key(exp=None),
    "for others": lambda _: by_key(aud="anon"),
    "for nobody": lambda _: by_key(aud=None),
    "for one client, as ID tokens are": lambda _: by_key(aud=str(uuid4()), role=None),
    "of another issuer": lambda _: by_key(iss="https://another.supabase.co/auth/v1"),
    "of an issuer with a slash more": lambda stack: by_key(iss=f"{stack.issuer}/"),
    "of no issuer": lambda _: by_key(iss=None),
    "with the role of the service": lambda _: by_key(role="service_role"),
    "with the role of the owner": lambda stack: by_secret(stack, role="postgres"),
    "with the role of members' functions": lambda stack: by_secret(stack, role="sakuin_member"),
    "with no role": lambda stack: by_secret(stack, role=None),
    "of an anonymous user": lambda _: by_key(is_anonymous=True),
    "of nobody": lambda _: by_key(sub=None),
    "of no UUID": lambda _: by_key(sub="' or true --"),
    "of a list": lambda stack: unsigned("HS256", "x", sub=[USER]),
}


@pytest.mark.parametrize("kind", ["a key pair", "the secret"])
def test_a_user_s_token_opens_the_user_s_projects(stack: Stack, kind: str) -> None:
    token = by_key() if kind == "a key pair" else by_secret(stack)
    made = stack.ask("POST", "/v1/projects", {"name": kind}, bearer=token)
    assert made.status == 201, made.body
    assert kind in stack.ask("GET", "/v1/projects", bearer=token).body


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_any_other_token_is_refused_without_asking_the_database(stack: Stack, forged: Callable[[Stack], str]) -> None:
    for method, path in (("GET", "/v1/projects"), ("DELETE", f"/v1/projects/{uuid4()}"), ("GET", "/v1/materials")):
        answer = stack.ask(method, path, bearer=forged(stack))
        assert (answer.status, answer.round_trips) == (401, 0), answer.body
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_at_mcp_it_is_answered_as_a_wrong_key_is(stack: Stack, forged: Callable[[Stack], str]) -> None:
    for mcp_id in (None, str(uuid4())):
        wrong = stack.rpc(mcp_id, "tools/list", "a wrong key")
        answer = stack.rpc(mcp_id, "tools/list", forged(stack))
        assert (answer.status, answer.round_trips) == (401, 0), answer.body
        assert (answer.body, answer.headers) == (wrong.body, wrong.headers)
        assert len(forged(stack)) < 40 or forged(stack).split(".")[1] not in stack.log.getvalue()


@pytest.mark.parametrize("more", [{}, {"client_id": str(uuid4())}], ids=["a user", "an agent"])
def test_a_user_s_token_opens_the_library_where_it_is_for_users(stack: Stack, more: dict[str, str]) -> None:
    for token in (by_key(**more), by_secret(stack, **more)):
        listed = stack.rpc(None, "tools/list", token)
        assert "search_knowledge" in listed.body, listed.body
        assert stack.ask("POST", "/v1/search", {"query": "公式"}, bearer=token).status == 200
        assert stack.rpc(str(uuid4()), "tools/list", token).status == 403
        # A key of an admin opens what no token does.
        assert stack.ask("GET", "/v1/status", bearer=token).status == 401


def test_a_token_that_the_previous_secret_signed_is_accepted_until_it_is_removed(stack: Stack) -> None:
    answer = stack.ask("GET", "/v1/projects", bearer=jwt.encode(claims(), PREVIOUS_JWT_SECRET, "HS256"))
    assert answer.status == 200, answer.body


def test_a_token_for_the_role_of_searches_is_good_until_its_keys_are_revoked(
    database: Database, tmp_path: Path
) -> None:
    """With the publishable key beside it, as through Supabase's gateway; PostgREST gets the published keys."""
    jwk, key = new_database_key()
    for keys, statuses in (
        ([jwk], {"index_versions": 200, "list_projects": 403}),
        ([public(OWN)], {"index_versions": 401}),
    ):
        with postgrest_of(database, tmp_path / str(len(statuses)), {"keys": keys}) as url:
            for function, status in statuses.items():
                headers = database_credentials(PUBLISHABLE, key)
                assert headers["apikey"] == PUBLISHABLE
                assert httpx.post(f"{url}/rpc/{function}", headers=headers, json={}).status_code == status


def test_a_key_that_is_no_token_is_sent_as_a_key_alone() -> None:
    assert credentials(SECRET) == {"apikey": SECRET}
    assert credentials("a.b.c") == {"apikey": "a.b.c", "Authorization": "Bearer a.b.c"}
    assert credentials(PUBLISHABLE, "d.e.f") == {"apikey": PUBLISHABLE, "Authorization": "Bearer d.e.f"}


def test_either_kind_of_service_key_reads_every_project(stack: Stack) -> None:
    user = str(uuid4())
    stack.ask("POST", "/v1/projects", {"name": "p"}, bearer=stack.token(user))
    known = {
        project.id
        for url, key in ((stack.gateway.url, SECRET), (stack.database.rest_url, stack.database.service_key))
        for project in ProjectRecords(connected(url, key)).projects(None)
    }
    assert known == {str(id) for (id,) in stack.sql.execute("select id from project where deleted_at is null")}


def test_people_who_ask_at_once_over_one_session_each_see_their_own(stack: Stack) -> None:
    service = connected(stack.gateway.url, SECRET)
    records = ProjectRecords(service)
    people = [User(str(uuid4())) for _ in range(4)]
    own = {user.id: records.create_project(user, user.id).id for user in people}

    def seen(user: User) -> bool:
        return [project.id for project in records.projects(user)] == [own[user.id]]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(seen, people * 15))
    assert ACTING_USER not in service.postgrest.headers
    assert len(records.projects(None)) > len(people)
