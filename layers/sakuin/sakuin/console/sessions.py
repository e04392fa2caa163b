"""Sessions of the console, as rows of the database; the browser has only a random id."""

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

from cryptography.fernet import Fernet, InvalidToken

from sakuin.errors import Unauthorized
from sakuin.platform.keys import valid_hash
from sakuin.platform.secrets import KeyRing
from sakuin.platform.supabase.auth import SessionTokens
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.tables.admin.postgres import count_request
from sakuin.tables.model import User

SESSION_SECONDS = 8 * 3600


# Returns tokens that are still valid: the same, or refreshed ones. Raises `Unauthorized` if that is not possible.
Refresh = Callable[[SessionTokens], SessionTokens]


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who is signed in: an admin if `tokens` is None, else a user of Supabase Auth."""

    id: str = field(repr=False)
    tokens: SessionTokens | None = None

    @property
    def user(self) -> User | None:
        """The caller of the services of projects: None for an admin."""
        return User(self.tokens.user_id) if self.tokens else None

    @property
    def is_admin(self) -> bool:
        """Whether an admin key signed in."""
        return self.tokens is None

    @property
    def csrf(self) -> str:
        """The token that each form of this session carries."""
        return hmac.new(self.id.encode(), b"csrf", hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Sessions:
    """The tables `console_session`, `console_link` and `console_form`.

    A row has the SHA-256 of the id or code. An admin's session ends when the key is revoked. A user's tokens are
    encrypted with a key that is derived from the id: read access to the table reveals neither sessions nor
    tokens.
    """

    client: Client
    admin_keys: KeyRing
    refresh: Refresh

    def sign_in_admin(self, key_hash: str) -> Session:
        """Starts a session of an admin key, by its hash."""
        session = Session(secrets.token_urlsafe(32))
        self._insert("console_session", {"id_hash": _hash(session.id), "admin_key_hash": key_hash})
        return session

    def sign_in_user(self, tokens: SessionTokens) -> Session:
        """Starts a session of a user of Supabase Auth."""
        session = Session(secrets.token_urlsafe(32), tokens)
        row = {"id_hash": _hash(session.id), "user_id": tokens.user_id, "tokens": _encrypted(session.id, tokens)}
        self._insert("console_session", row)
        return session

    def find(self, session_id: str) -> Session | None:
        """Returns the session with this id; None if it has ended, its key was revoked, or Supabase Auth ended it.

        Each call counts as a request of the user: `OverLimit` if the user made too many.
        """
        table = self.client.table("console_session").select("admin_key_hash,tokens")
        rows = answer(table.eq("id_hash", _hash(session_id)).gt("expires_at", "now"))
        if not rows:
            return None
        if (key_hash := rows[0]["admin_key_hash"]) is not None:
            return Session(session_id) if key_hash in self.admin_keys.hashes() else None
        tokens = _decrypted(session_id, rows[0]["tokens"])
        valid = self._valid(session_id, tokens) if tokens else None
        if valid is None:
            return None
        count_request(self.client, valid.user_id)
        return Session(session_id, valid)

    def sign_out(self, session: Session) -> None:
        answer(self.client.table("console_session").delete().eq("id_hash", _hash(session.id)))

    def make_link(self, key_hash: str) -> str:
        """Returns a code that signs the admin key with this hash in, once and within an hour."""
        code = secrets.token_urlsafe(32)
        self._insert("console_link", {"code_hash": _hash(code), "admin_key_hash": key_hash})
        return code

    def use_link(self, code: str) -> Session | None:
        """Starts the session of a code; None if the code is wrong, used, too old, or its key was revoked."""
        # One statement: of two requests with the same code only one gets the row.
        used = answer(self.client.table("console_link").delete().eq("code_hash", _hash(code)).gt("expires_at", "now"))
        if not used or (key_hash := used[0]["admin_key_hash"]) not in self.admin_keys.hashes():
            return None
        return self.sign_in_admin(key_hash)

    def use_form(self, session: Session, form_id: str) -> bool:
        """Records that a form of this session was sent; False if it was sent before."""
        row = {"form_hash": _hash(f"{session.id} {form_id}")}
        answer(self.client.table("console_form").delete().lt("expires_at", "now"))
        # One statement: of two requests with the same form only one inserts the row.
        return bool(answer(self.client.table("console_form").upsert(row, ignore_duplicates=True)))

    def count_sign_in(self, address: str, email: str, *, succeeded: bool = False) -> None:
        """Counts a sign-in of an account from an address; `OverLimit` for too many. `succeeded` takes it back.

        Only hashes are stored, and without a key of the deployment nobody can try addresses against them.
        """
        names = {"p_address": f"address {_network(address)}", "p_account": f"account {email.lower()}"}
        hashes = {name: _keyed_hash(self.client.supabase_key, text) for name, text in names.items()}
        call(self.client, "count_sign_in", {**hashes, "p_succeeded": succeeded})

    def admin_key(self, key: str) -> str | None:
        """Returns the hash of a valid admin key, else None."""
        return valid_hash(key, self.admin_keys)

    def _valid(self, session_id: str, tokens: SessionTokens) -> SessionTokens | None:
        try:
            refreshed = self.refresh(tokens)
        except Unauthorized:
            return None
        if refreshed != tokens:
            row = {"tokens": _encrypted(session_id, refreshed)}
            answer(self.client.table("console_session").update(row).eq("id_hash", _hash(session_id)))
        return refreshed

    def _insert(self, table: str, row: dict[str, str]) -> None:
        answer(self.client.table(table).delete().lt("expires_at", "now"))
        answer(self.client.table(table).insert(row))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _keyed_hash(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def _network(address: str) -> str:
    """Returns the address, and for IPv6 the network that one customer has."""
    try:
        return str(ip_network(f"{address}/64", strict=False)) if ip_address(address).version == 6 else address
    except ValueError:
        return address


def _cipher(session_id: str) -> Fernet:
    # The id has 256 random bits: one hash of it is a key.
    return Fernet(urlsafe_b64encode(hashlib.sha256(b"tokens" + session_id.encode()).digest()))


def _encrypted(session_id: str, tokens: SessionTokens) -> str:
    members = [tokens.user_id, tokens.email, tokens.access_token, tokens.refresh_token, tokens.expires_at]
    return _cipher(session_id).encrypt(json.dumps(members).encode()).decode()


def _decrypted(session_id: str, text: str) -> SessionTokens | None:
    try:
        return SessionTokens(*json.loads(_cipher(session_id).decrypt(text)))
    except InvalidToken:
        return None
