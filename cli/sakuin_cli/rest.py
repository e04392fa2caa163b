"""Requests to a deployment's REST API; their failures become the errors of `sakuin.errors`."""

from typing import Any

import httpx
from sakuin.errors import Conflict, Invalid, Misconfigured, NotFound, SakuinError, Unavailable

from sakuin_cli.agent import no_answer

# A JSON object of the API; its document (OpenAPI) describes the members.
Record = dict[str, Any]

# API Gateway ends a request after 30 seconds.
_TIMEOUT = httpx.Timeout(35.0, connect=5.0)
_UPLOAD_TIMEOUT = httpx.Timeout(60.0, connect=5.0, write=600.0)


def session(url: str, key: str) -> httpx.Client:
    """Returns an HTTP session with a deployment; it connects with the first request."""
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=_TIMEOUT)


def answer_of(http: httpx.Client, request: httpx.Request) -> Any:
    """Sends a request and returns the JSON of the answer, None for an empty one; raises one of `sakuin.errors`."""
    try:
        response = http.send(request)
    except httpx.TransportError as error:
        raise Unavailable(no_answer(str(http.base_url))) from error
    if not response.is_success:
        raise _error_of(response)
    if response.status_code == httpx.codes.NO_CONTENT:
        return None
    try:
        return response.json()
    except ValueError as error:
        raise Misconfigured(f"The server at {http.base_url} is not Sakuin. Correct SAKUIN_URL") from error


def put_to_bucket(url: str, headers: dict[str, str], body: bytes) -> str:
    """Uploads `body` to a presigned URL and returns the id of the version; empty in a bucket without versions."""
    # Without the session: the bucket must not get its key.
    try:
        answer = httpx.put(url, content=body, headers=headers, timeout=_UPLOAD_TIMEOUT)
    except httpx.HTTPError as error:
        raise Unavailable("The upload to the bucket failed. Try again in a moment") from error
    if not answer.is_success:
        raise Unavailable(f"The bucket rejected the upload ({answer.status_code}). Try again")
    return str(answer.headers.get("x-amz-version-id", ""))


def _error_of(response: httpx.Response) -> SakuinError:
    status, detail = response.status_code, _detail(response)
    if status == 401:
        return Misconfigured(
            "The admin key is not valid. Correct SAKUIN_ADMIN_KEY; `sakuin up` writes it to its env file. "
            "A key of SAKUIN_PUSH_KEY pushes and does nothing else"
        )
    if status == 403:
        return Misconfigured(detail or "The key does not allow this")
    if status == 404:
        return NotFound(detail or f"{response.url} does not exist. Is SAKUIN_URL the address of a Sakuin deployment?")
    if status == 409:
        return Conflict(detail or "It was changed at the same time. Fetch it and try again")
    if status == 429 and detail and "retry-after" not in response.headers:
        # A quota of records: waiting does not help.
        return Invalid(detail)
    if status < 500 and status != 429:
        return Invalid(detail or f"Sakuin rejected the request ({status})")
    return Unavailable(detail or f"Sakuin could not answer ({status}). Try again in a moment")


def _detail(response: httpx.Response) -> str | None:
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return None
    return detail if isinstance(detail, str) else None
