"""Who calls an endpoint: right and wrong keys and their lookups, and users who signed in."""

from dataclasses import dataclass
from typing import Any

import pytest
from sakuin.errors import OverLimit, Unauthorized, Unavailable
from sakuin.mcp.callers import EndpointKeys, Users, WrongKeys, is_token
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.keys import KEY_PREFIX, hash_of_key
from sakuin.platform.supabase.sign_in import SignIn
from sakuin.tables.model import Endpoint

from tests.events import ENDPOINT, ENDPOINT_KEY, KEY
from tests.mcp.wire import Ask, app_of, message

OTHER = "00000000-0000-4000-8000-0000000000ff"


def guess(number: int) -> str:
    return f"{KEY_PREFIX}{number:043}"


@dataclass
class Worker:
    """One worker, and a database with one endpoint, whose key is ENDPOINT_KEY. `looked` counts its reads."""

    hashes: tuple[str, ...] = (hash_of_key(ENDPOINT_KEY),)
    now: float = 0.0
    looked: int = 0

    def __post_init__(self) -> None:
        wrong = WrongKeys(lambda: self.now)
        self.keys = EndpointKeys(self.endpoint, wrong)

    def endpoint(self, mcp_id: str, key_hash: str) -> tuple[tuple[str, ...], Endpoint | None]:
        self.looked += 1
        if mcp_id != ENDPOINT:
            return ("0" * 64,), None
        return self.hashes, Endpoint(mcp_id, "p", ()) if key_hash in self.hashes else None

    def status(self, key: str | None = ENDPOINT_KEY, mcp_id: str = ENDPOINT) -> int:
        try:
            return 401 if self.keys.find(mcp_id, key) is None else 200
        except OverLimit:
            return 429


@pytest.mark.parametrize("mcp_id", [ENDPOINT, OTHER])
def test_a_repeated_wrong_key_is_looked_up_once(mcp_id: str) -> None:
    worker = Worker()
    assert {worker.status(guess(0), mcp_id) for _ in range(10)} == {401}
    assert worker.looked == 1
    worker.now = 6
    worker.status(guess(0), mcp_id)
    assert worker.looked == 2


SHAPELESS = [None, "", "wrong", "sk_sakuin_", "sk_sakuin_" + "x" * 42, "sk_sakuin_" + "x" * 44, "SK_SAKUIN_" + "x" * 43]


@pytest.mark.parametrize(
    ("key", "mcp_id"),
    [
        *((key, ENDPOINT) for key in (*SHAPELESS, "sk_sakuin_" + "あ" * 43, ENDPOINT_KEY + "\n", "a.b.c")),
        *((..., id) for id in ("x", "", "../x", ENDPOINT + "/tools", ENDPOINT + "\n", ENDPOINT[:-1], "%00", "{}")),
    ],
)
def test_a_malformed_key_or_id_is_not_looked_up_or_counted(key: Any, mcp_id: str) -> None:
    worker = Worker()
    keys = [guess(number) if key is ... else key for number in range(100)]
    assert {worker.status(each, mcp_id) for each in keys} == {401}
    assert (worker.looked, worker.status()) == (0, 200)


def test_an_id_in_capitals_is_the_same_endpoint() -> None:
    worker = Worker()
    assert worker.status(mcp_id=ENDPOINT.upper()) == 200


def test_many_wrong_keys_end_in_429_and_the_right_key_still_opens() -> None:
    worker = Worker()
    assert [worker.status(guess(number)) for number in range(100)] == [401] * 20 + [429] * 80
    assert worker.looked == 20
    # Another endpoint, and an agent that this worker never saw.
    assert (worker.status(guess(0), OTHER), worker.status()) == (401, 200)
    worker.now = 6
    assert worker.status(guess(100)) == 401


def test_a_key_that_was_made_during_a_flood_waits_some_seconds_at_most() -> None:
    worker = Worker()
    for number in range(30):
        worker.status(guess(number))
    worker.hashes = (hash_of_key(guess(99)),)
    assert (worker.status(guess(99)), worker.status()) == (429, 401)
    worker.now = 5.1
    for number in range(30):
        worker.status(guess(number))
    assert worker.status(guess(99)) == 200


def test_many_ids_take_bounded_memory() -> None:
    worker = Worker()
    for number in range(3000):
        worker.status(guess(number), f"00000000-0000-4000-8000-{number:012}")
    wrong = worker.keys.wrong
    assert (len(wrong._failures), len(wrong._wrong)) == (1000, 1000)
    assert worker.status() == 200


# ---------------------------------------------------------------- users who signed in, apart from what their tokens say


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
    ask = Ask(app_of(tools, users=signing_in))
    assert ask(message("ping"), authorization=f"Bearer {TOKEN}").status == 503
    assert ask(message("ping")).status == 200
