"""Signing in as a user of Supabase Auth, and the agents that a user allows to act for him."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from html import unescape

import httpx
import httpx2
import pytest
from sakuin.errors import Conflict, NotFound, OverLimit, Refused, Unauthorized, Unavailable
from sakuin.platform.supabase.auth import SupabaseAuth
from sakuin_local.supabase.auth.application import Auth, auth_of, gateway
from sakuin_local.supabase.auth.records import User
from sakuin_local.supabase.tokens import new_signing_key
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from tests.console.console_client import ConsoleClient
from tests.worlds import Worlds

URL, SITE = "http://127.0.0.1:54321", "http://testserver"
EMAIL, PASSWORD = "yamada@example.test", "correct horse"
BACK = "http://127.0.0.1:33418/callback"


@dataclass
class Place:
    """A console whose users are in the stand-in for Supabase Auth."""

    console: ConsoleClient
    auth: Auth
    supabase: TestClient
    user: User
    clock: list[float]

    def sign_in(self, email: str = EMAIL, page: str = "/sign-in", password: str = PASSWORD) -> httpx2.Response:
        return self.console.send(page, "/sign-in/user", {"email": email, "password": password})

    def request_of_agent(self, redirect_uri: str = BACK, name: str = "Agent", **asked: str) -> str:
        """Returns the path of the consent page, as Supabase Auth redirects the browser to it."""
        client = {"redirect_uris": [redirect_uri], "client_name": name, "token_endpoint_auth_method": "none"}
        registered = self.supabase.post("/auth/v1/oauth/clients/register", json=client).json()
        return self.asked_again(registered["client_id"], redirect_uri, **asked)

    def asked_again(self, client_id: str, redirect_uri: str = BACK, **asked: str) -> str:
        pkce = {"code_challenge": "c" * 43, "code_challenge_method": "S256", "state": "s"}
        query = {"client_id": client_id, "redirect_uri": redirect_uri, **pkce, **asked}
        answer = self.supabase.get("/auth/v1/oauth/authorize", params=query)
        assert answer.headers["location"].startswith(f"{SITE}/console/consent?"), answer.headers["location"]
        return str(answer.headers["location"]).removeprefix(f"{SITE}/console")


def session_over(client: TestClient) -> httpx.Client:
    """Returns a session whose requests `client` makes: Supabase's client uses httpx, and Starlette's httpx2."""

    def handle(request: httpx.Request) -> httpx.Response:
        answer = client.request(
            request.method, str(request.url), headers=dict(request.headers), content=request.content
        )
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)

    return httpx.Client(transport=httpx.MockTransport(handle))


@pytest.fixture(scope="module")
def one_place(a_world: Worlds) -> Iterator[Place]:
    auth = auth_of(None, new_signing_key(), url=URL, site_url=SITE, api_keys={"publishable"})
    user = auth.sessions.records.add_user(EMAIL, PASSWORD)
    with TestClient(gateway(auth, PlainTextResponse("")), URL, follow_redirects=False) as supabase:
        clock = [0.0]
        auth.sessions.now = lambda: clock[0]
        of_console = SupabaseAuth(URL, lambda: "publishable", session_over(supabase), lambda: clock[0])
        console = ConsoleClient(a_world(), auth=of_console, refresh=of_console.refresh)
        yield Place(console, auth, supabase, user, clock)


@pytest.fixture
def place(one_place: Place) -> Place:
    """A console in a new browser, and Auth with one user, who has no session and no agent."""
    records = one_place.auth.sessions.records
    for of_others in (records.sessions, records.clients, records.authorizations, records.consents):
        of_others.clear()
    records.users = {one_place.user.id: one_place.user}
    one_place.console.world.sql.execute("truncate console_session")
    one_place.clock[:] = [1_800_000_000.0]
    return replace(one_place, console=one_place.console.new_visitor())


def agent_link(answer: httpx2.Response) -> str:
    """The address to which the page after the decision leads, by itself and by its link."""
    assert answer.status_code == 200, answer.text
    by_itself = re.search(r'<meta http-equiv="refresh" content="0;url=([^"]*)">', answer.text)
    link = re.search(r'<a rel="noopener" href="([^"]*)">', answer.text)
    assert by_itself is not None
    assert link is not None
    assert by_itself[1] == link[1]
    return unescape(link[1])


# ---------------------------------------------------------------- signing in


def test_a_user_signs_in_with_a_password_and_returns_to_where_he_was(place: Place) -> None:
    answer = place.sign_in(page="/sign-in?target=/%3Fa=1")

    assert (answer.url.path, answer.url.query) == ("/console/", b"a=1")
    assert EMAIL in answer.text
    stored = str(place.console.world.sql.execute("select * from console_session").fetchall())
    assert place.user.id in stored
    assert EMAIL not in stored


def test_users_who_sign_in_at_once_each_get_their_own_tokens(place: Place) -> None:
    place.auth.sessions.records.add_user("another@example.test", PASSWORD)
    auth = SupabaseAuth(URL, lambda: "publishable", session_over(place.supabase), lambda: place.clock[0])

    def email_of(email: str) -> str:
        tokens = auth.sign_in(email, PASSWORD)
        return auth.refresh(replace(tokens, expires_at=0)).email

    emails = [EMAIL, "another@example.test"] * 6
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(email_of, emails)) == emails


@pytest.mark.parametrize(("email", "password"), [(EMAIL, "wrong"), ("<b>nobody</b>", PASSWORD), ("", "")])
def test_a_wrong_password_is_told_and_not_which_part_is_wrong(place: Place, email: str, password: str) -> None:
    answer = place.sign_in(email, password=password)

    assert answer.status_code == 401
    assert "<b>" not in answer.text
    assert not place.console.http.cookies


def test_without_a_publishable_key_only_admins_sign_in(a_world: Worlds) -> None:
    none = SupabaseAuth(URL, lambda: "", httpx.Client())
    console = ConsoleClient(a_world(), auth=none)

    assert "E-mail" not in console.get("/sign-in").text
    assert console.post("/sign-in/user", {"email": EMAIL, "password": PASSWORD}).status_code == 404


def test_tokens_are_refreshed_before_they_expire(place: Place) -> None:
    place.sign_in()
    (session,) = place.auth.sessions.records.sessions.values()
    for passed, counter in ((3500, 0), (50, 1), (10, 1), (3600, 2)):
        place.clock[0] += passed
        assert place.console.get("/agents").status_code == 200
        assert session.counter == counter


def test_whom_supabase_signs_out_has_to_sign_in_again(place: Place) -> None:
    place.sign_in()
    place.auth.sessions.end(*place.auth.sessions.records.sessions.values())

    assert place.console.get("/agents").url.path == "/console/sign-in", "its own check"
    place.clock[0] += 3600
    assert place.console.get("/").url.path == "/console/sign-in", "nothing to refresh"


def test_signing_out_ends_this_session_at_supabase_and_no_other(place: Place) -> None:
    place.sign_in()
    elsewhere = place.auth.sessions.start(place.user)

    place.console.send("/", "/sign-out")

    assert [each.refresh_token for each in place.auth.sessions.records.sessions.values()] == [
        elsewhere["refresh_token"]
    ]
    assert place.console.get("/").url.path == "/console/sign-in"


# ---------------------------------------------------------------- an agent asks


@pytest.mark.parametrize(("action", "query"), [("allow", "code="), ("deny", "error=access_denied")])
def test_a_user_who_is_not_signed_in_does_so_and_decides(place: Place, action: str, query: str) -> None:
    asked = place.console.get(place.request_of_agent(name="My agent", scope="email offline_access"))
    assert asked.url.path == "/console/sign-in"

    shown = place.sign_in(page=f"/sign-in?{asked.url.query.decode()}")
    page = shown.url.path.removeprefix("/console") + f"?{shown.url.query.decode()}"
    decided = place.console.send(page, "/consent", {"action": action})

    for said in (
        "My agent",
        "this computer (127.0.0.1:33418)",
        EMAIL,
        "your e-mail address",
        "permission to stay connected",
    ):
        assert said in unescape(shown.text)
    assert agent_link(decided).startswith(f"{BACK}?{query}")
    assert "state=s" in agent_link(decided)


def test_what_a_user_has_allowed_is_not_asked_again(place: Place) -> None:
    place.sign_in()
    place.console.send(place.request_of_agent(), "/consent", {"action": "allow"})
    (client,) = place.auth.sessions.records.clients

    assert agent_link(place.console.get(place.asked_again(client))).startswith(f"{BACK}?code=")


def test_a_request_is_decided_once(place: Place) -> None:
    place.sign_in()
    page = place.request_of_agent()
    fields = {"action": "deny"}
    place.console.send(page, "/consent", fields)

    again = place.console.get(page)

    assert again.status_code == 409
    assert "was answered before" in again.text


def test_where_supabase_refuses_what_agents_send_the_page_offers_a_key(place: Place) -> None:
    place.sign_in()
    page = place.request_of_agent(resource=f"{SITE}/mcp", scope="email offline_access")
    place.auth.oauth.refuses_agents = True

    answer = place.console.get(page)
    place.auth.oauth.refuses_agents = False

    assert answer.status_code == 409
    assert "auth/issues/2820" in answer.text
    assert "a key of its endpoint" in answer.text
    assert place.console.get(page).status_code == 200


@pytest.mark.parametrize("wanted", ["", "unknown", "../../user", "<script>"])
def test_a_link_without_a_known_request_leads_to_nothing(place: Place, wanted: str) -> None:
    place.sign_in()

    answer = place.console.http.get("/console/consent", params={"authorization_id": wanted})

    assert answer.status_code == 404
    assert "<script>" not in answer.text


def test_the_request_of_another_user_does_not_exist(place: Place) -> None:
    place.sign_in()
    page = place.request_of_agent()
    place.console.get(page)
    place.auth.sessions.records.add_user("another@example.test", PASSWORD)
    other = place.console.new_visitor()
    other.send("/sign-in", "/sign-in/user", {"email": "another@example.test", "password": PASSWORD})
    own = re.search(r'name="csrf" value="([^"]*)"', other.get("/agents").text)
    assert own is not None

    fields = {"csrf": own[1], "action": "allow", "authorization_id": page.partition("=")[2]}

    assert other.get(page).status_code == 404
    assert other.post("/consent", fields).status_code == 404
    assert not place.auth.sessions.records.consents


def test_a_form_without_the_token_of_the_session_allows_nothing(place: Place) -> None:
    place.sign_in()
    page = place.request_of_agent()
    place.console.get(page)
    fields = {"action": "allow", "authorization_id": page.partition("=")[2]}

    for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert place.console.post("/consent", {**fields, "csrf": "wrong"}, headers=headers).status_code == 403
    assert place.console.http.get("/console/consent", params={**fields}).status_code == 200, "a GET decides nothing"
    assert not place.auth.sessions.records.consents


@pytest.mark.parametrize(
    ("redirect_uri", "shown"),
    [
        ("https://claude.ai@evil.example/callback", "evil.example"),
        ("https://claude.аi/callback", "claude.xn--i-7sb"),
        ("https://evil.example:8443/https://claude.ai", "evil.example:8443"),
        ("cursor://anysphere.cursor-mcp/oauth", "cursor://anysphere.cursor-mcp"),
        ("com.example.agent://callback", "com.example.agent://callback"),
    ],
)
def test_the_host_that_counts_is_shown(place: Place, redirect_uri: str, shown: str) -> None:
    place.sign_in()

    answer = place.console.get(place.request_of_agent(redirect_uri))

    assert f"<code>{shown}</code>" in answer.text


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", "{{ 7*7 }}</title><script>alert(1)</script>", ""])
def test_an_agents_name_is_text(place: Place, name: str) -> None:
    place.sign_in()
    page = place.request_of_agent(name=name)

    shown = place.console.get(page)
    place.console.send(page, "/consent", {"action": "allow"})
    listed = place.console.get("/agents")

    for answer in (shown, listed):
        assert (name or "An agent without a name") in unescape(answer.text)
        assert "<img" not in answer.text
        assert "<script>" not in answer.text


@pytest.mark.parametrize(
    "address",
    [
        *("javascript://x/%0aalert(1)", "data:text/html,x", "//evil.example", "https://[x"),
        # Of programs, only those with a domain in their scheme and known ones; and no address that others can read.
        *("ms-msdt://x/y", "search-ms://x/y", "mailto:a@b.example", "http://agent.example/callback"),
    ],
)
def test_an_address_that_leads_to_no_agent_is_not_followed(place: Place, address: str) -> None:
    """Supabase Auth registers no such address; this is the second lock."""
    place.sign_in()
    page = place.request_of_agent()
    (wanted,) = place.auth.sessions.records.authorizations.values()
    wanted.redirect_uri = address

    assert place.console.get(page).status_code == 403
    assert "refresh" not in place.console.get(page).text


def test_an_admin_key_allows_no_agent(place: Place) -> None:
    place.console.sign_in_admin()

    assert "sign out" in place.console.get(place.request_of_agent()).text
    assert place.console.get("/agents").status_code == 404
    assert "/console/agents" not in place.console.get("/").text


def test_a_user_revokes_an_agent(place: Place) -> None:
    place.sign_in()
    place.console.send(place.request_of_agent(name="My agent"), "/consent", {"action": "allow"})
    assert "My agent" in place.console.get("/agents").text

    answer = place.console.send("/agents", "/agents/revoke")

    assert "The agent is revoked" in answer.text
    assert "My agent" not in answer.text
    assert not place.auth.sessions.records.consents


# ---------------------------------------------------------------- Supabase Auth fails


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (500, "{}", Unavailable),
        (200, "<html>", Unavailable),
        (502, "bad gateway", Unavailable),
        (429, '{"error_code": "over_request_rate_limit"}', OverLimit),
        (401, '{"message": "Invalid API key"}', Refused),
        (403, '{"error_code": "bad_jwt"}', Unauthorized),
        (400, '{"error_code": "refresh_token_already_used"}', Unauthorized),
        (404, '{"error_code": "feature_disabled"}', NotFound),
        (400, '{"error_code": "validation_failed"}', Conflict),
        (400, "[]", Unavailable),
    ],
)
def test_each_failure_says_what_to_do(status: int, body: str, expected: type[Exception]) -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(status, text=body))
    auth = SupabaseAuth(URL, lambda: "publishable", httpx.Client(transport=transport))

    with pytest.raises(expected):
        auth.sign_in(EMAIL, PASSWORD)


def test_no_answer_is_unavailable_and_names_no_password() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"refused {request.content!r}")

    auth = SupabaseAuth(URL, lambda: "publishable", httpx.Client(transport=httpx.MockTransport(fail)))

    with pytest.raises(Unavailable) as failure:
        auth.sign_in(EMAIL, PASSWORD)
    assert PASSWORD not in str(failure.value)
