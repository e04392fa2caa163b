"""The client of turbopuffer, and the translation of its errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from turbopuffer import APIConnectionError, APIError, APIStatusError, DefaultHttpxClient, Timeout, Turbopuffer

from sakuin.errors import Invalid, NotFound, Refused, SakuinError, Unavailable
from sakuin.platform.calls import retry_after
from sakuin.platform.redaction import redacted
from sakuin.texts.catalogue import coded

# A large write takes seconds, and a worker can wait for it.
_TIMEOUT = Timeout(30.0, connect=5.0)

# An agent waits for a search, API Gateway at most 30 s. A cold namespace of a million rows answers within 2 s.
SEARCH_TIMEOUT = Timeout(6.0, connect=2.0)
LONGEST_QUICK_CALL = 8.0

_TOO_MANY = 429
_RETRIED = {408, 409, _TOO_MANY}
_REFUSED = {401, 402, 403}

VENDOR = "turbopuffer"

T = TypeVar("T")


def connected(base_url: str, key: str, session: DefaultHttpxClient | None = None) -> Turbopuffer:
    """Returns a client of one region (`https://aws-us-east-1.turbopuffer.com`). It connects with the first request.

    It makes no retries itself: those have no time budget, and sleep for up to half an hour.
    """
    return Turbopuffer(
        base_url=base_url, api_key=key, timeout=_TIMEOUT, max_retries=0, telemetry=False, http_client=session
    )


def quick(client: Turbopuffer) -> Turbopuffer:
    """Returns the same client with the timeout of searches and of maintenance: no call takes longer than 8 seconds."""
    return client.with_options(timeout=SEARCH_TIMEOUT)


@contextmanager
def translate_errors(namespace: str) -> Iterator[None]:
    """Translates errors of turbopuffer into errors of the product."""
    try:
        yield
    except APIConnectionError as error:
        raise Unavailable(coded("vendor.turbopuffer_silent"), vendor=VENDOR) from error
    except APIStatusError as error:
        raise _ours(error, namespace) from error
    except (APIError, ValueError, LookupError, TypeError, AttributeError) as error:
        # The answer of a proxy, or an incomplete one.
        raise Unavailable(coded("vendor.turbopuffer_unread"), vendor=VENDOR) from error


def understood(answer: T, *members: str) -> T:
    """Returns the answer. Raises `ValueError` if a member is missing, as in a proxy's page with the status 200."""
    if missing := [name for name in members if getattr(answer, name, None) is None]:
        raise ValueError(f"the answer has no {missing[0]}")
    return answer


def _ours(error: APIStatusError, namespace: str) -> SakuinError:
    status = error.status_code
    if status == 404 and _said(error) is not None:
        return NotFound(f"turbopuffer has no namespace {namespace}")
    if status == 404:
        # The answer of another server. As an unknown namespace it would mean that nothing was found.
        return Refused(coded("vendor.turbopuffer_address"), vendor=VENDOR)
    if status in _REFUSED:
        return Refused(coded("vendor.turbopuffer_key", status=status), vendor=VENDOR)
    if status in _RETRIED or status >= 500:
        pause = retry_after(error.response.headers)
        # Limits are of one namespace: https://turbopuffer.com/docs/limits
        busy = namespace if status == _TOO_MANY and namespace else None
        return Unavailable(
            coded("vendor.turbopuffer_answered", status=status), vendor=VENDOR, retry_after=pause, namespace=busy
        )
    return Invalid(f"turbopuffer refused the request with {status}: {_reason(error)}")


def _reason(error: APIStatusError) -> str:
    # The message may repeat the key that was sent.
    sent = error.request.headers.get("authorization", "").removeprefix("Bearer ")
    return redacted(str(_said(error) or error.message), [sent])[:300]


def _said(error: APIStatusError) -> object:
    return error.body.get("error") if isinstance(error.body, dict) else None
