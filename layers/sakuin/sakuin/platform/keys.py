"""API keys: their forms, hashes and purposes, the `Authorization` header, and the days of their use."""

import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal, get_args

from sakuin.errors import Conflict, Invalid, SakuinError, Unauthorized
from sakuin.platform.run_all import in_thread
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.platform.supabase.forms import Day, Id, Time

if TYPE_CHECKING:
    # The command uses the form of keys, and has no secret to read.
    from sakuin.platform.secrets import KeyRing

KEY_PREFIX = "sk_sakuin_"
_REALM = 'Bearer realm="sakuin"'
# What a key of the table `library_key` is for, and how it then begins: the API looks no other key up there.
KeyPurpose = Literal["search", "push", "read"]
PURPOSES: Sequence[KeyPurpose] = get_args(KeyPurpose)
_BEGINNINGS: Mapping[KeyPurpose, str] = {"search": "", "push": "push_", "read": "read_"}
_RANDOM = re.compile("[A-Za-z0-9_-]{43}")
# Keys of the table, with those that have expired.
_MOST_KEYS = 1000

# The age in seconds of the keys of `StoredKeys`: usually, and after a key was not among them.
_MAX_AGE, _MAX_AGE_OF_NEWER = 60.0, 5.0

# Of the record of a use, in seconds: nobody waits for it.
RECORD_SECONDS = 2.0

# Takes the hash of a valid key that was used.
RecordUse = Callable[[str], None]

logger = logging.getLogger(__name__)


def new_key(purpose: KeyPurpose = "search") -> str:
    """Returns a key of 32 random bytes in URL-safe base64, behind a prefix that secret scanners can find."""
    return KEY_PREFIX + _BEGINNINGS[purpose] + secrets.token_urlsafe(32)


def is_key(text: str, purpose: KeyPurpose = "search") -> bool:
    """Returns whether the text has the form of a key that `new_key` makes for a purpose."""
    beginning = KEY_PREFIX + _BEGINNINGS[purpose]
    return text.startswith(beginning) and _RANDOM.fullmatch(text, len(beginning)) is not None


def hash_of_key(key: str) -> str:
    """Returns the SHA-256 of the key in hex. A key has 256 random bits, so its hash cannot be searched for."""
    return hashlib.sha256(key.encode()).hexdigest()


def known_hash(key: str, hashes: Iterable[str]) -> str | None:
    """Returns the key's hash if it is one of `hashes`, else None. Every wrong key takes the same time."""
    digest = hash_of_key(key)
    # No early exit: the time must not show which hash was similar.
    equal = [known for known in hashes if hmac.compare_digest(digest, known)]
    return equal[0] if equal else None


def matching_hash(headers: Mapping[str, str], ring: "KeyRing") -> str | None:
    """Returns the hash of the valid key in the `Authorization` header, else None. Header names are lower case."""
    key = key_of(headers)
    return None if key is None else valid_hash(key, ring)


def admin_hash(headers: Mapping[str, str], ring: "KeyRing") -> str:
    """Returns the hash of the valid admin key in the `Authorization` header; `Unauthorized` without one."""
    if key_hash := matching_hash(headers, ring):
        return key_hash
    raise Unauthorized("Send the header Authorization: Bearer <admin key>")


def valid_hash(key: str, ring: "KeyRing") -> str | None:
    """Returns the hash of the key if it is valid, else None."""
    # The key may be newer than the hashes that the worker has read.
    return known_hash(key, ring.hashes()) or (known_hash(key, ring.hashes(newer=True)) if is_key(key) else None)


def key_of(headers: Mapping[str, str]) -> str | None:
    """Returns the bearer key or token of the `Authorization` header; None without one."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def challenge(headers: Mapping[str, str], sign_in: str = "") -> dict[str, str]:
    """Returns the header of a 401. If the request had a key, the header says that it is invalid (RFC 6750, 3).

    `sign_in` are its parameters about signing in.
    """
    error = 'error="invalid_token"' if "authorization" in headers else ""
    return {"WWW-Authenticate": ", ".join(filter(None, (_REALM, error, sign_in)))}


# The header of a 403 for a token that gives fewer rights than its user has (RFC 6750, 3.1). It names no scope: none
# gives more.
INSUFFICIENT_SCOPE = {"WWW-Authenticate": f'{_REALM}, error="insufficient_scope"'}


def record_once_a_day(
    record: RecordUse,
    today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    start: Callable[[Callable[[], None]], object] = in_thread,
) -> RecordUse:
    """Returns `record`, limited to one call for each key and day. A failure is logged and not raised.

    `start` starts the call beside the answer to the request, which does not wait for it.
    """
    days: dict[str, date] = {}

    def attempt(key_hash: str) -> None:
        try:
            record(key_hash)
        except SakuinError:
            logger.warning("the use of a key is not recorded", exc_info=True)

    def record_first(key_hash: str) -> None:
        # Also if it fails: while the database is unavailable, no request must ask it again.
        if days.get(key_hash) != (day := today()):
            days[key_hash] = day
            start(lambda: attempt(key_hash))

    return record_first


@dataclass(frozen=True, slots=True)
class KeyUse:
    """The table `key_use`: the day on which each key was last used, by its hash."""

    client: Client

    def record(self, key_hash: str) -> None:
        """Records that the key was used today, in UTC."""
        call(self.client, "record_key_use", {"p_key_hash": key_hash})

    def days(self, key_hashes: Collection[str]) -> Mapping[str, str]:
        """Returns the last day, as 2026-11-22, of each key that was used within a year."""
        rows = answer(self.client.table("key_use").select("*").in_("key_hash", sorted(key_hashes)))
        return {row["key_hash"]: row["last_used_on"] for row in rows}


@dataclass(frozen=True, slots=True)
class LibraryKey:
    """A key that the console or the command made. Times are ISO 8601.

    One to search or to push opens `folder` alone, which has no slash at its end and is empty for the whole library, and
    to search of that what passes `filter`, values by the names of fields; one to read opens a project, as its viewer
    `member_id`.
    """

    key_hash: str
    name: str
    created_at: str
    purpose: KeyPurpose = "search"
    folder: str = ""
    project_id: str | None = None
    member_id: str | None = None
    expires_at: str | None = None
    filter: Mapping[str, str] | None = None

    def shown(self, last_used_on: str | None) -> "DeploymentKey":
        """Returns it as one of the deployment's keys."""
        opens = (self.folder, self.project_id, self.created_at, self.expires_at)
        return DeploymentKey(self.purpose, self.key_hash, last_used_on, self.name, *opens, self.filter or {})

    def has_expired(self, now: datetime) -> bool:
        """Returns whether its time is over."""
        return self.expires_at is not None and datetime.fromisoformat(self.expires_at) <= now


@dataclass(frozen=True, slots=True)
class DeploymentKey:
    """A key of the secret, `knowledge` or `admin`, without a name, or a `LibraryKey`.

    `hash` is its SHA-256. It opens a `folder` of the library (empty: all of it), of that what passes `filter`, or reads
    a `project`. The day is that of its last use in a year, in UTC.
    """

    purpose: Literal["knowledge", "admin"] | KeyPurpose
    hash: str
    last_used_on: Day | None
    name: str = ""
    folder: str = ""
    project: Id | None = None
    created_at: Time | None = None
    expires_at: Time | None = None
    filter: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LibraryKeys:
    """The table `library_key`: keys that the console and the command made. `on_change` is called after a change."""

    client: Client
    on_change: Callable[[], None] = lambda: None

    def all(self) -> Sequence[LibraryKey]:
        """Returns them, oldest first."""
        table = self.client.table("library_key").select("*,library_key_filter(filter)")
        rows = answer(table.order("created_at").order("key_hash"))
        return [LibraryKey(**(row.pop("library_key_filter") or {}), **row) for row in rows]

    def for_searches(self) -> Sequence[LibraryKey]:
        """Returns the valid keys that search; the function `mcp` may read no others."""
        return [LibraryKey(**row) for row in call(self.client, "search_keys", {"p_filters": True})]

    def create(
        self,
        name: str,
        purpose: KeyPurpose = "search",
        *,
        folder: str = "",
        filter: Mapping[str, str] | None = None,
        project_id: str | None = None,
        expires_at: datetime | None = None,
    ) -> str:
        """Creates a key and returns it. Only its hash is stored. Raises `Conflict` if there are too many."""
        if (purpose == "read") != (project_id is not None):
            raise Invalid("A key has a project to read it, and only then")
        if filter and purpose != "search":
            raise Invalid("Only a key to search has a filter")
        if len(self.all()) >= _MOST_KEYS:
            raise Conflict(f"There are {_MOST_KEYS:,} keys. Remove some that are not used, or that have expired")
        key = new_key(purpose)
        until = expires_at and expires_at.isoformat()
        opens = {"p_purpose": purpose, "p_folder": folder, "p_project": project_id, "p_expires_at": until}
        named = {"p_key_hash": hash_of_key(key), "p_name": name, "p_filter": filter or None}
        call(self.client, "create_library_key", named | opens)
        self.on_change()
        return key

    def remove(self, key_hash: str) -> None:
        """Removes a key. Workers accept it for a minute more. A hash that is not there is not an error."""
        call(self.client, "delete_library_key", {"p_key_hash": key_hash})
        self.on_change()


@dataclass(slots=True)
class StoredKeys:
    """The keys that `read` returns, as a worker keeps them. Expired ones are left out at once."""

    read: Callable[[], Sequence[LibraryKey]]
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _keys: Mapping[str, LibraryKey] = field(default_factory=dict, init=False)
    # Also those that were removed: one that was accepted a moment before must not open everything.
    _named: dict[str, LibraryKey] = field(default_factory=dict, init=False)
    _read_at: float | None = field(default=None, init=False)

    def hashes(self, newer: bool) -> Sequence[str]:
        """Returns the hashes of the valid keys, at most a minute old, with `newer` five seconds.

        The first read is one with `newer`: a deployment that uses only keys of the secret never reads them. Raises
        `Unavailable` if they were never read and cannot be.
        """
        if self._read_at is None and not newer:
            return ()
        now = self.clock()
        if self._read_at is None or now - self._read_at >= (_MAX_AGE_OF_NEWER if newer else _MAX_AGE):
            try:
                self._keys = {key.key_hash: key for key in self.read()}
            except SakuinError:
                if self._read_at is None:
                    raise
                logger.warning("the keys of the library cannot be read again", exc_info=True)
            self._read_at = now
            self._named |= self._keys
        today = self.now()
        return tuple(key_hash for key_hash, key in self._keys.items() if not key.has_expired(today))

    def forget(self) -> None:
        """Has the next key read them again."""
        self._read_at = None

    def named(self, key_hash: str) -> LibraryKey | None:
        """Returns a key that searches; None for one of the secret."""
        return self._named.get(key_hash)

    def matching(self, headers: Mapping[str, str], purpose: KeyPurpose) -> LibraryKey | None:
        """Returns the valid key for a purpose in the `Authorization` header, else None.

        A key of another form costs no read.
        """
        key = key_of(headers)
        if key is None or not is_key(key, purpose):
            return None
        key_hash = known_hash(key, self.hashes(newer=False)) or known_hash(key, self.hashes(newer=True))
        stored = self._keys.get(key_hash or "")
        return stored if stored and stored.purpose == purpose else None
