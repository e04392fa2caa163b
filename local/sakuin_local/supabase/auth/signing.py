"""The key pair that signs users' tokens, as projects of today have one."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm
from sakuin_cli.files import replace_bytes


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key on the curve P-256, as PEM, and its public half."""

    private: str = field(repr=False)
    public: str

    def sign(self, claims: dict[str, Any]) -> str:
        """Returns a token with these claims."""
        return jwt.encode(claims, self.private, "ES256", headers={"kid": self._id})

    def claims_of(self, token: str) -> dict[str, Any]:
        """Returns the claims of a token that this key signed, expired or not; raises `jwt.PyJWTError`."""
        unread: Any = {"verify_aud": False, "verify_exp": False, "verify_iat": False}
        claims: dict[str, Any] = jwt.decode(token, self.public, ["ES256"], options=unread)
        return claims

    def jwk(self) -> dict[str, Any]:
        """Returns the public half as the service publishes it."""
        algorithm = ECAlgorithm(ECAlgorithm.SHA256)
        members = json.loads(algorithm.to_jwk(algorithm.prepare_key(self.public)))
        return {**members, "alg": "ES256", "key_ops": ["verify"], "kid": self._id, "use": "sig"}

    def with_secret(self, jwt_secret: str) -> str:
        """Returns the keys that PostgREST verifies with: the public half, and the secret that signs the API keys."""
        secret = base64.urlsafe_b64encode(jwt_secret.encode()).decode().rstrip("=")
        return json.dumps({"keys": [self.jwk(), {"kty": "oct", "k": secret, "alg": "HS256"}]})

    @property
    def _id(self) -> str:
        return hashlib.sha256(self.public.encode()).hexdigest()[:16]


def new_signing_key() -> SigningKey:
    """Returns a new key."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return SigningKey(private.decode(), public.decode())


def signing_key_of(folder: Path) -> SigningKey:
    """Returns the key of a data folder, created the first time, readable by its owner only."""
    file = folder / "signing-key.json"
    if not file.exists():
        made = new_signing_key()
        replace_bytes(file, json.dumps([made.private, made.public]).encode(), mode=0o600)
    return SigningKey(*json.loads(file.read_text()))
