"""Keys of a Supabase project: those of its roles, the pair that signs users' tokens, and the user of this machine."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from sakuin_cli.files import replace_bytes

# Supabase's keys are valid for ten years.
EXPIRES = 2_100_000_000


def new_secret() -> str:
    """Returns a new random secret."""
    return secrets.token_urlsafe(48)


def secret_of(file: Path, new: Callable[[], str] = new_secret) -> str:
    """Returns the secret in a file, created the first time, readable by its owner only."""
    if not file.exists():
        replace_bytes(file, new().encode(), mode=0o600)
    return file.read_text()


@dataclass(frozen=True, slots=True)
class Keys:
    """The secret that signs keys, and the keys."""

    jwt_secret: str = field(repr=False)

    @property
    def anon(self) -> str:
        return self.of_role("anon")

    @property
    def service(self) -> str:
        return self.of_role("service_role")

    @property
    def search(self) -> str:
        """The key of the function `mcp`."""
        return self.of_role("sakuin_search")

    def of_role(self, role: str, **claims: object) -> str:
        """Returns a key for a role; `of_role("authenticated", sub=…)` is a user of Supabase Auth."""
        return jwt.encode({"role": role, "iss": "supabase", "exp": EXPIRES, **claims}, self.jwt_secret, "HS256")


def keys_of(folder: Path) -> Keys:
    """Returns the keys of a data folder, created the first time."""
    return Keys(secret_of(folder / "jwt-secret"))


@dataclass(frozen=True)
class SigningKey:
    """The key pair on the curve P-256 that signs users' tokens; `jwk` has its public half."""

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
        algorithm = jwt.get_algorithm_by_name("ES256")
        members: Any = algorithm.to_jwk(algorithm.prepare_key(self.private), as_dict=True)
        members.pop("d")
        key_id = hashlib.sha256(members["x"].encode()).hexdigest()[:16]
        return {**members, "alg": "ES256", "key_ops": ["verify"], "kid": key_id, "use": "sig"}

    def with_secret(self, jwt_secret: str) -> str:
        """Returns the keys that PostgREST verifies with: the public half, and the secret that signs the API keys."""
        secret = base64.urlsafe_b64encode(jwt_secret.encode()).decode().rstrip("=")
        return json.dumps({"keys": [self.jwk, {"kty": "oct", "k": secret, "alg": "HS256"}]})


def new_signing_key() -> SigningKey:
    """Returns a new key."""
    key = ec.generate_private_key(ec.SECP256R1())
    return SigningKey(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


def signing_key_of(folder: Path) -> SigningKey:
    """Returns the key of a data folder, created the first time."""
    return SigningKey(secret_of(folder / "signing-key.pem", lambda: new_signing_key().private))


@dataclass(frozen=True, slots=True)
class LocalUser:
    """The one user that Supabase Auth has on this machine. `id` is a UUID."""

    password: str = field(repr=False)
    email: str = "user@example.com"

    @property
    def id(self) -> str:
        """The same as long as the password."""
        return str(UUID(bytes=hashlib.sha256(self.password.encode()).digest()[:16], version=4))


def local_user_of(folder: Path) -> LocalUser:
    """Returns the user of a data folder, whose password is created the first time."""
    return LocalUser(secret_of(folder / "user-password"))
