"""The errors that callers handle, by what a caller can do about them.

SakuinError
├── NotFound
├── Unauthorized
├── Forbidden            the caller's role does not allow it
│   └── InsufficientScope    the caller's token does not, whatever the role
├── Invalid              wrong input: another attempt fails in the same way
│   └── UnreadablePage
├── Conflict             changed since the caller read it: read it again
├── Unavailable          an outside system failed: try again later
│   ├── CircuitOpen
│   ├── RateLimited      it works and names a time to wait: a rate limit, or a long queue
│   └── Refused          a wrong key, account, address or model: the operator has to correct it
├── OverLimit            a quota is used up: wait for `retry_after` seconds (0: waiting does not help)
├── OverBudget           the budget of the day is used up: the work continues on the next day
├── OutOfTime            the worker has too little time left: another one continues
└── Misconfigured        a setting is missing or wrong
"""

import math

from sakuin.texts.catalogue import coded, counted


class SakuinError(Exception):
    """Root of the tree. The message is a sentence that says what to do."""


class NotFound(SakuinError):
    """The requested thing does not exist."""


class Unauthorized(SakuinError):
    """A key or token is missing, invalid or expired."""


class Forbidden(SakuinError):
    """The role of the caller does not allow it."""


class InsufficientScope(Forbidden):
    """The token was given to an agent, which may only search, whatever the role of its user."""


class Invalid(SakuinError):
    """The request or the input is wrong."""


class UnreadablePage(Invalid):
    """A page cannot be indexed. The reason is recorded with its material."""


class Conflict(SakuinError):
    """The data changed after the caller read it."""


class Unavailable(SakuinError):
    """An outside system failed or was too slow.

    `vendor` is its name ("openai", "turbopuffer", "supabase", "s3", "sqs", …), None if none is to blame.
    `retry_after` is the number of seconds that it asked to wait. `namespace` is the only part of it that failed.
    """

    def __init__(
        self,
        message: str = "",
        *,
        vendor: str | None = None,
        retry_after: float | None = None,
        namespace: str | None = None,
    ) -> None:
        super().__init__(message)
        self.vendor = vendor
        self.retry_after = retry_after
        self.namespace = namespace


class CircuitOpen(Unavailable):
    """The vendor was not called, because it failed too often."""


class RateLimited(Unavailable):
    """The vendor works and asks to wait for `retry_after` seconds. `what` is what the work waits for."""

    def __init__(self, what: str, *, vendor: str, retry_after: float) -> None:
        super().__init__(waiting_for(what, retry_after), vendor=vendor, retry_after=retry_after)
        self.what = what
        self.seconds = retry_after


class Refused(Unavailable):
    """The vendor rejects every request until a key, an account or a setting is corrected; the message names it."""


class OverLimit(SakuinError):
    """A quota is used up. `retry_after` 0: waiting does not help, the caller has to remove something."""

    def __init__(self, message: str = "", *, retry_after: float = 60.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OverBudget(SakuinError):
    """The embedding budget of the day is used up."""


class OutOfTime(SakuinError):
    """The next step might take longer than the worker still has."""


class Misconfigured(SakuinError):
    """A setting is missing or wrong. The message names it and where to set it."""


def waiting_for(what: str, seconds: float) -> str:
    """Returns the sentence about work that waits, with whole minutes: "Waiting for embeddings, about 3 minutes"."""
    return coded("work.waiting_for", what=what, minutes=counted("minute", max(math.ceil(seconds / 60), 1)))
