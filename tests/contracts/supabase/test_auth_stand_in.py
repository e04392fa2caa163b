"""What the stand-in for Supabase Auth answers: the status codes and bodies of the service, from its source.

The source is https://github.com/supabase/auth (`internal/api`, `internal/api/oauthserver`, `internal/tokens`).
"""

import base64
import hashlib
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from sakuin_local.supabase.auth.application import Auth, auth_of, gateway
from sakuin_local.supabase.tokens import signing_key_of
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

URL, SITE = "http://127.0.0.1:54321", "http://127.0.0.1:3000"
BACK = "http://127.0.0.1:33418/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@dataclass
class Project:
    """A project with one user, and a client that has no session."""

    auth: Auth
    http: TestClient
    clock: list[float] = field(default_factory=lambda: [time.time()])

    def call(self, method: str, path: str, token: str = "", **more: Any) -> httpx.Response:
        headers = {"apikey": "publishable", **({"Authorization": f"Bearer {token}"} if token else {})}
        answer: httpx.Response = self.http.request(method, f"/auth/v1{path}", headers=headers, **more)
        return answer

    def sign_in(self, email: str = "user@example.com") -> dict[str, Any]:
        asked = {"email": email, "password": "correct"}
        tokens: dict[str, Any] = self.call("POST", "/token?grant_type=password", json=asked).json()
        return tokens

    def registered(self, **more: object) -> dict[str, Any]:
        asked = {"redirect_uris": [BACK], "client_name": "Agent", "token_endpoint_auth_method": "none", **more}
        client: dict[str, Any] = self.call("POST", "/oauth/clients/register", json=asked).json()
        return client

    def authorize(self, client_id: str, **more: str) -> httpx.Response:
        pkce = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
        query = {"client_id": client_id, "redirect_uri": BACK, "state": "s", **pkce, **more}
        return self.call("GET", "/oauth/authorize", params=query)

    def authorization(self, client_id: str, **more: str) -> str:
        return query_of(self.authorize(client_id, **more).headers["location"])["authorization_id"]

    def code(self, client_id: str, token: str, **more: str) -> str:
        wanted = f"/oauth/authorizations/{self.authorization(client_id, **more)}"
        self.call("GET", wanted, token)
        decided = self.call("POST", f"{wanted}/consent", token, json={"action": "approve"})
        return query_of(decided.json()["redirect_url"])["code"]

    def exchange(self, client_id: str, code: str, **more: str) -> httpx.Response:
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
        return self.call("POST", "/oauth/token", data={**fields, "client_id": client_id, **more})

    def refresh(self, token: str, client_id: str = "") -> httpx.Response:
        if not client_id:
            return self.call("POST", "/token?grant_type=refresh_token", json={"refresh_token": token})
        fields = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client_id}
        return self.call("POST", "/oauth/token", data=fields)


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two users: it takes long to hash their passwords."""
    folder = tmp_path_factory.mktemp("users")
    with served_from(folder) as made:
        for email in ("user@example.com", "another@example.com"):
            made.auth.sessions.records.add_user(email, "correct")
    return folder


@pytest.fixture
def project(users: Path, tmp_path: Path) -> Iterator[Project]:
    shutil.copytree(users, tmp_path, dirs_exist_ok=True)
    with served_from(tmp_path) as made:
        yield made


@contextmanager
def served_from(folder: Path) -> Iterator[Project]:
    key = signing_key_of(folder)
    auth = auth_of(folder / "auth.json", key, url=URL, site_url=SITE, api_keys={"publishable", "secret"})
    with TestClient(gateway(auth, PlainTextResponse("rest")), URL, follow_redirects=False) as http:
        made = Project(auth, http)
        auth.sessions.now = lambda: made.clock[0]
        yield made


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    body = answer.json()
    if "error" in body:
        return answer.status_code, body["error"], body["error_description"]
    assert body["code"] == answer.status_code
    assert answer.headers["x-sb-error-code"] == body["error_code"]
    return answer.status_code, body["error_code"], body["msg"]


# ---------------------------------------------------------------- users


def test_a_password_gives_a_token_of_the_user_signed_with_the_published_key(project: Project) -> None:
    tokens = project.sign_in("USER@example.com")
    (published,) = project.call("GET", "/.well-known/jwks.json").json()["keys"]

    claims = jwt.decode(tokens["access_token"], jwt.PyJWK(published), ["ES256"], audience="authenticated")

    assert jwt.get_unverified_header(tokens["access_token"])["kid"] == published["kid"]
    assert claims["iss"] == f"{URL}/auth/v1"
    assert (claims["sub"], claims["role"]) == (tokens["user"]["id"], "authenticated")
    assert "client_id" not in claims
    assert (tokens["token_type"], tokens["expires_in"]) == ("bearer", 3600)
    assert tokens["expires_at"] == claims["exp"]


def test_a_wrong_sign_in_is_a_bad_request(project: Project) -> None:
    wrong = ("invalid_credentials", "Invalid login credentials")
    unknown = ("refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
    for query, body, expected in (
        ("password", {"email": "user@example.com", "password": "no"}, wrong),
        ("password", {"email": "nobody@x.yz", "password": "no"}, wrong),
        ("password", {"password": "correct"}, ("validation_failed", "missing email or phone")),
        ("refresh_token", {"refresh_token": "a.1.b"}, unknown),
        ("magic", {}, ("invalid_credentials", "unsupported_grant_type")),
    ):
        answer = project.call("POST", f"/token?grant_type={query}", json=body)
        assert refusal(answer) == (400, *expected), body


def test_a_refresh_token_rotates_and_only_the_last_two_are_good(project: Project) -> None:
    first = project.sign_in()["refresh_token"]
    second = project.refresh(first).json()["refresh_token"]
    again = project.refresh(first).json()["refresh_token"]
    third = project.refresh(second).json()["refresh_token"]

    assert second == again != third != first
    assert project.refresh(first).status_code == 200, "ten seconds for requests that overlap"
    project.clock[0] += 10
    assert refusal(project.refresh(first)) == (400, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
    assert refusal(project.refresh(third))[1] == "refresh_token_not_found", "the whole session has ended"


def test_who_brings_no_valid_token_is_refused(project: Project) -> None:
    assert refusal(project.call("GET", "/user/oauth/grants")) == (
        *(401, "no_authorization", "This endpoint requires a valid Bearer token"),
    )
    assert refusal(project.call("GET", "/user/oauth/grants", "a.b.c"))[:2] == (403, "bad_jwt")


def test_the_gateway_wants_a_key_of_the_project(project: Project) -> None:
    for path in ("/token", "/logout", "/user/oauth/grants", "/oauth/authorizations/x"):
        method = "POST" if path in ("/token", "/logout") else "GET"
        without = project.http.request(method, f"/auth/v1{path}")
        wrong = project.http.request(method, f"/auth/v1{path}", headers={"apikey": "another"})
        assert (without.status_code, without.json()["message"]) == (401, "No API key found in request"), path
        assert (wrong.status_code, wrong.json()["message"]) == (401, "Invalid API key"), path


# ---------------------------------------------------------------- agents


def test_an_unknown_client_or_address_is_told_here_and_nobody_is_redirected(project: Project) -> None:
    client = project.registered()["client_id"]

    for asked in (project.authorize("no"), project.authorize(client, redirect_uri="https://evil.example/")):
        assert (asked.status_code, "location" in asked.headers) == (400, False)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge_method": "other"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "email library:read"}, "invalid_scope"),
    ],
)
def test_every_other_mistake_goes_back_to_the_client(project: Project, changed: Any, error: str) -> None:
    answer = project.authorize(project.registered()["client_id"], **changed)

    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (302, BACK)
    said = query_of(answer.headers["location"])
    assert (said["error"], said["state"]) == (error, "s")


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_request"),
        ({"redirect_uri": f"{BACK}/more"}, "invalid_grant"),
        ({"code": "another"}, "invalid_grant"),
    ],
)
def test_a_code_is_worth_nothing_without_the_rest(project: Project, changed: Any, error: str) -> None:
    token, client = project.sign_in()["access_token"], project.registered()["client_id"]
    code = project.code(client, token)

    answer = project.exchange(client, **{"code": code, **changed})
    assert (answer.status_code, answer.json()["error"]) == (400, error)


def test_a_code_is_worth_nothing_twice_or_late_or_for_another_client(project: Project) -> None:
    token, client = project.sign_in()["access_token"], project.registered()["client_id"]
    code, late = project.code(client, token), project.code(client, token, scope="phone")
    other = project.registered()["client_id"]

    assert project.exchange(other, code).json()["error"] == "invalid_grant"
    assert project.exchange(client, code).status_code == 200
    assert project.exchange(client, code).json()["error"] == "invalid_grant"
    project.clock[0] += 601
    assert project.exchange(client, late).json()["error"] == "invalid_grant"


def test_a_refresh_token_of_a_client_is_for_this_client_only(project: Project) -> None:
    own, client = project.sign_in(), project.registered()["client_id"]
    tokens = project.exchange(client, project.code(client, own["access_token"])).json()
    another = project.registered()["client_id"]

    for token, holder in ((tokens, another), (tokens, ""), (own, client)):
        assert project.refresh(token["refresh_token"], holder).status_code == 400
    refreshed = project.refresh(tokens["refresh_token"], client).json()
    assert project.auth.sessions.key.claims_of(refreshed["access_token"])["client_id"] == client


# ---------------------------------------------------------------- this machine


def test_everything_is_there_after_a_restart_and_no_password_is(project: Project, tmp_path: Path) -> None:
    token, client = project.sign_in(), project.registered()["client_id"]
    file = tmp_path / "auth.json"

    with served_from(tmp_path) as again:
        assert again.refresh(token["refresh_token"]).status_code == 200
        assert again.authorize(client).status_code == 302
    assert "correct" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
