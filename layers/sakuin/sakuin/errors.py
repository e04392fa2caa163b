"""What can go wrong, as a caller must treat it.

SakuinError
├── NotFound         what was asked for is not there
├── Unauthorized     the caller did not prove who he is
├── Invalid          the request or the input is wrong: fix it, trying again will not help
│   └── UnreadablePage   a page that cannot be indexed; it fails alone
├── Conflict         someone newer was here first: look again
├── Unavailable      an outside system did not answer: try again later
│   ├── CircuitOpen      it has failed so often that it is not asked for a while
│   └── Refused          it takes our key, account or model for wrong: once that is mended the same works
├── OverLimit        too much was asked for in too short a time: wait as long as it says
├── OverBudget       the day's budget is used up: tomorrow it works, until then the work waits
├── OutOfTime        a worker's time is nearly over: another goes on with the work
└── Misconfigured    a setting is missing or wrong: says which, and where to set it
"""


class SakuinError(Exception):
    """Root of the tree. The message is a sentence that says what to do."""


class NotFound(SakuinError):
    """What was asked for is not there."""


class Unauthorized(SakuinError):
    """The caller did not prove who he is; a key or a token is missing, wrong or too old."""


class Invalid(SakuinError):
    """The request or the input is wrong; the same again will fail the same way."""


class UnreadablePage(Invalid):
    """A page cannot be indexed; the reason is kept with its material."""


class Conflict(SakuinError):
    """Somebody newer was first; what was read is no longer true."""


class Unavailable(SakuinError):
    """An outside system failed or was too slow; the same again may work.

    `vendor` is its name ("openai", "turbopuffer", "supabase", "s3", "sqs", …), if one is to blame.
    `retry_after` are the seconds after which it wants to be asked again, if it said so.
    `namespace` names the only part of the vendor that failed; None: it says nothing narrower than the vendor.
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
    """A vendor has failed so often that it was not asked; `retry_after` says when it will be."""


class Refused(Unavailable):
    """A vendor lets nothing through until our key, our account or a setting is mended; the message says which.

    Asking again at once is of no use, and what was asked for is not to blame.
    """


class OverLimit(SakuinError):
    """Too much was asked for in too short a time; the same works after `retry_after` seconds."""

    def __init__(self, message: str = "", *, retry_after: float = 60.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OverBudget(SakuinError):
    """The day's budget is used up; the same works tomorrow."""


class OutOfTime(SakuinError):
    """A worker's time is nearly over, and what comes next might take longer; another goes on with the work."""


class Misconfigured(SakuinError):
    """A setting is missing or wrong."""
