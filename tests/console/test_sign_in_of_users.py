"""Users who sign in to the console: attempts are counted, a second factor is asked for, a CAPTCHA is explained.

The answers are those of Supabase Auth as its source and https://supabase.com/docs/guides/auth/auth-mfa/totp have them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import httpx2
import jwt
import pytest
from sakuin.console.sessions import SessionTokens
from sakuin.console.supabase_auth import SupabaseAuth
from sakuin.errors import Unauthorized

from tests.console.console_client import ConsoleClient, first_page
from tests.worlds import World, Worlds

URL, EMAIL, PASSWORD, CODE = "https://abcd.supabase.co", "yamada@example.test", "correct horse", "123456"
USER = "00000000-0000-4000-8000-0000000000aa"
TOTP = {"id": "factor-1", "factor_type": "totp", "status": "verified"}


@dataclass
class Supabase:
    """Supabase Auth with one user, who may have second factors."""

    factors: list[dict[str, str]] = field(default_factory=list)
    has_captcha: bool = False
    requests: list[httpx2.Request] = field(default_factory=list)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        body = json.loads(request.content or b"{}")
        match request.url.path.removeprefix("/auth/v1"):
            case "/token" if self.has_captcha:
                return httpx2.Response(400, json={"error_code": "captcha_failed"})
            case "/token" if body.get("password", PASSWORD) != PASSWORD:
                return httpx2.Response(400, json={"error_code": "invalid_credentials"})
            case "/token":
                return self._tokens("aal1")
            case "/factors/factor-1/challenge":
                return httpx2.Response(200, json={"id": "challenge-1", "type": "totp", "expires_at": 2**31})
            case "/factors/factor-1/verify" if body == {"challenge_id": "challenge-1", "code": CODE}:
                return self._tokens("aal2")
            case "/factors/factor-1/verify":
                return httpx2.Response(422, json={"error_code": "mfa_verification_failed"})
            case "/logout":
                return httpx2.Response(204)
        raise AssertionError(request.url)

    def _tokens(self, aal: str) -> httpx2.Response:
        token = jwt.encode({"aal": aal}, "a secret of at least thirty-two bytes", "HS256")
        user = {"id": USER, "email": EMAIL, "factors": self.factors}
        tokens = {"access_token": token, "refresh_token": "r", "expires_at": 2**31}
        return httpx2.Response(200, json={**tokens, "user": user})

    @property
    def paths(self) -> list[str]:
        return [request.url.path.removeprefix("/auth/v1") for request in self.requests]


@dataclass
class Place:
    console: ConsoleClient
    supabase: Supabase

    def sign_in(self, password: str = PASSWORD, email: str = EMAIL, **more: str) -> httpx2.Response:
        return self.console.send("/sign-in", "/sign-in/user", {"email": email, "password": password, **more})


@pytest.fixture(scope="module")
def world(a_world: Worlds) -> World:
    return a_world()


def auth_of(supabase: Supabase, secret_key: Callable[[], str] = str) -> SupabaseAuth:
    http = httpx2.Client(transport=httpx2.MockTransport(supabase.answer))
    return SupabaseAuth(URL, lambda: "sb_publishable_x", http, secret_key=secret_key)


@pytest.fixture
def place(world: World) -> Place:
    world.sql.execute("truncate quota_use, console_session")
    supabase = Supabase()
    return Place(ConsoleClient(world, first_page(world), auth=auth_of(supabase)), supabase)


# ---------------------------------------------------------------- attempts


@pytest.mark.parametrize(
    ("quota", "emails"), [("account", [EMAIL] * 12), ("address", [f"{n}@x.test" for n in range(12)])]
)
def test_wrong_passwords_are_counted_by_account_and_by_address(
    place: Place, world: World, quota: str, emails: list[str]
) -> None:
    other = "address" if quota == "account" else "account"
    world.sql.execute(f'select set_quotas(\'{{"sign_ins_of_{quota}": 10, "sign_ins_of_{other}": 1000}}\')'.encode())
    statuses = [place.sign_in("wrong", email).status_code for email in emails]
    assert statuses == [401] * 10 + [429] * 2
    refused = place.sign_in(email=emails[-1])
    assert "Try again in a quarter of an hour" in refused.text
    assert len(place.supabase.requests) == 10
    stored = str(world.sql.execute("select * from quota_use").fetchall())
    assert not {EMAIL, emails[0], "testclient"} & set(stored.split("'"))


def test_a_right_password_does_not_count(place: Place) -> None:
    for _ in range(15):
        assert place.sign_in().status_code == 200
        place.console = place.console.new_visitor()


def test_attempts_of_former_hours_are_forgotten(place: Place, world: World) -> None:
    world.sql.execute("insert into quota_use values ('x', 'sign_ins_of_account', now() - interval '2 hours', 9)")
    place.sign_in("wrong")
    assert world.sql.execute("select count(*) from quota_use where principal = 'x'").fetchone() == (0,)


@pytest.mark.parametrize(
    ("key", "address", "forwarded"),
    [
        ("sb_secret_x", "203.0.113.7", "203.0.113.7"),
        ("sb_secret_x", "2001:db8::1", "2001:db8::1"),
        ("sb_secret_x", "no address", None),
        # Supabase accepts the header beside a secret key alone.
        ("eyJhbGciOi.legacy.key", "203.0.113.7", None),
    ],
)
def test_the_caller_s_address_is_forwarded_beside_a_secret_key(key: str, address: str, forwarded: str | None) -> None:
    supabase = Supabase()
    auth_of(supabase, lambda: key).sign_in(EMAIL, PASSWORD, address=address)
    (request,) = supabase.requests
    assert request.headers.get("sb-forwarded-for") == forwarded
    assert request.headers["apikey"] == (key if forwarded else "sb_publishable_x")


def test_addresses_of_one_ipv6_network_count_together(place: Place, world: World) -> None:
    for address in ("2001:db8:1:2::3", "2001:db8:1:2:ffff::4", "2001:db8:1:3::3"):
        place.console.sessions.count_sign_in(address, EMAIL)
    counts = "select used from quota_use where quota = 'sign_ins_of_address' order by used"
    assert world.sql.execute(counts.encode()).fetchall() == [(1,), (2,)]


def test_a_captcha_that_supabase_asks_for_is_explained(place: Place) -> None:
    place.supabase.has_captcha = True
    answer = place.sign_in()
    assert (answer.status_code, "asks for a CAPTCHA" in answer.text) == (401, True)


# ---------------------------------------------------------------- a second factor


def test_a_password_alone_signs_nobody_in_who_has_a_second_factor(place: Place) -> None:
    place.supabase.factors = [TOTP]
    answer = place.sign_in()
    assert (answer.status_code, "the code of your authenticator app" in answer.text) == (401, True)
    assert 'name="code"' in answer.text
    assert not place.console.http.cookies
    # The session of the password ends at Supabase, too.
    assert place.supabase.paths == ["/token", "/logout"]


def test_the_code_of_an_authenticator_app_signs_in(place: Place) -> None:
    place.supabase.factors = [TOTP]
    wrong = place.sign_in(code="000000")
    assert (wrong.status_code, "This code is wrong" in wrong.text) == (401, True)
    assert place.sign_in(code="123 456").url.path == "/console/"
    assert place.console.http.cookies


def test_another_kind_of_factor_is_refused_with_a_reason(place: Place) -> None:
    place.supabase.factors = [{"id": "factor-2", "factor_type": "webauthn", "status": "verified"}]
    assert "Add an authenticator app" in place.sign_in(code=CODE).text
    assert not place.console.http.cookies


def test_a_factor_that_was_never_verified_is_none(place: Place) -> None:
    place.supabase.factors = [{**TOTP, "status": "unverified"}]
    assert place.sign_in().url.path == "/console/"


def test_a_session_of_the_password_ends_when_its_user_adds_a_factor() -> None:
    supabase = Supabase()
    auth = replace(auth_of(supabase), now=lambda: 2.0**31)
    old = SessionTokens(USER, EMAIL, "a", "r", 0)
    assert auth.refresh(old).user_id == USER
    supabase.factors = [TOTP]
    with pytest.raises(Unauthorized):
        auth.refresh(old)
