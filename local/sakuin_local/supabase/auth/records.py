"""What Supabase Auth stores: users, sessions, OAuth clients, their requests and the consents of users."""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel, Field, PrivateAttr
from sakuin_cli.files import replace_bytes


class User(BaseModel):
    """Somebody with an e-mail address, in small letters, and a password."""

    id: str
    email: str
    password: str = Field(repr=False)

    def has_password(self, password: str) -> bool:
        """Returns whether this is the user's password."""
        return hmac.compare_digest(self.password, _hashed(password, self.id))


class Session(BaseModel):
    """A sign-in of a user, or of a client for a user. `counter` numbers its refresh tokens; times are in seconds."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    user_id: str
    refreshed_at: float
    client_id: str | None = None
    scope: str = ""
    counter: int = 0
    key: str = Field(default_factory=lambda: secrets.token_hex(32), repr=False)

    @property
    def refresh_token(self) -> str:
        """The current refresh token."""
        return self._token(self.counter)

    def _token(self, counter: int) -> str:
        signature = hmac.new(bytes.fromhex(self.key), str(counter).encode(), hashlib.sha256).hexdigest()
        return f"{self.id}.{counter}.{signature[:32]}"

    def counter_of(self, token: str) -> int | None:
        """Returns the number of a refresh token of this session, None for any other text."""
        number = token.split(".")[1] if token.count(".") == 2 else ""
        is_ours = number.isascii() and number.isdigit() and hmac.compare_digest(token, self._token(int(number)))
        return int(number) if is_ours else None


class Client(BaseModel):
    """An application that registered itself. A public one has no secret."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    name: str
    redirect_uris: list[str]
    grant_types: list[str]
    auth_method: str
    secret_hash: str = Field(default="", repr=False)

    @property
    def is_public(self) -> bool:
        """Whether the client cannot keep a secret."""
        return self.auth_method == "none"

    @property
    def view(self) -> dict[str, str]:
        """What users see of the client; an empty name is left out."""
        return {"id": self.id, "name": self.name} if self.name else {"id": self.id}


class Authorization(BaseModel):
    """A client's request to act for a user, who is known when its details are read first."""

    id: str = Field(default_factory=lambda: secrets.token_hex(16))
    client_id: str
    redirect_uri: str
    scope: str
    state: str
    challenge: str
    expires_at: float
    status: str = "pending"
    user_id: str | None = None
    code: str | None = Field(default=None, repr=False)


class Consent(BaseModel):
    """What a user allowed a client."""

    user_id: str
    client_id: str
    scopes: list[str]
    granted_at: float


class Records(BaseModel):
    """All records by their ids; consents by user and client. `save` writes them to the file, if there is one."""

    users: dict[str, User] = {}
    sessions: dict[str, Session] = {}
    clients: dict[str, Client] = {}
    authorizations: dict[str, Authorization] = {}
    consents: dict[str, Consent] = {}
    _file: Path | None = PrivateAttr(default=None)

    def save(self) -> None:
        """Writes the records, whole or not at all; only the owner may read them."""
        if self._file is not None:
            replace_bytes(self._file, self.model_dump_json().encode(), mode=0o600)

    def user_with(self, email: str) -> User | None:
        """Returns the user with this address, in any case of its letters."""
        return next((user for user in self.users.values() if user.email == email.lower()), None)

    def add_user(self, email: str, password: str, user_id: str = "") -> User:
        """Creates a user, with the id if it is given; replaces the one who has it."""
        user_id = user_id or str(uuid4())
        self.users[user_id] = User(id=user_id, email=email.lower(), password=_hashed(password, user_id))
        self.save()
        return self.users[user_id]

    def consents_of(self, user_id: str) -> Iterator[Consent]:
        """Returns what a user allowed."""
        return (consent for consent in self.consents.values() if consent.user_id == user_id)


def records_in(file: Path | None) -> Records:
    """Returns the records of a file; none if it does not exist yet."""
    records = Records.model_validate_json(file.read_bytes()) if file and file.exists() else Records()
    records._file = file
    return records


def _hashed(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=salt.encode(), n=2**13, r=8, p=1).hex()
