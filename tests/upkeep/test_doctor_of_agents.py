"""`sakuin doctor` signs in as an agent does, and leaves nothing at Supabase Auth."""

import pytest
from sakuin.platform.secrets import Secrets
from sakuin.platform.supabase.client import connected
from sakuin.upkeep.doctor import Doctor
from sakuin_local.supabase.auth.application import auth_of, gateway
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import new_signing_key
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

URL, SITE = "http://127.0.0.1:54321", "http://testserver"
SECRETS = Secrets("secret", "search", "openai", (), (), supabase_publishable_key="publishable")


@pytest.mark.parametrize(
    ("refuses", "expected"), [(False, []), (True, ["Supabase answered 400 to an agent's request to sign in."])]
)
def test_a_project_that_refuses_what_agents_send_is_found(
    database: Database, refuses: bool, expected: list[str]
) -> None:
    auth = auth_of(
        None, new_signing_key(), url=URL, site_url=SITE, api_keys={"publishable"}, secret_keys={"secret", "search"}
    )
    auth.oauth.refuses_agents = refuses
    with TestClient(gateway(auth, PlainTextResponse('"42501"')), URL, follow_redirects=False) as http:
        client = connected(database.rest_url, database.service_key)
        doctor = Doctor(client, lambda: SECRETS, http, URL, URL, URL, ("model",), 1536, "", 0)
        found = [problem for problem in doctor() if problem.check == "agents"]

    assert [problem.problem for problem in found] == expected
    assert all("by keys" in problem.advice for problem in found)
    records = auth.sessions.records
    assert (records.users, records.clients, records.sessions) == ({}, {}, {})
    assert records.authorizations, "the request reached the consent page"
