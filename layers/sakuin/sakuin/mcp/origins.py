"""Requests from web pages (CORS): the origin, the preflight request, and the headers of answers."""

from collections.abc import Iterable, Mapping

from sakuin.platform.asgi import Message, Send

# The headers that clients of all revisions send. CORS of API Gateway is off.
_HEADERS = (
    "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id"
)
_SECONDS = "7200"


def is_foreign(headers: Mapping[str, str], allowed: Iterable[str]) -> bool:
    """Returns whether the origin is not allowed. Programs send none. Header names are lower case."""
    origin = headers.get("origin")
    return origin is not None and origin not in allowed


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Returns whether it is a preflight request of a browser."""
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def preflight_headers() -> dict[str, str]:
    """Returns the headers of the answer to a preflight request."""
    return {
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": _HEADERS,
        "Access-Control-Max-Age": _SECONDS,
    }


def with_origin(send: Send, origin: str | None) -> Send:
    """Returns a `send` that adds the headers with which pages of the origin can read the answer."""
    if origin is None:
        return send
    added = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return send_with_headers
