"""Connections to Supabase's database API, and requests that are repeated."""

import os
import ssl
from typing import Any

import certifi
from urllib3 import Timeout, connection_from_url
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProtocolError

from sakuin.platform.calls import Retries, retry_after
from sakuin.platform.supabase.requests import Request, Response, Send

# As many threads of a worker ask at once.
_KEPT = 20
_GATEWAY_ERRORS = (502, 503, 504)
# Only what was asked for, and all of it. The latter is no default of urllib3 1, which Lambda's runtime may have.
_WHOLE: dict[str, Any] = {"redirect": False, "enforce_content_length": True}


def connections(url: str, timeout: Timeout) -> Send:
    """Returns what sends requests to an address. Connections are kept, and made anew if the other side closed them."""
    tls: dict[str, Any] = {}
    if url.startswith("https:"):
        # One for all connections: to read the certificates takes longer than to connect.
        tls["ssl_context"] = ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())
    pool = connection_from_url(url, maxsize=_KEPT, timeout=timeout, retries=False, **tls)

    def send(request: Request) -> Response:
        return pool.urlopen(request.method, request.target, body=request.body, headers=request.headers, **_WHOLE)

    return send


def repeating(send: Send, retries: Retries) -> Send:
    """Returns `send` with repetitions where these are safe.

    A request is repeated if no connection was made. A request that only reads is repeated also if the connection broke
    or the gateway answered with an error, but not after a timeout.
    """

    def sent(request: Request) -> Response:
        retries.budget.add()
        started = retries.clock()
        attempt = 0
        while True:
            attempt += 1
            try:
                response = send(request)
            except HTTPError as error:
                pause = retries.pause(attempt, started, wanted=None) if _is_repeatable(error, request) else None
                if pause is None:
                    raise
            else:
                if response.status not in _GATEWAY_ERRORS or not request.reads:
                    return response
                pause = retries.pause(attempt, started, wanted=retry_after(response.headers))
                if pause is None:
                    return response
            retries.sleep(pause)

    return sent


def _is_repeatable(error: HTTPError, request: Request) -> bool:
    if isinstance(error, NewConnectionError | ConnectTimeoutError):
        return True
    return request.reads and isinstance(error, ProtocolError)
