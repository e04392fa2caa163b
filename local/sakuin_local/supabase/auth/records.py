"""What Supabase Auth stores: users, sessions, OAuth clients, their requests and the consents of users."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel, Field, PrivateAttr
from sakuin_cli.files import replace_bytes


def _new_id() -> str:
    return str(uuid4())


class User(BaseModel):
    """Somebody with an e-mail address, in small letters, and a password."""

    id: str = Field(default_factory=_new_id)
    email: str
    is_confirmed: bool = True
    password: str = Field(repr=False)

    def has_password(self, password: str) -> bool:
        """Returns whether this is the user's password."""
        return hmac.compare_digest(self.password, _hashed(password, self.id))


class Session(BaseModel):
    """A sign-in of a user, or of a client for a user. `counter` numbers its refresh tokens; times are in seconds."""

    id: str = Field(default_factory=_new_id)
    user_id: str
    refreshed_at: float
    client_id: str | None = None
    scope: str = ""
    refresh_tokens: list[str] = Field(default_factory=list, repr=False)

    @property
    def counter(self) -> int:
        return len(self.refresh_tokens) - 1

    @property
    def refresh_token(self) -> str:
        """The current refresh token."""
        return self.refresh_tokens[-1]

    def rotate(self) -> None:
        """Makes the next refresh token."""
        self.refresh_tokens.append(f"{self.id}.{secrets.token_hex(16)}")


class Client(BaseModel):
    """An application that registered itself, without a secret. Its methods are what Authlib asks of it."""

    id: str = Field(default_factory=_new_id)
    name: str
    redirect_uris: list[str]
    grant_types: list[str]

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.redirect_uris

    def get_default_redirect_uri(self) -> str:
        return ""

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grant_types

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        return method == "none"

    def get_allowed_scope(self, scope: str) -> str:
        return scope

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
    state: str = ""
    code_challenge: str = ""
    code_challenge_method: str = "S256"
    expires_at: float
    status: str = "pending"
    user_id: str | None = None
    code: str | None = Field(default=None, repr=False)

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


class Consent(BaseModel):
    """What a user allowed a client."""

    user_id: str
    client_id: str
    scopes: list[str]
    granted_at: str


class Records(BaseModel):
    """All records by their ids; consents by user and client. `save` writes them to the file, if there is one.

    `write_users` gets all users after each change of one: the table `auth.users` has them, too.
    """

    users: dict[str, User] = {}
    sessions: dict[str, Session] = {}
    clients: dict[str, Client] = {}
    authorizations: dict[str, Authorization] = {}
    consents: dict[str, Consent] = {}
    write_users: Callable[[Collection[User]], None] = Field(default=lambda _users: None, exclude=True)
    _file: Path | None = PrivateAttr(default=None)

    def save(self) -> None:
        """Writes the records, whole or not at all; only the owner may read them."""
        if self._file is not None:
            replace_bytes(self._file, self.model_dump_json().encode(), mode=0o600)

    def add_user(self, email: str, password: str, user_id: str = "", *, is_confirmed: bool = True) -> User:
        """Creates a user, with the id if it is given; replaces the one who has it."""
        id, email = user_id or _new_id(), email.lower()
        self.users[id] = User(id=id, email=email, is_confirmed=is_confirmed, password=_hashed(password, id))
        self.save()
        self.write_users(self.users.values())
        return self.users[id]

    def remove_user(self, user_id: str) -> bool:
        """Removes a user; returns whether there was one. The caller ends the sessions, which saves the records."""
        removed = self.users.pop(user_id, None)
        self.write_users(self.users.values())
        return removed is not None


def records_in(file: Path | None) -> Records:
    """Returns the records of a file; none if it does not exist yet."""
    records = Records.model_validate_json(file.read_bytes()) if file and file.exists() else Records()
    records._file = file
    return records


def _hashed(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=salt.encode(), n=2**13, r=8, p=1).hex()
