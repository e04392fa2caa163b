"""API keys: their form, their hashes, the `Authorization` header, and the days of their use."""

import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from sakuin.errors import SakuinError, Unauthorized
from sakuin.platform.supabase.client import Client, answer, call

if TYPE_CHECKING:
    # The command uses the form of keys, and has no secret to read.
    from sakuin.platform.secrets import KeyRing

KEY_PREFIX = "sk_sakuin_"
_REALM = 'Bearer realm="sakuin"'
_KEY = re.compile(rf"{KEY_PREFIX}[A-Za-z0-9_-]{{43}}")

# The age in seconds of the hashes of `LibraryKeys`: usually, and after a key was not among them.
_MAX_AGE, _MAX_AGE_OF_NEWER = 60.0, 5.0

# Takes the hash of a valid key that was used.
RecordUse = Callable[[str], None]

logger = logging.getLogger(__name__)


def new_key() -> str:
    """Returns a key of 32 random bytes in URL-safe base64, behind a prefix that secret scanners can find."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Returns whether the text has the form of a key that `new_key` makes."""
    return _KEY.fullmatch(text) is not None


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
    if (found := matching_hash(headers, ring)) is None:
        raise Unauthorized("Send the header Authorization: Bearer <admin key>")
    return found


def valid_hash(key: str, ring: "KeyRing") -> str | None:
    """Returns the hash of the key if it is valid, else None."""
    digest = known_hash(key, ring.hashes())
    # The key may be newer than the hashes that the worker has read.
    return known_hash(key, ring.hashes(newer=True)) if digest is None and is_key(key) else digest


def key_of(headers: Mapping[str, str]) -> str | None:
    """Returns the bearer key or token of the `Authorization` header; None without one."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def challenge(headers: Mapping[str, str], sign_in: str = "") -> dict[str, str]:
    """Returns the header of a 401. If the request had a key, the header says that it is invalid (RFC 6750, 3).

    `sign_in` are its parameters about signing in.
    """
    error = 'error="invalid_token"' if "authorization" in headers else ""
    return _challenge(error, sign_in)


def insufficient_scope() -> dict[str, str]:
    """Returns the header of a 403 for a token that gives fewer rights than its user has (RFC 6750, 3.1).

    It names no scope: none gives more.
    """
    return _challenge('error="insufficient_scope"')


def _challenge(*parameters: str) -> dict[str, str]:
    return {"WWW-Authenticate": ", ".join(filter(None, (_REALM, *parameters)))}


def record_once_a_day(record: RecordUse, today: Callable[[], date] = lambda: datetime.now(UTC).date()) -> RecordUse:
    """Returns `record`, limited to one call for each key and day. A failure is logged and not raised."""
    days: dict[str, date] = {}

    def record_first(key_hash: str) -> None:
        day = today()
        if days.get(key_hash) == day:
            return
        # Also if it fails: while the database is unavailable, requests must not wait for it.
        days[key_hash] = day
        try:
            record(key_hash)
        except SakuinError:
            logger.warning("the use of a key is not recorded", exc_info=True)

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
    """A key of the library that the console made. `created_at` is ISO 8601."""

    hash: str
    name: str
    created_at: str


@dataclass(slots=True)
class LibraryKeys:
    """The table `library_key`: keys of the library that the console made."""

    client: Client
    clock: Callable[[], float] = time.monotonic
    _hashes: tuple[str, ...] = ()
    _read_at: float | None = field(default=None, init=False)

    def all(self) -> Sequence[LibraryKey]:
        """Returns them, oldest first."""
        rows = answer(self.client.table("library_key").select("*").order("created_at").order("key_hash"))
        return [LibraryKey(row["key_hash"], row["name"], row["created_at"]) for row in rows]

    def create(self, name: str) -> str:
        """Creates a key and returns it. Only its hash is stored."""
        key = new_key()
        answer(self.client.table("library_key").insert({"key_hash": hash_of_key(key), "name": name}))
        return key

    def remove(self, key_hash: str) -> None:
        """Removes a key. Workers accept it for a minute more. A hash that is not there is not an error."""
        answer(self.client.table("library_key").delete().eq("key_hash", key_hash))

    def hashes(self, newer: bool) -> Sequence[str]:
        """Returns their hashes, at most a minute old, with `newer` five seconds.

        The first read is one with `newer`: a deployment that uses only keys of the secret never reads them. Raises
        `Unavailable` if they were never read and cannot be.
        """
        if self._read_at is None and not newer:
            return ()
        now = self.clock()
        if self._read_at is None or now - self._read_at >= (_MAX_AGE_OF_NEWER if newer else _MAX_AGE):
            try:
                self._hashes = tuple(call(self.client, "library_key_hashes", {}))
            except SakuinError:
                if self._read_at is None:
                    raise
                logger.warning("the keys of the library cannot be read again", exc_info=True)
            self._read_at = now
        return self._hashes
