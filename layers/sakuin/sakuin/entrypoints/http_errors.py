"""What our errors are in HTTP: one status each, and the headers that go with it."""

import math
from collections.abc import Mapping

from sakuin.entrypoints.authorization import challenge
from sakuin.errors import Conflict, Invalid, NotFound, Unauthorized, Unavailable

_TRY_AGAIN_SECONDS = 5
_STATUS = {NotFound: 404, Unauthorized: 401, Invalid: 422, Conflict: 409, Unavailable: 503}


def answer_to(error: Exception, asked: Mapping[str, str]) -> tuple[int, dict[str, str] | None]:
    """The status of an error, 500 where it says nothing to a caller, and its headers; `asked` are the request's."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return status, {401: challenge(asked), 503: try_again(error)}.get(status)


def try_again(error: Exception) -> dict[str, str]:
    """The header that says when: as the vendor in the error does, or soon."""
    wanted = error.retry_after if isinstance(error, Unavailable) else None
    return {"Retry-After": str(_TRY_AGAIN_SECONDS if wanted is None else max(math.ceil(wanted), 1))}
