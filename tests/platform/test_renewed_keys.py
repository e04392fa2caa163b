"""Replaced keys of vendors, without a restart of workers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import httpx2
import openai
import pytest
import turbopuffer
from aws_lambda_powertools.utilities import parameters
from moto import mock_aws
from sakuin.errors import Unavailable
from sakuin.platform.openai.embeddings import connected as embeddings
from sakuin.platform.secrets import NamedSecret, RenewedKey, auth_of
from sakuin.platform.supabase.client import call, connected, credentials
from sakuin.platform.turbopuffer.client import connected as store
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.wiring.test_settings import SECRET


@dataclass
class Vendor:
    """Takes one key and refuses all others with a 401; remembers which it was shown."""

    takes: str = "old"
    shown: list[str] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: Request) -> JSONResponse:
        key = request.headers.get("authorization", request.headers.get("apikey", "")).removeprefix("Bearer ")
        self.shown.append(key)
        if key != self.takes:
            return JSONResponse({"message": "no"}, 401)
        embedding = {"object": "embedding", "index": 0, "embedding": [0.0]}
        return JSONResponse({"object": "list", "data": [embedding], "model": "m", "status": "OK"})


@pytest.fixture(scope="module")
def one_vendor() -> Iterator[Vendor]:
    vendor = Vendor()
    with served(Starlette(routes=[Route("/{path:path}", vendor.answer, methods=["GET", "POST"])])) as port:
        vendor.url = f"http://127.0.0.1:{port}"
        yield vendor


@pytest.fixture
def vendor(one_vendor: Vendor) -> Vendor:
    one_vendor.takes = "old"
    one_vendor.shown.clear()
    return one_vendor


def ask_openai(vendor: Vendor, key: RenewedKey) -> Callable[[], object]:
    session = openai.DefaultHttpxClient(auth=auth_of(key))
    client = openai.OpenAI(api_key="old", base_url=vendor.url, http_client=session, max_retries=0)
    return lambda: client.embeddings.create(model="m", input=["x"])


def ask_embeddings(vendor: Vendor, key: RenewedKey) -> Callable[[], object]:
    session = embeddings(vendor.url, "old")
    session.auth = auth_of(key)
    return lambda: session.post("/embeddings", content="{}").raise_for_status()


def ask_turbopuffer(vendor: Vendor, key: RenewedKey) -> Callable[[], object]:
    session = turbopuffer.DefaultHttpxClient(auth=auth_of(key))
    client = store(vendor.url, "old", session).with_options(max_retries=0)
    return lambda: client.namespace("n").write(upsert_rows=[{"id": 1}])


def ask_supabase(vendor: Vendor, key: RenewedKey) -> Callable[[], object]:
    key.headers = credentials
    client = connected(vendor.url, "old")
    client.send = key.before(client.send)
    return lambda: call(client, "f", {})


ASKS = [ask_openai, ask_embeddings, ask_turbopuffer, ask_supabase]


@pytest.mark.parametrize("ask", ASKS)
def test_a_client_sends_the_key_that_the_secret_has_now(vendor: Vendor, ask: Any) -> None:
    present = ["old"]
    asked = ask(vendor, RenewedKey("old", lambda: present[0]))
    asked()
    vendor.takes = present[0] = "sb_secret_new"
    asked()
    assert vendor.shown == ["old", "sb_secret_new"]


@pytest.mark.parametrize("ask", ASKS)
def test_a_key_that_is_refused_is_not_sent_twice(vendor: Vendor, ask: Any) -> None:
    vendor.takes = "another"
    with pytest.raises(Exception, match=r"401|no"):
        ask(vendor, RenewedKey("old", lambda: "old"))()
    assert vendor.shown == ["old"]


def away() -> str:
    raise Unavailable("The secret cannot be read")


# A user's own token stays, and the key of before while the secret cannot be read.
@pytest.mark.parametrize(("token", "read"), [("token", lambda: "new"), ("old", away)])
def test_a_key_stays_that_no_secret_replaces(vendor: Vendor, token: str, read: Callable[[], str]) -> None:
    vendor.takes = token
    session = httpx2.Client(base_url=vendor.url, auth=auth_of(RenewedKey("old", read)))
    session.get("/", headers={"Authorization": f"Bearer {token}"}).raise_for_status()
    assert vendor.shown == [token]


def test_an_unknown_key_makes_a_worker_read_the_secret_again_but_not_for_each_request() -> None:
    with mock_aws():
        parameters.clear_caches()
        client = boto3.client("secretsmanager")
        client.create_secret(Name="s", SecretString=json.dumps(SECRET))
        now = [1000.0]
        secret = NamedSecret("s", lambda: now[0])
        assert secret.now().openai_api_key == "openai-key"

        client.put_secret_value(SecretId="s", SecretString=json.dumps({**SECRET, "openai_api_key": "second"}))
        assert secret.now().openai_api_key == "openai-key"
        assert secret.newer().openai_api_key == "second"
        assert secret.now().openai_api_key == "second"

        client.put_secret_value(SecretId="s", SecretString=json.dumps({**SECRET, "openai_api_key": "third"}))
        assert secret.newer().openai_api_key == "second"
        now[0] += 31
        assert secret.newer().openai_api_key == "third"
        parameters.clear_caches()
