"""The connection to turbopuffer: one client, its failures translated."""

from collections.abc import Iterator
from contextlib import contextmanager

from turbopuffer import (
    APIConnectionError,
    APIResponseValidationError,
    APIStatusError,
    DefaultHttpxClient,
    Timeout,
    Turbopuffer,
)

from sakuin.errors import Invalid, Misconfigured, NotFound, SakuinError, Unavailable

# A large write takes seconds, and a queue waits for it.
_TIMEOUT = Timeout(30.0, connect=5.0)
_RETRIES = 4
# An agent waits for a search, API Gateway 30 s at most; a cold namespace of a million rows answers within 2 s.
_SEARCH_TIMEOUT = Timeout(8.0, connect=3.0)
_SEARCH_RETRIES = 2
_RETRIED = {408, 409, 429}


def connected(base_url: str, key: str, session: DefaultHttpxClient | None = None) -> Turbopuffer:
    """A client of one region (`https://aws-us-east-1.turbopuffer.com`); it connects with the first request.

    It retries 408, 409, 429 and 5xx with backoff and jitter, and honours Retry-After.
    """
    return Turbopuffer(
        base_url=base_url,
        api_key=key,
        timeout=_TIMEOUT,
        max_retries=_RETRIES,
        telemetry=False,
        http_client=session,
    )


def hurried(client: Turbopuffer) -> Turbopuffer:
    """The same client for somebody who waits: all tries together end before API Gateway's 30 s."""
    return client.with_options(timeout=_SEARCH_TIMEOUT, max_retries=_SEARCH_RETRIES)


@contextmanager
def translated(namespace: str) -> Iterator[None]:
    """Turns a failure of turbopuffer into one of ours."""
    try:
        yield
    except APIConnectionError as error:
        raise Unavailable("turbopuffer did not answer") from error
    except APIResponseValidationError as error:
        raise Unavailable("turbopuffer's answer was not understood") from error
    except APIStatusError as error:
        raise _ours(error, namespace) from error


def _ours(error: APIStatusError, namespace: str) -> SakuinError:
    status = error.status_code
    if status == 404:
        return NotFound(f"turbopuffer has no namespace {namespace}")
    if status in (401, 403):
        return Misconfigured(f"turbopuffer refused the API key with {status}: check it in the secret")
    if status in _RETRIED or status >= 500:
        return Unavailable(f"turbopuffer answered {status}")
    return Invalid(f"turbopuffer refused the request with {status}: {_reason(error)}")


def _reason(error: APIStatusError) -> str:
    said = error.body.get("error") if isinstance(error.body, dict) else None
    return str(said or error.message)[:300]
