"""Which tokens of Supabase Auth are taken."""

import json
import time
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from jwt.algorithms import ECAlgorithm
from sakuin.adapters.supabase_tokens import SupabaseTokens
from sakuin.errors import Unauthorized, Unavailable

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


TOKENS = SupabaseTokens(Published(), lambda: (SECRET,))


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
        SupabaseTokens(Published()).user_of(by_secret())


def test_keys_that_cannot_be_read_are_not_the_callers_fault() -> None:
    with pytest.raises(Unavailable):
        SupabaseTokens(Published(down=True)).user_of(by_key())
