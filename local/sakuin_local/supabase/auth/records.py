"""What Supabase Auth keeps: users, sessions, OAuth clients, their requests and the consents of users."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from sakuin_cli.files import replace_bytes


@dataclass
class User:
    """Somebody with an e-mail address, in small letters, and a password."""

    id: str
    email: str
    password: str = field(repr=False)

    def has_password(self, password: str) -> bool:
        """Returns whether this is the user's password."""
        return hmac.compare_digest(self.password, _hashed(password, self.id))


@dataclass
class Session:
    """A sign-in of a user, or of a client for a user. `counter` numbers its refresh tokens; times are in seconds."""

    id: str
    user_id: str
    method: str
    started_at: float
    refreshed_at: float
    client_id: str | None = None
    scope: str = ""
    counter: int = 0
    key: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    @property
    def refresh_token(self) -> str:
        """The current refresh token."""
        return self._token(self.counter)

    def counter_of(self, token: str) -> int | None:
        """Returns the number of a refresh token of this session, None for any other text."""
        number = token.split(".")[1] if token.count(".") == 2 else ""
        is_ours = number.isascii() and number.isdigit() and hmac.compare_digest(token, self._token(int(number)))
        return int(number) if is_ours else None

    def _token(self, counter: int) -> str:
        signature = hmac.new(bytes.fromhex(self.key), str(counter).encode(), hashlib.sha256).hexdigest()
        return f"{self.id}.{counter}.{signature[:32]}"


@dataclass
class Client:
    """An application that registered itself. A public one has no secret."""

    id: str
    name: str
    uri: str
    logo_uri: str
    redirect_uris: list[str]
    grant_types: list[str]
    auth_method: str
    created_at: float
    secret_hash: str = field(default="", repr=False)

    @property
    def is_public(self) -> bool:
        """Whether the client cannot keep a secret."""
        return self.auth_method == "none"


@dataclass
class Authorization:
    """A client's request to act for a user, who is known when its details are read first."""

    id: str
    client_id: str
    redirect_uri: str
    scope: str
    state: str
    challenge: str
    challenge_method: str
    nonce: str
    expires_at: float
    status: str = "pending"
    user_id: str | None = None
    code: str | None = field(default=None, repr=False)


@dataclass
class Consent:
    """What a user allowed a client."""

    user_id: str
    client_id: str
    scopes: list[str]
    granted_at: float


_KINDS = {"users": User, "sessions": Session, "clients": Client, "authorizations": Authorization, "consents": Consent}


@dataclass
class Records:
    """All records by their ids; consents by user and client. `save` writes them to the file, if there is one."""

    file: Path | None = None
    users: dict[str, User] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)
    authorizations: dict[str, Authorization] = field(default_factory=dict)
    consents: dict[str, Consent] = field(default_factory=dict)

    def save(self) -> None:
        """Writes the records, whole or not at all; only the owner may read them."""
        if self.file is None:
            return
        rows = {kind: {key: asdict(row) for key, row in getattr(self, kind).items()} for kind in _KINDS}
        replace_bytes(self.file, json.dumps(rows).encode(), mode=0o600)

    def user_with(self, email: str) -> User | None:
        """Returns the user with this address, in any case of its letters."""
        return next((user for user in self.users.values() if user.email == email.lower()), None)

    def add_user(self, email: str, password: str, user_id: str = "") -> User:
        """Creates a user, with the id if it is given; replaces the one who has it."""
        user_id = user_id or str(uuid4())
        self.users[user_id] = User(user_id, email.lower(), _hashed(password, user_id))
        self.save()
        return self.users[user_id]

    def consents_of(self, user_id: str) -> Iterator[Consent]:
        """Returns what a user allowed."""
        return (consent for consent in self.consents.values() if consent.user_id == user_id)


def records_in(file: Path) -> Records:
    """Returns the records of a file; none if it does not exist yet."""
    rows: Mapping[str, Mapping[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
    found = {kind: {key: made(**row) for key, row in rows.get(kind, {}).items()} for kind, made in _KINDS.items()}
    return Records(file, **found)


def _hashed(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=salt.encode(), n=2**13, r=8, p=1).hex()
