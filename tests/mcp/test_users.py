"""Callers who signed in, apart from what their tokens say: which texts are tokens, and whether users are accepted."""

import pytest
from sakuin.errors import Forbidden, Unauthorized, Unavailable
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server
from sakuin.mcp.users import Users, is_token
from sakuin.platform.supabase.sign_in import SignIn
from sakuin.tables.model import Endpoint

from tests.events import ENDPOINT, KEY, ring
from tests.mcp.wire import Ask, message

TOKEN = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
SCOPE = {"aws.event": {"requestContext": {"domainName": "sakuin.test"}}}


def users(*, accepted: bool = True) -> Users:
    def endpoint(mcp_id: str, _user: str) -> Endpoint | None:
        return Endpoint(mcp_id, "p", ()) if mcp_id == ENDPOINT else None

    return Users(SignIn("https://abcd.supabase.co/auth/v1", lambda: accepted), lambda _token: "u", endpoint)


@pytest.mark.parametrize(
    "text", ["", "a.b.c", KEY, "eyJ", "eyJ.eyJ", f"{TOKEN}.x", f" {TOKEN}", f"{TOKEN}\n", "鍵.鍵.鍵"]
)
def test_a_key_is_never_taken_for_a_token(text: str) -> None:
    assert is_token(TOKEN)
    assert not is_token(text)


def test_a_user_opens_an_endpoint_of_his() -> None:
    user, found = users().find(TOKEN, ENDPOINT)
    assert (user, found and found.id) == ("u", ENDPOINT)
    with pytest.raises(Forbidden):
        users().find(TOKEN, "00000000-0000-4000-8000-0000000000ff")


def test_without_a_publishable_key_no_user_is_accepted_or_asked_to_sign_in() -> None:
    closed = users(accepted=False)
    with pytest.raises(Unauthorized):
        closed.find(TOKEN, ENDPOINT)
    path = f"/mcp/{ENDPOINT}"
    assert (closed.sign_in.metadata(SCOPE, path), closed.sign_in.challenge(SCOPE, path)) == (None, "")
    assert users().sign_in.metadata(SCOPE, path)


def test_without_a_known_address_nobody_is_asked_to_sign_in() -> None:
    assert users().sign_in.metadata({"headers": [(b"host", b"evil.example")]}, "") is None


def test_public_keys_that_cannot_be_read_are_503_and_the_key_still_opens(tools: KnowledgeTools) -> None:
    def unread(_token: str) -> str:
        raise Unavailable("no public keys", vendor="supabase")

    signing_in = Users(SignIn("https://abcd.supabase.co/auth/v1", lambda: True), unread, lambda *_: None)
    ask = Ask(McpApp(knowledge_server(tools, "1.2.3"), ring, users=signing_in))
    assert ask(message("ping"), authorization=f"Bearer {TOKEN}").status == 503
    assert ask(message("ping")).status == 200
