"""Signing in to the console, and what a browser without a session gets."""

import pytest
from sakuin.console.sessions import Sessions, SessionTokens
from sakuin.console.shell import ENTRIES
from sakuin.platform.keys import hash_of_key
from sakuin.texts.catalogue import chosen_language, texts_in

from tests.console.console_client import ConsoleClient, first_page, hidden_fields
from tests.events import AUTHORIZATION, KEY, Ring
from tests.worlds import Worlds

USER = "00000000-0000-4000-8000-0000000000aa"


@pytest.fixture(scope="module")
def one_console(a_world: Worlds) -> ConsoleClient:
    world = a_world()
    return ConsoleClient(world, first_page(world))


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

    sessions = Sessions(console.world.client, console.ring, refresh)
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
