"""API keys: their shape, their hashes, who they let in, and when they were used."""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from sakuin.errors import SakuinError
from sakuin.platform.supabase.client import Client, answer, call

KEY_PREFIX = "sk_sakuin_"

_KEY = re.compile(rf"{KEY_PREFIX}[A-Za-z0-9_-]{{43}}")


def new_key() -> str:
    """Returns a key of 32 random bytes in URL-safe base64, behind a prefix that secret scanners can find."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Returns whether it has the shape of a key that `new_key` makes."""
    return _KEY.fullmatch(text) is not None


def hash_of_key(key: str) -> str:
    """Returns the SHA-256 of the key in hex. A key has 256 random bits, so its hash cannot be searched for."""
    return hashlib.sha256(key.encode()).hexdigest()


def known_hash(key: str, hashes: Iterable[str]) -> str | None:
    """Returns which of the hashes is the key's, None for a wrong key. Every wrong key takes equally long."""
    made = hash_of_key(key)
    # No early exit: the time must not tell which of several keys was nearly right.
    found = [known for known in hashes if hmac.compare_digest(made, known)]
    return found[0] if found else None


CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sakuin"'}


class KeyRing(Protocol):
    """The keys that open something, as a worker knows them."""

    def hashes(self, *, newer: bool = False) -> Iterable[str]:
        """Returns their hashes, at most some minutes old; `newer` ones are looked up, as often as that is allowed."""


def is_authorized(headers: Mapping[str, str], ring: KeyRing) -> bool:
    """Returns whether the `Authorization` header has a key of the ring. Header names are lower case."""
    return matching_hash(headers, ring) is not None


def matching_hash(headers: Mapping[str, str], ring: KeyRing) -> str | None:
    """Returns the hash of the ring's key that the `Authorization` header has; None if it has none."""
    key = key_of(headers)
    if key is None:
        return None
    found = known_hash(key, ring.hashes())
    # It may have been made after the worker last looked.
    return known_hash(key, ring.hashes(newer=True)) if found is None and is_key(key) else found


def key_of(headers: Mapping[str, str]) -> str | None:
    """Returns the key, or whatever is in its place, of the `Authorization` header; None without one."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def challenge(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the header of a 401: a caller that sent a key learns that this key is not valid (RFC 6750, 3)."""
    if "authorization" not in headers:
        return CHALLENGE
    return {"WWW-Authenticate": f'{CHALLENGE["WWW-Authenticate"]}, error="invalid_token"'}


# Takes the hash of a key that opened an endpoint.
Note = Callable[[str], None]


logger = logging.getLogger(__name__)


def record_once_a_day(note: Note, today: Callable[[], date]) -> Note:
    """`note`, asked once for each key and day of `today`; a failure of it is logged and never the caller's."""
    tried: dict[str, date] = {}

    def noted(key_hash: str) -> None:
        day = today()
        if tried.get(key_hash) == day:
            return
        # Also when it fails: a database that is away must not slow down every call.
        tried[key_hash] = day
        try:
            note(key_hash)
        except SakuinError:
            logger.warning("the use of a key was not noted", exc_info=True)

    return noted


@dataclass(frozen=True, slots=True)
class KeyUse:
    """Keys are known by their keyed hashes alone."""

    client: Client

    def note(self, key_hash: str) -> None:
        """The key was used today, in UTC. Twice a day is once."""
        call(self.client, "record_key_use", {"p_key_hash": key_hash})

    def days(self, key_hashes: Collection[str]) -> Mapping[str, str]:
        """The day on which each key was last used, as 2026-11-22; those not used in a year are left out."""
        rows = answer(self.client.table("key_use").select("*").in_("key_hash", sorted(key_hashes)))
        return {row["key_hash"]: row["last_used_on"] for row in rows}
