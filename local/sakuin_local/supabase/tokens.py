"""Supabase's keys, JWTs for its roles, signed with the project's secret, and the user of this machine."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import jwt
from sakuin_cli.files import replace_bytes

# Supabase's keys are valid for ten years.
EXPIRES = 2_100_000_000


def new_secret() -> str:
    """Returns a new random secret."""
    return secrets.token_urlsafe(48)


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


def secret_of(file: Path, new: Callable[[], str] = new_secret) -> str:
    """Returns the secret in a file, created the first time, readable by its owner only."""
    if not file.exists():
        replace_bytes(file, new().encode(), mode=0o600)
    return file.read_text()
