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
from sakuin_local.supabase.auth.signing import signing_key_of
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


def test_a_client_registers_itself_and_keeps_a_secret_unless_it_says_that_it_cannot(project: Project) -> None:
    public = project.registered()
    secret = project.registered(token_endpoint_auth_method=None)

    assert (public["client_type"], public["token_endpoint_auth_method"]) == ("public", "none")
    assert "client_secret" not in public
    assert (secret["client_type"], secret["token_endpoint_auth_method"]) == ("confidential", "client_secret_basic")
    assert secret["client_secret"]
    assert secret["grant_types"] == ["authorization_code", "refresh_token"]


def test_a_client_with_a_bad_address_is_not_registered(project: Project) -> None:
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"redirect_uris": []}, "redirect_uris is required"),
        ({"redirect_uris": ["http://evil.example/"]}, "HTTP scheme only allowed for localhost"),
        ({"redirect_uris": ["javascript://x/%0aalert(1)"]}, "scheme 'javascript' is not allowed for security reasons"),
        ({"redirect_uris": [f"{BACK}#part"]}, "fragment not allowed in redirect URI"),
        ({"grant_types": ["password"]}, "grant_types must only contain"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "token_endpoint_auth_method must be one of"),
        ({"client_name": "x" * 1025}, "client_name cannot exceed 1024 characters"),
    )
    for changed, reason in changes:
        asked = {"redirect_uris": [BACK], **changed}
        status, code, message = refusal(project.call("POST", "/oauth/clients/register", json=asked))
        assert (status, code, reason in message) == (400, "validation_failed", True), message


def test_an_unknown_client_or_address_is_told_here_and_nobody_is_redirected(project: Project) -> None:
    client = project.registered()["client_id"]

    assert refusal(project.authorize("no")) == (400, "oauth_client_not_found", "invalid client_id format")
    for address in (f"{BACK}/more", "http://127.0.0.1:33419/callback", "https://evil.example/"):
        asked = project.authorize(client, redirect_uri=address)
        assert refusal(asked) == (400, "validation_failed", "invalid redirect_uri")


def test_every_other_mistake_goes_back_to_the_client(project: Project) -> None:
    client = project.registered()["client_id"]
    changes: tuple[tuple[dict[str, str], str], ...] = (
        ({"code_challenge": ""}, "PKCE flow requires both code_challenge and code_challenge_method"),
        ({"code_challenge_method": "plain"}, "code_challenge_method must be 'S256': this stand-in has no other"),
        ({"code_challenge": "short"}, "code_challenge must be between 43 and 128 characters"),
        ({"response_type": "token"}, "only response_type=code is supported"),
        ({"scope": "email library:read"}, "unsupported scope: library:read"),
        ({"resource": "mcp"}, "resource must be an absolute URI"),
    )
    for changed, problem in changes:
        answer = project.authorize(client, **changed)
        said = {"error": "invalid_request", "error_description": problem, "state": "s"}
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (302, BACK), problem
        assert query_of(answer.headers["location"]) == said


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"code_verifier": "w" * 64},
            "PKCE verification failed: code challenge does not match previously saved code verifier",
        ),
        ({"code_verifier": ""}, "PKCE verification failed: code_verifier is required when PKCE challenge is present"),
        ({"redirect_uri": f"{BACK}/more"}, "Invalid redirect_uri"),
        ({"code": "another"}, "Invalid authorization code"),
    ],
)
def test_a_code_is_worth_nothing_without_the_rest(project: Project, changed: Any, problem: str) -> None:
    token, client = project.sign_in()["access_token"], project.registered()["client_id"]
    code = project.code(client, token)

    assert refusal(project.exchange(client, **{"code": code, **changed})) == (400, "invalid_grant", problem)


def test_a_code_is_worth_nothing_twice_or_late_or_for_another_client(project: Project) -> None:
    token, client = project.sign_in()["access_token"], project.registered()["client_id"]
    code, late = project.code(client, token), project.code(client, token, scope="phone")
    other = project.registered()["client_id"]

    assert refusal(project.exchange(other, code))[2] == "Authorization code was not issued for this client"
    assert project.exchange(client, code).status_code == 200
    assert refusal(project.exchange(client, code))[2] == "Invalid authorization code"
    project.clock[0] += 601
    assert refusal(project.exchange(client, late))[2] == "Authorization code has expired"


def test_a_client_with_a_secret_has_to_use_it_as_registered(project: Project) -> None:
    token, client = (
        project.sign_in()["access_token"],
        project.registered(token_endpoint_auth_method="client_secret_post"),
    )
    code = project.code(client["client_id"], token)

    without = project.exchange(client["client_id"], code)
    wrong = project.exchange(client["client_id"], code, client_secret="wrong")

    assert refusal(without)[:2] == (400, "invalid_credentials")
    assert "registered for 'client_secret_post' but 'none' was used" in refusal(without)[2]
    assert refusal(wrong) == (400, "invalid_credentials", "invalid client credentials")
    assert project.exchange(client["client_id"], code, client_secret=client["client_secret"]).status_code == 200


def test_a_refresh_token_of_a_client_is_for_this_client_only(project: Project) -> None:
    own, client = project.sign_in(), project.registered()["client_id"]
    tokens = project.exchange(client, project.code(client, own["access_token"])).json()
    another = project.registered()["client_id"]

    assert refusal(project.refresh(tokens["refresh_token"], another))[:2] == (400, "invalid_client")
    assert refusal(project.refresh(tokens["refresh_token"]))[:2] == (400, "invalid_client")
    assert refusal(project.refresh(own["refresh_token"], client))[:2] == (400, "invalid_client")
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
