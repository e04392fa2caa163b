"""Tokens of Supabase Auth, and the public keys that verify them. `tests/isolation/test_tokens.py` forges tokens."""

import gzip
import itertools
import json
import time
from dataclasses import replace
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from sakuin.errors import Unauthorized, Unavailable
from sakuin.platform.supabase.tokens import PublishedKeys, UserTokens, tokens_of

from tests.contracts.scripted_server import Said, scripted_server

SECRET = "a secret of at least thirty-two bytes, as Supabase's are"
USER = str(uuid4())
ISSUER = "https://abcd.supabase.co/auth/v1"
OWN = ec.generate_private_key(ec.SECP256R1())


def claims() -> dict[str, object]:
    made = {"sub": USER, "aud": "authenticated", "role": "authenticated", "iss": ISSUER}
    return made | {"exp": time.time() + 3600}


def by_secret() -> str:
    return jwt.encode(claims(), SECRET, "HS256")


def by_key(kid: str = "one") -> str:
    return jwt.encode(claims(), OWN, "ES256", headers={"kid": kid})


def published(*keys: object) -> Said:
    return Said(body=json.dumps({"keys": keys}).encode())


JWK = {**json.loads(ECAlgorithm.to_jwk(OWN.public_key())), "kid": "one", "alg": "ES256"}
LONG = Said(body=b'{"keys": [' + b" " * 200_000 + json.dumps(JWK).encode() + b"]}")
NO_KEYS = {
    "a proxy's page": Said(body=b"<html>Welcome</html>", headers=(("Content-Type", "text/html"),)),
    "nothing": Said(body=b""),
    "half": Said(body=published(JWK).body, cut=True),
    "half, and whole to look at": Said(body=published(JWK).body[:-20]),
    "no object": Said(body=b"[]"),
    "another object": Said(body=b'{"error": "overloaded"}'),
    "no list": Said(body=b'{"keys": {"one": 1}}'),
    "null": Said(body=b'{"keys": null}'),
    "no keys in it": published("one", None, 7),
    "none that can be used": published({**JWK, "kty": "XY"}, {**JWK, "x": "!"}),
    "a key without a name": published({**JWK, "kid": ""}),
    "a key to encrypt with": published({**JWK, "use": "enc"}),
    "a secret": published({"kty": "oct", "k": "c2VjcmV0", "kid": "one"}),
    "too deep": Said(body=b'{"keys": ' + b"[" * 50_000 + b"]" * 50_000),
    "without end": LONG,
    "packed": Said(body=gzip.compress(published(JWK).body), headers=(("Content-Encoding", "gzip"),)),
    "a server's failure": Said(503, b"{}"),
    "not there": Said(404, b"{}"),
    "elsewhere": Said(302, b"", (("Location", "/keys"),)),
    "closed": None,
}


def test_without_a_secret_a_token_that_is_signed_with_one_is_refused() -> None:
    with scripted_server(published(JWK)) as supabase, pytest.raises(Unauthorized):
        UserTokens(PublishedKeys(f"{supabase.url}/keys"), ISSUER).user_of(by_secret())


def keys_at(url: str) -> UserTokens:
    return replace(tokens_of(url, lambda: (SECRET,)), issuer=ISSUER)


@pytest.mark.parametrize("said", NO_KEYS.values(), ids=NO_KEYS)
def test_an_unreadable_set_of_keys_is_unavailable(said: Said | None) -> None:
    # A client that follows the redirect finds the right keys.
    with scripted_server(said, published(JWK)) as supabase:
        tokens = keys_at(supabase.url)
        for _ in range(3):
            with pytest.raises(Unavailable, match="public keys could not be read") as failure:
                tokens.user_of(by_key())
        assert failure.value.vendor == "supabase"
        assert tokens.user_of(by_secret()) == USER
        # The failure is cached for a moment.
        assert supabase.asked == ["/auth/v1/.well-known/jwks.json"]


def test_keys_that_come_too_slowly_are_unavailable() -> None:
    # Each reading of the clock costs a second; the keys come at once.
    ticks = itertools.count()

    class Ticking(PublishedKeys):
        _now = staticmethod(lambda: float(next(ticks)))

    with scripted_server(published(JWK)) as supabase, pytest.raises(Unavailable):
        UserTokens(Ticking(f"{supabase.url}/keys", timeout=0.5), ISSUER).user_of(by_key())


def test_a_token_of_an_unpublished_key_is_unauthorized() -> None:
    with scripted_server(published({"kty": "XY"}, JWK)) as supabase:
        tokens = keys_at(supabase.url)
        assert tokens.user_of(by_key()) == USER
        for number in range(5):
            with pytest.raises(Unauthorized):
                tokens.user_of(by_key(kid=f"two {number}"))
        assert len(supabase.asked) == 1


def test_without_published_keys_only_the_secret_s_tokens_are_valid() -> None:
    with scripted_server(published()) as supabase:
        tokens = keys_at(supabase.url)
        for _ in range(5):
            with pytest.raises(Unauthorized):
                tokens.user_of(by_key())
        assert (tokens.user_of(by_secret()), len(supabase.asked)) == (USER, 1)


def test_known_keys_stay_valid_while_their_source_is_unavailable() -> None:
    with scripted_server(published(JWK), Said(503)) as supabase:
        keys = PublishedKeys(f"{supabase.url}/keys", cache_keys=True, timeout=5, lifespan=0.001)
        tokens = UserTokens(keys, ISSUER)
        assert [tokens.user_of(by_key()) for _ in range(3)] == [USER] * 3
