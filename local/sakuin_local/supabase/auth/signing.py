"""The key pair that signs users' tokens, as projects of today have one."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt.algorithms import ECAlgorithm

from sakuin_local.supabase.tokens import secret_of


@dataclass(frozen=True)
class SigningKey:
    """A key on the curve P-256, as PEM; `jwk` has its public half."""

    private: str = field(repr=False)

    def sign(self, claims: dict[str, Any]) -> str:
        """Returns a token with these claims."""
        return jwt.encode(claims, self.private, "ES256", headers={"kid": self.jwk["kid"]})

    def claims_of(self, token: str) -> dict[str, Any]:
        """Returns the claims of a token that this key signed, expired or not; raises `jwt.PyJWTError`."""
        unread: Any = {"verify_aud": False, "verify_exp": False, "verify_iat": False}
        claims: dict[str, Any] = jwt.decode(token, jwt.PyJWK(self.jwk), ["ES256"], options=unread)
        return claims

    @cached_property
    def jwk(self) -> dict[str, Any]:
        """The public half as the service publishes it."""
        members = ECAlgorithm.to_jwk(ECAlgorithm(ECAlgorithm.SHA256).prepare_key(self.private), as_dict=True)
        public = {name: members[name] for name in ("kty", "crv", "x", "y")}
        key_id = hashlib.sha256(public["x"].encode()).hexdigest()[:16]
        return {**public, "alg": "ES256", "key_ops": ["verify"], "kid": key_id, "use": "sig"}

    def with_secret(self, jwt_secret: str) -> str:
        """Returns the keys that PostgREST verifies with: the public half, and the secret that signs the API keys."""
        secret = base64.urlsafe_b64encode(jwt_secret.encode()).decode().rstrip("=")
        return json.dumps({"keys": [self.jwk, {"kty": "oct", "k": secret, "alg": "HS256"}]})


def new_signing_key() -> SigningKey:
    """Returns a new key."""
    return SigningKey(_new_private_key())


def signing_key_of(folder: Path) -> SigningKey:
    """Returns the key of a data folder, created the first time."""
    return SigningKey(secret_of(folder / "signing-key.pem", _new_private_key))


def _new_private_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
