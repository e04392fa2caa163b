"""The client of OpenAI and of endpoints with its API, the time for a whole answer, and the translation of errors."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from openai import DefaultHttpxClient, OpenAI

from sakuin.errors import Invalid, RateLimited, Refused, SakuinError, Unavailable
from sakuin.platform.calls import retry_after
from sakuin.texts.catalogue import coded

VENDOR = "openai"

_BUSY = {408, 409}
_RATE_LIMITED = 429
# If the answer names no time.
_WAIT_SECONDS = 20.0
# A wrong key, address or model, an open bill, a missing right: no text is the reason.
_REFUSED = {401, 402, 403, 404}
# https://developers.openai.com/api/docs/guides/error-codes: these come with the status 429, like a rate limit.
_UNPAID = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}


def connected(
    base_url: str, key: str | Callable[[], str], session: httpx2.Client | None = None, *, urgency: int | None = None
) -> OpenAI:
    """Returns a client, which makes no retries itself. It connects at its first request. `key` may give the key of now.

    An endpoint with a queue takes requests by their urgency: 0 first, 7 last, 3 by default (RFC 9218). OpenAI ignores
    it.
    """
    priority = {} if urgency is None else {"Priority": f"u={urgency}"}
    session = session or punctual_session()
    return OpenAI(base_url=base_url, api_key=key, http_client=session, default_headers=priority, max_retries=0)


def punctual_session() -> httpx2.Client:
    """Returns a session whose timeout is one for the whole answer."""
    return DefaultHttpxClient(transport=PunctualTransport(httpx2.HTTPTransport()))


@dataclass(frozen=True, slots=True)
class PunctualTransport(httpx2.BaseTransport):
    """A transport whose answers are complete within the read timeout, which otherwise starts again with every byte."""

    transport: httpx2.BaseTransport
    clock: Callable[[], float] = time.monotonic

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        deadline = self.clock() + request.extensions["timeout"]["read"]
        response = self.transport.handle_request(request)
        response.stream = _PunctualStream(response.stream, deadline, self.clock)
        return response

    def close(self) -> None:
        self.transport.close()


@dataclass(frozen=True, slots=True)
class _PunctualStream(httpx2.SyncByteStream):
    stream: Any
    deadline: float
    clock: Callable[[], float]

    def __iter__(self) -> Iterator[bytes]:
        for part in self.stream:
            if self.clock() > self.deadline:
                raise httpx2.ReadTimeout("The answer was not complete in time")
            yield part

    def close(self) -> None:
        self.stream.close()


def status_error(
    status: int, headers: Mapping[str, str], body: object = None, *, service: str = "embedding service"
) -> SakuinError:
    """Returns our error for a status. `body` is the error in the JSON of the answer, None if it has none."""
    if isinstance(body, Mapping) and not _UNPAID.isdisjoint({str(body.get("code")), str(body.get("type"))}):
        return Refused(coded("vendor.unpaid", service=service, status=status), vendor=VENDOR)
    if status == _RATE_LIMITED:
        what = "embeddings" if service == "embedding service" else f"the {service}"
        seconds = retry_after(headers)
        return RateLimited(what, vendor=VENDOR, retry_after=_WAIT_SECONDS if seconds is None else seconds)
    if status in _BUSY or status >= 500:
        return Unavailable(
            coded("vendor.answered", service=service, status=status), vendor=VENDOR, retry_after=retry_after(headers)
        )
    if status in _REFUSED:
        model = "EMBEDDING_MODEL" if service == "embedding service" else "LearnsModel"
        return Refused(coded("vendor.refused", service=service, status=status, model=model), vendor=VENDOR)
    return Invalid(coded("vendor.refused_request", service=service, status=status))
