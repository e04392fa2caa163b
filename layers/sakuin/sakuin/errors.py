"""What can go wrong, as a caller must treat it.

SakuinError
├── NotFound         what was asked for is not there
├── Unauthorized     the caller did not prove who he is
├── Invalid          the request or the input is wrong: fix it, trying again will not help
│   └── UnreadablePage   a page that cannot be indexed; it fails alone
├── Conflict         someone newer was here first: look again
├── Unavailable      an outside system did not answer: try again later
├── OverBudget       the day's budget is used up: tomorrow it works, until then the work waits
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
    """An outside system failed or was too slow; the same again may work."""


class OverBudget(SakuinError):
    """The day's budget is used up; the same works tomorrow."""


class Misconfigured(SakuinError):
    """A setting is missing or wrong."""
