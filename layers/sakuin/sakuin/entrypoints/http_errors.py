"""What our errors are in HTTP: one status each, and the headers that go with it."""

from sakuin.entrypoints.authorization import CHALLENGE
from sakuin.errors import Conflict, Invalid, NotFound, Unauthorized, Unavailable

TRY_AGAIN = {"Retry-After": "5"}
_STATUS = {NotFound: 404, Unauthorized: 401, Invalid: 422, Conflict: 409, Unavailable: 503}
_HEADERS = {401: CHALLENGE, 503: TRY_AGAIN}


def answer_to(error: Exception) -> tuple[int, dict[str, str] | None]:
    """The status of an error, 500 where it says nothing to a caller, and its headers."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return status, _HEADERS.get(status)
