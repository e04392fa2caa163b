"""Signing in to the console as an admin or a user, and what a browser without a session gets.

The answers of Supabase Auth are as its source and https://supabase.com/docs/guides/auth/auth-mfa/totp have them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import httpx
import jwt
import pytest
from sakuin.console.sessions import Sessions
from sakuin.console.shell import ENTRIES
from sakuin.errors import Unauthorized
from sakuin.platform.keys import hash_of_key
from sakuin.platform.supabase.auth import SessionTokens, SupabaseAuth
from sakuin.texts.catalogue import chosen_language, texts_in

from tests.console.console_client import ConsoleClient, hidden_fields
from tests.events import AUTHORIZATION, KEY, Ring
from tests.worlds import World, Worlds

USER = "00000000-0000-4000-8000-0000000000aa"


@pytest.fixture(scope="module")
def one_console(a_world: Worlds) -> ConsoleClient:
    world, used = a_world(), []
    console = ConsoleClient(world, replace(world.services, record_use=used.append))
    console.used = used
    return console


@pytest.fixture
def console(one_console: ConsoleClient) -> ConsoleClient:
    """A console without a session, in a new browser."""
    one_console.world.sql.execute("truncate console_session, console_link")
    one_console.used.clear()
    return one_console.new_visitor()


def test_without_a_session_every_page_asks_to_sign_in_and_returns(console: ConsoleClient) -> None:
    asked = console.get("/?a=1")
    assert asked.url.path == "/console/sign-in"
    arrived = console.post("/sign-in", {**hidden_fields(asked.text, "/sign-in"), "key": KEY})
    assert (arrived.status_code, arrived.url.path, arrived.url.query) == (200, "/console/", b"a=1")


def test_an_admin_key_signs_in_and_is_in_no_cookie_and_no_row(console: ConsoleClient) -> None:
    console.sign_in_admin()
    (cookie,) = console.http.cookies.jar
    assert (cookie.name, cookie.path) == ("sakuin_console", "/console")
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "lax"
    assert cookie.expires is not None
    stored = str(console.world.sql.execute("select * from console_session").fetchall())
    assert KEY not in stored
    assert str(cookie.value) not in stored
    assert console.used == [hash_of_key(KEY)]


def test_the_cookie_is_for_tls_only_where_there_is_tls(console: ConsoleClient) -> None:
    answer = console.http.post(
        "https://testserver/console/sign-in",
        data={"key": KEY},
        headers={"Origin": "https://testserver"},
        follow_redirects=False,
    )
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("key", ["", "wrong", f"{KEY}x", "管理者"])
def test_a_wrong_key_is_told_so(console: ConsoleClient, key: str) -> None:
    answer = console.send("/sign-in", "/sign-in", {"key": key})
    assert answer.status_code == 401
    assert "This key is not valid" in answer.text
    assert not console.http.cookies


def test_signing_out_ends_the_session_everywhere(console: ConsoleClient) -> None:
    console.sign_in_admin()
    kept = dict(console.http.cookies)
    assert "You are signed out" in console.send("/", "/sign-out").text
    assert not console.http.cookies
    console.http.cookies.update(kept)
    assert console.get("/").url.path == "/console/sign-in"


def test_a_session_ends_after_eight_hours(console: ConsoleClient) -> None:
    console.sign_in_admin()
    left = "select expires_at - now() between interval '7:59' and interval '8:00' from console_session"
    assert console.world.sql.execute(left).fetchone() == (True,)
    console.world.sql.execute("update console_session set expires_at = now()")
    assert console.get("/").url.path == "/console/sign-in"
    console.sign_in_admin()
    assert console.world.sql.execute("select count(*) from console_session").fetchone() == (1,)


def test_a_revoked_key_ends_its_session(console: ConsoleClient, monkeypatch: pytest.MonkeyPatch) -> None:
    console.sign_in_admin()
    monkeypatch.setattr(Ring, "hashes", lambda *_: [hash_of_key("another")])
    assert console.get("/").url.path == "/console/sign-in"


# ---------------------------------------------------------------- links


def test_a_link_signs_in_once(console: ConsoleClient) -> None:
    code = console.sessions.make_link(hash_of_key(KEY))
    # Programs that look at links send no form.
    assert console.get(f"/sign-in?code={code}").status_code == 200
    first = console.send(f"/sign-in?code={code}", "/sign-in/link")
    assert (first.status_code, first.url.path) == (200, "/console/")
    console.http.cookies.clear()
    second = console.send(f"/sign-in?code={code}", "/sign-in/link")
    assert second.status_code == 401
    assert "was used already" in second.text


def test_a_link_is_too_old_after_an_hour_and_none_of_a_revoked_key(console: ConsoleClient) -> None:
    old = console.sessions.make_link(hash_of_key(KEY))
    console.world.sql.execute("update console_link set expires_at = now()")
    assert console.sessions.use_link(old) is None
    assert console.sessions.use_link(console.sessions.make_link(hash_of_key("revoked"))) is None
    assert console.sessions.use_link("") is None


# ---------------------------------------------------------------- forms of others


def test_a_form_needs_the_token_of_its_session(console: ConsoleClient) -> None:
    console.sign_in_admin()
    stolen = console.new_visitor().sign_in_admin()
    foreign = hidden_fields(stolen.get("/").text, "/sign-out")["csrf"]
    for token in ("", "wrong", "トークン", foreign):
        assert console.post("/sign-out", {"csrf": token}).status_code == 403
    assert console.get("/").url.path == "/console/"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/link", "/sign-out"])
def test_a_form_of_another_site_is_refused(console: ConsoleClient, path: str, headers: dict[str, str]) -> None:
    fields = {"key": KEY, "code": console.sessions.make_link(hash_of_key(KEY))}
    assert console.post(path, fields, headers=headers).status_code == 403
    assert not console.http.cookies


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example", "\t//evil", "evil"])
def test_signing_in_leads_to_no_other_site(console: ConsoleClient, target: str) -> None:
    answer = console.post("/sign-in", {"key": KEY, "target": target}, follow_redirects=False)
    assert answer.headers["location"] == "/console/"


# ---------------------------------------------------------------- users


def test_a_users_tokens_are_stored_encrypted_and_refreshed(console: ConsoleClient) -> None:
    def refresh(tokens: SessionTokens) -> SessionTokens:
        return SessionTokens(tokens.user_id, tokens.email, f"{tokens.access_token}+", tokens.refresh_token, 2**33)

    sessions = Sessions(console.world.client, console.rest.admin_keys, refresh)
    session = sessions.sign_in_user(SessionTokens(USER, "a@example.test", "access", "refresh", 0))
    for expected in ("access+", "access++"):
        found = sessions.find(session.id)
        assert found is not None
        assert found.user is not None
        assert found.tokens is not None
        assert (found.user.id, found.tokens.access_token) == (USER, expected)
    stored = str(console.world.sql.execute("select tokens from console_session").fetchone())
    assert not {"access", "refresh", "a@example.test"} & set(stored.split('"'))
    assert "access" not in repr(found)


# ---------------------------------------------------------------- every answer


def test_every_answer_has_the_headers_that_protect_it(console: ConsoleClient) -> None:
    console.sign_in_admin()
    for path in ("/", "/sign-in", "/nothing", "/static/nothing.js"):
        headers = console.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))


def test_files_are_kept_for_a_year_under_an_address_of_their_content(console: ConsoleClient) -> None:
    page = console.get("/sign-in").text
    for name in ("console.css", "console.js", "icon.svg"):
        address = next(part for part in page.split('"') if f"/{name}?v=" in part)
        answer = console.http.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    assert console.get("/static/..%2fapp.py").status_code == 404


def test_the_console_is_not_part_of_the_api(console: ConsoleClient) -> None:
    described = console.http.get("/openapi.json", headers=AUTHORIZATION).json()
    assert not [path for path in described["paths"] if path.startswith("/console/")]
    assert console.http.get("/console", follow_redirects=True).url.path == "/console/sign-in"


# ---------------------------------------------------------------- languages


def test_every_entry_of_the_menu_has_its_text() -> None:
    assert [entry.text for entry in ENTRIES if entry.text not in texts_in("en")] == []


@pytest.mark.parametrize(
    ("wanted", "accepted", "expected"),
    [(None, "", "en"), (None, "fr, ja-JP;q=0.9", "ja"), ("en", "ja", "en"), ("<x>", "ja", "ja"), (None, "de", "en")],
)
def test_the_language_is_the_chosen_one_or_the_readers(wanted: str | None, accepted: str, expected: str) -> None:
    assert chosen_language(wanted, accepted) == expected


def test_a_chosen_language_stays(console: ConsoleClient) -> None:
    assert "Sign in" in console.get("/sign-in").text
    assert '<html lang="ja">' in console.get("/language/ja?back=/sign-in").text
    assert "サインイン" in console.get("/sign-in").text
    assert console.get("/language/xx").status_code == 404


URL, EMAIL, PASSWORD, CODE = "https://abcd.supabase.co", "yamada@example.test", "correct horse", "123456"

AT = "2026-11-01T00:00:00Z"

TOTP = {"id": "factor-1", "factor_type": "totp", "status": "verified", "created_at": AT, "updated_at": AT}

OF_USER = {"aud": "authenticated", "app_metadata": {}, "user_metadata": {}, "created_at": AT}


@dataclass
class Supabase:
    """Supabase Auth with one user, who may have second factors."""

    factors: list[dict[str, str]] = field(default_factory=list)
    has_captcha: bool = False
    requests: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        body = json.loads(request.content or b"{}")
        match request.url.path.removeprefix("/auth/v1"):
            case "/token" if self.has_captcha:
                return httpx.Response(400, json={"error_code": "captcha_failed"})
            case "/token" if body.get("password", PASSWORD) != PASSWORD:
                return httpx.Response(400, json={"error_code": "invalid_credentials"})
            case "/token":
                return self._tokens("aal1")
            case "/factors/factor-1/challenge":
                return httpx.Response(200, json={"id": "challenge-1", "type": "totp", "expires_at": 2**31})
            case "/factors/factor-1/verify" if (body["challenge_id"], body["code"]) == ("challenge-1", CODE):
                return self._tokens("aal2")
            case "/factors/factor-1/verify":
                return httpx.Response(422, json={"error_code": "mfa_verification_failed"})
            case "/logout":
                return httpx.Response(204)
        raise AssertionError(request.url)

    def _tokens(self, aal: str) -> httpx.Response:
        token = jwt.encode({"aal": aal}, "a secret of at least thirty-two bytes", "HS256")
        user = {"id": USER, "email": EMAIL, "factors": self.factors, **OF_USER}
        tokens = {
            "access_token": token,
            "token_type": "bearer",
            "refresh_token": "r",
            "expires_in": 3600,
            "expires_at": 2**31,
        }
        return httpx.Response(200, json={**tokens, "user": user})

    @property
    def paths(self) -> list[str]:
        return [request.url.path.removeprefix("/auth/v1") for request in self.requests]


@dataclass
class Place:
    console: ConsoleClient
    supabase: Supabase

    def sign_in(self, password: str = PASSWORD, email: str = EMAIL, **more: str) -> httpx.Response:
        return self.console.send("/sign-in", "/sign-in/user", {"email": email, "password": password, **more})


@pytest.fixture(scope="module")
def world(a_world: Worlds) -> World:
    return a_world()


def auth_of(supabase: Supabase, secret_key: Callable[[], str] = str) -> SupabaseAuth:
    http = httpx.Client(transport=httpx.MockTransport(supabase.answer))
    return SupabaseAuth(URL, lambda: "sb_publishable_x", http, secret_key=secret_key)


@pytest.fixture
def place(world: World) -> Place:
    world.sql.execute("truncate quota_use, console_session")
    supabase = Supabase()
    return Place(ConsoleClient(world, auth=auth_of(supabase)), supabase)


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
    place.supabase.factors = [{**TOTP, "id": "factor-2", "factor_type": "webauthn"}]
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
