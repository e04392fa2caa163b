"""Subscriptions to events."""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from sakuin.mcp.changes.webhooks import Callback
from sakuin.platform.supabase.client import Client, call

# Equal to `most_failures` in SQL.
MOST_FAILURES = 8


@dataclass(frozen=True, slots=True)
class Subscription:
    """A row of `event_subscription`; times are in UTC. `previous` signs, too, while the secret is replaced."""

    id: str
    principal: str
    payer: str
    mcp_id: str | None
    name: str
    arguments: Mapping[str, Any]
    url: str
    secret: str
    previous: str | None
    cursor: str
    not_before: datetime | None
    attempt: int
    failures: int
    expires_at: datetime
    status: Mapping[str, Any]

    @property
    def is_active(self) -> bool:
        """Whether events are sent: not after too many failures."""
        return self.failures < MOST_FAILURES

    @property
    def callback(self) -> Callback:
        """Where its events go."""
        return Callback(self.url, self.id, [self.secret, *([self.previous] if self.previous else [])])


def subscription_id(principal: str, mcp_id: str | None, url: str, name: str, arguments: Mapping[str, Any]) -> str:
    """Returns the same id for the same subscription ("Subscription Identity")."""
    key = json.dumps([principal, mcp_id, url, name, arguments], sort_keys=True, separators=(",", ":"))
    return f"sub_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The table `event_subscription`. `key` gives what the secrets of webhooks are encrypted with.

    Whoever can only read the table cannot sign an event. If the key is replaced, a client has to refresh.
    """

    client: Client
    key: Callable[[], str]

    def read(self, id: str, principal: str, url: str) -> tuple[Subscription | None, bool]:
        """Returns the subscription, and whether the principal has proved within a day that the address is its own."""
        row = call(self.client, "read_subscription", {"p_id": id, "p_principal": principal, "p_url": url})
        return self._found(row["subscription"]), row["verified"]

    def save(
        self, row: Mapping[str, Any], secret: str, *, replaced: str | None, seconds: int, verified: bool
    ) -> Subscription:
        """Adds or refreshes a subscription. `OverLimit` if its payer has too many."""
        hidden = {"secret": self._hidden(secret), "previous_secret": self._hidden(replaced) if replaced else None}
        arguments = {"p_row": {**row, **hidden}, "p_seconds": seconds, "p_verified": verified}
        return self._subscription(call(self.client, "subscribe", arguments))

    def remove(self, id: str) -> bool:
        """Returns whether there was one."""
        return bool(call(self.client, "unsubscribe", {"p_id": id}))

    def begin(self, id: str, attempt: int) -> Subscription | None:
        """Returns the subscription of a message; None if there is nothing to do for it any more."""
        return self._found(call(self.client, "begin_delivery", {"p_id": id, "p_attempt": attempt}))

    def record(
        self,
        each: Subscription,
        cursor: str | None,
        position: int,
        *,
        received: bool,
        seconds: int | None,
        matching: tuple[Mapping[str, Any] | None, str] = (None, ""),
    ) -> bool:
        """Records how far a message has come, if another has not followed; returns whether it has not.

        `seconds`: when its work is done, after how many the subscription is due again. `matching`: of a standing
        question, what changes are compared with, and its vector.
        """
        arguments = {"p_id": each.id, "p_attempt": each.attempt, "p_cursor": cursor, "p_position": position}
        arguments |= {"p_received": received, "p_seconds": seconds}
        arguments |= {"p_question": matching[0], "p_vector": matching[1] or None}
        return bool(call(self.client, "record_delivery", arguments))

    def answer_gap(self, each: Subscription, answer: str) -> None:
        """Tells the feed that an explanation answers the question of a gap, and ends its subscription."""
        call(self.client, "answer_gap", {"p_id": each.id, "p_attempt": each.attempt, "p_answer": answer})

    def record_failure(self, each: Subscription, reason: str, seconds: int) -> int | None:
        """Returns the number of the message that follows; None if none does, until the client refreshes."""
        arguments = {"p_id": each.id, "p_attempt": each.attempt, "p_error": reason, "p_seconds": seconds}
        attempt: int | None = call(self.client, "record_failed_delivery", arguments)
        return attempt

    def _found(self, row: Mapping[str, Any] | None) -> Subscription | None:
        return self._subscription(row) if row else None

    def _subscription(self, row: Mapping[str, Any]) -> Subscription:
        """Returns the row with its secrets. One that cannot be decrypted is empty."""
        until, not_before = row["previous_until"], row["not_before"]
        is_replaced = until is not None and datetime.fromisoformat(until) > datetime.now(UTC)
        names = ("id", "principal", "payer", "mcp_id", "name", "arguments", "url", "cursor", "attempt", "failures")
        return Subscription(
            **{name: row[name] for name in names},
            secret=self._shown(row["secret"]),
            previous=self._shown(row["previous_secret"]) if is_replaced else None,
            not_before=datetime.fromisoformat(not_before) if not_before else None,
            expires_at=datetime.fromisoformat(row["expires_at"]),
            status={name: row[name] for name in ("delivered_at", "last_error", "failed_since")},
        )

    def _hidden(self, secret: str) -> str:
        return self._fernet().encrypt(secret.encode()).decode()

    def _shown(self, hidden: str) -> str:
        try:
            return self._fernet().decrypt(hidden.encode()).decode()
        except InvalidToken:
            return ""

    def _fernet(self) -> Fernet:
        digest = hashlib.sha256(b"secrets of webhooks " + self.key().encode()).digest()
        return Fernet(urlsafe_b64encode(digest))
