"""Which tokens of Supabase Auth are taken."""

import gzip
import itertools
import json
import time
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from jwt.algorithms import ECAlgorithm
from sakuin.errors import Unauthorized, Unavailable
from sakuin.platform.supabase.tokens import PublishedKeys, UserTokens, tokens_of

from tests.contracts.scripted_server import Said, scripted_server

SECRET = "a secret of at least thirty-two bytes, as Supabase's are"
USER = str(uuid4())
OWN, FOREIGN = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())


class Published(jwt.PyJWKClient):
    """Supabase's public keys without a wire."""

    def __init__(self, *, down: bool = False) -> None:
        super().__init__("http://supabase/auth/v1/.well-known/jwks.json")
        self._down = down

    def fetch_data(self) -> Any:
        if self._down:
            raise jwt.PyJWKClientConnectionError("no answer")
        return {"keys": [{**json.loads(ECAlgorithm.to_jwk(OWN.public_key())), "kid": "one", "alg": "ES256"}]}


TOKENS = UserTokens(Published(), lambda: (SECRET,))


def claims(**other: object) -> dict[str, object]:
    return {"sub": USER, "aud": "authenticated", "role": "authenticated", "exp": time.time() + 3600, **other}


def by_secret(secret: str = SECRET, **other: object) -> str:
    return jwt.encode(claims(**other), secret, "HS256")


def by_key(key: EllipticCurvePrivateKey = OWN, kid: str = "one", **other: object) -> str:
    return jwt.encode(claims(**other), key, "ES256", headers={"kid": kid})


@pytest.mark.parametrize("token", [by_secret(), by_key()])
def test_a_users_token_names_the_user(token: str) -> None:
    assert TOKENS.user_of(token) == USER


def without(name: str) -> str:
    return jwt.encode({key: value for key, value in claims().items() if key != name}, SECRET, "HS256")


@pytest.mark.parametrize(
    "token",
    [
        *("", "a.b.c", "sk_sakuin_x", by_secret()[:-3] + "AAA"),
        *(by_secret("another secret of at least thirty-two bytes"), by_key(FOREIGN), by_key(kid="two")),
        *(by_secret(exp=time.time() - 60), by_secret(aud="anon"), by_secret(role="service_role"), by_secret(sub="x")),
        *(without("exp"), without("aud"), without("sub"), without("role")),
        jwt.encode(claims(), "", "none"),
    ],
)
def test_every_other_token_is_refused(token: str) -> None:
    with pytest.raises(Unauthorized):
        TOKENS.user_of(token)


def test_without_a_secret_none_that_is_signed_with_one_is_taken() -> None:
    with pytest.raises(Unauthorized):
        UserTokens(Published()).user_of(by_secret())


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


def keys_at(url: str) -> UserTokens:
    return tokens_of(url, lambda: (SECRET,))


@pytest.mark.parametrize("said", NO_KEYS.values(), ids=NO_KEYS)
def test_what_is_no_set_of_keys_is_not_the_caller_s_fault(said: Said | None) -> None:
    # Who follows the redirect finds the right keys.
    with scripted_server(said, published(JWK)) as supabase:
        tokens = keys_at(supabase.url)
        for _ in range(3):
            with pytest.raises(Unavailable, match="public keys could not be read") as failure:
                tokens.user_of(by_key())
        assert failure.value.vendor == "supabase"
        assert tokens.user_of(by_secret()) == USER
        # What went wrong is remembered for a moment.
        assert supabase.asked == ["/auth/v1/.well-known/jwks.json"]


def test_keys_that_drip_are_given_up() -> None:
    # Every look at the clock costs a second; the keys are there at once.
    ticks = itertools.count()

    class Ticking(PublishedKeys):
        _now = staticmethod(lambda: float(next(ticks)))

    with scripted_server(published(JWK)) as supabase, pytest.raises(Unavailable):
        UserTokens(Ticking(f"{supabase.url}/keys", timeout=0.5)).user_of(by_key())


def test_a_name_that_is_not_among_the_keys_is_a_wrong_token() -> None:
    with scripted_server(published({"kty": "XY"}, JWK)) as supabase:
        tokens = keys_at(supabase.url)
        assert tokens.user_of(by_key()) == USER
        for number in range(5):
            with pytest.raises(Unauthorized):
                tokens.user_of(by_key(kid=f"two {number}"))
        assert len(supabase.asked) == 1


def test_where_only_the_secret_signs_no_key_is_published_and_every_token_of_one_is_wrong() -> None:
    with scripted_server(published()) as supabase:
        tokens = keys_at(supabase.url)
        for _ in range(5):
            with pytest.raises(Unauthorized):
                tokens.user_of(by_key())
        assert (tokens.user_of(by_secret()), len(supabase.asked)) == (USER, 1)


def test_keys_that_are_known_are_good_while_their_source_is_away() -> None:
    with scripted_server(published(JWK), Said(503)) as supabase:
        keys = PublishedKeys(f"{supabase.url}/keys", cache_keys=True, timeout=5, lifespan=0.001)
        tokens = UserTokens(keys)
        assert [tokens.user_of(by_key()) for _ in range(3)] == [USER] * 3


def test_keys_that_cannot_be_read_are_not_the_callers_fault() -> None:
    with pytest.raises(Unavailable):
        UserTokens(Published(down=True)).user_of(by_key())
