"""Errors as answers over HTTP: the status, the headers, and the one body that all of them have."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sakuin.errors import (
    Conflict,
    Forbidden,
    InsufficientScope,
    Invalid,
    NotFound,
    OverLimit,
    SakuinError,
    Unauthorized,
    Unavailable,
)
from sakuin.platform.keys import INSUFFICIENT_SCOPE, challenge

_RETRY_SECONDS = 5
_STATUS = {
    NotFound: 404,
    Unauthorized: 401,
    Forbidden: 403,
    Invalid: 422,
    Conflict: 409,
    OverLimit: 429,
    Unavailable: 503,
}
# Programs compare these codes: they stay as they are.
CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    410: "gone",
    413: "too_large",
    422: "invalid",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}
ORIGIN_NOT_ALLOWED = "origin_not_allowed"
# Waiting does not help: something has to be removed.
QUOTA_EXCEEDED = "quota_exceeded"


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error as an answer. `detail` is a sentence for people, `code` a word for programs."""

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""

    def body(self, request_id: str) -> dict[str, str]:
        """Returns the JSON object of the answer."""
        return {"detail": self.detail, "code": self.code or CODES[self.status], "request_id": request_id}


def http_error(error: SakuinError, headers: Mapping[str, str], sign_in: str = "") -> HttpError:
    """Returns the answer for an error: 500 for one that no caller can handle.

    `headers` are the request's; `sign_in` is what a 401 says about signing in.
    """
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    if isinstance(error, OverLimit) and not error.retry_after:
        return HttpError(status, str(error), code=QUOTA_EXCEEDED)
    if isinstance(error, InsufficientScope):
        return HttpError(status, str(error), INSUFFICIENT_SCOPE)
    added = {401: challenge(headers, sign_in), 429: _retry_after(error), 503: _retry_after(error)}.get(status, {})
    return HttpError(status, str(error), added)


def _retry_after(error: SakuinError) -> dict[str, str]:
    """Returns the header with the seconds that the error names, or with a default."""
    seconds = error.retry_after if isinstance(error, Unavailable | OverLimit) else None
    return {"Retry-After": str(_RETRY_SECONDS if seconds is None else max(math.ceil(seconds), 1))}
